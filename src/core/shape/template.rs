//! One template of a shape, compiled: everything that a Job is compared with.

use crate::core::kubernetes::api::{Api, Kind};
use crate::core::mistake::Mistake;
use crate::core::path;
use crate::core::shape::compile::Compiler;
use crate::core::shape::compiled::Compiled;
use crate::core::shape::document::Document;
use crate::core::shape::job_rules::{self, Generated};
use crate::core::shape::variable::{VariableId, Variables};
use crate::core::tree::{Node, Value};

/// What a template is a template of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// A Job that somebody creates.
    Job,
    /// A CronJob.
    CronJob,
    /// The Jobs that the CronJob controller makes of a CronJob template.
    Child,
}

impl Of {
    /// The kind of the objects that are compared with it.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Of::Job | Of::Child => "Job",
            Of::CronJob => "CronJob",
        }
    }
}

/// A compiled template.
#[derive(Debug, Clone)]
pub struct Template {
    /// What the API server is taken to mean by a Job.
    pub api: &'static Api,
    /// What it is a template of.
    pub of: Of,
    /// The variables of the shape, with the samples that this template has of them.
    pub variables: Variables,
    /// The compiled tree.
    pub tree: Compiled,
    /// What the server generates for an object of this template.
    pub generated: Generated,
    /// The variables that stand in it.
    pub used: Vec<VariableId>,
    /// The template as written, to be filled; of a child as the controller makes it.
    pub written: Node<'static>,
    /// The file that it stands in, as the shape names it.
    pub file: Option<String>,
    /// What to call it in a message.
    called: String,
    /// Which text it stands in: 0 is the shape, 1 the file that `templateFrom` names first.
    pub source: usize,
}

/// A template as written, and where.
#[derive(Debug, Clone)]
pub(super) struct Written {
    /// The document.
    pub node: Node<'static>,
    /// Which text it stands in.
    pub source: usize,
    /// The file, as the shape names it.
    pub file: Option<String>,
}

/// What became of compiling one template.
pub(super) struct Made {
    /// The template.
    pub template: Template,
    /// What is wrong with it.
    pub mistakes: Vec<Mistake>,
}

impl Template {
    /// Compiles one template of a shape.
    pub(super) fn compile(
        api: &'static Api,
        document: &Document,
        of: Of,
        written: &Written,
    ) -> Made {
        let mut variables = document.variables.clone();
        let node = job_rules::canonical_template(of, written.node.clone());
        let mut compiler = Compiler {
            api,
            variables: &mut variables,
            literals: &document.literals,
            source: written.source,
            tree: Compiled::roomy(),
            used: vec![],
            samples: vec![],
            special: Generated::default(),
            mistakes: vec![],
        };
        compiler.template(&node, kind(api, of));
        let generated = compiler.generated(of, &node);
        compiler.special = generated.clone();
        compiler.make_places(document);
        compiler.mark(document);
        compiler.claim(document);
        let Compiler { mut tree, used, mistakes, .. } = compiler;
        tree.shrink();
        let called = match &written.file {
            Some(file) => format!("the template {}", path::cut(file)),
            None => format!("the template in the shape {}", path::cut(&document.name)),
        };
        let file = written.file.clone();
        let source = written.source;
        let template = Template {
            api,
            of,
            variables,
            tree,
            generated,
            used,
            written: node,
            file,
            called,
            source,
        };
        Made { template, mistakes }
    }

    /// What to call the template in a message: its file, or the shape that it stands in.
    #[must_use]
    pub fn called(&self) -> &str {
        &self.called
    }

    /// The kind of the whole object in the API's table.
    #[must_use]
    pub fn kind(&self) -> Kind {
        kind(self.api, self.of)
    }
}

fn kind(api: &Api, of: Of) -> Kind {
    match of {
        Of::Job | Of::Child => api.job(),
        Of::CronJob => api.cron_job(),
    }
}

impl Written {
    /// What it is a template of, or why it is none.
    pub(super) fn of(&self) -> Result<Of, Mistake> {
        let node = &self.node;
        let word = |key: &str| node.get(key).and_then(Node::as_str).unwrap_or_default();
        let at = |key: &str| node.get(key).map_or(node.at, |n| n.at);
        let wrong = |at, text: &str| Mistake::new(at, text).source(self.source);
        if !matches!(node.value, Value::Map(_)) {
            return Err(wrong(
                node.at,
                &format!("a template is a Job or a CronJob, not {}", node.kind()),
            ));
        }
        match (word("kind"), word("apiVersion")) {
            ("Job", "batch/v1") => Ok(Of::Job),
            ("CronJob", "batch/v1") => Ok(Of::CronJob),
            ("Job" | "CronJob", _) => {
                Err(wrong(at("apiVersion"), "a template is a Job or a CronJob of `batch/v1`"))
            }
            _ => Err(wrong(at("kind"), "a template is a Job or a CronJob of `batch/v1`")),
        }
    }
}
