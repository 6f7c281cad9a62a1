//! Reports whose answer is what the command line says: `jobshape VERB ... -> STATUS [verdict], ...`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Outcome, copy};

/// What the sentences of an answer ask for beside the status, the verdict, the places and the number
/// of findings: the folder, which of its commands, what is said, and what is not.
const SAID: &[(&str, usize, &[&str], &[&str])] = &[
    ("06", 0, &["kueue.x-k8s.io/queue-name"], &[]),
    (
        "08",
        0,
        &["automountServiceAccountToken", "enableServiceLinks", "shareProcessNamespace"],
        &["hostNetwork"],
    ),
    ("10", 1, &["53", "TCP"], &[]),
    ("12", 0, &["`BACKUP_NAME` stands twice", "template.yaml:18:", "template.yaml:16:"], &[]),
    ("18", 1, &["scaledjob.keda.sh/name"], &[]),
    ("26", 0, &["batch.volcano.sh/v1alpha1"], &[]),
    ("28", 1, &[".items[0].mode"], &[]),
    ("30", 0, &["a string is expected here, not an integer", "quotes"], &[]),
    ("36", 1, &["`${REGION}`", "`$${HOME}`", "template.yaml:16:"], &["NOT_A_VARIABLE"]),
    ("38", 0, &["newline at the end"], &["set -e\\n"]),
    ("40", 0, &["U+200B"], &["\u{200b}"]),
    ("42", 0, &["$.metadata.annotations['example.com/owner']"], &[]),
    ("44", 0, &["`Enforce`", "`action`"], &[]),
    (
        "56",
        0,
        &["pull policy is pinned", "/spec/template/spec/containers/0/imagePullPolicies"],
        &[],
    ),
    ("58", 0, &["`another image`", "test.yaml:10:", "test.yaml:7:"], &[]),
];

/// Answers in which words like these stand need a row above: they cannot be read off otherwise.
const WORDS: [&str; 6] = ["names", "naming", "contains", "says", "suggesting", "ends in"];

/// Runs the commands of a folder.
pub fn run(name: &str, folder: &Path, expected: &str, verbs: &[String]) -> Outcome {
    for (number, one) in expected.split("; jobshape ").enumerate() {
        let one = one.strip_prefix("jobshape ").unwrap_or(one);
        let verb = one.split_whitespace().next().unwrap_or_default();
        if !verbs.iter().any(|known| known == verb) {
            return Outcome::NotYet(format!("verb {verb}"));
        }
        let Some((command, answer)) = one.split_once(" -> ") else {
            return Outcome::Wrong(format!("nothing here runs this: {one}"));
        };
        if let Err(why) = compare(&name[..2], number, folder, command, answer) {
            return Outcome::Wrong(format!("jobshape {command}\n  expected {answer}\n  {why}"));
        }
    }
    Outcome::Agrees
}

fn compare(
    report: &str,
    number: usize,
    folder: &Path,
    command: &str,
    answer: &str,
) -> Result<(), String> {
    let folder = copy(folder);
    let jobshape = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_jobshape"))
            .current_dir(folder.path())
            .args(command.split_whitespace())
            .args(more)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, stdout, stderr) = jobshape(&[]);
    let printed = stdout + &stderr;
    let wanted = answer.split([' ', ',']).next().and_then(|word| word.parse().ok());
    if wanted.is_none() || status != wanted {
        return Err(format!("status {status:?}\n{printed}"));
    }
    let said = SAID.iter().find(|(name, which, ..)| *name == report && *which == number);
    match said {
        Some((_, _, present, absent)) => {
            // The place of a second entry stands in front of its line only.
            let printed = printed.replace("::: ", "--> ");
            if let Some(word) = present.iter().find(|word| !printed.contains(**word)) {
                return Err(format!("{word} is not said\n{printed}"));
            }
            if let Some(word) = absent.iter().find(|word| printed.contains(**word)) {
                return Err(format!("{word} is said\n{printed}"));
            }
        }
        None if WORDS.iter().any(|word| answer.contains(word)) => {
            return Err("what of the words has to be said stands nowhere here".to_owned());
        }
        None => {}
    }
    if command.starts_with("check ") && wanted != Some(2) {
        let json: Value = serde_json::from_str(&jobshape(&["-o", "json"]).1).unwrap();
        judged(&json["results"][0], answer)?;
    }
    Ok(())
}

/// Compares verdict, places and number of findings.
fn judged(result: &Value, answer: &str) -> Result<(), String> {
    let verdict = ["allow", "deny"].into_iter().find(|word| answer.contains(word));
    if result["verdict"].as_str() != verdict {
        return Err(format!("{result:#}"));
    }
    let found = result["findings"].as_array().cloned().unwrap_or_default();
    if let Some((_, rest)) = answer.split_once("exactly ") {
        let count = rest.split(' ').next().and_then(|word| word.parse().ok());
        if count != Some(found.len()) {
            return Err(format!("{} findings: {result:#}", found.len()));
        }
    }
    let places = answer.split([' ', ',', ':', ';']).filter(|word| word.starts_with('/'));
    for place in places {
        let pointers = found.iter().filter_map(|finding| finding["pointer"].as_str());
        let mut within = pointers.filter_map(|pointer| pointer.strip_prefix(place));
        if !within.any(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Err(format!("nothing is found at {place}: {result:#}"));
        }
    }
    Ok(())
}
