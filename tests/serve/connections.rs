//! What a client can do to a connection, and for how long.

use std::time::{Duration, Instant};

use super::{Talk, UID, options, review, soon, start};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

#[tokio::test]
async fn a_silent_handshake_is_closed_and_holds_up_nobody() {
    let server = start(options());
    let begin = Instant::now();
    let mut silent = Talk(soon(TcpStream::connect(server.webhook)).await.unwrap());
    assert_eq!(server.post("/validate/enforce", review(0)).await.response()["uid"], UID);
    assert!(begin.elapsed() < Duration::from_millis(900), "held up by a silent client");
    silent.closed().await;
    let took = begin.elapsed();
    assert!(took > Duration::from_millis(900) && took < Duration::from_secs(3), "{took:?}");
    assert_eq!(server.metric("jobshape_handshake_errors_total").await, Some(1.0));
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
async fn a_connection_over_the_cap_waits_for_another_to_end() {
    let mut options = options();
    options.limits.connections = 1;
    options.limits.header = Duration::from_secs(60);
    let server = start(options);
    let first = server.connect().await;
    assert_eq!(server.metric("jobshape_connections").await, Some(1.0));
    let second = tokio::time::timeout(Duration::from_millis(200), server.connect()).await;
    assert!(second.is_err(), "there is a slot too many");
    drop((first, second));
    assert_eq!(server.post("/validate/enforce", review(0)).await.response()["uid"], UID);
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
