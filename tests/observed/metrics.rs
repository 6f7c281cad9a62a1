//! The metrics, as `docs/metrics.md` has them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::process::{Process, job, review};
use super::{document, promtool, said};

/// Name, kind and labels of each metric.
type Metrics = BTreeMap<String, (String, Vec<String>)>;

fn scraped(text: &str) -> Metrics {
    let mut metrics = Metrics::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            metrics.insert(name.to_owned(), (kind.to_owned(), vec![]));
        } else if !line.starts_with('#') {
            let (series, _) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let names = ["", "_bucket", "_sum", "_count"].map(|end| name.strip_suffix(end));
            let mut names = names.into_iter().flatten();
            let name = names.find(|name| metrics.contains_key(*name)).unwrap().to_owned();
            let labels = labels.strip_suffix('}').unwrap().split("\",");
            let labels = labels.filter_map(|label| label.split_once('=')).map(|(name, _)| name);
            let mut labels: Vec<_> =
                labels.filter(|name| *name != "le").map(str::to_owned).collect();
            labels.sort();
            metrics.get_mut(&name).unwrap().1 = labels;
        }
    }
    metrics
}

/// The rows of every table of the document whose first cell is a metric.
fn documented() -> Metrics {
    let mut metrics = Metrics::new();
    for line in document("docs/metrics.md").lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", name, kind, labels, meaning, ""] = cells[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        assert!(!meaning.is_empty(), "{line}");
        let mut labels: Vec<_> = labels
            .split(", ")
            .filter(|label| !label.is_empty())
            .map(|label| label.trim_matches('`').to_owned())
            .collect();
        labels.sort();
        let twice = metrics.insert(name.to_owned(), (kind.to_owned(), labels));
        assert_eq!(twice, None, "{name} is there twice");
    }
    metrics
}

/// What the rotator has, whose cluster nobody answers for.
async fn rotator() -> String {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let content = json!({
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a"}}],
        "current-context": "a",
    });
    std::fs::write(&kubeconfig, content.to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_jobshape"))
        .args(["certs", "rotate", "--ops-listen=127.0.0.1:0", "--kubeconfig"])
        .arg(kubeconfig)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let listening = lines
        .find_map(|line| {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            line["operations"].as_str().map(str::to_owned)
        })
        .unwrap();
    let mut stream = TcpStream::connect(listening).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn the_document_lists_what_is_scraped_and_promtool_has_nothing_against_it() {
    let mut process = Process::start(&[], Stdio::null());
    let mut connection = process.connect().await;
    connection.ask("enforce", &review("governed", "u", &job(Some("side")))).await;
    let text = process.get("/metrics").await;
    assert!(process.stop().success());
    let rotator = rotator().await;
    let (of_rotator, mut scraped) = (scraped(&rotator), scraped(&text));
    for (name, metric) in of_rotator {
        assert_eq!(scraped.insert(name.clone(), metric), None, "{name} is of both");
    }
    let documented = documented();
    for (name, metric) in &scraped {
        assert_eq!(documented.get(name), Some(metric), "{name} in docs/metrics.md");
    }
    for name in documented.keys() {
        assert!(scraped.contains_key(name), "{name} is documented and not there");
    }
    for text in [text, rotator] {
        if let Some(output) = promtool(&["check", "metrics"], &text) {
            // It ends with 0 after a mere complaint about a name, too.
            assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
        }
    }
}

#[test]
fn promtool_would_complain() {
    let text = "# TYPE jobshape_times counter\njobshape_times 1\n";
    if let Some(output) = promtool(&["check", "metrics"], text) {
        assert!(!said(&output).is_empty());
    }
}

#[tokio::test]
async fn the_series_are_few_however_many_namespaces_ask() {
    let mut process = Process::start(&[], Stdio::null());
    let mut connection = process.connect().await;
    let mut counts = vec![];
    for round in 0..2 {
        for n in 0..200 {
            let namespace = format!("team-{round}-{n}");
            connection.ask("enforce", &review(&namespace, &format!("u-{n}"), &job(None))).await;
        }
        let text = process.get("/metrics").await;
        counts.push(text.lines().filter(|line| !line.starts_with('#')).count());
    }
    assert!(process.stop().success());
    assert_eq!(counts[0], counts[1]);
    assert!(counts[0] < 250, "{counts:?}");
}
