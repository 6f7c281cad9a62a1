//! The objects of a text, judged.

use super::old::OldJobs;
use crate::core::judge::update::Old;
use crate::core::judge::{Request, Shapes, Verdict, VerdictKind};
use crate::core::mistake::{Mistake, nearest};
use crate::core::path::cut;
use crate::core::shape::document::Operation;
use crate::core::shape::identities::Named;
use crate::core::tree::{NOWHERE, Node, Value};
use crate::edges::cli::{sentence, stderr_style};
use crate::edges::parallel;
use crate::formats::documents::{Object, Places, objects_of, read, split};
use crate::formats::report::judged::JudgedJob;
use crate::formats::report::snippet::mistake;
use crate::formats::text::Source;

/// Of so many documents a thread is worth its cost.
const BATCH: usize = 16;

/// What all objects are judged with.
pub struct Judging<'a> {
    /// The shapes.
    pub shapes: &'a Shapes,
    /// Who creates the Jobs, if that is said.
    pub requester: Option<Named>,
    /// The namespace of Jobs that name none.
    pub namespace: Option<&'a str>,
    /// What the Jobs replace.
    pub old: Option<&'a OldJobs>,
}

/// Why an object of a text was not judged.
pub enum NotJudged {
    /// It is of another kind: which, and which version.
    OtherKind(String),
    /// It cannot be read: a report, ready to print.
    Unreadable(String),
}

impl Judging<'_> {
    /// Judges every Job of a text, on all cores: documents do not depend on each other.
    pub fn text(&self, source: &Source, text: usize) -> Vec<Result<JudgedJob, NotJudged>> {
        let chunks = split(&source.text);
        let judged = parallel::map(&chunks, BATCH, |chunk| {
            let objects = objects_of([(chunk.clone(), read(chunk))]).into_iter();
            objects.map(|object| self.object(source, text, object)).collect::<Vec<_>>()
        });
        judged
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, job)| {
                job.map(|job| JudgedJob { source: format!("{}#{}", source.name, index + 1), ..job })
            })
            .collect()
    }

    /// One object.
    fn object(
        &self,
        source: &Source,
        text: usize,
        object: Result<Object<'_>, Mistake>,
    ) -> Result<JudgedJob, NotJudged> {
        let mut judged = JudgedJob {
            text,
            source: String::new(),
            kind: "Job".to_owned(),
            namespace: String::new(),
            name: String::new(),
            verdict: undecided("there is no object".to_owned()),
            offsets: vec![],
            positions: vec![],
        };
        let object = match object {
            Ok(object) => object,
            Err(found) => {
                return Err(NotJudged::Unreadable(mistake(&[source], &found, stderr_style())));
            }
        };
        let text_of = |node: &Node<'_>, key: &str| {
            node.get(key).and_then(Node::as_str).unwrap_or_default().to_owned()
        };
        let review = review_of(&object.root);
        let (job, prefix, reviewed, operation) = match review {
            Some(_) if self.old.is_some() || self.requester.is_some() => {
                let why = match self.old {
                    Some(_) => "an AdmissionReview says itself what it replaces: leave out --old",
                    None => "an AdmissionReview says itself who asks: leave out --as",
                };
                return Err(NotJudged::Unreadable(sentence(format_args!(
                    "{}: {why}",
                    source.name
                ))));
            }
            Some(request) => {
                let operation = text_of(request, "operation");
                (
                    request.get("object"),
                    "/request/object",
                    Some(text_of(request, "namespace")),
                    operation,
                )
            }
            None if self.old.is_some() => (Some(&object.root), "", None, "UPDATE".to_owned()),
            None => (Some(&object.root), "", None, "CREATE".to_owned()),
        };
        let job = job.filter(|j| matches!(j.value, Value::Map(_)));
        let Some(job) = job else {
            judged.verdict.reason = Some("the AdmissionReview has no object".to_owned());
            return Ok(judged);
        };
        for key in ["kind", "apiVersion"] {
            if text_of(job, key).is_empty() {
                let at = Places::of(source, &object).find(prefix).unwrap_or(NOWHERE);
                let found = no_object(job, key, at);
                return Err(NotJudged::Unreadable(mistake(&[source], &found, stderr_style())));
            }
        }
        let kind = text_of(job, "kind");
        let version = text_of(job, "apiVersion");
        if let Some(reason) = nearly_a_job(&version, &kind) {
            judged.verdict.reason = Some(reason);
            return Ok(judged);
        }
        if version != "batch/v1" || !matches!(kind.as_str(), "Job" | "CronJob") {
            return Err(NotJudged::OtherKind(format!("{} of {}", cut(&kind), cut(&version))));
        }
        judged.kind = kind;
        let metadata = job.get("metadata");
        judged.name = metadata.map(|m| text_of(m, "name")).unwrap_or_default();
        let own = metadata.map(|m| text_of(m, "namespace")).filter(|n| !n.is_empty());
        judged.namespace = match (reviewed.or(own), self.namespace) {
            (Some(found), _) => found,
            (None, Some(given)) => given.to_owned(),
            (None, None) => String::new(),
        };
        if judged.namespace.is_empty() {
            judged.verdict.reason = Some("it names no namespace: say which with -n".to_owned());
            return Ok(judged);
        }
        let Some(operation) = Operation::from_word(&operation) else {
            judged.verdict.reason = Some("jobshape judges CREATE and UPDATE only".to_owned());
            return Ok(judged);
        };
        let old = match (review, self.old) {
            (Some(review), _) => {
                review.get("oldObject").filter(|o| matches!(o.value, Value::Map(_)))
            }
            (None, Some(old)) => match old.find(&judged.kind, &judged.namespace, &judged.name) {
                Some(old) => Some(old),
                None => {
                    judged.verdict.reason = Some("--old has no object of its name".to_owned());
                    return Ok(judged);
                }
            },
            (None, None) => None,
        };
        let read_old = || old;
        let asks = match review {
            Some(review) => review.get("userInfo").and_then(asking),
            None => self.requester.clone(),
        };
        judged.verdict = self.shapes.judge(&Request {
            kind: &judged.kind,
            namespace: &judged.namespace,
            operation,
            requester: asks.as_ref().map(Named::requester),
            object: job,
            old: Some(Old::new(&read_old)),
            pointers: true,
        });
        if self.shapes.of_namespace(&judged.namespace).is_empty()
            && let Some(reason) = &mut judged.verdict.reason
        {
            let governed = self.shapes.all().iter().flat_map(|shape| &shape.namespaces);
            if let Some(meant) = nearest(&judged.namespace, governed.map(String::as_str)) {
                reason.push_str(&format!("; did you mean `{meant}`?"));
            }
        }
        let mut places = Places::of(source, &object);
        for finding in &judged.verdict.findings.findings {
            let pointer = format!("{prefix}{}", finding.pointer);
            let at = places.find(&pointer);
            judged.positions.push(at.map(|at| source.position(at)));
            let last = pointer.rsplit('/').next().unwrap_or_default();
            let is_item = last.parse::<usize>().is_ok();
            // An entry is known by its name, wherever in it that stands.
            judged.offsets.push(if is_item { places.find(&format!("{pointer}/name")) } else { at });
        }
        Ok(judged)
    }
}

/// That an object says not what it is, so that kubectl refuses it.
fn no_object(object: &Node<'_>, key: &str, at: u32) -> Mistake {
    let typed = object.entries().iter().find(|e| e.key != key && nearest(&e.key, [key]).is_some());
    let help = match typed {
        Some(entry) => format!("did you mean `{key}` where `{}` stands?", cut(&entry.key)),
        None => "begin each document with `apiVersion` and `kind`".to_owned(),
    };
    Mistake::new(at, format!("the object has no `{key}`, and kubectl refuses it")).help(help)
}

/// What is wrong with an object that was probably meant to be judged: passed over, it would be
/// green because nothing ran.
fn nearly_a_job(version: &str, kind: &str) -> Option<String> {
    let group = version.to_ascii_lowercase();
    let Some(meant) = nearest(kind, ["Job", "CronJob"]) else {
        let unknown =
            || format!("`batch/v1` has no kind `{}`: write `Job` or `CronJob`", cut(kind));
        return (group == "batch/v1").then(unknown);
    };
    let ours = !group.contains('/') || group.starts_with("batch/");
    (ours && (version != "batch/v1" || kind != meant)).then(|| {
        format!(
            "`{}` of `{}` is no Job: write `kind: {meant}` and `apiVersion: batch/v1`",
            cut(kind),
            cut(version)
        )
    })
}

/// The request of an AdmissionReview.
fn review_of<'n>(root: &'n Node<'n>) -> Option<&'n Node<'n>> {
    (root.get("kind").and_then(Node::as_str) == Some("AdmissionReview"))
        .then(|| root.get("request"))
        .flatten()
}

/// Who asks in an AdmissionReview.
fn asking(user_info: &Node<'_>) -> Option<Named> {
    let user = user_info.get("username").and_then(Node::as_str)?;
    let groups = user_info.get("groups").map(Node::items).unwrap_or_default();
    let groups: Vec<String> =
        groups.iter().filter_map(|group| group.as_str().map(str::to_owned)).collect();
    Some(Named::new(user, &groups))
}

fn undecided(reason: String) -> Verdict {
    Verdict::without_shape(VerdictKind::Error, reason)
}
