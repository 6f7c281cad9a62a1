//! The decision log of the real program.

use std::io::Read;
use std::process::Stdio;

use serde_json::{Value, json};

use super::process::{Process, SECRET, USER, job, lines, review};
use super::{complaints, other_interfaces, schema};

/// Everything that is written until the end of the process.
fn rest(process: &mut Process) -> String {
    let mut stdout = process.stdout();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    });
    assert!(process.stop().success());
    reader.join().unwrap()
}

/// One request of each kind.
async fn one_of_each(process: &Process) {
    let mut connection = process.connect().await;
    let mut late = job(None);
    late["spec"]["activeDeadlineSeconds"] = json!(60);
    for (entrance, namespace, object, allowed) in [
        ("enforce", "governed", job(None), true),
        ("enforce", "governed", job(Some("side")), false),
        ("audit", "watched", job(None), true),
        ("audit", "watched", job(Some("side")), true),
        ("audit", "watched", late, true),
        ("enforce", "nobodys", job(None), false),
        ("audit", "nobodys", job(None), true),
        ("enforce", "governed", json!(null), false),
        ("audit", "watched", json!(null), true),
    ] {
        let response = connection.ask(entrance, &review(namespace, "u-1", &object)).await;
        assert_eq!(response["allowed"], allowed, "{entrance} {namespace} {response}");
    }
    let dry = review("governed", "u-2", &job(Some("side")))
        .replace("\"dryRun\":false", "\"dryRun\":true");
    assert_eq!(connection.ask("enforce", &dry).await["allowed"], false);
}

fn of<'a>(lines: &'a [Value], log: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["log"] == log).collect()
}

#[tokio::test]
async fn what_somebody_may_have_to_explain_is_a_line_and_everything_is_counted() {
    let mut process = Process::start(&[], Stdio::piped());
    one_of_each(&process).await;
    let text = rest(&mut process);
    assert!(!text.contains(SECRET), "{text}");
    let lines = lines(&text);
    let schema = schema("docs/decision-log.schema.json");
    for line in &lines {
        assert_eq!(complaints(&schema, line), [] as [String; 0], "{line:#}");
    }
    let seen: Vec<String> = of(&lines, "decision")
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
            let dry = if line["dry_run"] == true { " dry" } else { "" };
            let said = if line["allowed"] == true { "allowed" } else { "refused" };
            let words = ["entrance", "namespace", "verdict", "shape"].map(text).join(" ");
            format!("{words} {said} {}{dry}", line["findings"])
        })
        .collect();
    assert_eq!(
        seen,
        [
            "enforce governed deny enforced refused 1",
            "audit watched allow audited allowed 1",
            "audit watched allow audited allowed 1",
            "enforce nobodys ungoverned - refused 0",
            "audit nobodys ungoverned - allowed 0",
            "enforce governed error - refused 0",
            "audit watched error - allowed 0",
            "enforce governed deny enforced refused 1 dry",
        ]
    );
    let refusal = of(&lines, "decision")[0];
    assert_eq!(refusal["user"], USER);
    assert_eq!(refusal["rules"][0]["path"], "spec.template.spec.containers[side]");

    let summaries = of(&lines, "summary");
    let summary = |shape: Option<&str>| {
        let found = summaries.iter().find(|line| line["shape"].as_str() == shape).unwrap();
        let numbers = ["allow", "deny", "error", "ungoverned", "refused", "unshaped", "dropped"];
        (numbers.map(|key| found[key].as_u64().unwrap()), &found["findings"], &found["dry_runs"])
    };
    assert_eq!(summaries.len(), 3);
    let (numbers, findings, dry) = summary(Some("enforced"));
    assert_eq!((numbers, findings["Enforce"].as_u64()), ([1, 1, 0, 0, 1, 0, 0], Some(1)));
    assert_eq!((dry["deny"].as_u64(), dry["allow"].as_u64()), (Some(1), Some(0)));
    let (numbers, findings, _) = summary(Some("audited"));
    assert_eq!(numbers, [3, 0, 0, 0, 0, 0, 0]);
    assert_eq!((findings["Audit"].as_u64(), findings["Warn"].as_u64()), (Some(1), Some(1)));
    assert_eq!(summary(None).0, [0, 0, 2, 2, 2, 2, 0]);
}

#[tokio::test]
async fn the_schema_refuses_another_interface() {
    let mut process = Process::start(&["--decision-log-flush", "1s"], Stdio::piped());
    one_of_each(&process).await;
    one_of_each(&process).await;
    let lines = lines(&rest(&mut process));
    let schema = schema("docs/decision-log.schema.json");
    let optional = ["shape", "digest", "reason", "repeated"];
    let mut tried = 0;
    for line in &lines {
        assert_eq!(complaints(&schema, line), [] as [String; 0], "{line:#}");
        for other in other_interfaces(line, &optional) {
            assert_ne!(complaints(&schema, &other), [] as [String; 0], "{other:#}");
            tried += 1;
        }
    }
    assert!(lines.iter().any(|line| line.get("repeated").is_some()), "{lines:#?}");
    assert!(tried > 100, "{tried}");
}

#[tokio::test]
async fn one_user_is_one_hash_in_every_replica_with_the_key() {
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(key.path(), "not a key for anything, only for this").unwrap();
    let mut hashes = vec![];
    for keyed in [true, true, false, false] {
        let mut flags = vec!["--hash-users"];
        if keyed {
            flags.extend(["--hash-users-key", key.path().to_str().unwrap()]);
        }
        let mut process = Process::start(&flags, Stdio::piped());
        process.connect().await.ask("enforce", &review("governed", "u", &job(Some("a")))).await;
        let text = rest(&mut process);
        assert!(!text.contains("dispatcher"), "{text}");
        let lines = lines(&text);
        hashes.push(of(&lines, "decision")[0]["user"].as_str().unwrap().to_owned());
    }
    assert!(hashes.iter().all(|hash| hash.starts_with("hmac:") && hash.len() == 37), "{hashes:?}");
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[2], hashes[3]);
    assert_ne!(hashes[0], hashes[2]);
}

/// So many refusals that neither a pipe nor the queue holds their lines.
const MANY: u64 = 2000;

async fn refused_many_times(process: &Process) {
    let mut connection = process.connect().await;
    for n in 0..MANY {
        // Each at another place, so that none is folded.
        let review = review("governed", &format!("u-{n}"), &job(Some(&format!("side-{n}"))));
        let response = connection.ask("enforce", &review).await;
        assert_eq!(response["allowed"], false);
        assert_eq!(response["uid"], format!("u-{n}"));
    }
}

#[tokio::test]
async fn nobody_who_does_not_read_slows_a_decision_and_the_counts_stay_exact() {
    let mut process = Process::start(&[], Stdio::piped());
    refused_many_times(&process).await;
    let dropped = process.metric("jobshape_decision_log_dropped_total{reason=\"queue\"}").await;
    assert!(dropped > 0 && dropped < MANY, "{dropped}");
    // Now somebody reads, and everything is accounted for.
    let lines = lines(&rest(&mut process));
    let decisions: u64 =
        of(&lines, "decision").iter().map(|line| line["repeated"].as_u64().unwrap_or(1)).sum();
    let sum = |key: &str| -> u64 {
        of(&lines, "summary").iter().map(|line| line[key].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("deny"), MANY);
    assert_eq!(sum("dropped"), dropped);
    assert_eq!(decisions + dropped, MANY);
}

#[tokio::test]
async fn nobody_who_does_not_read_keeps_the_process_from_ending() {
    let mut process = Process::start(&[], Stdio::piped());
    refused_many_times(&process).await;
    // The other end stays open, and unread.
    let unread = process.stdout();
    assert!(process.stop().success());
    drop(unread);
}

#[tokio::test]
async fn a_reader_that_went_away_is_counted() {
    let mut process = Process::start(&["--decision-log-flush", "0s"], Stdio::piped());
    drop(process.stdout());
    let mut connection = process.connect().await;
    let series = "jobshape_decision_log_dropped_total{reason=\"write\"}";
    while process.metric(series).await == 0 {
        let response = connection.ask("enforce", &review("governed", "u", &job(Some("a")))).await;
        assert_eq!(response["allowed"], false);
    }
    assert!(process.stop().success());
}

#[tokio::test]
async fn with_a_throw_away_certificate_standard_output_is_the_configurations() {
    let (mut process, configuration) = Process::dev();
    process.connect().await.ask("enforce", &review("governed", "u-1", &job(Some("side")))).await;
    assert_eq!(rest(&mut process), "", "after {configuration}");
    let lines: Vec<Value> =
        process.stderr().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(of(&lines, "decision")[0]["uid"], "u-1");
    assert_eq!(of(&lines, "summary").len(), 1);
}
