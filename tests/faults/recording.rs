//! `--record` on a disk that is full.

use std::time::Duration;

use crate::apiserver::Failure;
use crate::balancer::Dead;
use crate::row::Row;
use crate::stage::Stage;

/// One replica records to a disk of 32 KiB.
pub async fn disk_full(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let seconds = if full { 30 } else { 6 };
    let folder = stage.plane()?.folder().join("recorded");
    std::fs::create_dir_all(&folder).map_err(Failure::during("making a folder"))?;
    let mut settings = stage.settings(0);
    settings.own_mounts = true;
    settings.before =
        format!("mount -t tmpfs -o size=32k,mode=700 none {} || exit 3", folder.display());
    settings.flags.extend(["--record".to_owned(), folder.display().to_string()]);
    stage.start(0, settings)?;
    stage.replica(0)?.wait(true).await?;
    stage.balance(Dead::Kept).await?;
    let ((), tally) = stage
        .while_jobs_are_created(async |_| {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(())
        })
        .await?;
    let dropped =
        stage.replica(0)?.metric("jobshape_record_dropped_total{reason=\"disk\"}").await?;
    stage.restore(0).await?;
    if dropped == 0.0 {
        return Err(Failure::new("the disk was not full, or nobody counted it"));
    }
    Row::new(&tally, &[], format!("for {seconds} s: {dropped} reviews not recorded, and counted"))
}
