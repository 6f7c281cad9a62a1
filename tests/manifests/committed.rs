//! What is generated and committed is what would be generated now, and needs no cluster to see.

use std::process::Command;

use jobshape::formats::documents::documents;
use serde_json::Value;

use super::{read, root};
use crate::observed::{promtool, said};

const RULES: &str = "manifests/alerts/jobshape.rules.yaml";
const PROMETHEUS_RULE: &str = "manifests/components/prometheus/rules.yaml";
const DASHBOARD: &str = "manifests/components/grafana/dashboard.json";

/// What the API server counts about a webhook (k8s.io/apiserver/pkg/admission/metrics).
const OF_THE_API_SERVER: [&str; 4] = [
    "apiserver_admission_webhook_admission_duration_seconds_bucket",
    "apiserver_admission_webhook_fail_open_count",
    "apiserver_admission_webhook_rejection_count",
    "apiserver_admission_webhook_request_total",
];

#[test]
fn the_rendered_folders_are_what_the_rules_render() {
    for more in [
        &["--out", "manifests/rendered/enforce"][..],
        &["--out", "manifests/rendered/audit-first", "--action", "Audit"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobshape"));
        command.current_dir(root()).args(["render", "--shapes", "rules/pm-agent", "--check"]);
        let output = command.args(more).output().unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`make manifests` writes it anew:\n{said}");
    }
}

/// The rule file in the operator's kind: the groups as they stand there, two columns further in.
fn prometheus_rule() -> String {
    let rules = read(RULES);
    let mut text = String::from(
        "# Made from manifests/alerts/jobshape.rules.yaml by `make manifests`.\n\
         apiVersion: monitoring.coreos.com/v1\n\
         kind: PrometheusRule\n\
         metadata:\n  name: jobshape\n  namespace: jobshape-system\n\
         spec:\n",
    );
    for line in rules.lines() {
        let indent = if line.is_empty() { "" } else { "  " };
        text.push_str(&format!("{indent}{line}\n"));
    }
    text
}

#[test]
#[ignore = "writes into the source tree: `make manifests`"]
fn write_the_prometheus_rule() {
    std::fs::write(root().join(PROMETHEUS_RULE), prometheus_rule()).unwrap();
}

#[test]
fn the_prometheus_rule_is_the_rule_file() {
    assert!(read(PROMETHEUS_RULE) == prometheus_rule(), "`make manifests` writes it anew");
    let one = |text: &str| documents(text).next().unwrap().unwrap().root.to_json();
    assert_eq!(one(&read(PROMETHEUS_RULE))["spec"], one(&read(RULES)));
}

fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("expr").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|inner| expressions(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| expressions(inner, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_there_are() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let metrics = read("docs/metrics.md");
    let mut all = vec![];
    expressions(&dashboard, &mut all);
    let mut asked = 0;
    for expression in &all {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for word in expression.split(|c| !is_word(c)) {
            let ours = word.starts_with("jobshape_") || word.starts_with("process_");
            if word.starts_with("apiserver_") {
                assert!(OF_THE_API_SERVER.contains(&word), "{word}");
                asked += 1;
            }
            if !ours {
                continue;
            }
            let name = word.strip_suffix("_bucket").unwrap_or(word);
            let row = metrics.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("docs/metrics.md has no {name}"));
            asked += 1;
            // What it is grouped by is a label of it.
            let Some((_, by)) = expression.split_once(" by (") else { continue };
            for label in by.split(')').next().unwrap().split(',').map(str::trim) {
                let scraped = ["le", "instance"].contains(&label);
                assert!(scraped || row.contains(&format!("`{label}`")), "{name} has no {label}");
            }
        }
    }
    assert!(all.len() > 20 && asked >= all.len(), "{asked} of {}", all.len());
    let rows: Vec<&str> = dashboard["panels"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|panel| panel["type"] == "row")
        .filter_map(|panel| panel["title"].as_str())
        .collect();
    assert_eq!(rows.len(), 5, "{rows:?}");
}

/// promtool reads every expression of the dashboard, where there is one.
#[test]
fn the_dashboard_s_expressions_are_promql() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let mut all = vec![];
    expressions(&dashboard, &mut all);
    let folder = tempfile::tempdir().unwrap();
    let rules: Vec<Value> = all
        .iter()
        .enumerate()
        .map(|(number, expression)| {
            let expression = expression
                .replace("$__rate_interval", "5m")
                .replace("$__range", "1h")
                .replace("$job", "jobshape");
            serde_json::json!({"record": format!("a:n{number}"), "expr": expression})
        })
        .collect();
    let file = folder.path().join("rules.yaml");
    let text = serde_json::json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string();
    std::fs::write(&file, text).unwrap();
    if let Some(output) = promtool(&["check", "rules", file.to_str().unwrap()], "") {
        assert!(output.status.success(), "{}", said(&output));
    }
}
