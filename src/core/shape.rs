//! Shapes: the document, its template, variables and rules, compiled into one tree.

use crate::core::judge;
use crate::core::kubernetes::api::Api;
use crate::core::kubernetes::stored::with_defaults;
use crate::core::mistake::Mistake;
use crate::core::tree::Node;

pub mod claims;
pub mod compile;
pub mod compiled;
pub mod constraint;
pub mod cron_job;
pub mod digest;
pub mod document;
pub mod fields;
pub mod fill;
pub mod identities;
pub mod job_rules;
pub mod lint;
pub mod marks;
pub mod must;
pub mod pattern;
pub mod placeholder;
pub mod rule;
pub mod selector;
pub mod template;
pub mod text;
pub mod variable;
pub mod variables;

use document::{Document, Operation, template_files};
use identities::{Identities, Requester};
use rule::{Rule, RuleId};
use template::{Of, Template, Written};
use variable::{VariableId, Variables};

/// How much of its templates a shape enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strictness {
    /// No rule refuses.
    Nothing,
    /// Some do, and not the one for everything that no other claims.
    Parts,
    /// That one does, whatever others do.
    Rest,
}

/// A loaded shape: everything a decision needs, nothing that could still fail.
#[derive(Debug, Clone)]
pub struct Shape {
    /// `metadata.name`.
    pub name: String,
    /// SHA-256 of the canonical JSON of `spec` with its templates inlined, in hexadecimal.
    pub digest: String,
    /// The namespaces it governs.
    pub namespaces: Vec<String>,
    /// The operations it governs.
    pub operations: Vec<Operation>,
    /// Whose requests it governs; everybody's if nobody is named.
    pub who: Identities,
    /// From whom it is taken away.
    pub exempt: Identities,
    /// Whether `kubectl create job --from` may make a Job of its CronJob.
    pub manual_runs: bool,
    /// Its rules, the catch-all included.
    pub rules: Vec<Rule>,
    /// Its templates, alternatives to each other: those written, in their order, and behind each
    /// CronJob that of its Jobs.
    pub templates: Vec<Template>,
}

impl Shape {
    /// Loads a shape. `templates` are the documents of the files that `spec.templateFrom` names,
    /// in its order; positions in them belong to source 1, 2, …
    ///
    /// # Errors
    /// Every mistake that can be seen, not only the first.
    pub fn load(root: &Node<'_>, templates: &[Node<'_>]) -> Result<Shape, Vec<Mistake>> {
        Shape::load_for(Api::get(), root, templates)
    }

    /// The same by another table of the Job API than the one that is compiled in.
    ///
    /// # Errors
    /// As [`Shape::load`].
    pub fn load_for(
        api: &'static Api,
        root: &Node<'_>,
        templates: &[Node<'_>],
    ) -> Result<Shape, Vec<Mistake>> {
        let mut mistakes = vec![];
        let Some(mut document) = Document::read(root, &mut mistakes) else { return Err(mistakes) };
        let written = written(root, templates, std::mem::take(&mut document.templates));
        // A shape that names templates and has none is no guard.
        if written.is_empty() && !document.is_guard {
            return Err(mistakes);
        }
        must::resolve(api, &mut document, &mut mistakes);
        let digest = digest::of(root, written.iter().map(|written| &written.node));
        let (mut templates, mut found): (Vec<Template>, Vec<Vec<Mistake>>) = (vec![], vec![]);
        for written in &written {
            let mut made = match written.of() {
                Ok(of) => vec![Template::compile(api, &document, of, written)],
                Err(mistake) => {
                    mistakes.push(mistake);
                    continue;
                }
            };
            if made.iter().any(|made| made.template.of == Of::CronJob) {
                let of_child = cron_job::document_of_child(&document);
                made.push(Template::compile(api, &of_child, Of::Child, written));
            }
            let (of_one, wrong): (Vec<Template>, Vec<Vec<Mistake>>) =
                made.into_iter().map(|made| (made.template, made.mistakes)).unzip();
            templates.extend(of_one);
            found.push(wrong.concat());
        }
        mistakes.extend(no_manual_runs(&document, &written));
        mistakes.extend(must::silent(&document, &templates));
        let used: Vec<VariableId> = templates.iter().flat_map(|made| made.used.clone()).collect();
        mistakes.extend(everywhere(&document, &found));
        mistakes.extend(unused(&document.variables, |id| used.contains(&id)));
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let shape = Shape {
            digest,
            name: document.name,
            namespaces: document.namespaces,
            operations: document.operations,
            who: document.who,
            exempt: document.exempt,
            manual_runs: document.manual_runs.is_some(),
            rules: document.rules.into_iter().map(|r| r.rule).collect(),
            templates,
        };
        shape.check_itself()?;
        Ok(shape)
    }

    /// The first eight digits of the digest: what messages show.
    #[must_use]
    pub fn short_digest(&self) -> &str {
        self.digest.get(..8).unwrap_or(&self.digest)
    }

    /// A rule.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[usize::from(id.0)]
    }

    /// The template that `fill`, the self-test of a server and the canary use.
    ///
    /// # Panics
    /// Of a shape without templates.
    #[must_use]
    pub fn first(&self) -> &Template {
        &self.templates[0]
    }

    /// The templates that somebody wrote: what is said of a CronJob's Jobs is said of the CronJob.
    pub fn written(&self) -> impl Iterator<Item = &Template> {
        self.templates.iter().filter(|template| template.of != Of::Child)
    }

    /// Whether any of its rules says what must be so, whatever a template has.
    #[must_use]
    pub fn has_musts(&self) -> bool {
        self.rules.iter().any(|rule| rule.must.is_some())
    }

    /// Whether it is a guard: a shape without a template, whose rules all say what must be so.
    #[must_use]
    pub fn is_guard(&self) -> bool {
        self.templates.is_empty()
    }

    /// How much of its templates it enforces. What `must` rules say has nothing to do with them.
    #[must_use]
    pub fn strictness(&self) -> Strictness {
        let enforced =
            |rule: &&rule::Rule| rule.must.is_none() && rule.action == rule::Action::Enforce;
        let mut enforced = self.rules.iter().filter(enforced).peekable();
        match (enforced.peek().is_some(), enforced.any(|rule| rule.catch_all)) {
            (_, true) => Strictness::Rest,
            (true, false) => Strictness::Parts,
            (false, false) => Strictness::Nothing,
        }
    }

    /// Whether any of its rules refuses.
    #[must_use]
    pub fn enforces(&self) -> bool {
        self.rules.iter().any(|rule| rule.action == rule::Action::Enforce)
    }

    /// Whether it is for the requests of this identity, exempt or not. The Jobs of a CronJob are
    /// made by the CronJob controller, whoever made the CronJob.
    #[must_use]
    pub fn is_for(&self, requester: Option<&Requester<'_>>) -> bool {
        let Some(requester) = requester else { return true };
        self.who.is_empty()
            || self.who.hold(requester)
            || (requester.is_cron_job_controller()
                && self.templates.iter().any(|template| template.of == Of::CronJob))
    }

    /// Whether it is taken away from this identity.
    #[must_use]
    pub fn exempts(&self, requester: Option<&Requester<'_>>) -> bool {
        requester.is_some_and(|requester| self.exempt.hold(requester))
    }

    /// Each filled template must pass its own shape: as written, and as the server makes it.
    fn check_itself(&self) -> Result<(), Vec<Mistake>> {
        let namespace = self.namespaces.first().map_or("", String::as_str);
        for template in &self.templates {
            let filled = template.filled(&[]).map_err(|m| vec![m])?;
            let stored = with_defaults(template.api, template.kind(), &filled);
            for (object, what) in [
                (filled, "its own template"),
                (stored, "what the server makes of its own template"),
            ] {
                let judged = judge::judge_one(self, template, &object, namespace);
                if judged.count > 0 {
                    let refused = |f| refused_itself(template, f, what);
                    return Err(judged.findings.into_iter().map(refused).collect());
                }
            }
        }
        Ok(())
    }
}

fn refused_itself(template: &Template, finding: judge::Finding, what: &str) -> Mistake {
    let at = finding.template_at.unwrap_or(template.written.at);
    Mistake::new(at, format!("the shape refuses {what} at {}: {}", finding.path, finding.message))
        .source(template.source)
}

/// The templates as they are written, in the files or inline.
fn written(root: &Node<'_>, files: &[Node<'_>], inline: Vec<Node<'static>>) -> Vec<Written> {
    let names = template_files(root).into_iter().map(|(file, _)| Some(file));
    let in_files = files.iter().zip(names).enumerate().map(|(index, (node, file))| Written {
        node: node.clone().into_owned(),
        source: index + 1,
        file,
    });
    let inline = inline.into_iter().map(|node| Written { node, source: 0, file: None });
    if files.is_empty() { inline.collect() } else { in_files.collect() }
}

/// The mistakes of all templates. What a shape names need not be in each of them: a mistake about a
/// place counts if it is one for every template.
fn everywhere(document: &Document, found: &[Vec<Mistake>]) -> Vec<Mistake> {
    let places: Vec<u32> = document.places().collect();
    let is_about_a_place = |mistake: &Mistake| mistake.source == 0 && places.contains(&mistake.at);
    let counts = |mistake: &Mistake| {
        !is_about_a_place(mistake)
            || found.iter().all(|of_one| {
                of_one.iter().any(|other| other.source == 0 && other.at == mistake.at)
            })
    };
    let mut all: Vec<Mistake> = vec![];
    for mistake in found.iter().flatten().filter(|mistake| counts(mistake)) {
        if !all.contains(mistake) {
            all.push(mistake.clone());
        }
    }
    all
}

/// `manualRuns` where no template is a CronJob: somebody expects something of it that never comes.
fn no_manual_runs(document: &Document, written: &[Written]) -> Option<Mistake> {
    let at = document.manual_runs?;
    // What cannot be read is a mistake of its own, and might have been one.
    let might_have_one =
        written.iter().any(|written| written.of().map_or(true, |of| of == Of::CronJob));
    (!might_have_one).then(|| {
        Mistake::new(
            at,
            "`manualRuns` of match is about Jobs made of a CronJob, and no template is one",
        )
        .help("leave it out, or name the CronJob as a template")
    })
}

/// Variables that no template uses.
fn unused(variables: &Variables, used: impl Fn(VariableId) -> bool) -> Vec<Mistake> {
    let unused = variables.iter().filter(|(id, _)| !used(*id));
    unused
        .map(|(_, variable)| {
            Mistake::new(
                variable.written_at,
                format!("the variable `{}` is never used", variable.name),
            )
            .help(format!(
                "the template has no `{}`; take it out, or name its places in `at`",
                variable.placeholder
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests;
