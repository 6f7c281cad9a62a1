//! Updates that let Pods start, or start again: they are judged like a new Job.

use crate::core::kubernetes::api::Api;
use crate::core::kubernetes::stored::with_defaults;
use crate::core::tree::{Entry, Node, Value};

/// What lets Pods start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// `suspend` goes from true to false.
    Resumed,
    /// A number that says how many Pods there may be, or how often and how long they are tried
    /// again.
    Raised(&'static str),
}

impl Start {
    /// In words.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Start::Resumed => "it resumes what was suspended".to_owned(),
            Start::Raised(field) => format!("it raises spec.{field}"),
        }
    }
}

/// The fields whose larger value lets more Pods start. Source: the Job controller's `syncJob`,
/// `manageJob` and `pastActiveDeadline`.
const RAISED: [&str; 5] =
    ["parallelism", "completions", "backoffLimit", "maxFailedIndexes", "activeDeadlineSeconds"];

/// What in the update of `old` to `new` lets Pods start, if anything does.
#[must_use]
pub fn of(old: &Node<'_>, new: &Node<'_>) -> Option<Start> {
    // Of a CronJob also what its Jobs are made from.
    in_spec(old, new).or_else(|| in_spec(job_template(old)?, job_template(new)?))
}

fn job_template<'n, 'j>(cron_job: &'n Node<'j>) -> Option<&'n Node<'j>> {
    cron_job.get("spec")?.get("jobTemplate")
}

fn in_spec(old: &Node<'_>, new: &Node<'_>) -> Option<Start> {
    if are_untouched(old, new) {
        return None;
    }
    let (old, new) = (Spec::of(old), Spec::of(new));
    if old.get("suspend").is_some_and(|node| node.value != Value::Bool(false))
        && new.get("suspend").is_none_or(|node| node.value != Value::Bool(true))
    {
        return Some(Start::Resumed);
    }
    RAISED.into_iter().find(|field| is_raised(old.get(field), new.get(field))).map(Start::Raised)
}

/// Whether whatever could let Pods start stands there as it did, as in most updates.
fn are_untouched(old: &Node<'_>, new: &Node<'_>) -> bool {
    let mut before = looked_at(old);
    let mut after = looked_at(new);
    loop {
        match (before.next(), after.next()) {
            (None, None) => return true,
            (Some(old), Some(new)) if old.key == new.key && old.node.value == new.node.value => {
                // Neither suspended nor not: what the server makes of it is for others to say.
                if old.key == "suspend" && old.node.as_bool().is_none() {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// The fields of the spec that could, and those that their defaults depend on.
fn looked_at<'n>(job: &'n Node<'_>) -> impl Iterator<Item = &'n Entry<'n>> {
    let spec = job.get("spec").map(Node::entries).unwrap_or_default();
    spec.iter().filter(|entry| {
        let key = &*entry.key;
        key == "suspend" || key == "backoffLimitPerIndex" || RAISED.contains(&key)
    })
}

/// Whether a number grows, or goes: none of them is a limit when it is absent. What is no number
/// is none either.
fn is_raised(old: Option<&Node<'_>>, new: Option<&Node<'_>>) -> bool {
    if old.map(|node| &node.value) == new.map(|node| &node.value) {
        return false;
    }
    match (old, new.map(Node::as_int)) {
        (Some(old), Some(Some(new))) => old.as_int().is_none_or(|old| new > old),
        (None, Some(Some(_))) => false,
        _ => true,
    }
}

/// The spec as the server has it.
struct Spec(Node<'static>);

impl Spec {
    fn of(job: &Node<'_>) -> Spec {
        let api = Api::get();
        // The template is long, and nobody asks for it.
        let spec = job.get("spec").map(|spec| match &spec.value {
            Value::Map(entries) => Node::new(Value::Map(
                entries.iter().filter(|entry| entry.key != "template").cloned().collect(),
            )),
            _ => spec.clone(),
        });
        let spec = spec.map_or_else(|| Node::new(Value::Map(vec![])), Node::into_owned);
        let kind = api.field(api.job(), "spec").map_or(api.job(), |field| field.kind);
        Spec(with_defaults(api, kind, &spec))
    }

    fn get(&self, field: &str) -> Option<&Node<'static>> {
        self.0.get(field)
    }
}
