//! What serving costs: the webhook beside one that always says yes on the same listener, straight and
//! through a real API server, and beside native policies.
//!
//! ```text
//! cargo bench --bench serving             the tables and the plot, in docs/benchmarks
//! cargo test --bench serving              a few requests each, to see that it still runs
//! ```

mod allow;
#[path = "../../tests/apiserver/mod.rs"]
mod apiserver;
mod closed_world;
mod direct;
mod load;
#[path = "../../tests/outside/mod.rs"]
mod outside;
mod plot;
mod policies;
mod process;
mod report;
#[path = "../side_by_side.rs"]
mod side_by_side;
mod through;

use std::process::ExitCode;

use apiserver::{Cluster, ControlPlane, Failure, Identity, Options};
use process::{Arms, Certificate};
use report::Report;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Blocks in each of which every arm has its turn.
    pub blocks: usize,
    /// Requests of a burst, over all clients.
    pub requests: usize,
    /// Reviews after which memory has to stay as it is.
    pub reviews: usize,
    /// Shapes that are loaded at a start.
    pub shapes: usize,
}

const FULL: Effort = Effort { blocks: 20, requests: 500, reviews: 100_000, shapes: 1_000 };
const QUICK: Effort = Effort { blocks: 2, requests: 50, reviews: 1_000, shapes: 20 };

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let done = match arguments.peek().map(String::as_str) {
        Some("always-allow") => allow::run(arguments.skip(1)),
        _ => measure(arguments.any(|argument| argument == "--bench")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("serving: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(full: bool) -> Result<(), String> {
    let effort = if full { FULL } else { QUICK };
    let runtime = tokio::runtime::Runtime::new().map_err(|e| e.to_string())?;
    let report = runtime.block_on(all(effort)).map_err(|failure| failure.to_string())?;
    println!("{}", report.markdown());
    if full {
        report.write()?;
    }
    Ok(())
}

async fn all(effort: Effort) -> Result<Report, Failure> {
    let dispatcher = Identity::service_account(through::NAMESPACE, through::NAMESPACE);
    let options =
        Options { identities: vec![dispatcher.clone()], controllers: false, ..Options::default() };
    let cluster = Cluster::Own(ControlPlane::start(&options).await?);
    let Cluster::Own(plane) = &cluster else { return Err(Failure::new("no control plane")) };
    let certificate = Certificate::new(plane)?;
    let mut report = Report::default();
    {
        let arms = Arms::start(plane, &certificate).await?;
        direct::measure(&arms, &certificate, effort, &mut report).await?;
        let authority = &certificate.authority.pem;
        through::measure(&cluster, &arms, authority, &dispatcher, effort, &mut report).await?;
    }
    process::memory(plane, &certificate, effort, &mut report).await?;
    process::start_to_ready(plane, &certificate, effort, &mut report).await?;
    process::size(&mut report)?;
    Ok(report)
}
