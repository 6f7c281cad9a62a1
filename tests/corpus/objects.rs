//! The Jobs and CronJobs of the manifests of other projects, and for each the shape in which it is
//! the template and nothing varies.

use std::path::Path;

use jobshape::core::kubernetes::api::{Api, Kind};
use jobshape::core::mistake::Mistake;
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use jobshape::formats::documents;
use jobshape::formats::text::Source;
use serde_json::{Value, json};

use super::shared;

/// One object of a manifest.
#[derive(Debug, Clone)]
pub struct Object {
    /// The manifest, within the corpus.
    pub file: String,
    /// Which of its objects this is, from 1.
    pub number: usize,
    /// What kubectl would send.
    pub value: Value,
}

impl Object {
    /// Where it stands, for a failure.
    pub fn place(&self) -> String {
        format!("{}#{}", self.file, self.number)
    }

    /// The request's namespace: its own, or the one that a client would take.
    pub fn namespace(&self) -> &str {
        match self.value["metadata"]["namespace"].as_str() {
            Some(own) if !own.is_empty() => own,
            _ => "default",
        }
    }

    /// The shape of it, for a namespace. What the server generates is no part of a template.
    pub fn shape(&self, namespace: &str) -> Result<Shape, Vec<Mistake>> {
        let template = ungenerated(self.value.clone());
        let document = json!({
            "apiVersion": "jobshape.dev/v1alpha1",
            "kind": "JobShape",
            "metadata": {"name": "corpus"},
            "spec": {
                "match": {"namespaces": [namespace]},
                "literals": literals(&template),
                "templates": [template],
            },
        });
        Shape::load(&Node::from_json(&document), &[])
    }
}

/// What is read of the corpus; nothing where there is none.
pub struct Corpus {
    /// How many manifests there are.
    pub files: usize,
    /// The Jobs and CronJobs in them.
    pub objects: Vec<Object>,
    /// Manifests that hold something unreadable, and what is said of it.
    pub unread: Vec<String>,
}

/// Every manifest that the index names.
pub fn corpus() -> Option<Corpus> {
    let folder = shared("corpus")?;
    let index = std::fs::read_to_string(folder.join("INDEX.tsv")).expect("the index");
    let mut read = Corpus { files: 0, objects: vec![], unread: vec![] };
    for line in index.lines().skip(1) {
        let file = line.rsplit('\t').next().expect("a last column");
        read.files += 1;
        read.add(&folder, file);
    }
    Some(read)
}

impl Corpus {
    fn add(&mut self, folder: &Path, file: &str) {
        let bytes = std::fs::read(folder.join(file)).expect("the index names what is there");
        let source = match Source::from_bytes(file, bytes) {
            Ok(source) => source,
            Err(mistake) => return self.unread.push(format!("{file}: {mistake}")),
        };
        for (index, object) in documents::objects(&source).into_iter().enumerate() {
            match object {
                Ok(object) => {
                    let value = object.root.to_json();
                    if value["kind"] == "Job" || value["kind"] == "CronJob" {
                        self.objects.push(Object {
                            file: file.to_owned(),
                            number: index + 1,
                            value,
                        });
                    }
                }
                Err(mistake) => self.unread.push(format!("{file}: {mistake}")),
            }
        }
    }
}

/// A Job without the selector and the labels that the server generates.
fn ungenerated(mut object: Value) -> Value {
    if object["kind"] == "Job" && object["spec"]["manualSelector"] != true {
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.remove("selector");
        }
        for place in ["/metadata/labels", "/spec/template/metadata/labels"] {
            let labels = object.pointer_mut(place);
            if let Some(labels) = labels.and_then(Value::as_object_mut) {
                let generated = ["controller-uid", "job-name"];
                labels.retain(|key, _| {
                    !generated.contains(&key.strip_prefix("batch.kubernetes.io/").unwrap_or(key))
                });
            }
        }
    }
    object
}

/// What in a template looks as if something had to be filled in, and stands there as it is.
fn literals(value: &Value) -> Vec<String> {
    let mut found = vec![];
    collect(value, &mut found);
    found.sort();
    found.dedup();
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(map) => {
            for (key, value) in map {
                angles(key, found);
                collect(value, found);
            }
        }
        Value::String(text) => {
            angles(text, found);
            let trimmed = text.trim();
            if trimmed.starts_with("${") || trimmed.starts_with("{{") {
                found.push(text.clone());
            }
        }
        _ => {}
    }
}

/// `<name>`.
fn angles(text: &str, found: &mut Vec<String>) {
    for (open, _) in text.match_indices('<') {
        if let Some(close) = text[open..].find('>') {
            let inner = &text[open + 1..open + close];
            if !inner.is_empty()
                && inner.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
            {
                found.push(format!("<{inner}>"));
            }
        }
    }
}

/// An object without what this server does not know, or takes out before it asks anybody.
pub fn known(api: &Api, object: &Value) -> Value {
    let root = if object["kind"] == "CronJob" { api.cron_job() } else { api.job() };
    within(api, root, &[], object)
}

/// The same of a part; in the entries of some lists more goes.
fn within(api: &Api, kind: Kind, gone: &[&str], value: &Value) -> Value {
    match (kind, value) {
        (Kind::Struct(_), Value::Object(map)) => map
            .iter()
            .filter(|(key, _)| !gone.contains(&key.as_str()))
            .filter_map(|(key, value)| {
                let field = api.field(kind, key)?;
                let here = |releases: &[&str]| releases.iter().any(|v| field.versions.contains(v));
                let inside = field.gated_inside.iter().filter(|(_, releases)| here(releases));
                let inside: Vec<&str> = inside.map(|(name, _)| *name).collect();
                let kept = !here(&field.gated);
                kept.then(|| (key.clone(), within(api, field.kind, &inside, value)))
            })
            .collect(),
        (Kind::List(list), Value::Array(items)) => {
            let item = api.list(list).item;
            items.iter().map(|value| within(api, item, gone, value)).collect()
        }
        (_, other) => other.clone(),
    }
}
