//! Does every replica that gets requests serve these shapes?

use std::collections::BTreeMap;

use super::service::{Endpoints, endpoints};
use super::{Verification, items, listed, unknown};
use crate::edges::cluster::replica::{ANNOTATION, LABEL, LABEL_VALUE, Report, name};
use crate::formats::report::verified::Line;

const CHECK: &str = "replicas";

/// Also what they say, by Pod.
pub(super) async fn look(verification: &Verification<'_>) -> (Vec<Line>, BTreeMap<String, Report>) {
    let none = BTreeMap::new();
    let Endpoints { ready, unready } = match endpoints(verification).await {
        Ok(endpoints) => endpoints,
        Err(error) => return (vec![unknown(CHECK, "the endpoints of the Service", &error)], none),
    };
    let namespace = &verification.names.namespace;
    let label = LABEL.replace('/', "%2F");
    let path = format!(
        "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases?labelSelector={label}%3D{LABEL_VALUE}"
    );
    let leases = match verification.get(&path).await {
        Ok(leases) => leases,
        Err(error) => return (vec![unknown(CHECK, "what the replicas say", &error)], none),
    };
    let said = |pod: &String| {
        let lease = items(&leases).iter().find(|lease| lease["metadata"]["name"] == name(pod))?;
        let text = lease["metadata"]["annotations"][ANNOTATION].as_str()?;
        serde_json::from_str::<Report>(text).ok()
    };
    let mut reports = BTreeMap::new();
    let mut lines = vec![];
    let (mut good, mut silent) = (vec![], vec![]);
    let wanted = verification.wanted();
    for pod in &ready {
        let Some(report) = said(pod) else {
            silent.push(pod.clone());
            continue;
        };
        let wrong = differences(&wanted, &report);
        if wrong.is_empty() {
            good.push(pod.clone());
        } else {
            let message = format!("{pod} does not serve these shapes");
            let fix = "see whether the ConfigMap has them, and why the replica did not load it: jobshape_reload_failing, and its log";
            lines.push(Line::failed(CHECK, message, fix).with(wrong));
        }
        reports.insert(pod.clone(), report);
    }
    lines.extend(unready.iter().map(|pod| not_ready(pod, said(pod))));
    if !silent.is_empty() {
        let message = format!("{} is ready and does not say what it serves", listed(&silent));
        let fix = "run it with --publish, and let its account write Leases in its namespace: manifests/base";
        lines.push(Line::failed(CHECK, message, fix));
    }
    if !good.is_empty() && !lines.iter().any(Line::is_failed) {
        let message = format!("{} serve exactly these shapes", listed(&good));
        lines.push(Line::ok(CHECK, message));
    }
    let versions: Vec<&str> = {
        let mut versions: Vec<&str> = reports.values().map(|r| r.version.as_str()).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    };
    if versions.len() > 1 {
        let message = format!("replicas of several versions: {}", listed(&versions));
        lines.push(Line::note(CHECK, message));
    }
    (lines, reports)
}

/// One that is not asked. What it says itself is the reason; without that it may be on its way.
fn not_ready(pod: &str, report: Option<Report>) -> Line {
    match report.and_then(|report| report.not_ready) {
        Some(reason) => {
            let fix = "see its log, and docs/runbook.md";
            Line::failed(CHECK, format!("{pod} is not ready: {reason}"), fix)
        }
        None => Line::note(CHECK, format!("{pod} is not ready, and does not say why")),
    }
}

impl Verification<'_> {
    /// The digests of the shapes, by name.
    fn wanted(&self) -> BTreeMap<&str, &str> {
        let all = self.shapes.all().iter();
        all.map(|shape| (shape.name.as_str(), shape.digest.as_str())).collect()
    }
}

fn differences(wanted: &BTreeMap<&str, &str>, report: &Report) -> Vec<String> {
    let short = |digest: &str| digest.chars().take(8).collect::<String>();
    let mut wrong = vec![];
    for (name, digest) in wanted {
        match report.shapes.get(*name) {
            None => wrong.push(format!("{name} ({}) is not served", short(digest))),
            Some(served) if served != digest => {
                wrong.push(format!(
                    "{name} is served as {}, not as {}",
                    short(served),
                    short(digest)
                ));
            }
            Some(_) => {}
        }
    }
    for (name, digest) in &report.shapes {
        if !wanted.contains_key(name.as_str()) {
            wrong.push(format!("{name} ({}) is served, and not given here", short(digest)));
        }
    }
    if report.reload_failing {
        wrong.push("what stands in its files now cannot be loaded".to_owned());
    }
    if let Some(reason) = &report.not_ready {
        wrong.push(format!("it says that it is not ready: {reason}"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_one_is_not_ready_is_what_it_says() {
        let reason = Some("the certificate ended at noon".to_owned());
        let line = not_ready("a", Some(Report { not_ready: reason, ..Report::default() }));
        assert!(line.is_failed());
        assert_eq!(line.message, "a is not ready: the certificate ended at noon");
        assert!(!not_ready("a", Some(Report::default())).is_failed());
        assert!(!not_ready("a", None).is_failed());
    }

    #[test]
    fn what_is_missing_old_or_too_much_is_named() {
        let wanted = BTreeMap::from([("a", "1111111111"), ("b", "2222222222"), ("c", "3")]);
        let served = [("a", "1111111111"), ("b", "9999999999"), ("d", "4")];
        let mut report = Report {
            shapes: served.map(|(n, d)| (n.to_owned(), d.to_owned())).into(),
            ..Report::default()
        };
        report.reload_failing = true;
        assert_eq!(
            differences(&wanted, &report),
            [
                "b is served as 99999999, not as 22222222",
                "c (3) is not served",
                "d (4) is served, and not given here",
                "what stands in its files now cannot be loaded",
            ]
        );
    }
}
