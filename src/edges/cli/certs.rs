//! `jobshape certs`: who makes the certificates.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Subcommand};
use humantime::{format_duration, parse_duration};

use crate::edges::certs::run::run as rotate;
use crate::edges::certs::{CertsError, Options, authority};
use crate::edges::cli::{CannotRun, logging};
use crate::edges::cluster::ClusterArgs;
use crate::formats::manifest::Names;

/// The verbs of `jobshape certs`.
#[derive(Debug, Args)]
pub struct CertsVerb {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make and renew the webhook's certificate and its authority, and have the API servers trust them
    #[command(after_help = super::EXIT_STATUS)]
    Rotate(RotateArgs),
}

/// The flags of `jobshape certs rotate`.
#[derive(Debug, Args)]
pub struct RotateArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The namespace of the webhook and its Secrets
    #[arg(long, value_name = "NAME", env = "POD_NAMESPACE", hide_env_values = true,
          default_value_t = Names::default().namespace)]
    namespace: String,
    /// The Service that the certificate is for
    #[arg(long, value_name = "NAME", default_value_t = Names::default().service)]
    service: String,
    /// The ValidatingWebhookConfiguration that is told whom to trust; no other one is touched
    #[arg(long, value_name = "NAME", default_value_t = Names::default().configuration)]
    configuration: String,
    /// The Secret with the certificate
    #[arg(long, value_name = "NAME", default_value_t = Names::default().certificate)]
    secret: String,
    /// A further DNS name or IP address that the certificate is for, as the host of a url in the
    /// configuration; several times
    #[arg(long, value_name = "NAME")]
    also_for: Vec<String>,
    /// For how long a certificate is valid; a new one is made after two thirds
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = parse_duration)]
    certificate_life: Duration,
    /// For how long an authority is; a new one is made after two thirds
    #[arg(long, value_name = "TIME", default_value = "730d", value_parser = parse_duration)]
    authority_life: Duration,
    /// Tells this process from another one of the same kind [default: a random word]
    #[arg(long, value_name = "NAME", env = "POD_NAME", hide_env_values = true)]
    identity: Option<String>,
    /// Where probes and metrics are answered, without TLS
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8080")]
    ops_listen: SocketAddr,
    // An API server sees a change by its watch, most often within a second; a Pod that starts may get
    // a Secret that its node has had for a minute. Only tests shorten it.
    #[arg(long, value_name = "TIME", hide = true, default_value = "60s", value_parser = parse_duration)]
    settle: Duration,
    #[arg(long, value_name = "TIME", hide = true, default_value = "5s", value_parser = parse_duration)]
    poll: Duration,
}

impl RotateArgs {
    fn options(self) -> Result<Options, CertsError> {
        let usage = |text: String| Err(CertsError::Usage(text));
        // A third of its life is left when it is renewed, and that has to reach every replica.
        let shortest = self.settle.saturating_mul(10);
        if self.certificate_life < shortest {
            let shortest = format_duration(shortest);
            return usage(format!("--certificate-life must be at least {shortest}"));
        }
        // While the old authority has a third left, the last certificate of it must come to its end.
        if self.certificate_life.saturating_mul(3) > self.authority_life {
            return usage(
                "--authority-life must be at least three times --certificate-life".into(),
            );
        }
        let mut also_for = vec![];
        for text in &self.also_for {
            match authority::name(text) {
                Ok(name) => also_for.push(name),
                Err(error) => return usage(format!("--also-for {text}: {error}")),
            }
        }
        let Self { cluster, namespace, service, configuration, secret: certificate, .. } = self;
        let names = Names { namespace, service, configuration, certificate, ..Names::default() };
        let random = || format!("{:016x}", fastrand::u64(..));
        Ok(Options {
            cluster,
            names,
            also_for,
            identity: self.identity.filter(|name| !name.is_empty()).unwrap_or_else(random),
            authority_life: self.authority_life,
            certificate_life: self.certificate_life,
            settle: self.settle,
            poll: self.poll,
            ops_listen: self.ops_listen,
        })
    }
}

/// Runs the verb until the process is told to stop.
///
/// # Errors
/// What keeps it from starting.
pub fn run(args: CertsVerb) -> Result<u8, CannotRun> {
    let Verb::Rotate(args) = args.verb;
    let options = args.options().map_err(CannotRun::because)?;
    logging(|| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().map_err(CannotRun::because)?;
        runtime.block_on(rotate(options)).map_err(CannotRun::because)?;
        runtime.shutdown_background();
        Ok(0)
    })
}
