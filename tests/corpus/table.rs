//! What came of the corpus, in figures and in sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use super::objects::{Corpus, Object};
use crate::matrix::table::{measured_at, put};
use crate::yaml;

/// The corpus on one server.
#[derive(Debug, Default)]
pub struct Agreement {
    /// The server's version.
    version: String,
    /// How many manifests there are.
    files: usize,
    /// Manifests that cannot be read, with the reason.
    unread: Vec<String>,
    /// The objects that are admitted in every form.
    agreed: BTreeSet<(String, usize)>,
    /// The objects that the server itself refuses, and what it says.
    rejected: BTreeMap<(String, usize), String>,
    /// The objects of which the server takes something out, unasked: they are compared without it.
    dropped: BTreeSet<(String, usize)>,
    /// Changed objects that the server itself refuses.
    pub invalid: usize,
    /// Changes with an effect, refused.
    pub effective: usize,
    /// Changes without, admitted.
    pub ineffective: usize,
    /// Changes that the server takes out before the webhook is asked, refused offline.
    pub only_offline: usize,
    /// What is wrong, in sentences.
    wrong: BTreeSet<String>,
}

impl Agreement {
    /// Nothing yet.
    pub fn of(corpus: &Corpus, version: String) -> Agreement {
        let unread = corpus.unread.clone();
        Agreement { version, files: corpus.files, unread, ..Agreement::default() }
    }

    /// Notes an object that is admitted in every form.
    pub fn agreed(&mut self, object: &Object) {
        self.agreed.insert((object.file.clone(), object.number));
    }

    /// Notes one that the server changes before it asks anybody.
    pub fn dropped(&mut self, object: &Object) {
        self.dropped.insert((object.file.clone(), object.number));
    }

    /// Notes one that the server refuses.
    pub fn rejected(&mut self, object: &Object, message: &str) {
        self.rejected.insert((object.file.clone(), object.number), message.to_owned());
    }

    /// Notes what is wrong.
    pub fn wrong(&mut self, place: &str, what: &str) {
        self.wrong.insert(format!("{place}: {what}"));
    }

    /// The figures and every object that took no part, past the capture of the test harness.
    pub fn print(&self) {
        let mut text = String::from("\n");
        for ((file, number), message) in &self.rejected {
            text.push_str(&format!("server-rejected: {file}#{number}: {message}\n"));
        }
        for (file, number) in &self.dropped {
            text.push_str(&format!(
                "compared without what the server takes out: {file}#{number}\n"
            ));
        }
        for unread in &self.unread {
            text.push_str(&format!("not read: {unread}\n"));
        }
        let cells = HEAD.iter().zip(self.cells()).map(|(head, cell)| format!("{head} {cell}"));
        text.push_str(&cells.collect::<Vec<_>>().join(", "));
        text.push('\n');
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// # Panics
    /// If something is wrong.
    pub fn check(&self) {
        let wrong: Vec<&str> = self.wrong.iter().map(String::as_str).collect();
        assert!(wrong.is_empty(), "{}: {} wrong\n{}", self.version, wrong.len(), wrong.join("\n"));
    }

    fn cells(&self) -> [String; 11] {
        let files = |objects: &mut dyn Iterator<Item = &(String, usize)>| {
            objects.map(|(file, _)| file.clone()).collect::<BTreeSet<_>>()
        };
        let rejected = files(&mut self.rejected.keys());
        let agreed = files(&mut self.agreed.iter()).difference(&rejected).count();
        [
            self.version.clone(),
            format!("{agreed} of {}", self.files),
            rejected.len().to_string(),
            self.unread.len().to_string(),
            self.agreed.len().to_string(),
            self.rejected.len().to_string(),
            self.dropped.len().to_string(),
            (self.effective + self.ineffective).to_string(),
            self.invalid.to_string(),
            self.only_offline.to_string(),
            self.wrong.len().to_string(),
        ]
    }
}

const HEAD: [&str; 11] = [
    "server",
    "files agreed",
    "files server-rejected",
    "files unreadable",
    "objects agreed",
    "objects server-rejected",
    "of which dropped in part",
    "changes agreed",
    "changes server-rejected",
    "offline only",
    "wrong",
];

const MARKER: &str = "<!-- the corpus: make matrix -->\n";

/// Writes the table, and what came of the probes, into `docs/matrix.md`.
pub fn write(all: &[Agreement]) {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = measured_at();
    text.push_str(&row(&HEAD.map(str::to_owned)));
    text.push_str(&row(&HEAD.map(|_| "---".to_owned())));
    text.extend(all.iter().map(|one| row(&one.cells())));
    text.push('\n');
    text.push_str(&readings());
    put(MARKER, &text);
}

/// What came of the probes and of the manifests that kubectl has read too.
pub fn readings() -> String {
    let (Some(probes), Some((files, objects))) = (yaml::probes(), yaml::manifests()) else {
        return String::new();
    };
    format!(
        "| read as kubectl reads it | agreed | refused by intent | read otherwise |\n\
         | --- | --- | --- | --- |\n\
         | probes | {} | {} | {} |\n\
         | manifests | {files} with {objects} objects | 0 | {} |\n",
        probes.agreed,
        probes.refused,
        probes.read,
        yaml::MANIFESTS.len(),
    )
}
