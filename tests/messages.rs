//! What people read when they made a mistake: every word that `check` prints and that the API
//! server's client gets, one snapshot a mistake.
//!
//! `INSTA_UPDATE=always cargo test --test main messages::as_written` writes down what is said now;
//! read it as somebody who never heard of jobshape before it is committed.

mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use jobshape::core::judge::{Request, Shapes, VerdictKind};
use jobshape::core::shape::Shape;
use jobshape::core::shape::document::Operation;
use jobshape::core::tree::Node;
use jobshape::edges::shapes;
use jobshape::formats::documents::documents;
use jobshape::formats::emit::yaml;
use jobshape::formats::report::refusal::refusal;
use jobshape::formats::report::snippet::Style;
use serde::Deserialize;
use serde_json::Value;

/// What the client gets when nothing is left of the mistake.
const ADMITTED: &str = "(admitted)";

/// One mistake.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mistake {
    name: String,
    #[serde(default = "pm_agent")]
    shape: String,
    patch: json_patch::Patch,
    /// What the API server says itself, before it asks anybody.
    itself: Option<String>,
    /// What the API server does to the Job before it asks.
    dropped: Option<json_patch::Patch>,
}

fn pm_agent() -> String {
    "rules/pm-agent".to_owned()
}

impl Mistake {
    /// The Job as somebody writes it.
    fn job(&self, shape: &Shape) -> Value {
        let mut job = shape.first().fill(&[]).unwrap().to_json();
        json_patch::patch(&mut job, &self.patch).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        job
    }

    /// The Job as the webhook gets it, or nothing if it is never asked.
    fn arrives(&self, shape: &Shape) -> Option<Value> {
        let mut job = self.job(shape);
        if let Some(patch) = &self.dropped {
            json_patch::patch(&mut job, patch).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        }
        self.itself.is_none().then_some(job)
    }
}

fn mistakes() -> Vec<Mistake> {
    let text = std::fs::read_to_string(root().join("tests/messages/mistakes.yaml")).unwrap();
    let list = documents(&text).next().unwrap().unwrap().root.to_json();
    serde_json::from_value(list).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The shape of a folder, as it is committed.
fn load(folder: &Path) -> Shape {
    let loaded = shapes::load(&[folder.to_str().unwrap().to_owned()], None, Style::Plain);
    loaded.map_err(|errors| errors.reports.join("\n")).unwrap().remove(0).shape
}

/// What `check` prints of the Job in a file.
fn printed(shapes: &Path, job: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("job.yaml"), yaml(&Node::from_json(job))).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_jobshape"))
        .current_dir(folder.path())
        .args(["check", "--shapes"])
        .arg(shapes)
        .arg("job.yaml")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    text(output.stdout) + &text(output.stderr)
}

/// What the webhook answers about the Job, offline.
fn answered(shape: &Shape, job: &Value) -> String {
    let shapes = Shapes::new(vec![shape.clone()]).unwrap();
    let kind = job["kind"].as_str().unwrap();
    let verdict = shapes.judge(&Request {
        kind,
        namespace: &shape.namespaces[0],
        operation: Operation::Create,
        requester: None,
        object: &Node::from_json(job),
        old: None,
        pointers: true,
    });
    match verdict.kind {
        VerdictKind::Allow => ADMITTED.to_owned(),
        _ => refusal(&verdict, kind),
    }
}

/// Both, as they are written down.
fn written(printed: &str, mistake: &Mistake, refusal: &str) -> String {
    assert!(refusal != ADMITTED || mistake.dropped.is_some(), "{} is none", mistake.name);
    let how = match (&mistake.itself, &mistake.dropped) {
        (Some(_), _) => "from the API server, which refuses it itself:",
        (None, Some(_)) => "from the API server, after it dropped the field and warned:",
        (None, None) => "from the API server:",
    };
    format!("$ jobshape check job.yaml\n{printed}\n{how}\n{refusal}\n")
}

fn snapshots() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("tests/messages/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

fn file_name(mistake: &Mistake) -> String {
    mistake.name.to_lowercase().replace(' ', "-")
}

fn folder(mistake: &Mistake) -> PathBuf {
    root().join(&mistake.shape)
}

#[test]
fn as_written_down_offline() {
    let mistakes = mistakes();
    assert!(mistakes.len() >= 20);
    snapshots().bind(|| {
        for mistake in &mistakes {
            let shape = load(&folder(mistake));
            let refusal = match mistake.arrives(&shape) {
                Some(job) => answered(&shape, &job),
                None => format!("… {} …", mistake.itself.as_deref().unwrap_or_default()),
            };
            let printed = printed(&folder(mistake), &mistake.job(&shape));
            insta::assert_snapshot!(file_name(mistake), written(&printed, mistake, &refusal));
        }
    });
}
