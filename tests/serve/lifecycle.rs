//! From start to stop: flags, readiness, metrics, draining.

use std::fs::write;
use std::time::Duration;

use super::{Talk, UID, head, options, review, soon, start, until};
use jobshape::edges::serve::{self, Options, Tls};
use rcgen::{CertificateParams, KeyPair};
use tokio::net::TcpStream;
use tokio::time::sleep;

fn pem() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["jobshape.jobshape.svc".to_owned()]).unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

#[tokio::test]
async fn a_server_with_everything_is_alive_and_ready() {
    let server = start(options());
    for (path, body) in [("/livez", "alive\n"), ("/readyz", "ready\n")] {
        let reply = server.get(path).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, body));
    }
    assert_eq!(server.get("/nowhere").await.status, 404);
    // Reviews are not taken without TLS.
    let mut talk = Talk(soon(TcpStream::connect(server.operations)).await.unwrap());
    talk.post("/validate/enforce", b"{}").await;
    assert_eq!(talk.reply().await.status, 404);
}

#[tokio::test]
async fn a_failed_self_test_is_alive_and_not_ready() {
    let mut options = options();
    options.loaded.self_test = Err("shape worker refuses its own template".to_owned());
    let server = start(options);
    assert_eq!(server.get("/livez").await.status, 200);
    let reply = server.get("/readyz").await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.body, "shape worker refuses its own template\n");
    assert_eq!(server.metric("jobshape_ready").await, Some(0.0));
}

#[tokio::test]
async fn a_certificate_that_comes_later_makes_it_ready() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    write(&cert, "").unwrap();
    let tls = Tls::Files { cert: cert.clone(), key: key.clone() };
    let server = start(Options { tls, ..options() });
    let reply = server.get("/readyz").await;
    assert_eq!((reply.status, reply.body.as_str()), (503, "no certificate yet\n"));
    assert_eq!(server.get("/livez").await.status, 200);

    // Half of it, as a careless copy leaves it: still waiting, with another reason.
    let (cert_pem, key_pem) = pem();
    write(&key, &key_pem[..40]).unwrap();
    write(&cert, &cert_pem).unwrap();
    until(async || server.get("/readyz").await.body.contains("no private key")).await;
    write(&key, &key_pem).unwrap();
    until(async || server.get("/readyz").await.status == 200).await;
    assert_eq!(server.metric("jobshape_ready").await, Some(1.0));
    assert!(server.metric("jobshape_certificate_not_after_seconds").await.unwrap() > 1e9);
}

#[tokio::test]
async fn a_mismatched_pair_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    write(&cert, pem().0).unwrap();
    write(&key, pem().1).unwrap();
    let error = serve::bind(Options { tls: Tls::Files { cert, key }, ..options() }).err().unwrap();
    assert!(error.to_string().contains("does not belong to"), "{error}");
}

#[tokio::test]
async fn an_address_in_use_is_a_sentence() {
    let server = start(options());
    let error = serve::bind(Options { listen: server.webhook, ..options() }).err().unwrap();
    let text = error.to_string();
    assert_eq!(text, format!("--listen {}: another process already listens there", server.webhook));
    let error = serve::bind(Options { ops_listen: server.operations, ..options() }).err().unwrap();
    assert!(error.to_string().starts_with("--ops-listen "), "{error}");
}

#[tokio::test]
async fn the_configuration_names_the_real_port() {
    let server = serve::bind(options()).ok().unwrap();
    let url = format!("https://127.0.0.1:{}/validate/enforce", server.webhook_address().port());
    assert!(server.configuration().unwrap().contains(&url));
    assert_ne!(server.webhook_address().port(), 0);
}

#[tokio::test]
async fn what_was_answered_is_counted() {
    let server = start(options());
    server.post("/validate/enforce", review(0)).await;
    server.post("/validate/audit", review(0)).await;
    let series = |entrance: &str| {
        format!(
            "jobshape_reviews_total{{dry_run=\"false\",entrance=\"{entrance}\",\
             operation=\"CREATE\",verdict=\"allow\"}}"
        )
    };
    assert_eq!(server.metric(&series("enforce")).await, Some(1.0));
    assert_eq!(server.metric(&series("audit")).await, Some(1.0));
    assert_eq!(server.metric("jobshape_decision_seconds_count").await, Some(2.0));
    assert_eq!(server.metric("jobshape_shapes").await, Some(1.0));
    let info = "jobshape_shape_info{digest=\"3f9a1c2e\",shape=\"worker\"}";
    assert_eq!(server.metric(info).await, Some(1.0));
    let reply = server.get("/metrics").await;
    assert!(reply.head.contains("content-type: text/plain; version=0.0.4"), "{}", reply.head);
}

#[tokio::test]
async fn in_the_lame_duck_period_everybody_is_served_and_told() {
    let mut options = options();
    options.limits.lame_duck = Duration::from_secs(60);
    let mut server = start(options);
    let mut kept = server.connect().await;
    kept.post("/validate/enforce", review(0).as_bytes()).await;
    assert!(!kept.reply().await.head.contains("connection: close"));
    server.stop();
    until(async || server.get("/readyz").await.body == "draining\n").await;
    // The old connection and a new one, each once.
    for mut talk in [kept, server.connect().await] {
        talk.post("/validate/enforce", review(0).as_bytes()).await;
        let reply = talk.reply().await;
        assert_eq!(reply.response()["uid"], UID);
        assert!(reply.head.contains("connection: close"), "{}", reply.head);
        talk.closed().await;
    }
    assert!(!server.task.is_finished());
}

#[tokio::test]
async fn shutdown_finishes_what_is_in_flight() {
    let mut options = options();
    // Only the drain may close the idle connection.
    options.limits.header = Duration::from_secs(60);
    let mut server = start(options);
    let mut idle = server.connect().await;
    let mut busy = server.connect().await;
    let body = review(1000);
    busy.send(&(head("/validate/enforce", body.len()) + &body[..500])).await;
    sleep(Duration::from_millis(100)).await;
    server.stop();

    until(async || server.get("/readyz").await.body == "draining\n").await;
    idle.closed().await;
    until(async || TcpStream::connect(server.webhook).await.is_err()).await;
    busy.send(&body[500..]).await;
    let reply = busy.reply().await;
    assert_eq!(reply.response()["uid"], UID);
    assert!(reply.head.contains("connection: close"), "{}", reply.head);
    soon(server.task).await.unwrap();
}

#[tokio::test]
async fn shutdown_does_not_wait_for_ever() {
    let mut options = options();
    options.limits.drain = Duration::from_millis(300);
    let mut server = start(options);
    let mut stuck = server.connect().await;
    stuck.send(&head("/validate/enforce", 100)).await;
    let mut silent = Talk(soon(TcpStream::connect(server.webhook)).await.unwrap());
    sleep(Duration::from_millis(100)).await;
    server.stop();
    soon(server.task).await.unwrap();
    stuck.closed().await;
    silent.closed().await;
}
