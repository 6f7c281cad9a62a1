//! Two builds of the program, and a key of shapes that only the newer knows: forwards, in between
//! and back, with Jobs being created all along.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;

use crate::apiserver::{Failure, Identity, Session};
use crate::installation::{GOVERNED, Installation, submitter};
use crate::situations::{ADMITTED, REFUSED, tampered, worker};

/// Builds it, or finds it built.
fn older() -> Result<String, Failure> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install/older.sh");
    let output = Command::new(script).output().map_err(Failure::during("building the older"))?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The committed Job and a tampered one in turns, as the submitter, until it is told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    sending: JoinHandle<Result<u64, Failure>>,
}

impl Load {
    fn start(session: Session, good: Value, bad: Value) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let sending = tokio::spawn(async move {
            let mut sent = 0;
            while !told.load(Ordering::Relaxed) {
                let admitted = session.dry_run_job(GOVERNED, &good).await;
                admitted.map_err(Failure::during("creating the committed Job"))?;
                match session.dry_run_job(GOVERNED, &bad).await {
                    Err(refusal) if refusal.is_by_webhook() => {}
                    other => return Err(Failure::new(format!("a tampered Job: {other:?}"))),
                }
                sent += 2;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(sent)
        });
        Load { stop, sending }
    }

    /// How many were sent, each answered as it has to be.
    async fn end(self) -> Result<u64, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.sending.await.map_err(Failure::during("creating Jobs"))?
    }
}

async fn roll(installation: &mut Installation, number: usize, to: &str) -> Result<(), Failure> {
    installation.replace_program(number, to);
    installation.stop_replica(number).await?;
    installation.start_replica(number)?;
    installation.until_ready(number).await
}

fn with_the_key(text: &str) -> String {
    text.replace("  match:\n", "  match:\n    exempt: {users: [admin]}\n")
}

/// Whether what stands in the files is in force, by replica.
async fn failing(installation: &Installation) -> Result<[bool; 2], Failure> {
    let of = async |number| installation.metric(number, "jobshape_reload_failing").await;
    Ok([of(0).await? > 0.0, of(1).await? > 0.0])
}

/// An upgrade as docs/install.md says, the mistake that it warns of, and the way back.
pub async fn there_and_back() -> Result<(), Failure> {
    let older = tokio::task::spawn_blocking(older);
    let older = older.await.map_err(Failure::during("building the older"))??;
    let newer = env!("CARGO_BIN_EXE_jobshape");
    let mut installation = Installation::new().await?;
    for number in 0..2 {
        roll(&mut installation, number, &older).await?;
    }
    installation.until_live().await?;
    let (good, bad) = (worker(&installation)?, tampered(&installation)?);
    let session = installation.cluster.session(&submitter()).await?;
    installation.until_a_job(&submitter(), &good, ADMITTED).await?;
    let load = Load::start(session, good, bad.clone());

    // The program of one replica, and then shapes before the other's: the mistake.
    roll(&mut installation, 0, newer).await?;
    installation.ship(with_the_key).await?;
    installation.until_said("replicas", "what stands in its files now cannot be loaded").await?;
    assert_eq!(failing(&installation).await?, [false, true]);
    installation.apply_again()?;
    installation.until_live().await?;

    // In the right order.
    roll(&mut installation, 1, newer).await?;
    installation.ship(with_the_key).await?;
    for _ in 0..2 {
        installation.until_a_job(&Identity::Admin, &bad, ADMITTED).await?;
    }
    assert_eq!(failing(&installation).await?, [false, false]);

    // Back: first the shapes, then the program.
    installation.apply_again()?;
    installation.until_live().await?;
    installation.until_a_job(&Identity::Admin, &bad, REFUSED).await?;
    for number in 0..2 {
        roll(&mut installation, number, &older).await?;
    }
    installation.until_live().await?;
    let sent = load.end().await?;
    println!("{sent} Jobs sent meanwhile, none admitted or refused that should not have been");
    if sent < 100 { Err(Failure::new("too few to say anything")) } else { Ok(()) }
}
