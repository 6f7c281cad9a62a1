//! No replica at all: what failurePolicy says, and the way back.

use std::time::{Duration, Instant};

use crate::apiserver::Failure;
use crate::row::Row;
use crate::stage::{NAMESPACE, Stage};
use crate::traffic::{SLACK, Window, job};

/// Both replicas are killed, and come back.
pub async fn all_down(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let seconds = if full { 30 } else { 5 };
    let open = stage.cluster().namespace("ignored").await?;
    // Up: a namespace that no shape names is refused, so the configuration is in effect.
    let _ignoring = stage.with_policy(&open, "Ignore").await?;
    let ((said, window), tally) = stage
        .while_jobs_are_created(async |stage| {
            let from = Instant::now();
            for n in [0, 1] {
                stage.replica(n)?.signal("KILL")?;
            }
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let refused = stage.session().create_job(NAMESPACE, &job()).await;
            let Err(refusal) = refused else {
                return Err(Failure::new("with every replica down a Job was admitted under Fail"));
            };
            if !refusal.is_failed_call() {
                return Err(Failure::new(format!("under Fail it said: {refusal}")));
            }
            let admitted = stage.session().create_job(&open.name, &job()).await;
            admitted.map_err(Failure::during("a Job under Ignore with every replica down"))?;
            for n in [0, 1] {
                stage.restore(n).await?;
            }
            // Nothing else is done: what follows has to go well by itself.
            Ok((refusal.message, Window { from, to: Instant::now() + SLACK }))
        })
        .await?;
    let after = stage.session().create_job(NAMESPACE, &job()).await;
    after.map_err(Failure::during("a Job after both replicas were back"))?;
    let said: String = said.chars().take(60).collect();
    Row::new(&tally, &[window], format!("for {seconds} s: Fail says \"{said}…\", Ignore admits"))
}
