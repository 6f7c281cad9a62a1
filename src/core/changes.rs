//! Every small change of a Job or a CronJob, at every place that the API has there: what an attacker, or a
//! careless hand, could try.
//!
//! Nothing here knows what a change does. Sent to an API server, most of these Jobs are refused; of
//! the others the server's stored form says whether the change has an effect, and a shape has to
//! say the same.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::core::kubernetes::api::Api;

mod combine;
mod quantities;
mod samples;
mod single;

pub use combine::{Random, combinations};

/// What is to be changed in a Job: some places, as JSON pointers, each to a value or away.
#[derive(Debug, Clone, PartialEq)]
pub struct Change(Vec<(String, Option<Value>)>);

/// Every change of a single place of a Job or a CronJob, by what this table knows of the API: each absent field
/// added, each present value changed, each entry removed, doubled, moved, renamed and added to;
/// null, the empty and the zero of each field.
#[must_use]
pub fn single(api: &Api, job: &Value) -> Vec<Change> {
    let mut seen = BTreeSet::new();
    let mut made = single::all(api, job);
    made.retain(|Change(places)| {
        places.iter().any(|(pointer, value)| job.pointer(pointer) != value.as_ref())
            && seen.insert(format!("{places:?}"))
    });
    made
}

impl Change {
    /// The change of one place.
    #[must_use]
    pub fn at(pointer: &str, value: Option<Value>) -> Change {
        Change(vec![(pointer.to_owned(), value)])
    }

    /// Where, and to what; long values are cut.
    #[must_use]
    pub fn describe(&self) -> String {
        let one = |(pointer, value): &(String, Option<Value>)| match value {
            Some(value) => format!("{pointer} = {}", short(value)),
            None => format!("{pointer} removed"),
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(" and ")
    }

    /// The changes of single places that it consists of.
    pub fn parts(&self) -> impl Iterator<Item = Change> {
        self.0.iter().cloned().map(|part| Change(vec![part]))
    }

    /// The places that are changed.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(pointer, _)| pointer.as_str())
    }

    /// The changed Job. A place that the Job does not have is left alone.
    #[must_use]
    pub fn apply(&self, job: &Value) -> Value {
        let mut job = job.clone();
        for (pointer, value) in &self.0 {
            let Some((parent, last)) = pointer.rsplit_once('/') else { continue };
            let last = last.replace("~1", "/").replace("~0", "~");
            match (job.pointer_mut(parent), value) {
                (Some(Value::Object(map)), Some(value)) => {
                    map.insert(last, value.clone());
                }
                (Some(Value::Object(map)), None) => {
                    map.remove(&last);
                }
                (Some(Value::Array(items)), value) => {
                    let index = last.parse().unwrap_or(usize::MAX);
                    match value {
                        Some(value) => {
                            if let Some(item) = items.get_mut(index) {
                                *item = value.clone();
                            }
                        }
                        None if index < items.len() => {
                            items.remove(index);
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
        job
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 140 {
        format!("{}…", text.chars().take(140).collect::<String>())
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job() -> Value {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "x:1", "env": [{"name": "A", "value": "1"}]}],
            }}},
        })
    }

    /// The change of this description is among those of the Job.
    fn has(description: &str) -> bool {
        single(Api::get(), &job()).iter().any(|change| change.describe() == description)
    }

    #[test]
    fn absent_and_present_fields_are_changed_at_every_level() {
        let main = "/spec/template/spec/containers/0";
        for expected in [
            "/spec/suspend = true".to_owned(),
            "/spec/suspend = null".to_owned(),
            "/spec/backoffLimit = 0".to_owned(),
            "/spec/template/spec/hostNetwork = true".to_owned(),
            format!("{main}/lifecycle = {{}}"),
            format!("{main}/envFrom = []"),
            format!("{main}/image removed"),
            format!("{main}/image = \"x:1x\""),
            format!("{main}/env/0 removed"),
            format!("{main}/env/0/value = \"\""),
            format!("{main}/env/0/valueFrom = {{}}"),
        ] {
            assert!(has(&expected), "{expected}");
        }
    }

    #[test]
    fn a_cron_job_is_changed_in_itself_and_in_its_job() {
        let spec = json!({"schedule": "0 3 * * *", "jobTemplate": {"spec": job()["spec"]}});
        let cron_job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": spec});
        let made = single(Api::get(), &cron_job);
        for expected in [
            "/spec/suspend = true",
            "/spec/concurrencyPolicy = null",
            "/spec/jobTemplate/spec/backoffLimit = 0",
            "/spec/jobTemplate/spec/template/spec/containers/0/image removed",
        ] {
            assert!(made.iter().any(|change| change.describe() == expected), "{expected}");
        }
    }

    #[test]
    fn entries_are_doubled_renamed_and_added() {
        let env = "/spec/template/spec/containers/0/env";
        let a = json!({"name": "A", "value": "1"});
        for expected in [
            json!([a, a]),
            json!([{"name": "Ax", "value": "1"}]),
            json!([a, {"name": "Ax", "value": "1"}]),
            json!([a, null]),
        ] {
            assert!(has(&format!("{env} = {expected}")), "{expected}");
        }
    }

    #[test]
    fn a_change_changes_its_place_and_nothing_else() {
        let job = job();
        for change in single(Api::get(), &job) {
            let changed = change.apply(&job);
            assert_ne!(changed, job, "{}", change.describe());
            let mut back = changed;
            for place in change.places() {
                // Put back what was there: an entry that went comes again at its place.
                let (parent, last) = place.rsplit_once('/').unwrap();
                let last = last.replace("~1", "/").replace("~0", "~");
                match (back.pointer_mut(parent).unwrap(), job.pointer(place)) {
                    (Value::Object(map), Some(value)) => {
                        map.insert(last, value.clone());
                    }
                    (Value::Object(map), None) => {
                        map.remove(&last);
                    }
                    (Value::Array(items), Some(value)) => {
                        let index: usize = last.parse().unwrap();
                        let list = job.pointer(parent).unwrap().as_array().unwrap();
                        if items.len() < list.len() {
                            items.insert(index, value.clone());
                        } else {
                            items[index] = value.clone();
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(back, job, "{}", change.describe());
        }
    }

    #[test]
    fn combinations_are_the_same_for_the_same_seed() {
        let job = job();
        let all = single(Api::get(), &job);
        let of = |seed| combinations(&all, &mut Random::new(seed), 50);
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        assert!(of(7).iter().all(|change| (2..=5).contains(&change.places().count())));
    }
}
