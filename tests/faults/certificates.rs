//! Certificates change, and end.

use std::time::Duration;

use crate::apiserver::Failure;
use crate::balancer::Dead;
use crate::outside::authority::{Authority, Volume};
use crate::row::Row;
use crate::stage::Stage;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A new certificate of the same authority, again and again.
pub async fn rotated(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let rounds = if full { 60 } else { 6 };
    let before = reloads(stage).await?;
    let ((), tally) = stage
        .while_jobs_are_created(async |stage| {
            for _ in 0..rounds {
                let leaf = stage.authority.leaf(DAY)?;
                let files = [("tls.crt", &*leaf.certificate), ("tls.key", &*leaf.key)];
                stage.certificate.publish(&files)?;
                tokio::time::sleep(Duration::from_millis(700)).await;
            }
            // The last one may be noticed by the poll only.
            tokio::time::sleep(Duration::from_secs(6)).await;
            Ok(())
        })
        .await?;
    let seen = reloads(stage).await? - before;
    // Both replicas, and at the very least the last of each.
    if seen < 2.0 {
        return Err(Failure::new("the replicas did not read the new certificates"));
    }
    Row::new(&tally, &[], format!("{rounds} certificates, read {seen} times by two replicas"))
}

/// Another authority, with a time in which both are trusted.
pub async fn another_authority(stage: &mut Stage, _: bool) -> Result<Row, Failure> {
    let ((), tally) = stage
        .while_jobs_are_created(async |stage| {
            let next = Authority::new("faults 2")?;
            stage.trust(&[&stage.authority.pem, &next.pem]).await?;
            let leaf = next.leaf(DAY)?;
            let before = reloads(stage).await?;
            stage.certificate.publish(&[("tls.crt", &leaf.certificate), ("tls.key", &leaf.key)])?;
            for _ in 0..100 {
                if reloads(stage).await? - before >= 2.0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            stage.trust(&[&next.pem]).await?;
            stage.authority = next;
            Ok(())
        })
        .await?;
    Row::new(&tally, &[], "old and new trusted, then the new one served, then alone".to_owned())
}

/// The certificate of one replica ends and is renewed later.
pub async fn expiring(stage: &mut Stage, _: bool) -> Result<Row, Failure> {
    let volume = Volume::new(stage.plane()?.folder().join("expiring"))?;
    let leaf = stage.authority.leaf(Duration::from_secs(20))?;
    volume.publish(&[("tls.crt", &leaf.certificate), ("tls.key", &leaf.key)])?;
    let mut settings = stage.settings(0);
    settings.certificate = volume.path().display().to_string();
    stage.start(0, settings)?;
    stage.replica(0)?.wait(true).await?;
    stage.balance(Dead::Kept).await?;
    let ((), tally) = stage
        .while_jobs_are_created(async |stage| {
            stage.replica(0)?.wait(false).await?;
            // Beyond its end: the probes must have taken it out by then.
            tokio::time::sleep(Duration::from_secs(15)).await;
            let leaf = stage.authority.leaf(DAY)?;
            volume.publish(&[("tls.crt", &leaf.certificate), ("tls.key", &leaf.key)])?;
            stage.replica(0)?.wait(true).await
        })
        .await?;
    stage.restore(0).await?;
    Row::new(&tally, &[], "not ready before it ended, ready again when renewed".to_owned())
}

async fn reloads(stage: &mut Stage) -> Result<f64, Failure> {
    let mut sum = 0.0;
    for n in [0, 1] {
        let replica = stage.replica(n)?;
        sum +=
            replica.metric("jobshape_reloads_total{result=\"ok\",source=\"certificate\"}").await?;
    }
    Ok(sum)
}
