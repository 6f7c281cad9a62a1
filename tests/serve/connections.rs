//! What a client can do to a connection, and for how long.

use std::time::{Duration, Instant};

use super::{Running, Talk, UID, options, review, soon, start, until};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

#[tokio::test]
async fn a_silent_handshake_is_closed_and_holds_up_nobody() {
    let server = start(options());
    let begin = Instant::now();
    let mut silent = Talk(soon(TcpStream::connect(server.webhook)).await.unwrap());
    assert_eq!(server.post("/validate/enforce", review(0)).await.response()["uid"], UID);
    silent.closed().await;
    let took = begin.elapsed();
    assert!(took > Duration::from_millis(900), "{took:?}");
    assert_eq!(failures(&server, "timeout").await, 1.0);
}

#[tokio::test]
async fn half_a_header_and_no_header_are_closed() {
    let mut options = options();
    options.limits.header = Duration::from_millis(300);
    let server = start(options);
    for sent in ["", "POST /validate/enforce HTTP/1.1\r\nHost: a\r\nX-Slow: "] {
        let begin = Instant::now();
        let mut talk = server.connect().await;
        talk.send(sent).await;
        talk.closed().await;
        let took = begin.elapsed();
        assert!(took > Duration::from_millis(250) && took < Duration::from_secs(2), "{took:?}");
    }
}

#[tokio::test]
async fn only_http_1_1_is_agreed_on() {
    let server = start(options());
    let talk = server.connect().await;
    assert_eq!(talk.0.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
}

#[tokio::test]
async fn the_certificate_is_for_every_loopback_name() {
    let server = start(options());
    for name in ["127.0.0.1", "::1", "localhost"] {
        server.connect_as(name).await;
    }
}

#[tokio::test]
async fn after_its_age_an_answer_closes_a_connection_and_nothing_else_does() {
    let mut options = options();
    options.limits.header = Duration::from_secs(60);
    options.limits.age = Duration::from_millis(300);
    let server = start(options);
    let mut talk = server.connect().await;
    for close in [false, true] {
        talk.post("/validate/enforce", review(0).as_bytes()).await;
        let reply = talk.reply().await;
        assert_eq!(reply.response()["uid"], UID);
        assert_eq!(reply.head.contains("connection: close"), close, "{}", reply.head);
        // Idle beyond its age, it is still there: a request could just be on its way.
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    talk.closed().await;
}

#[tokio::test]
async fn a_failed_handshake_is_counted_by_its_reason() {
    let server = start(options());
    let strict = super::client(&[&super::certificates::pair("x").0], None);
    assert!(server.handshake(&strict, "127.0.0.1").await.is_err());
    until(async || failures(&server, "bad_certificate").await == 1.0).await;
    let mut talk = server.knock().await;
    talk.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    talk.closed().await;
    assert_eq!(failures(&server, "not_tls").await, 1.0);
    // TLS 1.1 and no later one, as an old client greets.
    let mut talk = server.knock().await;
    soon(talk.0.write_all(&OLD_HELLO)).await.unwrap();
    talk.closed().await;
    assert_eq!(failures(&server, "nothing_in_common").await, 1.0);
    // Who just leaves is no failure.
    drop(server.knock().await);
    server.post("/validate/enforce", review(0)).await;
    for reason in ["timeout", "client_certificate", "other"] {
        assert_eq!(failures(&server, reason).await, 0.0, "{reason}");
    }
}

/// A ClientHello for TLS 1.1: version, random, no session, one cipher, no compression.
const OLD_HELLO: [u8; 50] = {
    let mut hello = [7; 50];
    let start = [22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 2];
    let end = [0, 0, 2, 0, 0x2f, 1, 0];
    let mut at = 0;
    while at < start.len() {
        hello[at] = start[at];
        at += 1;
    }
    let mut at = 0;
    while at < end.len() {
        hello[43 + at] = end[at];
        at += 1;
    }
    hello
};

async fn failures(server: &Running, reason: &str) -> f64 {
    let series = format!("jobshape_handshake_errors_total{{reason=\"{reason}\"}}");
    server.metric(&series).await.unwrap()
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_client_that_does_not_read_is_given_up() {
    let mut options = options();
    options.limits.write = Duration::from_millis(500);
    options.limits.header = Duration::from_secs(60);
    let server = start(options);
    let mut talk = server.connect().await;
    // Ask and never listen, until both directions are full.
    let asks = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000);
    let full = async {
        loop {
            if talk.0.write_all(asks.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), full).await.expect("nobody gave up");
}
