//! An installation, exactly as it is committed, on a real API server: `jobshape verify` says that it
//! is live; then it is broken in eight ways, one after the other, and each is named.
//!
//! `make demo-install`. It needs haproxy, and for the Service's port 443 the rights of root.

#[path = "../apiserver/mod.rs"]
mod apiserver;
#[path = "../faults/balancer.rs"]
mod balancer;
mod breaks;
mod installation;
mod kubelet;
mod order;
#[path = "../outside/mod.rs"]
mod outside;
mod situations;
mod upgrade;
mod verified;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

use apiserver::Failure;
use installation::Installation;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = vec![
        trial("an installation is live, and what breaks it is named", demo),
        trial("what goes wrong is mended, and no Job passes meanwhile", situations::all),
        trial("in whatever order it is installed, it is live in the end", order::any),
        trial("an upgrade and the way back cost no Job", upgrade::there_and_back),
    ];
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..arguments }, trials).exit_code()
}

fn trial<T: Future<Output = Result<(), Failure>>>(
    name: &str,
    play: impl FnOnce() -> T + Send + 'static,
) -> Trial {
    Trial::test(name, || {
        let runtime = Runtime::new().map_err(|error| Failed::from(error.to_string()))?;
        runtime.block_on(play()).map_err(|failure| Failed::from(failure.to_string()))
    })
}

async fn demo() -> Result<(), Failure> {
    let mut installation = Installation::new().await?;
    println!("\njobshape verify, of what was installed:\n");
    let lines = installation.until_live().await?;
    println!("{}", lines.text);
    let mut unnamed = vec![];
    for broken in breaks::ALL {
        (broken.make)(&mut installation).await?;
        match installation.until_named(broken).await {
            Ok(line) => println!("named: {:<55} {line}", broken.title),
            Err(failure) => {
                println!("NOT NAMED: {}: {failure}", broken.title);
                unnamed.push(broken.title);
            }
        }
        (broken.mend)(&mut installation).await?;
        installation
            .until_live()
            .await
            .map_err(Failure::during(format!("mended: {}", broken.title)))?;
    }
    match unnamed[..] {
        [] => {
            println!("\nlive as installed; {} ways to break it, each named", breaks::ALL.len());
            Ok(())
        }
        _ => Err(Failure::new(format!("not named: {}", unnamed.join(", ")))),
    }
}
