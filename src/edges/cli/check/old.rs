//! What `check --old` says that the Jobs replace.

use crate::core::tree::{Node, Value};
use crate::edges::cli::{CannotRun, sentence, stderr_style};
use crate::edges::files;
use crate::formats::documents::{objects_of, read, split};
use crate::formats::report::snippet::mistake;

/// Objects by kind, namespace and name.
pub struct OldJobs(Vec<OldJob>);

struct OldJob {
    kind: String,
    namespace: String,
    name: String,
    root: Node<'static>,
}

impl OldJobs {
    /// The Jobs and CronJobs of a file; `namespace` is that of those which name none.
    ///
    /// # Errors
    /// A file that cannot be read, mistakes in it, and one that holds none.
    pub fn read(name: &str, namespace: Option<&str>) -> Result<OldJobs, CannotRun> {
        let source = files::read(name).map_err(CannotRun::because)?;
        let (mut jobs, mut reports) = (vec![], vec![]);
        let chunks = split(&source.text);
        for object in chunks.iter().flat_map(|chunk| objects_of([(chunk.clone(), read(chunk))])) {
            match object {
                Ok(object) => jobs.extend(OldJob::of(object.root.into_owned(), namespace)),
                Err(found) => reports.push(mistake(&[&source], &found, stderr_style())),
            }
        }
        if jobs.is_empty() && reports.is_empty() {
            let what = "there is no Job in it that could be replaced";
            reports.push(sentence(format_args!("{name}: {what}")));
        }
        if reports.is_empty() { Ok(OldJobs(jobs)) } else { Err(CannotRun(reports)) }
    }

    /// What an object replaces.
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<&Node<'static>> {
        self.0
            .iter()
            .find(|old| old.kind == kind && old.namespace == namespace && old.name == name)
            .map(|old| &old.root)
    }
}

impl OldJob {
    fn of(root: Node<'static>, namespace: Option<&str>) -> Option<OldJob> {
        let text = |node: Option<&Node<'_>>, key: &str| {
            let text = node.and_then(|node| node.get(key)).and_then(Node::as_str);
            text.unwrap_or_default().to_owned()
        };
        let kind = text(Some(&root), "kind");
        let is_job = matches!(kind.as_str(), "Job" | "CronJob")
            && root.get("apiVersion").map(|v| &v.value) == Some(&Value::String("batch/v1".into()));
        let metadata = root.get("metadata");
        let own = text(metadata, "namespace");
        let namespace = if own.is_empty() { namespace.unwrap_or_default().to_owned() } else { own };
        let name = text(metadata, "name");
        is_job.then_some(OldJob { kind, namespace, name, root })
    }
}
