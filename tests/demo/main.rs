//! `make demo`: a real API server, a real `jobshape serve`, and a dispatcher that may create Jobs
//! and tries more than the committed one.
//!
//! Everything runs on loopback with keys made for this run, and is gone when this ends, however it
//! ends. With `KEEP=1` it stays until it is stopped.

#[path = "../apiserver/mod.rs"]
mod apiserver;
mod attempts;
mod webhook;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anstream::{eprintln, print, println};
use jobshape::core::shape::Shape;
use jobshape::edges::shapes;
use jobshape::formats::report::snippet::Style;
use tokio::signal::unix::{SignalKind, signal};

use apiserver::{Cluster, ControlPlane, Failure, Identity, Options, Probe, VERSION};
use attempts::{Attempt, attempts};
use webhook::Webhook;

const NAMESPACE: &str = "pm-agent";
const SHAPES: &str = "rules/pm-agent";

/// Colours that [`anstream`] leaves out where nobody would see them.
const DIM: &str = "\u{1b}[2m";
const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// Whether all is done and it only stays up: then being stopped is no failure.
static KEPT: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("demo: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = demo() => ended,
            // What was started goes with the future that is dropped here.
            () = told_to_stop() => match KEPT.load(Ordering::Relaxed) {
                true => Ok(()),
                false => Err(Failure::new("stopped")),
            },
        }
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{RED}demo:{PLAIN} {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn demo() -> Result<(), Failure> {
    let began = Instant::now();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shape = committed(root)?;
    let dispatcher = Identity::service_account(NAMESPACE, NAMESPACE);

    let title = format!("etcd, kube-apiserver {VERSION} and its Job controller");
    let options = Options { identities: vec![dispatcher.clone()], ..Options::default() };
    let cluster = Cluster::Own(step(&title, ControlPlane::start(&options)).await?);
    // After the cluster, and so dropped before it: it lives in the cluster's folder.
    let jobshape = format!("jobshape serve --dev --shapes {SHAPES}");
    let webhook = step(&jobshape, Webhook::start(&cluster, &root.join(SHAPES))).await?;

    let namespace = async {
        let namespace = cluster.exact_namespace(NAMESPACE).await?;
        namespace.allow_jobs(&dispatcher).await?;
        Ok(namespace)
    };
    let title = format!("namespace {NAMESPACE}; its dispatcher may create Jobs, nothing else");
    let namespace = step(&title, namespace).await?;

    let all = attempts(&shape)?;
    let first = all.first().ok_or_else(|| Failure::new("there is nothing to try"))?;
    let probe = Probe { identity: &dispatcher, namespace: NAMESPACE, job: &first.job };
    let installed = cluster.install_verbatim(&webhook.configuration, &probe);
    let _installed = step("the webhook configuration that it printed, applied", installed).await?;

    println!("\n{BOLD}As the dispatcher, {SHAPES} in force:{PLAIN}\n");
    let session = cluster.session(&dispatcher).await?;
    let worker =
        shape.first().fill(&[]).map_err(Failure::during("filling the template"))?.to_json();
    let created = session.create_job(NAMESPACE, &worker).await;
    let created = created.map_err(Failure::during("creating the committed Job"))?;
    let name = created.object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let pods = namespace.wait_for("v1", "pods", |pods| !pods.is_empty()).await?;
    let pod = pods[0]["metadata"]["name"].as_str().unwrap_or_default();
    println!("{GREEN}✓{PLAIN} the committed Job, filled in: {name}, and its Pod {pod}");

    let speaker = format!("jobshape: {} ({}) refused", shape.name, shape.short_digest());
    let mut otherwise = 0;
    let mut example = None;
    for Attempt { words, job } in &all {
        match session.create_job(NAMESPACE, job).await {
            Err(refusal) if refusal.message.contains(&speaker) => {
                let finding = first_finding(&refusal.message);
                println!("{RED}✗{PLAIN} {words:<46} {DIM}{finding}{PLAIN}");
                example.get_or_insert(refusal.message);
            }
            Err(refusal) => {
                otherwise += 1;
                println!("{RED}? {words}: refused, but not by jobshape: {refusal}{PLAIN}");
            }
            Ok(_) => {
                otherwise += 1;
                println!("{RED}✓ {words}: ADMITTED, and should not be{PLAIN}");
            }
        }
    }
    println!("\nThe first of these refusals, as it arrives:\n");
    for line in example.iter().flat_map(|message| message.lines()) {
        println!("  {line}");
    }

    let seconds = began.elapsed().as_secs_f32();
    if otherwise > 0 {
        return Err(Failure::new(format!("{otherwise} of {} went otherwise", all.len())));
    }
    println!(
        "\n{BOLD}1 admitted, {} refused, as it should be{PLAIN} {DIM}({seconds:.1} s){PLAIN}",
        all.len()
    );
    if std::env::var("KEEP").is_ok_and(|keep| !keep.is_empty() && keep != "0") {
        keep(&cluster, &dispatcher)?;
        KEPT.store(true, Ordering::Relaxed);
        std::future::pending::<()>().await;
    }
    Ok(())
}

/// One line for what takes a moment.
async fn step<T>(
    title: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    print!("{DIM}  {title} …{PLAIN}");
    let _ = std::io::stdout().flush();
    let began = Instant::now();
    let done = work.await;
    println!("{DIM} {:.1} s{PLAIN}", began.elapsed().as_secs_f32());
    done
}

/// The shape that the webhook is started with, to fill its template and to know its digest.
fn committed(root: &Path) -> Result<Shape, Failure> {
    let path = root.join(SHAPES).join("shape.yaml");
    let loaded = shapes::load(&[path.display().to_string()], None, Style::Plain);
    let mut loaded = loaded.map_err(|errors| Failure::new(errors.reports.join("\n")))?;
    match loaded.pop() {
        Some(one) if loaded.is_empty() => Ok(one.shape),
        _ => Err(Failure::new(format!("{} holds not one shape", path.display()))),
    }
}

/// Where and why, from the first finding of a refusal, without the rule, which stands before it.
fn first_finding(message: &str) -> &str {
    let line = message.lines().find_map(|line| line.strip_prefix("- "));
    line.and_then(|line| line.split_once(' ')).map_or(message, |(_, rest)| rest)
}

/// Says how to go on, and how to end it.
fn keep(cluster: &Cluster, dispatcher: &Identity) -> Result<(), Failure> {
    let administrator = shown(&cluster.kubeconfig_for(&Identity::Admin)?);
    let dispatcher = shown(&cluster.kubeconfig_for(dispatcher)?);
    let kubectl = shown(&cluster.kubectl()?);
    let pid = std::process::id();
    println!(
        "
It stays up. The kubeconfig of the dispatcher, and the administrator's:
  {dispatcher}
  {administrator}
Try another Job as the dispatcher:
  sed 's/abcdef12/k3f9x2ab/; s/backoffLimit: 0/backoffLimit: 6/' {SHAPES}/jobs/worker.yaml \\
    | {kubectl} --kubeconfig {dispatcher} create -f -
Stop it with Ctrl-C, or from elsewhere:
  kill {pid}"
    );
    Ok(())
}

/// Relative to where the user is, where that is shorter.
fn shown(path: &Path) -> String {
    let here: PathBuf = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

async fn told_to_stop() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Then the supervisors see to it that nothing is left.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
