//! What `jobshape verify` says.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::apiserver::Failure;

/// Its answer.
pub struct Answer {
    /// The exit status.
    pub status: i32,
    /// Each line: the check, its status, and everything that it says.
    pub lines: Vec<(String, String, String)>,
    /// The same for people.
    pub text: String,
}

/// Asks it about the cluster of a kubeconfig.
pub fn ask(kubeconfig: &Path, shapes: &[String], flags: &[String]) -> Result<Answer, Failure> {
    let run = |format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobshape"));
        command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("verify").arg("--kubeconfig");
        command.arg(kubeconfig).args(["--output", format]).args(flags);
        for path in shapes {
            command.args(["--shapes", path]);
        }
        command.output().map_err(Failure::during("running jobshape verify"))
    };
    let output = run("json")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let whole: Value = serde_json::from_slice(&output.stdout)
        .map_err(Failure::during(format!("reading what jobshape verify says ({said})")))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = whole["lines"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|line| (text(&line["check"]), text(&line["status"]), line.to_string()));
    Ok(Answer {
        status: output.status.code().unwrap_or(-1),
        lines: lines.collect(),
        text: String::from_utf8_lossy(&run("human")?.stdout).into_owned(),
    })
}
