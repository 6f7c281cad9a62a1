//! An object as `must` rules see it: as the server stores it, without what the server alone puts there.
//!
//! Sources: `pkg/apis/batch/v1/defaults.go` (a Job without labels gets those of its Pod template),
//! `pkg/registry/batch/job/strategy.go` (generated labels),
//! `staging/src/k8s.io/apiserver/pkg/storage/names/generate.go` (names),
//! `pkg/apis/core/v1/conversion.go` (serviceAccount), all v1.36.3.

use std::borrow::Cow;

use crate::core::kubernetes::api::{Api, Kind};
use crate::core::kubernetes::stored::with_defaults;
use crate::core::shape::job_rules::GENERATED_LABELS;
use crate::core::tree::{Entry, NOWHERE, Node, Value};

/// What stands in for the five characters that the server draws behind `generateName`: letters and
/// digits of its alphabet.
const DRAWN: &str = "b2c4d";

/// How much of `generateName` is before them.
const LONGEST_PREFIX: usize = 58;

/// An object, completed.
#[derive(Debug)]
pub struct Whole<'j> {
    /// Of which release.
    pub(super) api: &'static Api,
    /// The kind of the object.
    pub(super) kind: Kind,
    /// The object itself.
    pub(super) filled: Node<'j>,
    /// Of a CronJob: the Job that it makes, as far as its `jobTemplate` says. In the CronJob the server
    /// fills in only what is inside the Pod template.
    pub(super) its_job: Option<Node<'j>>,
    /// As it came.
    pub(super) written: &'j Node<'j>,
}

impl<'j> Whole<'j> {
    /// The kind of the object.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// An object of a kind, `Job` or `CronJob`, in a request's namespace.
    #[must_use]
    pub fn new(api: &'static Api, kind: &str, object: &'j Node<'j>, namespace: &str) -> Whole<'j> {
        let is_cron_job = kind == "CronJob";
        let kind = if is_cron_job { api.cron_job() } else { api.job() };
        let template = object.get("spec").and_then(|spec| spec.get("jobTemplate"));
        let template = template.filter(|_| is_cron_job);
        let mut filled = with_defaults(api, kind, object);
        complete_metadata(&mut filled, namespace);
        if !is_cron_job {
            complete_job(&mut filled);
        }
        let its_job = template.map(|template| {
            let mut job = with_defaults(api, api.job(), template);
            complete_job(&mut job);
            job
        });
        Whole { api, kind, filled, its_job, written: object }
    }
}

/// The request's namespace, and a name where one is generated.
fn complete_metadata(object: &mut Node<'_>, namespace: &str) {
    let Some(metadata) = child(object, "metadata") else { return };
    if text(metadata, "namespace").is_none() && !namespace.is_empty() {
        put(metadata, "namespace", namespace.to_owned());
    }
    if text(metadata, "name").is_none()
        && let Some(prefix) = text(metadata, "generateName")
    {
        let end =
            (0..=prefix.len().min(LONGEST_PREFIX)).rev().find(|at| prefix.is_char_boundary(*at));
        let name = format!("{}{DRAWN}", &prefix[..end.unwrap_or_default()]);
        put(metadata, "name", name);
    }
}

/// Labels and service account of a Job.
fn complete_job(job: &mut Node<'_>) {
    let manual =
        job.get("spec").and_then(|spec| spec.get("manualSelector")).and_then(Node::as_bool);
    let name = job.get("metadata").and_then(|of| text(of, "name")).map(str::to_owned);
    let uid = job.get("metadata").and_then(|of| text(of, "uid")).map(str::to_owned);
    let is_generated = |entry: &Entry<'_>| {
        let expected = match &*entry.key {
            "job-name" | "batch.kubernetes.io/job-name" => &name,
            key if GENERATED_LABELS.contains(&key) => &uid,
            _ => return false,
        };
        expected.is_some() && entry.node.as_str() == expected.as_deref()
    };
    let mut of_pod = vec![];
    if let Some(template) = child(job, "spec").and_then(|spec| child(spec, "template")) {
        if let Some(spec) = child(template, "spec") {
            name_the_account(spec);
        }
        if let Some(labels) = child(template, "metadata").and_then(|of| child(of, "labels")) {
            of_pod = labels.entries().to_vec();
            if manual != Some(true) {
                of_pod.retain(|entry| !is_generated(entry));
                leave_out(labels, &is_generated);
            }
        }
    }
    let own = job.get("metadata").and_then(|of| of.get("labels"));
    if own.is_none_or(|labels| labels.entries().is_empty()) {
        if !of_pod.is_empty() {
            if job.get("metadata").is_none() {
                put_node(job, "metadata", Node::new(Value::Map(vec![])));
            }
            // What is no map here is refused wherever it is looked at.
            if let Some(metadata) = child(job, "metadata") {
                put_node(metadata, "labels", Node::new(Value::Map(of_pod)));
            }
        }
    } else if manual != Some(true)
        && let Some(labels) = child(job, "metadata").and_then(|of| child(of, "labels"))
    {
        // Those of a Job whose labels were all taken away came from the Pod template.
        leave_out(labels, &is_generated);
    }
}

/// Both spellings of the service account are one value, `serviceAccountName`, which wins.
fn name_the_account(pod: &mut Node<'_>) {
    let old = text(pod, "serviceAccount").map(str::to_owned);
    let is_named = text(pod, "serviceAccountName").is_some();
    leave_out(pod, &|entry| entry.key == "serviceAccount");
    if let Some(old) = old.filter(|_| !is_named) {
        put(pod, "serviceAccountName", old);
    }
}

/// A string that is there and not empty.
fn text<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::as_str).filter(|text| !text.is_empty())
}

fn child<'n, 'j>(node: &'n mut Node<'j>, key: &str) -> Option<&'n mut Node<'j>> {
    match &mut node.value {
        Value::Map(entries) => entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node),
        _ => None,
    }
}

fn leave_out(node: &mut Node<'_>, unwanted: &dyn Fn(&Entry<'_>) -> bool) {
    if let Value::Map(entries) = &mut node.value {
        entries.retain(|entry| !unwanted(entry));
    }
}

fn put(node: &mut Node<'_>, key: &'static str, text: String) {
    put_node(node, key, Node::new(Value::String(Cow::Owned(text))));
}

fn put_node<'j>(node: &mut Node<'j>, key: &'static str, value: Node<'j>) {
    let Value::Map(entries) = &mut node.value else { return };
    match entries.iter_mut().find(|entry| entry.key == key) {
        Some(entry) => entry.node = value,
        None => entries.push(Entry { key: Cow::Borrowed(key), key_at: NOWHERE, node: value }),
    }
}
