//! The directory of shapes is not what it should be.

use std::time::{Duration, Instant};

use crate::apiserver::Failure;
use crate::row::Row;
use crate::stage::{Stage, shape};

/// Emptied: what was good is kept.
pub async fn emptied(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    kept(stage, full, &[]).await
}

/// Replaced by one that cannot be loaded: what was good is kept.
pub async fn broken(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let broken = shape("broken").replace("kind: JobShape", "kind: JobShap");
    kept(stage, full, &[("shape.yaml", &broken)]).await
}

async fn kept(stage: &mut Stage, full: bool, files: &[(&str, &str)]) -> Result<Row, Failure> {
    let seconds = if full { 30 } else { 3 };
    let ((), tally) = stage
        .while_jobs_are_created(async |stage| {
            stage.shapes.publish(files)?;
            failing(stage, 1.0).await?;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            for n in [0, 1] {
                stage.replica(n)?.wait(true).await?;
            }
            stage.shapes.publish(&[("shape.yaml", &shape("repaired"))])?;
            failing(stage, 0.0).await
        })
        .await?;
    Row::new(&tally, &[], format!("for {seconds} s, seen by both, ready all along"))
}

/// Replaced twice a second.
pub async fn restless(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let rounds = if full { 60 } else { 10 };
    let before = stage.replica(0)?.metric("jobshape_shapes_generation").await?;
    let ((), tally) = stage
        .while_jobs_are_created(async |stage| {
            for round in 0..rounds {
                stage.shapes.publish(&[("shape.yaml", &shape(&format!("round {round}")))])?;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            Ok(())
        })
        .await?;
    let seen = stage.replica(0)?.metric("jobshape_shapes_generation").await? - before;
    if seen < 1.0 {
        return Err(Failure::new("the replica followed none of the changes"));
    }
    Row::new(&tally, &[], format!("{rounds} times, {seen} generations put in force"))
}

/// Waits until both replicas say that the shapes they see cannot be used, or can.
async fn failing(stage: &mut Stage, wanted: f64) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let mut all = true;
        for n in [0, 1] {
            let name = "jobshape_reload_failing{source=\"shapes\"}";
            all &= stage.replica(n)?.metric(name).await? == wanted;
        }
        if all {
            return Ok(());
        }
        if began.elapsed() > Duration::from_secs(30) {
            return Err(Failure::new(format!("the replicas do not say that failing is {wanted}")));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
