//! `--record` of the real program.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::process::{PROGRAM, Process, SECRET, job, lines, names, review};
use super::{complaints, other_interfaces, schema};

/// Every line of every segment, the first ones apart.
fn recorded(directory: &Path) -> (Vec<Value>, Vec<Value>) {
    let (mut headers, mut reviews) = (vec![], vec![]);
    for name in names(directory) {
        let text = std::fs::read_to_string(directory.join(name)).unwrap();
        assert!(text.ends_with('\n'), "half a line: {text}");
        let mut lines = lines(&text).into_iter();
        headers.push(lines.next().unwrap());
        reviews.extend(lines);
    }
    (headers, reviews)
}

#[tokio::test]
async fn whole_reviews_are_kept_as_they_came() {
    let mut process = Process::start(&["--record", "{}kept"], Stdio::null());
    let directory = process.folder.path().join("kept");
    let mut connection = process.connect().await;
    let refused = review("governed", "u-1", &job(Some("side")));
    connection.ask("enforce", &refused).await;
    let dry = review("watched", "u-2", &job(None)).replace("\"dryRun\":false", "\"dryRun\":true");
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(&dry).unwrap()).unwrap();
    connection.ask("audit", &pretty).await;
    connection.ask("enforce", "{\"request\":{\"uid\":\"u-3\",}}").await;
    process.until_metric("jobshape_record_dropped_total{reason=\"unreadable\"}", 1).await;
    assert!(process.stop().success());

    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&directory.join(&names(&directory)[0])), 0o600);
    let (headers, reviews) = recorded(&directory);
    assert_eq!((headers.len(), reviews.len()), (1, 2));
    assert_eq!(headers[0]["sensitive"], true);
    assert_eq!(reviews[0]["review"], serde_json::from_str::<Value>(&refused).unwrap());
    assert_eq!(reviews[1]["review"], serde_json::from_str::<Value>(&dry).unwrap());
    assert_eq!([&reviews[0]["entrance"], &reviews[1]["entrance"]], ["enforce", "audit"]);
    // What the note at its front is about.
    assert!(reviews[0].to_string().contains(SECRET));
    let text = std::fs::read_to_string(directory.join(&names(&directory)[0])).unwrap();
    assert!(text.contains(&refused), "not the request's own bytes");

    let schema = schema("docs/recording.schema.json");
    for line in headers.iter().chain(&reviews) {
        assert_eq!(complaints(&schema, line), [] as [String; 0], "{line:#}");
        // What is in a review is Kubernetes' to say.
        let mut ours = line.clone();
        if ours.get("review").is_some() {
            ours["review"] = json!({});
        }
        for other in other_interfaces(&ours, &[]) {
            assert_ne!(complaints(&schema, &other), [] as [String; 0], "{other:#}");
        }
    }
    let other = json!({"jobshape": "recording", "version": 2, "sensitive": true});
    assert_ne!(complaints(&schema, &other), [] as [String; 0]);
}

#[tokio::test]
async fn nothing_is_recorded_unless_somebody_asks() {
    let mut process = Process::start(&[], Stdio::null());
    process.connect().await.ask("enforce", &review("governed", "u", &job(None))).await;
    assert_eq!(process.metric("jobshape_recorded_total").await, 0);
    assert!(process.stop().success());
    assert_eq!(names(process.folder.path()), ["shapes.yaml", "tls.crt", "tls.key"]);
}

/// The system ends every file at 64 KiB, in the middle of a line: as if the disk were full, and
/// then had room again.
#[tokio::test]
async fn half_a_line_is_taken_back_and_serving_goes_on() {
    let mut limited = Command::new("sh");
    // An ignored signal stays ignored; without it the program would be ended by it.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\""]);
    limited.arg(PROGRAM);
    let mut process = Process::start_by(limited, &["--record", "{}kept"], Stdio::null());
    let directory = process.folder.path().join("kept");
    let mut connection = process.connect().await;
    let failed = "jobshape_record_dropped_total{reason=\"disk\"}";
    let mut asked: u64 = 0;
    while process.metric(failed).await == 0 || names(&directory).len() < 2 {
        for _ in 0..20 {
            asked += 1;
            let response =
                connection.ask("enforce", &review("governed", "u", &job(Some("a")))).await;
            assert_eq!(response["allowed"], false);
        }
        assert!(asked < 100_000, "it never failed, or never went on");
    }
    assert!(process.stop().success());
    let (headers, reviews) = recorded(&directory);
    assert_eq!(headers.len(), names(&directory).len());
    assert!((reviews.len() as u64) < asked, "{} of {asked}", reviews.len());
    assert!(reviews.iter().all(|line| line["review"]["request"]["uid"] == "u"));
}

#[tokio::test]
async fn a_directory_that_cannot_be_is_no_reason_not_to_serve() {
    let mut process = Process::start(&["--record", "{}tls.crt/kept"], Stdio::null());
    let response =
        process.connect().await.ask("enforce", &review("governed", "u", &job(None))).await;
    assert_eq!(response["allowed"], true);
    while process.metric("jobshape_record_dropped_total{reason=\"disk\"}").await == 0 {}
    assert_eq!(process.metric("jobshape_record_failing").await, 1);
    assert!(process.stop().success());
}
