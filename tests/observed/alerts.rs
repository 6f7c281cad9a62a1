//! The alert rules: promtool's verdict on them, and that each has a section in the runbook.

use std::collections::{BTreeMap, BTreeSet};

use jobshape::formats::documents::documents;
use serde_json::Value;

use super::{document, promtool, said};

const RULES: &str = "manifests/alerts/jobshape.rules.yaml";

const TESTS: &str = "manifests/alerts/jobshape.rules.test.yaml";

fn yaml(name: &str) -> Value {
    let text = document(name);
    documents(&text).next().unwrap().unwrap().root.to_json()
}

fn rules() -> Vec<Value> {
    yaml(RULES)["groups"][0]["rules"].as_array().unwrap().clone()
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let heading = heading.to_lowercase().replace(' ', "-");
    heading.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect()
}

#[test]
fn every_alert_has_its_section_and_every_section_an_alert() {
    let runbook = document("docs/runbook.md");
    let sections: BTreeSet<&str> =
        runbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let mut alerts = BTreeSet::new();
    let rules = rules();
    for rule in &rules {
        let alert = rule["alert"].as_str().unwrap();
        let url = format!("docs/runbook.md#{}", anchor(alert));
        assert_eq!(rule["annotations"]["runbook_url"], url, "{alert}");
        assert!(alerts.insert(alert), "{alert} is there twice");
    }
    assert_eq!(alerts, sections);
}

/// A metric of ours that an alert asks for is one that there is.
#[test]
fn alerts_ask_for_metrics_that_there_are() {
    let metrics = document("docs/metrics.md");
    let mut asked = 0;
    for rule in rules() {
        let expression = rule["expr"].as_str().unwrap().to_owned();
        let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for word in words.filter(|word| word.starts_with("jobshape_")) {
            let name = word.trim_end_matches("_bucket");
            let name = if name.ends_with("seconds_count") {
                name.trim_end_matches("_count")
            } else {
                name
            };
            assert!(metrics.contains(&format!("| `{name}` |")), "{name}");
            asked += 1;
        }
    }
    assert!(asked > 15, "{asked}");
}

#[test]
fn every_alert_is_tried_where_it_fires_and_where_it_does_not() {
    let mut tried: BTreeMap<String, [bool; 2]> = BTreeMap::new();
    for test in yaml(TESTS)["tests"].as_array().unwrap() {
        for case in test["alert_rule_test"].as_array().unwrap() {
            let fires = case["exp_alerts"].as_array().is_some_and(|alerts| !alerts.is_empty());
            let alert = case["alertname"].as_str().unwrap().to_owned();
            tried.entry(alert).or_default()[usize::from(fires)] = true;
        }
    }
    for rule in rules() {
        let alert = rule["alert"].as_str().unwrap();
        assert_eq!(tried.get(alert), Some(&[true, true]), "{alert}");
    }
}

#[test]
fn promtool_agrees() {
    for arguments in [["check", "rules", RULES], ["test", "rules", TESTS]] {
        if let Some(output) = promtool(&arguments, "") {
            assert!(output.status.success(), "{}", said(&output));
        }
    }
}
