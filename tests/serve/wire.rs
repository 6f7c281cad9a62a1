//! The ways HTTP/1.1 may be spoken.

use std::time::Duration;

use super::{ENFORCE, UID, head, options, review, soon, start};
use tokio::io::AsyncReadExt;

#[tokio::test]
async fn requests_may_be_sent_ahead() {
    let server = start(options());
    let mut talk = server.connect().await;
    let one = |padding: usize| {
        let body = review(padding);
        head(ENFORCE, body.len()) + &body
    };
    talk.send(&(one(0) + &one(1000) + "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n" + &one(0))).await;
    // Three answers to reviews and one that says where to go, in this order.
    let text = soon(async {
        let mut text = String::new();
        while text.matches(UID).count() < 3 {
            let mut more = [0; 4096];
            let count = talk.0.read(&mut more).await.unwrap();
            assert_ne!(count, 0, "{text}");
            text.push_str(std::str::from_utf8(&more[..count]).unwrap());
        }
        text
    })
    .await;
    let statuses: Vec<&str> = text.split("HTTP/1.1 ").skip(1).map(|part| &part[..3]).collect();
    assert_eq!(statuses, ["200", "200", "404", "200"]);
}

#[tokio::test]
async fn a_client_that_asks_before_it_sends_is_told_to() {
    let server = start(options());
    let mut talk = server.connect().await;
    let body = review(100);
    let asks = head(ENFORCE, body.len()).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    talk.send(&asks).await;
    let mut told = [0; 25];
    soon(talk.0.read_exact(&mut told)).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    talk.send(&body).await;
    assert_eq!(talk.reply().await.response()["uid"], UID);
}

#[tokio::test]
async fn a_body_may_come_in_chunks_of_any_size() {
    let server = start(options());
    let mut talk = server.connect().await;
    talk.send(&format!("POST {ENFORCE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"))
        .await;
    let body = review(300);
    let (mut rest, mut size) = (body.as_str(), 1);
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        talk.send(&format!("{:x}\r\n{chunk}\r\n", chunk.len())).await;
        (rest, size) = (after, size * 3);
    }
    talk.send("0\r\nTrailer-Of: nothing\r\n\r\n").await;
    assert_eq!(talk.reply().await.response()["uid"], UID);
}

#[tokio::test]
async fn who_reads_slowly_gets_all_of_it() {
    let server = start(options());
    let mut talk = server.connect().await;
    talk.post(ENFORCE, review(100).as_bytes()).await;
    let mut text = Vec::new();
    while !text.ends_with(b"}}") {
        let mut byte = [0; 16];
        let count = soon(talk.0.read(&mut byte)).await.unwrap();
        assert_ne!(count, 0);
        text.extend_from_slice(&byte[..count]);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(String::from_utf8(text).unwrap().contains(UID));
}
