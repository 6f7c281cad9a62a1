//! What one request gets, whatever it is.

use std::time::{Duration, Instant};

use super::{ENFORCE, Reply, Talk, UID, options, review, soon, start};
use jobshape::core::judge::Shapes;
use jobshape::edges::serve::Options;
use jobshape::formats::review::{Answer, Entrance, answer};
use tokio::net::TcpStream;

const AUDIT: &str = "/validate/audit";

fn assert_refused(reply: &Reply, code: u16) {
    assert_eq!(reply.status, 200, "{reply:?}");
    let response = reply.response();
    assert_eq!(response["uid"], UID);
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["code"], code);
}

fn assert_admitted_with_warning(reply: &Reply) {
    assert_eq!(reply.status, 200, "{reply:?}");
    let response = reply.response();
    assert_eq!(response["uid"], UID);
    assert_eq!(response["allowed"], true);
    assert_eq!(response["warnings"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_review_is_answered_on_both_paths() {
    let server = start(options());
    for path in ["/validate/enforce?timeout=5s", AUDIT] {
        let reply = server.post(path, review(0)).await;
        assert_eq!(reply.status, 200);
        assert!(reply.head.contains("content-type: application/json"), "{}", reply.head);
        assert_eq!(reply.response()["uid"], UID);
    }
}

#[tokio::test]
async fn the_path_says_which_entrance_it_is() {
    fn tell(_: &Shapes, entrance: Entrance, _: &[u8]) -> Answer {
        jobshape::formats::review::undecided(entrance, Some(UID), 403, "told")
    }
    let server = start(Options { decide: tell, ..options() });
    assert_refused(&server.post(ENFORCE, "{}").await, 403);
    assert_admitted_with_warning(&server.post(AUDIT, "{}").await);
}

#[tokio::test]
async fn one_connection_serves_many_requests_and_any_content_type() {
    let server = start(options());
    let mut talk = server.connect().await;
    for kind in ["application/json", "text/plain", "nonsense"] {
        let body = review(3);
        let length = body.len();
        talk.send(&format!(
            "POST {ENFORCE} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
        .await;
        assert_eq!(talk.reply().await.response()["uid"], UID);
    }
}

#[tokio::test]
async fn other_paths_and_methods_get_one_line() {
    let server = start(options());
    let reply = server.post("/validate", "{}").await;
    assert_eq!((reply.status, reply.body.lines().count()), (404, 1));
    for method in ["GET", "PUT", "DELETE"] {
        let mut talk = server.connect().await;
        talk.send(&format!("{method} {ENFORCE} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        let reply = talk.reply().await;
        assert_eq!((reply.status, reply.body.lines().count()), (405, 1), "{method}");
        assert!(reply.head.contains("allow: post"), "{}", reply.head);
    }
}

#[tokio::test]
async fn an_oversize_body_is_refused_or_warned_about_by_its_uid() {
    let server = start(options());
    let body = review(65 * 1024);
    assert_refused(&server.post(ENFORCE, &body).await, 413);
    assert_admitted_with_warning(&server.post(AUDIT, &body).await);
    assert_eq!(server.metric("jobshape_oversize_total").await, Some(2.0));
}

#[tokio::test]
async fn an_oversize_body_without_a_uid_is_413() {
    let server = start(options());
    let body = "x".repeat(65 * 1024);
    for path in [ENFORCE, AUDIT] {
        assert_eq!(server.post(path, &body).await.status, 413);
    }
}

#[tokio::test]
async fn a_client_that_sends_far_too_much_still_hears_why() {
    let mut options = options();
    options.limits.body_bytes = 1 << 20;
    let server = start(options);
    // More than sockets hold, so that the client is still sending when the limit is passed; and
    // in chunks, so that no length announces it.
    let mut talk = server.connect().await;
    let first = review(2048);
    talk.send(&format!("POST {ENFORCE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"))
        .await;
    talk.send(&format!("{:x}\r\n{first}\r\n", first.len())).await;
    let chunk = format!("{:x}\r\n{}\r\n", 64 * 1024, "x".repeat(64 * 1024));
    for _ in 0..60 {
        talk.send(&chunk).await;
    }
    talk.send("0\r\n\r\n").await;
    assert_refused(&talk.reply().await, 413);
}

#[tokio::test]
async fn a_large_body_within_the_limit_is_judged() {
    let mut options = options();
    options.limits.body_bytes = 4 << 20;
    let server = start(options);
    let reply = server.post(ENFORCE, review(3 << 20)).await;
    assert_eq!(reply.response()["uid"], UID);
}

#[tokio::test]
async fn garbage_is_answered_and_the_server_lives() {
    let server = start(Options { decide: answer, ..options() });
    let reply = server.post(ENFORCE, "\u{0}\u{1}garbage").await;
    assert!(reply.status >= 400, "{reply:?}");
    // Not HTTP at all, and not TLS at all.
    let mut talk = server.connect().await;
    talk.send("\r\n\r\n\u{1}\u{2}\r\n\r\n").await;
    talk.closed().await;
    let mut talk = Talk(soon(TcpStream::connect(server.webhook)).await.unwrap());
    talk.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    talk.closed().await;
    // Came and went, as probes of load balancers do: no handshake that failed.
    drop(soon(TcpStream::connect(server.webhook)).await.unwrap());
    assert!(server.post(ENFORCE, "{}").await.status >= 200);
    let series = "jobshape_handshake_errors_total{reason=\"not_tls\"}";
    assert_eq!(server.metric(series).await, Some(1.0));
}

#[tokio::test]
async fn a_panic_is_an_answer_and_the_server_lives() {
    fn misbehave(_: &Shapes, _: Entrance, body: &[u8]) -> Answer {
        panic!("no end of {} bytes", body.len());
    }
    let mut options = Options { decide: misbehave, ..options() };
    options.limits.body_bytes = 1 << 20;
    let server = start(options);
    // A small body is judged in place, a large one aside.
    for padding in [0, 100 * 1024] {
        assert_refused(&server.post(ENFORCE, review(padding)).await, 500);
        assert_admitted_with_warning(&server.post(AUDIT, review(padding)).await);
    }
    assert_eq!(server.post(ENFORCE, "no uid").await.status, 500);
    assert_eq!(server.metric("jobshape_panics_total").await, Some(5.0));
}

#[tokio::test]
async fn a_stalled_body_is_answered_within_the_callers_patience() {
    let server = start(options());
    let start = Instant::now();
    let mut talk = server.connect().await;
    let body = review(2000);
    talk.send(&(super::head("/validate/enforce?timeout=1s", body.len()) + &body[..1000])).await;
    assert_refused(&talk.reply().await, 408);
    let took = start.elapsed();
    assert!(took > Duration::from_millis(500), "{took:?}");
    assert_eq!(server.metric("jobshape_late_total").await, Some(1.0));
    // The rest of the body must not be taken for a request.
    talk.closed().await;
}

#[tokio::test]
async fn a_decision_that_takes_too_long_is_answered_without_it() {
    fn slow(shapes: &Shapes, entrance: Entrance, body: &[u8]) -> Answer {
        std::thread::sleep(Duration::from_millis(1500));
        super::admit(shapes, entrance, body)
    }
    let mut options = Options { decide: slow, ..options() };
    options.limits.body_bytes = 1 << 20;
    let server = start(options);
    let start = Instant::now();
    let reply = server.post("/validate/enforce?timeout=1s", review(100 * 1024)).await;
    assert_refused(&reply, 504);
    assert!(start.elapsed() < Duration::from_millis(1500), "it was waited for");
    assert_eq!(server.metric("jobshape_late_total").await, Some(1.0));
}
