//! Shapes: the document, its template, variables and rules, compiled into one tree.

use crate::core::judge;
use crate::core::kubernetes::api::Api;
use crate::core::kubernetes::stored::with_defaults;
use crate::core::mistake::Mistake;
use crate::core::path;
use crate::core::tree::{Node, Value};

pub mod claims;
pub mod compile;
pub mod compiled;
pub mod constraint;
pub mod digest;
pub mod document;
pub mod fields;
pub mod fill;
pub mod job_rules;
pub mod lint;
pub mod marks;
pub mod pattern;
pub mod placeholder;
pub mod rule;
pub mod selector;
pub mod text;
pub mod variable;
pub mod variables;

use compile::Compiler;
use compiled::Compiled;
use document::{Document, Operation, template_files};
use rule::{Rule, RuleId};
use variable::Variables;

/// A loaded shape: everything a decision needs, nothing that could still fail.
#[derive(Debug, Clone)]
pub struct Shape {
    /// What the API server is taken to mean by a Job.
    pub api: &'static Api,
    /// `metadata.name`.
    pub name: String,
    /// SHA-256 of the canonical JSON of `spec` with its templates inlined, in hexadecimal.
    pub digest: String,
    /// The namespaces it governs.
    pub namespaces: Vec<String>,
    /// The operations it governs.
    pub operations: Vec<Operation>,
    /// Its variables.
    pub variables: Variables,
    /// Its rules, the catch-all included.
    pub rules: Vec<Rule>,
    /// The compiled template.
    pub tree: Compiled,
    /// What kind of labels, selector and name the server generates for this template.
    pub generated: job_rules::Generated,
    /// The template as written, to be filled.
    pub template: Node<'static>,
    /// The file that the template stands in, as the shape names it.
    pub template_file: Option<String>,
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
        let inline = std::mem::take(&mut document.templates).into_iter().next();
        let (source, template) = match (templates.first(), inline) {
            (Some(template), _) => (1, template.clone().into_owned()),
            (None, Some(template)) => (0, template),
            (None, None) => return Err(mistakes),
        };
        check_kind(&template, source, &mut mistakes);
        let digest = digest::of(root, &template);
        let template = job_rules::canonical_template(template);
        let mut variables = std::mem::take(&mut document.variables);
        let mut compiler = Compiler {
            api,
            variables: &mut variables,
            literals: &document.literals,
            source,
            tree: Compiled::roomy(),
            used: vec![],
            samples: vec![],
            special: job_rules::Generated::default(),
            mistakes: vec![],
        };
        compiler.template(&template);
        let generated = compiler.generated(&template);
        compiler.special = generated.clone();
        compiler.make_places(&document);
        compiler.mark(&document);
        compiler.claim(&document);
        let Compiler { mut tree, used, mistakes: found, .. } = compiler;
        tree.shrink();
        mistakes.extend(found);
        for (id, variable) in variables.iter() {
            if !used.contains(&id) {
                mistakes.push(
                    Mistake::new(
                        variable.written_at,
                        format!("the variable `{}` is never used", variable.name),
                    )
                    .help(format!(
                        "the template has no `{}`; take it out, or name its places in `at`",
                        variable.placeholder
                    )),
                );
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let shape = Shape {
            api,
            digest,
            name: document.name,
            namespaces: document.namespaces,
            operations: document.operations,
            rules: document.rules.into_iter().map(|r| r.rule).collect(),
            variables,
            tree,
            generated,
            template,
            template_file: template_files(root).into_iter().next().map(|(file, _)| file),
        };
        shape.check_itself(source)?;
        Ok(shape)
    }

    /// What to call the template in a message: its file, or the shape that it stands in.
    #[must_use]
    pub fn template_name(&self) -> String {
        match &self.template_file {
            Some(file) => format!("the template {}", path::cut(file)),
            None => format!("the template in the shape {}", path::cut(&self.name)),
        }
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

    /// The template, filled with examples, must pass its own shape: as written, and as the server
    /// makes it.
    fn check_itself(&self, source: usize) -> Result<(), Vec<Mistake>> {
        let filled = self.filled(&[]).map_err(|m| vec![m])?;
        let stored = with_defaults(self.api, self.api.job(), &filled);
        let namespace = self.namespaces.first().map_or("", String::as_str);
        for (job, what) in
            [(filled, "its own template"), (stored, "what the server makes of its own template")]
        {
            let judged = judge::judge_one(self, &job, namespace);
            if judged.count > 0 {
                return Err(judged
                    .findings
                    .into_iter()
                    .map(|f| self.refused_itself(f, what, source))
                    .collect());
            }
        }
        Ok(())
    }

    fn refused_itself(&self, finding: judge::Finding, what: &str, source: usize) -> Mistake {
        let at = finding.template_at.unwrap_or(self.template.at);
        Mistake::new(
            at,
            format!("the shape refuses {what} at {}: {}", finding.path, finding.message),
        )
        .source(source)
    }
}

fn check_kind(template: &Node<'_>, source: usize, mistakes: &mut Vec<Mistake>) {
    let word = |key: &str| template.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let at = |key: &str| template.get(key).map_or(template.at, |n| n.at);
    if !matches!(template.value, Value::Map(_)) {
        mistakes.push(
            Mistake::new(template.at, format!("a template is a Job, not {}", template.kind()))
                .source(source),
        );
    } else if word("kind") == "CronJob" {
        mistakes.push(
            Mistake::new(at("kind"), "a CronJob template is not supported yet")
                .help("this version refuses it rather than ignore it")
                .source(source),
        );
    } else if word("kind") != "Job" || word("apiVersion") != "batch/v1" {
        let key = if word("kind") == "Job" { "apiVersion" } else { "kind" };
        mistakes.push(Mistake::new(at(key), "a template is a Job of `batch/v1`").source(source));
    }
}

#[cfg(test)]
mod tests;
