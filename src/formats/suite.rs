//! Test files: a base Job, changes of it, and what each must get.
//!
//! A case that cannot be built is an error, never a pass: a patch that replaces what is not there,
//! a rule that does not exist, a change that changes nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::core::judge::update::Old;
use crate::core::judge::{Request, Shapes, Verdict, VerdictKind};
use crate::core::mistake::Mistake;
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::shape::identities::Named;
use crate::core::shape::rule::Action;
use crate::core::tree::Node;

pub mod case;
pub mod read;

pub use case::{Built, Outcome};

/// The kind of a test file.
pub const KIND: &str = "JobShapeTest";

/// A test file, read.
#[derive(Debug)]
pub struct Suite {
    /// `metadata.name`.
    pub name: String,
    /// The shape files it names, with where they stand.
    pub shapes: Vec<(String, u32)>,
    /// The Job that cases change.
    pub base: Base,
    /// Who asks.
    pub request: Requester,
    /// The cases.
    pub cases: Vec<Case>,
}

/// The Job that cases change.
#[derive(Debug)]
pub enum Base {
    /// The first shape's template, filled with these values and examples.
    Fill(Vec<(String, String, u32)>),
    /// A file.
    File(String, u32),
}

/// Who asks, and where.
#[derive(Debug, Default, Clone)]
pub struct Requester {
    /// The user.
    pub user: Option<String>,
    /// The user's groups.
    pub groups: Vec<String>,
    /// The namespace of a Job that names none.
    pub namespace: Option<String>,
}

/// A case, as written.
#[derive(Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub at: u32,
    /// How its Job is made.
    pub change: Change,
    /// What it must get.
    pub expect: VerdictKind,
    /// The rules that must have findings, and no others.
    pub rules: Vec<(String, u32)>,
    /// Any rules will do.
    pub any_rule: bool,
    /// Places that must have findings.
    pub paths: Vec<String>,
    /// A text that some finding's message must hold.
    pub message: Option<String>,
    /// Create or update.
    pub operation: Operation,
    /// What an update replaces, if that is not the base.
    pub old: Option<Change>,
    /// What the server does with the Job before it could ask a webhook.
    pub server: Option<Server>,
    /// A text that the server's refusal or warning holds then.
    pub server_reason: Option<String>,
    /// Rules keep the actions they have; otherwise every rule is judged as Enforce.
    pub as_written: bool,
}

/// What the API server does with a Job of its own accord, so that no webhook sees it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// It refuses it.
    Invalid,
    /// It takes the difference out of it.
    Drops,
}

impl Server {
    /// The words of a test file.
    pub const WORDS: [&'static str; 2] = ["invalid", "drops"];

    /// The word in a test file and in every output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Server::Invalid => "invalid",
            Server::Drops => "drops",
        }
    }

    /// What a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Server> {
        [Server::Invalid, Server::Drops].into_iter().find(|s| s.word() == word)
    }
}

/// How a case makes its Job: a start, then a patch, then a merge.
#[derive(Debug)]
pub struct Change {
    /// What it starts from.
    pub start: Start,
    /// RFC 6902.
    pub patch: Option<json_patch::Patch>,
    /// RFC 7386, after the patch.
    pub merge: Option<serde_json::Value>,
}

/// What a case starts from.
#[derive(Debug)]
pub enum Start {
    /// The base; in an update, what it replaces.
    Given,
    /// A file.
    File(String, u32),
    /// Another Job.
    Object(serde_json::Value),
    /// The template filled with these values.
    Values(Vec<(String, String)>),
}

/// The Jobs in files that a suite names, by the name it gives them.
pub type Files = BTreeMap<String, serde_json::Value>;

/// A suite with its shapes and base: cases can be built and judged.
pub struct Ready<'s> {
    suite: &'s Suite,
    files: &'s Files,
    base: serde_json::Value,
    first: Arc<Shape>,
    enforced: Shapes,
    as_written: Shapes,
    requester: Option<Named>,
}

impl Suite {
    /// The files with Jobs that it names, and where it does.
    pub fn files(&self) -> impl Iterator<Item = (&str, u32)> {
        let base = match &self.base {
            Base::File(name, at) => Some((name.as_str(), *at)),
            Base::Fill(_) => None,
        };
        let starts = self.cases.iter().filter_map(|case| match &case.old.as_ref()?.start {
            Start::File(name, at) => Some((name.as_str(), *at)),
            _ => None,
        });
        base.into_iter().chain(starts)
    }
}

impl<'s> Ready<'s> {
    /// A suite with its loaded shapes and the Jobs in [`Suite::files`].
    ///
    /// # Errors
    /// Mistakes in the suite: a rule that no shape has, a value that no variable is, shapes that
    /// cannot be loaded together.
    pub fn new(
        suite: &'s Suite,
        shapes: &[Shape],
        files: &'s Files,
    ) -> Result<Ready<'s>, Vec<Mistake>> {
        let mut mistakes = vec![];
        let names: HashSet<&str> =
            shapes.iter().flat_map(|s| s.rules.iter().map(|r| r.name.as_str())).collect();
        for case in &suite.cases {
            for (rule, at) in &case.rules {
                if !names.contains(rule.as_str()) {
                    let known: Vec<&str> = names.iter().copied().collect();
                    let mut mistake = Mistake::new(*at, format!("no shape has a rule `{rule}`"));
                    mistake.help = crate::core::mistake::nearest(rule, known)
                        .map(|n| format!("did you mean `{n}`?"));
                    mistakes.push(mistake);
                }
            }
        }
        let together = |shapes: Vec<Shape>| {
            Shapes::new(shapes).map_err(|(_, message)| vec![Mistake::nowhere(message)])
        };
        let enforced = shapes
            .iter()
            .cloned()
            .map(|mut shape| {
                shape.rules.iter_mut().for_each(|rule| rule.action = Action::Enforce);
                shape
            })
            .collect();
        let as_written = together(shapes.to_vec())?;
        let enforced = together(enforced)?;
        let Some(first) = as_written.all().first().cloned() else {
            return Err(vec![Mistake::nowhere("a test file needs a shape")]);
        };
        let base = match &suite.base {
            Base::File(name, at) => match files.get(name) {
                Some(json) => json.clone(),
                None => return Err(vec![Mistake::new(*at, "the base was not read")]),
            },
            Base::Fill(values) => {
                let pairs = values.iter().map(|(name, value, _)| (name.as_str(), value.as_str()));
                let filled = first
                    .first()
                    .settings(pairs)
                    .and_then(|settings| first.first().fill(&settings));
                filled.map(|n| n.to_json()).map_err(|m| {
                    let at = values.first().map_or(m.at, |(_, _, at)| *at);
                    vec![Mistake { at, ..m }]
                })?
            }
        };
        if mistakes.is_empty() {
            let request = &suite.request;
            let requester = request.user.as_deref().map(|user| Named::new(user, &request.groups));
            Ok(Ready { suite, files, base, first, enforced, as_written, requester })
        } else {
            Err(mistakes)
        }
    }

    /// Case 0: the base itself is admitted, and without findings.
    #[must_use]
    pub fn base(&self) -> Built {
        self.built(self.base.clone(), None)
    }

    /// Builds the Job of a case, and for an update what it replaces.
    ///
    /// # Errors
    /// Why it cannot be built, in a sentence.
    pub fn build(&self, case: &Case) -> Result<Built, String> {
        let old = match case.operation {
            Operation::Create => None,
            Operation::Update => Some(match &case.old {
                Some(change) => {
                    self.make(change, &self.base).map_err(|error| format!("in `old`: {error}"))?
                }
                None => self.base.clone(),
            }),
        };
        let given = old.as_ref().unwrap_or(&self.base);
        let job = self.make(&case.change, given)?;
        if job == *given && case.expect == VerdictKind::Deny {
            return Err("the case changes nothing, so it cannot be refused".to_owned());
        }
        Ok(self.built(job, old))
    }

    fn make(
        &self,
        change: &Change,
        given: &serde_json::Value,
    ) -> Result<serde_json::Value, String> {
        let mut job = match &change.start {
            Start::Given => given.clone(),
            Start::Object(object) => object.clone(),
            Start::File(name, _) => {
                self.files.get(name).cloned().ok_or_else(|| format!("`{name}` was not read"))?
            }
            Start::Values(values) => {
                let pairs = values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let settings = self.first.first().settings(pairs).map_err(|m| m.to_string())?;
                self.first.first().fill(&settings).map_err(|m| m.to_string())?.to_json()
            }
        };
        if let Some(patch) = &change.patch {
            json_patch::patch(&mut job, patch)
                .map_err(|error| format!("the patch cannot be applied: {error}"))?;
        }
        if let Some(merge) = &change.merge {
            json_patch::merge(&mut job, merge);
        }
        Ok(job)
    }

    fn built(&self, job: serde_json::Value, old: Option<serde_json::Value>) -> Built {
        let named = job.pointer("/metadata/namespace").and_then(serde_json::Value::as_str);
        let namespace = named
            .or(self.suite.request.namespace.as_deref())
            .or(self.first.namespaces.first().map(String::as_str))
            .unwrap_or_default()
            .to_owned();
        Built { job, namespace, old }
    }

    /// Judges a built case as the server would.
    #[must_use]
    pub fn judge(&self, built: &Built, as_written: bool) -> Outcome {
        let shapes = if as_written { &self.as_written } else { &self.enforced };
        let tree = Node::from_json(&built.job);
        let kind = tree.get("kind").and_then(Node::as_str).unwrap_or_default().to_owned();
        let old = built.old.as_ref().map(Node::from_json);
        let read_old = || old.as_ref();
        Outcome::of(&shapes.judge(&Request {
            kind: &kind,
            namespace: &built.namespace,
            requester: self.requester.as_ref().map(Named::requester),
            operation: built.operation(),
            object: &tree,
            old: Some(Old::new(&read_old)),
            pointers: false,
        }))
    }

    /// The shapes, every rule as Enforce.
    #[must_use]
    pub fn enforced(&self) -> &Shapes {
        &self.enforced
    }

    /// The suite.
    #[must_use]
    pub fn suite(&self) -> &'s Suite {
        self.suite
    }
}

/// The rules that have findings, each once, sorted.
#[must_use]
pub fn rules_of(verdict: &Verdict) -> Vec<String> {
    let findings = verdict.findings.findings.iter();
    let rules = findings.filter_map(|finding| verdict.rule_of(finding));
    let mut rules: Vec<String> = rules.map(|rule| rule.name.clone()).collect();
    rules.sort();
    rules.dedup();
    rules
}
