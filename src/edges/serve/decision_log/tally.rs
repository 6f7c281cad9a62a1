//! Every decision, counted: what the log sums up, exact whatever became of the lines.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::Serialize;

use super::line::stamp;
use crate::formats::review::Record;

/// The counts since the last summary.
pub struct Tally {
    counted: Mutex<Counted>,
}

/// Counts by shape, and by digest where a reload has changed it. What no shape was found for is
/// under the empty name, which no shape can have.
#[derive(Debug, Clone)]
pub struct Counted {
    since: SystemTime,
    by_shape: BTreeMap<String, Vec<(String, Counts)>>,
}

/// What is counted of one shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    real: Requests,
    dry: Requests,
    dropped: u64,
}

/// What is counted of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct Requests {
    allow: u64,
    deny: u64,
    error: u64,
    ungoverned: u64,
    refused: u64,
    unshaped: u64,
    exempt: u64,
    findings: Findings,
    old_findings: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Findings {
    enforce: u64,
    warn: u64,
    audit: u64,
}

impl Requests {
    fn count(&mut self, record: &Record) {
        match record.verdict {
            "allow" => self.allow += 1,
            "deny" => self.deny += 1,
            "ungoverned" => self.ungoverned += 1,
            _ => self.error += 1,
        }
        self.refused += u64::from(!record.allowed);
        self.unshaped += u64::from(record.unshaped);
        self.exempt += u64::from(record.exempt);
        self.old_findings += record.old_findings as u64;
        for spoken in &record.rules {
            match spoken.action {
                "Enforce" => self.findings.enforce += 1,
                "Warn" => self.findings.warn += 1,
                _ => self.findings.audit += 1,
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.allow += other.allow;
        self.deny += other.deny;
        self.error += other.error;
        self.ungoverned += other.ungoverned;
        self.refused += other.refused;
        self.unshaped += other.unshaped;
        self.exempt += other.exempt;
        self.findings.enforce += other.findings.enforce;
        self.findings.warn += other.findings.warn;
        self.findings.audit += other.findings.audit;
        self.old_findings += other.old_findings;
    }
}

impl Tally {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { counted: Mutex::new(Counted::nothing()) }
    }

    /// Counts an answer.
    pub fn count(&self, record: &Record) {
        let mut counted = self.counted();
        let (shape, digest) = (record.shape.as_deref(), record.digest.as_deref());
        let counts = counted.of(shape.unwrap_or_default(), digest.unwrap_or_default());
        if record.dry_run { &mut counts.dry } else { &mut counts.real }.count(record);
    }

    /// Counts decisions whose line is lost.
    pub fn dropped(&self, shape: Option<&str>, digest: Option<&str>, decisions: u64) {
        let mut counted = self.counted();
        counted.of(shape.unwrap_or_default(), digest.unwrap_or_default()).dropped += decisions;
    }

    /// Everything since the last time.
    pub fn take(&self) -> Counted {
        std::mem::replace(&mut *self.counted(), Counted::nothing())
    }

    /// Puts back what could not be written.
    pub fn put_back(&self, since: SystemTime, shape: &str, digest: &str, counts: &Counts) {
        let mut counted = self.counted();
        counted.since = counted.since.min(since);
        let held = counted.of(shape, digest);
        held.real.add(&counts.real);
        held.dry.add(&counts.dry);
        held.dropped += counts.dropped;
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn nothing() -> Self {
        Self { since: SystemTime::now(), by_shape: BTreeMap::new() }
    }

    fn of(&mut self, shape: &str, digest: &str) -> &mut Counts {
        // Nearly always it is there, and then nothing is allocated.
        if !self.by_shape.contains_key(shape) {
            self.by_shape.insert(shape.to_owned(), vec![]);
        }
        let Some(digests) = self.by_shape.get_mut(shape) else { unreachable!() };
        let at = digests.iter().position(|(of, _)| of == digest).unwrap_or_else(|| {
            digests.push((digest.to_owned(), Counts::default()));
            digests.len() - 1
        });
        &mut digests[at].1
    }

    /// When the counting began.
    pub fn since(&self) -> SystemTime {
        self.since
    }

    /// Shape, digest and what was counted of them.
    pub fn each(&self) -> impl Iterator<Item = (&str, &str, &Counts)> {
        self.by_shape.iter().flat_map(|(shape, digests)| {
            digests.iter().map(|(digest, counts)| (shape.as_str(), digest.as_str(), counts))
        })
    }
}

/// The line of a summary.
#[derive(Serialize)]
pub struct Summary<'a> {
    log: &'static str,
    time: String,
    since: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    shape: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    digest: &'a str,
    #[serde(flatten)]
    requests: &'a Requests,
    dry_runs: &'a Requests,
    dropped: u64,
}

impl<'a> Summary<'a> {
    /// The counts of one shape since then, until now.
    pub fn new(since: SystemTime, shape: &'a str, digest: &'a str, counts: &'a Counts) -> Self {
        Self {
            log: "summary",
            time: stamp(SystemTime::now()),
            since: stamp(since),
            shape,
            digest,
            requests: &counts.real,
            dry_runs: &counts.dry,
            dropped: counts.dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::review::Spoken;
    use serde_json::{Value, json};

    fn record(shape: Option<&str>, verdict: &'static str, actions: &[&'static str]) -> Record {
        Record {
            verdict,
            allowed: verdict == "allow",
            shape: shape.map(str::to_owned),
            digest: shape.map(|_| "3f9a".to_owned()),
            rules: actions
                .iter()
                .map(|a| Spoken {
                    shape: "worker".to_owned(),
                    rule: "image".to_owned(),
                    action: a,
                    path: String::new(),
                })
                .collect(),
            ..Record::default()
        }
    }

    fn lines(counted: &Counted) -> Vec<Value> {
        let line = |(shape, digest, counts)| {
            let mut line =
                serde_json::to_value(Summary::new(counted.since(), shape, digest, counts)).unwrap();
            for time in ["time", "since"] {
                assert!(line.as_object_mut().unwrap().remove(time).is_some());
            }
            line
        };
        counted.each().map(line).collect()
    }

    #[test]
    fn every_verdict_is_counted_under_its_shape() {
        let tally = Tally::new();
        tally.count(&record(Some("worker"), "allow", &[]));
        tally.count(&record(Some("worker"), "allow", &["Audit", "Warn"]));
        tally.count(&record(Some("worker"), "deny", &["Enforce", "Enforce", "Audit"]));
        tally.count(&Record { dry_run: true, ..record(Some("worker"), "deny", &["Enforce"]) });
        tally.count(&Record { old_findings: 2, ..record(Some("worker"), "allow", &[]) });
        tally.count(&record(None, "error", &[]));
        tally.count(&Record { unshaped: true, ..record(None, "ungoverned", &[]) });
        tally.dropped(Some("worker"), Some("3f9a"), 3);
        let counted = tally.take();
        let nothing = json!({
            "allow": 0, "deny": 0, "error": 0, "ungoverned": 0, "refused": 0, "unshaped": 0, "exempt": 0,
            "findings": {"Enforce": 0, "Warn": 0, "Audit": 0}, "old_findings": 0,
        });
        let mut dry = nothing.clone();
        (dry["deny"], dry["refused"]) = (json!(1), json!(1));
        dry["findings"]["Enforce"] = json!(1);
        let none = json!({
            "log": "summary", "allow": 0, "deny": 0, "error": 1, "ungoverned": 1, "refused": 2,
            "unshaped": 1, "exempt": 0, "findings": nothing["findings"], "old_findings": 0,
            "dry_runs": nothing, "dropped": 0,
        });
        let worker = json!({
            "log": "summary", "shape": "worker", "digest": "3f9a", "allow": 3, "deny": 1,
            "error": 0, "ungoverned": 0, "refused": 1, "unshaped": 0, "exempt": 0,
            "findings": {"Enforce": 2, "Warn": 1, "Audit": 2}, "old_findings": 2,
            "dry_runs": dry, "dropped": 3,
        });
        assert_eq!(lines(&counted), [none, worker]);
        assert_eq!(lines(&tally.take()), [] as [Value; 0]);
    }

    #[test]
    fn what_could_not_be_written_comes_with_the_next() {
        let tally = Tally::new();
        tally.count(&record(Some("worker"), "deny", &["Enforce"]));
        tally.count(&Record {
            digest: Some("new".to_owned()),
            ..record(Some("worker"), "allow", &[])
        });
        tally.dropped(Some("worker"), Some("3f9a"), 1);
        let lost = tally.take();
        tally.count(&record(Some("worker"), "deny", &["Enforce"]));
        for (shape, digest, counts) in lost.each() {
            tally.put_back(lost.since(), shape, digest, counts);
        }
        let all = tally.take();
        assert_eq!(all.since(), lost.since());
        let lines = lines(&all);
        let of = |digest: &str| lines.iter().find(|line| line["digest"] == digest).unwrap();
        assert_eq!(of("3f9a")["deny"], 2);
        assert_eq!(of("3f9a")["findings"]["Enforce"], 2);
        assert_eq!(of("3f9a")["dropped"], 1);
        assert_eq!(of("new")["allow"], 1);
    }
}
