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
#[path = "../outside/mod.rs"]
mod outside;
mod verified;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

use apiserver::Failure;
use installation::Installation;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = Trial::test("an installation is live, and what breaks it is named", || {
        let runtime = Runtime::new().map_err(|error| Failed::from(error.to_string()))?;
        runtime.block_on(demo()).map_err(|failure| Failed::from(failure.to_string()))
    });
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
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
