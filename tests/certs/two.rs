//! Two rotators, and an API server that goes away.

use serde_json::Value;

use super::stage::{Rotator, Stage, TLS, cluster};
use crate::apiserver::{Cluster, ControlPlane, Options};

async fn writes(rotator: &Rotator) -> bool {
    rotator.metric("jobshape_rotation_active").await == 1.0
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_writes_also_when_the_lease_is_deleted() {
    let stage = Stage::new(cluster().await, "two").await;
    stage.apply(&stage.configuration(&[1]), &[]);
    let mut one = stage.rotator("one", &[]);
    stage.until("the first to write", &one, async || writes(&one).await).await;
    let two = stage.rotator("two", &[]);
    stage.until("the second to stand by", &two, async || two.is_ready().await).await;
    stage.until("a certificate", &one, async || stage.trusts(1).await).await;

    stage.delete(&stage.lease_path()).await;
    let holder = async || {
        let lease = stage.admin.get(&stage.lease_path()).await.unwrap().body;
        assert!(!writes(&two).await, "{}", two.log());
        lease["spec"]["holderIdentity"].clone()
    };
    stage.until("a Lease", &one, async || holder().await != Value::Null).await;
    assert_eq!(holder().await, "one");
    assert!(writes(&one).await);
    assert_eq!(two.metric("jobshape_rotation_steps_total").await, 0.0, "{}", two.log());

    one.stop().await;
    stage.until("the second to take over", &two, async || writes(&two).await).await;
    stage.delete(&stage.secret_path(TLS)).await;
    stage.until("its certificate", &two, async || !stage.certificate().await.is_empty()).await;
    assert_eq!(two.metric("jobshape_rotation_steps_total").await, 1.0, "{}", two.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_restarts_is_waited_for() {
    let options = Options { controllers: false, ..Options::default() };
    let cluster = Cluster::Own(ControlPlane::start(&options).await.unwrap());
    let stage = Stage::new(&cluster, "restart").await;
    stage.apply(&stage.configuration(&[1]), &[]);
    let mut rotator = stage.rotator("one", &[]);
    stage.until("trust", &rotator, async || stage.trusts(1).await).await;
    let Cluster::Own(plane) = &cluster else { unreachable!() };
    plane.kill_apiserver().unwrap();
    let said = async || rotator.get("/readyz").await.starts_with("HTTP/1.1 503");
    stage.until("it to say that nobody answers", &rotator, said).await;
    let again = plane.start_apiserver_again().unwrap();
    stage.until("it to be well again", &rotator, async || rotator.is_ready().await).await;
    stage.delete(&stage.secret_path(TLS)).await;
    stage.until("a certificate", &rotator, async || !stage.certificate().await.is_empty()).await;
    assert!(rotator.is_running());
    drop((rotator, again));
}
