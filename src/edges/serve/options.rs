//! What can be asked of `jobshape serve`: the flags as typed, the options made of them, and the
//! limits that hold if nobody says otherwise.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use humantime::parse_duration;

use super::ServeError;
use super::decision::Decide;
use super::dev::{self, DevEntry};
use super::journal::{JournalArgs, JournalOptions};
use super::metrics::reviews::ShapeInfo;
use super::operations::Condition;
use super::shape_files::ShapeFiles;
use crate::core::judge::Shapes;
use crate::formats::review;

const CONNECTIONS: u32 = 1024;

/// The flags of `jobshape serve`, except those that say where shapes come from.
#[derive(Debug, Clone, Args)]
// Or clap would put the sentence above into the help of the verb.
#[command(about = None, long_about = None)]
pub struct ServeArgs {
    /// Certificate chain in PEM form, leaf first; may be filled after the start
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key that belongs to it, in PEM form
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Where the API server calls; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8443")]
    pub listen: SocketAddr,
    /// Where probes and metrics are answered, without TLS
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8080")]
    pub ops_listen: SocketAddr,
    /// Let in only clients with a certificate of this authority, in PEM form; read anew when it
    /// changes
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// With --client-ca: the common name or a DNS name that the certificate must have; several are
    /// alternatives [default: any]
    #[arg(long, value_name = "NAME")]
    pub client_name: Vec<String>,
    /// Most connections at a time; less if the process may have fewer open files
    #[arg(long, value_name = "COUNT", default_value_t = CONNECTIONS,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: u32,
    /// How long to go on serving after SIGTERM, not ready, until everybody knows
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub lame_duck: Duration,
    /// How long requests in flight may take after that
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub drain: Duration,
    /// Use a throw-away certificate and print the configuration that trusts it
    #[arg(long)]
    pub dev: bool,
    /// With --dev: the host at which the API server reaches this one [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub dev_host: Option<String>,
    #[command(flatten)]
    journal: JournalArgs,
}

impl ServeArgs {
    /// Checks the flags against each other.
    pub fn options(self, loaded: Loaded) -> Result<Options, ServeError> {
        let wrong = |sentence| Err(ServeError::Usage(sentence));
        let tls = match (self.dev, self.tls_cert, self.tls_key, self.dev_host) {
            (true, None, None, host) => {
                Tls::Dev { host: host.unwrap_or_else(|| dev::LOOPBACK.to_owned()) }
            }
            (true, ..) => {
                return wrong(
                    "--dev makes its own certificate: leave out --tls-cert and --tls-key",
                );
            }
            (false, _, _, Some(_)) => return wrong("--dev-host says something only with --dev"),
            (false, Some(cert), Some(key), None) => Tls::Files { cert, key },
            (false, Some(_), None, None) => return wrong("--tls-cert needs --tls-key beside it"),
            (false, None, Some(_), None) => return wrong("--tls-key needs --tls-cert beside it"),
            (false, None, None, None) => {
                return wrong(
                    "a certificate is needed: give --tls-cert and --tls-key, or --dev to try it out",
                );
            }
        };
        let clients = match (self.client_ca, self.client_name) {
            (Some(file), names) => Some(ClientCa { file, names }),
            (None, names) if names.is_empty() => None,
            (None, _) => return wrong("--client-name says something only with --client-ca"),
        };
        let limits = Limits {
            connections: self.max_connections,
            lame_duck: self.lame_duck,
            drain: self.drain,
            ..Limits::default()
        };
        let (listen, ops_listen) = (self.listen, self.ops_listen);
        let journal = self.journal.options(self.dev)?;
        Ok(Options { tls, clients, listen, ops_listen, limits, journal, ..Options::new(loaded) })
    }
}

/// What the server has to know of the shapes that were loaded for it.
pub struct Loaded {
    /// The compiled shapes.
    pub shapes: Arc<Shapes>,
    /// Their names and digests, for the metrics.
    pub info: Vec<ShapeInfo>,
    /// What `--dev` prints.
    pub entries: Vec<DevEntry>,
    /// Whether every shape passed its self-test.
    pub self_test: Condition,
}

/// Where the certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Two PEM files.
    Files {
        /// The chain.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// Made for this run.
    Dev {
        /// The host that the printed configuration names.
        host: String,
    },
}

/// Which clients are let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCa {
    /// The authority's certificates, a PEM file.
    pub file: PathBuf,
    /// The names of which a client's certificate has one; any if there is none.
    pub names: Vec<String>,
}

/// Everything that [`run`](super::run) needs.
pub struct Options {
    /// The shapes and what is said about them.
    pub loaded: Loaded,
    /// Where they are read anew from when that changes; nowhere if they come from no file.
    pub source: Option<ShapeFiles>,
    /// The certificate.
    pub tls: Tls,
    /// Which clients are let in; all of them without it.
    pub clients: Option<ClientCa>,
    /// The webhook port.
    pub listen: SocketAddr,
    /// The operations port.
    pub ops_listen: SocketAddr,
    /// Sizes and times.
    pub limits: Limits,
    /// What is kept of each request.
    pub journal: JournalOptions,
    /// The decision; another one only in tests.
    pub decide: Decide,
}

impl Options {
    /// The defaults, with a throw-away certificate.
    pub fn new(loaded: Loaded) -> Self {
        Self {
            loaded,
            source: None,
            tls: Tls::Dev { host: dev::LOOPBACK.to_owned() },
            clients: None,
            listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, 8443)),
            ops_listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, 8080)),
            limits: Limits::default(),
            journal: JournalOptions::default(),
            decide: review::answer,
        }
    }
}

/// How much and how long, at most.
#[derive(Debug, Clone)]
pub struct Limits {
    /// A TLS handshake. The API server gives up after 10 s.
    pub handshake: Duration,
    /// Request headers, and an idle connection: hyper has one timer for both. Must stay above the
    /// 90 s for which the API server keeps idle connections, or it sends a review into one that
    /// is just being closed, which counts as a failed call.
    pub header: Duration,
    /// From the headers to the answer, when the request has no `?timeout=`.
    pub body_time: Duration,
    /// How long before the end of `?timeout=` the answer is sent.
    pub spare: Duration,
    /// A client that does not take what is sent to it.
    pub write: Duration,
    /// After so long, a fifth more or less, an answer closes its connection: load spreads again
    /// after a restart, and sessions of an old certificate end.
    pub age: Duration,
    /// From the signal to end until no more connections are taken.
    pub lame_duck: Duration,
    /// Requests in flight at the end.
    pub drain: Duration,
    /// How often files are looked at of which nothing was heard.
    pub poll: Duration,
    /// Connections on the webhook port.
    pub connections: u32,
    /// Connections beyond those that hear why they are not served.
    pub shed_connections: u32,
    /// How long a connection must have done nothing before it is closed for another one.
    pub grace: Duration,
    /// Connections on the operations port: the kubelet, Prometheus, a person.
    pub ops_connections: u32,
    /// One body. An UPDATE holds two objects of up to 3 MiB.
    pub body_bytes: usize,
    /// All bodies together.
    pub bodies_bytes: usize,
    /// The part of it that is for the first 64 KiB of each body only.
    pub first_bytes: usize,
    /// After so long without a byte a body makes room for others, if they need it.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            header: Duration::from_secs(120),
            body_time: Duration::from_secs(10),
            spare: Duration::from_millis(200),
            write: Duration::from_secs(30),
            age: Duration::from_secs(600),
            lame_duck: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            poll: Duration::from_secs(2),
            connections: CONNECTIONS,
            shed_connections: 64,
            grace: Duration::from_secs(2),
            ops_connections: 64,
            body_bytes: 8 << 20,
            bodies_bytes: 64 << 20,
            first_bytes: 16 << 20,
            stall: Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeArgs,
    }

    fn options(line: &str) -> Result<Options, String> {
        let line = Line::try_parse_from(format!("serve {line}").split_whitespace());
        let shapes = Arc::<Shapes>::default();
        let loaded = Loaded { shapes, info: vec![], entries: vec![], self_test: Ok(()) };
        line.unwrap().serve.options(loaded).map_err(|error| error.to_string())
    }

    #[test]
    fn the_flags_make_options() {
        let made = options("--tls-cert c --tls-key k --listen 127.0.0.1:0").ok().unwrap();
        assert_eq!(made.tls, Tls::Files { cert: "c".into(), key: "k".into() });
        assert_eq!(made.listen, "127.0.0.1:0".parse().unwrap());
        assert_eq!(made.ops_listen, "[::]:8080".parse().unwrap());
        assert_eq!(options("--dev").ok().unwrap().tls, Tls::Dev { host: "127.0.0.1".to_owned() });
        assert_eq!(options("--dev").ok().unwrap().clients, None);
        let made = options("--dev --client-ca f --client-name a --client-name b").ok().unwrap();
        let names = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(made.clients, Some(ClientCa { file: "f".into(), names }));
        let made = options("--dev --lame-duck 1m5s --drain 300ms --max-connections 7");
        let limits = made.ok().unwrap().limits;
        assert_eq!((limits.lame_duck.as_secs(), limits.drain.as_millis()), (65, 300));
        assert_eq!((limits.connections, Limits::default().connections), (7, 1024));
        let made = options("--dev --dev-host a.b").ok().unwrap();
        assert_eq!(made.tls, Tls::Dev { host: "a.b".to_owned() });
    }

    #[test]
    fn flags_that_contradict_each_other_are_a_sentence() {
        for (line, sentence) in [
            ("", "a certificate is needed"),
            ("--dev --tls-cert c", "leave out"),
            ("--dev --tls-key k", "leave out"),
            ("--tls-cert c", "needs --tls-key"),
            ("--tls-key k", "needs --tls-cert"),
            ("--tls-cert c --tls-key k --dev-host a", "only with --dev"),
            ("--dev --client-name a", "only with --client-ca"),
        ] {
            let error = options(line).err().unwrap();
            assert!(error.contains(sentence), "{line}: {error}");
        }
    }
}
