//! More than there is room for: connections, bodies, decisions.

use std::time::Duration;

use super::hold::Hold;
use super::{ENFORCE, Reply, Talk, UID, head, options, review, soon, start, until};
use jobshape::core::judge::Shapes;
use jobshape::edges::serve::Options;
use jobshape::formats::review::{Answer, Entrance};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

async fn assert_answered<S: AsyncRead + AsyncWrite + Unpin>(talk: &mut Talk<S>) {
    talk.post(ENFORCE, review(0).as_bytes()).await;
    assert_eq!(talk.reply().await.response()["uid"], UID);
}

fn assert_shed(reply: &Reply) {
    assert_eq!(reply.status, 503, "{reply:?}");
    assert!(reply.head.contains("retry-after: 1\r\n"), "{}", reply.head);
}

static HOLD: Hold = Hold::new();

fn held(shapes: &Shapes, entrance: Entrance, body: &[u8]) -> Answer {
    HOLD.decide(body);
    super::admit(shapes, entrance, body)
}

#[tokio::test]
async fn five_hundred_that_send_nothing_keep_nobody_out() {
    let mut options = options();
    options.limits.connections = 50;
    options.limits.handshake = Duration::from_secs(60);
    options.limits.header = Duration::from_secs(60);
    let server = start(options);
    let mut kept = server.connect().await;
    assert_answered(&mut kept).await;
    let mut others = vec![];
    for count in 0..500 {
        let mut other = server.knock().await;
        if count % 2 == 0 {
            other.send("\u{16}\u{3}\u{1}").await;
        }
        others.push(other);
    }
    // Half a request, which is no better.
    let mut half = vec![];
    for _ in 0..60 {
        let mut talk = server.connect().await;
        talk.send("POST /validate/enforce HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{").await;
        half.push(talk);
    }
    assert_answered(&mut kept).await;
    assert_answered(&mut server.connect().await).await;
    assert!(server.metric("jobshape_connections_evicted_total").await.unwrap() >= 500.0);
    assert!(server.metric("jobshape_connections").await.unwrap() <= 51.0);
    // The first that came are those that went.
    others[0].closed().await;
}

#[tokio::test]
async fn of_those_that_had_an_answer_the_longest_idle_goes() {
    let mut options = options();
    options.limits.connections = 2;
    options.limits.header = Duration::from_secs(60);
    let server = start(options);
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    assert_answered(&mut first).await;
    assert_answered(&mut second).await;
    assert_answered(&mut first).await;
    let mut third = server.connect().await;
    assert_answered(&mut third).await;
    second.closed().await;
    assert_answered(&mut first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_is_judged_stays_and_others_are_told_to_come_again() {
    let mut options = Options { decide: held, ..options() };
    options.limits.connections = 1;
    options.limits.body_bytes = 1 << 20;
    options.limits.shed_connections = 1;
    options.limits.header = Duration::from_secs(60);
    let server = start(options);
    HOLD.begin();
    let mut busy = server.connect().await;
    busy.post(ENFORCE, review(100 << 10).as_bytes()).await;
    HOLD.until_one_is_held().await;
    let mut shed = server.connect().await;
    // Beyond those that are told: it waits for one of them to go.
    let mut waits = Box::pin(server.connect());
    assert!(timeout(Duration::from_millis(300), &mut waits).await.is_err());
    shed.post(ENFORCE, review(1000).as_bytes()).await;
    let reply = shed.reply().await;
    assert_shed(&reply);
    assert!(reply.head.contains("connection: close"), "{}", reply.head);
    shed.closed().await;
    let mut waited = waits.await;
    waited.post(ENFORCE, review(1000).as_bytes()).await;
    assert_shed(&waited.reply().await);
    HOLD.end();
    assert_eq!(busy.reply().await.response()["uid"], UID);
    assert_eq!(server.metric("jobshape_shed_total{reason=\"connections\"}").await, Some(2.0));
    assert_answered(&mut server.connect().await).await;
}

#[tokio::test]
async fn a_body_beyond_the_budget_is_shed_at_once_and_the_others_go_on() {
    let mut options = options();
    options.limits.stall = Duration::from_secs(60);
    options.limits.bodies_bytes = 3000;
    options.limits.first_bytes = 3000;
    let server = start(options);
    let mut greedy = server.connect().await;
    let body = review(2500);
    greedy.send(&(head(ENFORCE, body.len()) + &body[..2000])).await;
    server.until_metric("jobshape_body_bytes", 2000.0).await;
    let before = server.get("/metrics").await.body;
    // It is still sending when it is shed, and hears it all the same.
    let mut shed = server.connect().await;
    let large = review(30_000);
    shed.send(&(head(ENFORCE, large.len()) + &large[..20_000])).await;
    server.until_metric("jobshape_body_bytes", 2000.0).await;
    shed.send(&large[20_000..]).await;
    assert_shed(&shed.reply().await);
    // No review, and the connection is as good as before.
    let reviews = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("jobshape_reviews_total"));
        lines.map(str::to_owned).collect()
    };
    let after = server.get("/metrics").await.body;
    assert!(!reviews(&before).is_empty());
    assert_eq!(reviews(&before), reviews(&after));
    assert_eq!(server.metric("jobshape_shed_total{reason=\"bodies\"}").await, Some(1.0));
    assert_answered(&mut shed).await;
    greedy.send(&body[2000..]).await;
    assert_eq!(greedy.reply().await.response()["uid"], UID);
    server.until_metric("jobshape_body_bytes", 0.0).await;
    server.until_metric("jobshape_requests_in_flight", 0.0).await;
}

#[tokio::test]
async fn large_bodies_that_stand_still_leave_room_for_ordinary_ones() {
    let mut options = options();
    options.limits.body_bytes = 1 << 20;
    options.limits.bodies_bytes = 512 << 10;
    options.limits.first_bytes = 256 << 10;
    options.limits.stall = Duration::from_secs(60);
    let server = start(options);
    let large = review(700 << 10);
    let mut stuck = vec![];
    for _ in 0..2 {
        let mut talk = server.connect().await;
        talk.send(&(head(ENFORCE, large.len()) + &large[..180 << 10])).await;
        stuck.push(talk);
    }
    server.until_metric("jobshape_body_bytes", f64::from(360 << 10)).await;
    assert_shed(&server.post(ENFORCE, &large).await);
    assert_eq!(server.post(ENFORCE, review(60 << 10)).await.response()["uid"], UID);
}

#[tokio::test]
async fn who_sends_the_beginning_of_a_body_and_stops_keeps_nobody_out() {
    const PIECE: usize = 60 << 10;
    let mut options = options();
    options.limits.body_bytes = 1 << 20;
    options.limits.body_time = Duration::from_secs(60);
    options.limits.bodies_bytes = 1 << 20;
    // A few bytes more, so that there is room for the slow one's.
    options.limits.first_bytes = 4 * PIECE + 100;
    let server = start(options);
    let body = review(2 * PIECE);
    let mut slow = server.connect().await;
    slow.send(&(head(ENFORCE, body.len()) + &body[..PIECE])).await;
    let mut sent = PIECE;
    let mut still = vec![];
    for count in 2..=4 {
        let mut talk = server.connect().await;
        talk.send(&(head(ENFORCE, body.len()) + &body[..PIECE])).await;
        server.until_metric("jobshape_body_bytes", (count * PIECE) as f64).await;
        still.push(talk);
    }
    // Each is shed until one of them has stood still for long enough, and the slow one goes on.
    let mut shed = 0;
    soon(async {
        loop {
            let reply = server.post(ENFORCE, review(PIECE / 2)).await;
            if reply.status == 200 {
                break;
            }
            assert_shed(&reply);
            shed += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
            if sent < PIECE + 100 {
                slow.send(&body[sent..=sent]).await;
                sent += 1;
            }
        }
    })
    .await;
    assert!(shed > 0, "they were put out at once");
    let reply = still[0].reply().await;
    assert_shed(&reply);
    assert!(reply.head.contains("connection: close"), "{}", reply.head);
    still[0].closed().await;
    let metric = async |reason: &str| {
        server.metric(&format!("jobshape_shed_total{{reason=\"{reason}\"}}")).await.unwrap()
    };
    assert_eq!((metric("stalled").await, metric("bodies").await), (1.0, f64::from(shed)));
    // Those who are not needed go on when they go on.
    slow.send(&body[sent..]).await;
    assert_eq!(slow.reply().await.response()["uid"], UID);
    still[2].send(&body[PIECE..]).await;
    assert_eq!(still[2].reply().await.response()["uid"], UID);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn large_bodies_wait_for_their_turn_and_not_for_ever() {
    fn long(shapes: &Shapes, entrance: Entrance, body: &[u8]) -> Answer {
        std::thread::sleep(Duration::from_secs(4));
        super::admit(shapes, entrance, body)
    }
    let mut options = Options { decide: long, ..options() };
    options.limits.body_bytes = 1 << 20;
    let server = start(options);
    let cores = std::thread::available_parallelism().unwrap().get();
    let mut talks = vec![];
    for _ in 0..cores {
        let mut talk = server.connect().await;
        talk.post(ENFORCE, review(100 << 10).as_bytes()).await;
        talks.push(talk);
    }
    until(async || server.metric("jobshape_requests_in_flight").await.unwrap() >= cores as f64)
        .await;
    soon(tokio::time::sleep(Duration::from_millis(200))).await;
    let reply = server.post("/validate/enforce?timeout=1s", review(100 << 10)).await;
    assert_shed(&reply);
    assert_eq!(server.metric("jobshape_shed_total{reason=\"decisions\"}").await, Some(1.0));
    for mut talk in talks {
        assert_eq!(talk.reply().await.response()["uid"], UID);
    }
}
