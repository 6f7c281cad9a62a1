//! Pass after pass, until the process is told to end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::calls::{Calls, Trouble};
use super::metrics::Metrics;
use super::operations::{Operations, router};
use super::rotator::{Pass, Rotator};
use super::{CertsError, Options};
use crate::edges::serve::Limits;
use crate::edges::serve::listener::{self, Listener, Phase};

/// The first pause after a failure; it doubles up to the longest.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(10);

/// So many steps follow each other at once. More are a quarrel with somebody who undoes them.
const AT_ONCE: u32 = 8;

/// Rotates until SIGTERM or SIGINT.
///
/// # Errors
/// What keeps it from starting.
pub async fn run(options: Options) -> Result<(), CertsError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(CertsError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CertsError::Signals)?;
    let client = options.cluster.client().await?;
    let metrics = Arc::new(Metrics::new()?);
    let operations = Arc::new(Operations::new(Arc::clone(&metrics)));
    let address = options.ops_listen;
    let listen = |source| CertsError::Listen { address, source };
    let socket = listener::bind(address).map_err(listen)?;
    tracing::info!(operations = %socket.local_addr().map_err(listen)?, "listening");
    let port = Listener {
        socket,
        tls: None,
        connections: Limits::default().ops_connections,
        full: axum::Router::new(),
        limits: Limits { shed_connections: 0, ..Limits::default() },
        metrics: None,
    };
    let (_phase, phases) = watch::channel(Phase::Serving);
    let mut rotator = Rotator::new(options.clone(), Calls::new(client), metrics);
    tokio::select! {
        never = rotate(&mut rotator, &operations, options.poll) => match never {},
        () = port.serve(router(Arc::clone(&operations)), phases) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    // A step that was cut off here is taken again by whoever comes next.
    tracing::info!("told to end");
    // Nobody waits for an API server that is away: the Lease ends by itself.
    let _ = timeout(LONGEST, rotator.end()).await;
    Ok(())
}

async fn rotate(rotator: &mut Rotator, operations: &Operations, poll: Duration) -> Infallible {
    let (mut pause, mut at_once, mut woken) = (FIRST, 0, None);
    let mut said: Vec<String> = vec![];
    loop {
        let mut troubles = vec![];
        let passed = rotator.pass(&mut troubles).await;
        let wrote = matches!(passed, Ok(Pass::Took));
        let rests = matches!(passed, Ok(Pass::Rested));
        let metrics = &operations.metrics;
        match passed {
            Ok(Pass::Standby) => {}
            Ok(Pass::Took | Pass::Rested) if troubles.is_empty() => {
                let now = time::OffsetDateTime::now_utc().unix_timestamp();
                metrics.succeeded_at.set(now);
            }
            Ok(_) => {}
            Err(trouble) => troubles.push(trouble),
        }
        let sentences: Vec<String> = troubles.iter().map(sentence).collect();
        for (trouble, sentence) in troubles.iter().zip(&sentences) {
            metrics.failures.inc();
            // Somebody else was faster, which is no news.
            if !said.contains(sentence) && !trouble.is_conflict() {
                tracing::error!(
                    trouble = sentence,
                    "not everything can be done; it is tried again"
                );
            }
        }
        if sentences.is_empty() && !said.is_empty() {
            tracing::info!("everything can be done again");
        }
        operations.set(sentences.clone());
        let is_well = sentences.is_empty();
        said = sentences;
        at_once = if wrote { at_once + 1 } else { 0 };
        if !is_well {
            sleep(pause.mul_f64(0.75 + fastrand::f64() / 2.0)).await;
            pause = (pause * 2).min(LONGEST);
            continue;
        }
        pause = FIRST;
        // One change after the other is a quarrel, too, and is looked at every so often only.
        if rests && woken.is_none_or(|at: Instant| at.elapsed() >= poll) {
            tokio::select! {
                () = sleep(poll) => {}
                () = rotator.change() => woken = Some(Instant::now()),
            }
        } else if !wrote || at_once >= AT_ONCE {
            at_once = 0;
            sleep(poll).await;
        }
    }
}

fn sentence(trouble: &Trouble) -> String {
    match trouble.status {
        403 => format!("{trouble} (what the account of the rotator needs is in certs/README.md)"),
        _ => trouble.to_string(),
    }
}
