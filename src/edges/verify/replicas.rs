//! Does every replica that gets requests serve these shapes?

use std::collections::BTreeMap;

use serde_json::Value;
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::service::{Endpoints, endpoints};
use super::{Verification, items, listed, unknown};
use crate::edges::cluster::replica::{ANNOTATION, LABEL, LABEL_VALUE, Report, name};
use crate::formats::report::verified::Line;

const CHECK: &str = "replicas";

/// So far two clocks may be apart, and so late a write may come.
const SKEW: Duration = Duration::MINUTE;

/// What a Pod's Lease holds.
#[derive(Debug, PartialEq)]
enum Said {
    /// What it serves.
    Now(Report),
    /// What somebody served once, and why it counts for nothing.
    Before(String),
    Nothing,
}

/// Also what they say, by Pod.
pub(super) async fn look(verification: &Verification<'_>) -> (Vec<Line>, BTreeMap<String, Report>) {
    let none = BTreeMap::new();
    let Endpoints { ready, unready, uids } = match endpoints(verification).await {
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
    let mut lines = vec![];
    let now = match verification.date().await {
        Some(now) => now,
        None => {
            let message = "the API server does not say what time it is; how old a report is goes by the clock here";
            lines.push(Line::note(CHECK, message));
            OffsetDateTime::now_utc()
        }
    };
    let said = |pod: &String| said(items(&leases), pod, uids.get(pod).map(String::as_str), now);
    let mut reports = BTreeMap::new();
    let (mut good, mut silent) = (vec![], vec![]);
    let wanted = verification.wanted();
    for pod in &ready {
        let report = match said(pod) {
            Said::Now(report) => report,
            Said::Before(why) => {
                let fix =
                    "see why it does not renew its Lease: jobshape_publish_failing, and its log";
                lines.push(Line::failed(CHECK, format!("{pod} {why}"), fix));
                continue;
            }
            Said::Nothing => {
                silent.push(pod.clone());
                continue;
            }
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
fn not_ready(pod: &str, said: Said) -> Line {
    match said {
        Said::Now(Report { not_ready: Some(reason), .. }) => {
            let fix = "see its log, and docs/runbook.md";
            Line::failed(CHECK, format!("{pod} is not ready: {reason}"), fix)
        }
        _ => Line::note(CHECK, format!("{pod} is not ready, and does not say why")),
    }
}

/// What is in the Lease of a Pod, if it is this Pod's and was renewed in time.
fn said(leases: &[Value], pod: &str, uid: Option<&str>, now: OffsetDateTime) -> Said {
    let Some(lease) = leases.iter().find(|lease| lease["metadata"]["name"] == name(pod)) else {
        return Said::Nothing;
    };
    let text = lease["metadata"]["annotations"][ANNOTATION].as_str();
    let Some(report) = text.and_then(|text| serde_json::from_str::<Report>(text).ok()) else {
        return Said::Nothing;
    };
    let written = lease["spec"]["renewTime"].as_str().unwrap_or("no known time");
    let owners = lease["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let is_owner = |uid: &str| owners.clone().any(|owner| owner["uid"] == uid);
    if uid.is_some_and(|uid| !is_owner(uid)) {
        let why =
            format!("says nothing: another Pod of that name said last at {written} what it serves");
        return Said::Before(why);
    }
    let renewed = OffsetDateTime::parse(written, &Rfc3339).ok();
    let lasts = lease["spec"]["leaseDurationSeconds"].as_i64().map(Duration::seconds);
    let is_fresh = renewed.zip(lasts).is_some_and(|(renewed, lasts)| {
        (-SKEW..=lasts.saturating_add(SKEW)).contains(&(now - renewed))
    });
    if is_fresh {
        return Said::Now(report);
    }
    let now = now.format(&Rfc3339).unwrap_or_default();
    Said::Before(format!("said last at {written} what it serves; now it is {now}"))
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
        let line = not_ready("a", Said::Now(Report { not_ready: reason, ..Report::default() }));
        assert!(line.is_failed());
        assert_eq!(line.message, "a is not ready: the certificate ended at noon");
        assert!(!not_ready("a", Said::Now(Report::default())).is_failed());
        assert!(!not_ready("a", Said::Nothing).is_failed());
    }

    #[test]
    fn a_report_that_is_old_or_of_another_pod_is_none() {
        let report = serde_json::to_string(&Report::default()).unwrap();
        let lease = serde_json::json!({
            "metadata": {
                "name": name("a"),
                "annotations": {ANNOTATION: report},
                "ownerReferences": [{"kind": "Pod", "name": "a", "uid": "u"}],
            },
            "spec": {"leaseDurationSeconds": 180, "renewTime": "2027-01-15T08:00:00.000007Z"},
        });
        let at = |text: &str, uid| {
            let now = OffsetDateTime::parse(text, &Rfc3339).unwrap();
            said(std::slice::from_ref(&lease), "a", uid, now)
        };
        let fresh = Said::Now(Report::default());
        for time in ["2027-01-15T07:59:30Z", "2027-01-15T08:00:30Z", "2027-01-15T08:04:00Z"] {
            assert_eq!(at(time, Some("u")), fresh);
            assert_eq!(at(time, None), fresh);
        }
        for time in ["2027-01-15T07:58:30Z", "2027-01-15T08:04:01Z", "2027-02-15T08:00:00Z"] {
            let Said::Before(why) = at(time, Some("u")) else { panic!("{time}") };
            assert!(why.starts_with("said last at 2027-01-15T08:00:00.000007Z"), "{why}");
        }
        let Said::Before(why) = at("2027-01-15T08:00:30Z", Some("v")) else { panic!() };
        assert!(why.contains("another Pod of that name"), "{why}");
        assert_eq!(said(&[], "a", None, OffsetDateTime::UNIX_EPOCH), Said::Nothing);
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
