//! What the core's tests share: a small Job, ways to change it, and what a shape says of it.
//!
//! In pointers `pod/…` stands for `/spec/template/spec/…` and `worker/…` for its first container;
//! in paths `pod.…` and `worker.…` are the same.

use serde_json::{Value, json};

use super::judge::{Finding, Findings, judge_one};
use super::kubernetes::api::Api;
use super::kubernetes::stored::with_defaults;
use super::mistake::Mistake;
use super::shape::Shape;
use super::tree::{NOWHERE, Node};
use crate::formats::documents::documents;

/// The namespace of every request here, and of every shape that does not say otherwise.
pub const NAMESPACE: &str = "ns";

/// A Job or a template, to be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Job(pub Value);

/// The smallest Job there is.
pub fn job() -> Job {
    Job(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "worker"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "worker", "image": "registry.example/worker:1"}],
        }}},
    }))
}

impl Job {
    /// The same with another value at `pointer`; parents that it lacks are made as maps, and `-`
    /// appends to a list.
    pub fn set(mut self, pointer: &str, value: Value) -> Job {
        let mut at = &mut self.0;
        for step in steps(pointer) {
            at = match at {
                Value::Array(items) => {
                    let index = step.parse().unwrap_or(items.len());
                    items.resize(items.len().max(index + 1), Value::Null);
                    &mut items[index]
                }
                other => {
                    if !other.is_object() {
                        *other = json!({});
                    }
                    other.as_object_mut().unwrap().entry(step).or_insert(Value::Null)
                }
            };
        }
        *at = value;
        self
    }

    /// The same without what stands at `pointer`.
    pub fn remove(mut self, pointer: &str) -> Job {
        let mut steps = steps(pointer);
        let last = steps.pop().unwrap();
        let parent = steps.iter().fold(&mut self.0, |at, step| match at {
            Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
            other => &mut other[step],
        });
        match parent {
            Value::Array(items) => items.remove(last.parse().unwrap()),
            map => map.as_object_mut().unwrap().remove(&last).expect("it is there"),
        };
        self
    }

    /// The same with the items of a list in the reverse order.
    pub fn reverse(mut self, pointer: &str) -> Job {
        let whole = format!("/{}", steps(pointer).join("/"));
        self.0.pointer_mut(&whole).unwrap().as_array_mut().unwrap().reverse();
        self
    }

    /// The Job as text that has positions.
    pub fn text(&self) -> String {
        format!("---\n{}\n", serde_json::to_string_pretty(&self.0).unwrap())
    }
}

fn steps(pointer: &str) -> Vec<String> {
    let whole = match pointer.split_once('/') {
        Some(("pod", rest)) => format!("spec/template/spec/{rest}"),
        Some(("worker", rest)) => format!("spec/template/spec/containers/0/{rest}"),
        _ => pointer.trim_start_matches('/').to_owned(),
    };
    whole.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

/// The one document of a text.
pub fn read(text: &str) -> Node<'static> {
    let mut all = documents(text);
    let root = all.next().expect("a document").expect("it can be read").root.into_owned();
    assert!(all.next().is_none(), "one document");
    root
}

/// A whole shape document with this `spec`; the parts that most tests do not care about are added.
pub fn document(spec: &str) -> String {
    let mut text =
        "apiVersion: jobshape.dev/v1alpha1\nkind: JobShape\nmetadata: {name: worker}\nspec:\n"
            .to_owned();
    let has = |key: &str| spec.lines().any(|line| line.starts_with(key));
    if !has("match:") {
        text.push_str("  match: {namespaces: [ns]}\n");
    }
    if !has("templates:") && !has("templateFrom:") {
        text.push_str("  templateFrom: [{file: job.yaml}]\n");
    }
    for line in spec.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// Loads a shape of this template and `spec`.
pub fn load(template: &Job, spec: &str) -> Result<Shape, Vec<Mistake>> {
    Shape::load(&read(&document(spec)), &[read(&template.text())])
}

/// The shape of this template and `spec`.
pub fn shape(template: &Job, spec: &str) -> Shape {
    load(template, spec).unwrap_or_else(|mistakes| {
        let said: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        panic!("the shape does not load:\n{}\n{spec}", said.join("\n"))
    })
}

/// What a shape finds in a Job.
pub fn judge(shape: &Shape, job: &Job) -> Findings {
    judge_one(shape, shape.first(), &Node::from_json(&job.0), NAMESPACE)
}

/// The Job as the server would store it.
fn stored(job: &Job) -> Job {
    let api = Api::get();
    Job(with_defaults(api, api.job(), &Node::from_json(&job.0)).to_json())
}

/// A place in the short form of this module.
pub fn short(path: &str) -> String {
    path.replace("spec.template.spec.containers[worker]", "worker")
        .replace("spec.template.spec", "pod")
}

fn lines(shape: &Shape, findings: &Findings) -> Vec<String> {
    let line = |f: &Finding| {
        format!("{} {} {}: {}", shape.rule(f.rule).name, f.action, short(&f.path), f.message)
    };
    findings.findings.iter().map(line).collect()
}

/// The Job is admitted, as it is and as the server stores it.
#[track_caller]
pub fn admits(shape: &Shape, job: &Job) {
    for (job, how) in [(job.clone(), "as written"), (stored(job), "as stored")] {
        let findings = judge(shape, &job);
        assert!(findings.count == 0, "{how}: {:#?}\n{}", lines(shape, &findings), job.0);
    }
}

/// The Job has exactly these findings: places, and a part of what is said. As the server stores
/// it, it has findings too.
#[track_caller]
pub fn refuses(shape: &Shape, job: &Job, expected: &[(&str, &str)]) {
    let findings = judge(shape, job);
    let fits = expected.len() == findings.count
        && expected.iter().zip(&findings.findings).all(|((path, part), found)| {
            *path == short(&found.path) && found.message.contains(part)
        });
    assert!(fits, "expected {expected:#?}\nfound {:#?}\n{}", lines(shape, &findings), job.0);
    assert!(judge(shape, &stored(job)).count > 0, "as stored it is admitted: {}", job.0);
}

/// Rule, action and place of every finding.
pub fn spoken(shape: &Shape, job: &Job) -> Vec<String> {
    let findings = judge(shape, job);
    let line = |f: &Finding| {
        let raised = match f.raised_by {
            Some(rule) => format!(" raised by {}", shape.rule(rule).name),
            None => String::new(),
        };
        format!("{} {} {}{raised}", shape.rule(f.rule).name, f.action, short(&f.path))
    };
    findings.findings.iter().map(line).collect()
}

/// The shape does not load, for exactly these mistakes: the text they point at, and a part of
/// message or help.
#[track_caller]
pub fn mistaken(template: &Job, spec: &str, expected: &[(&str, &str)]) {
    let mistakes = match load(template, spec) {
        Ok(_) => panic!("it loads:\n{spec}"),
        Err(mistakes) => mistakes,
    };
    let texts = [document(spec), template.text()];
    let place = |m: &Mistake| match m.at {
        NOWHERE => "nowhere".to_owned(),
        at => texts[m.source][at as usize..].chars().take(120).collect(),
    };
    let said: Vec<(String, String)> = mistakes.iter().map(|m| (place(m), m.to_string())).collect();
    let fits = expected.len() == said.len()
        && expected
            .iter()
            .zip(&said)
            .all(|((at, part), (place, text))| place.starts_with(at) && text.contains(part));
    assert!(fits, "expected {expected:#?}\nfound {said:#?}\n{spec}");
}
