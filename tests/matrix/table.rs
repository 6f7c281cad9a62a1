//! What was measured, as a table.

use std::collections::BTreeSet;
use std::io::Write as _;

use jobshape::core::changes::Change;
use jobshape::core::judge::Findings;
use jobshape::core::kubernetes::api::Api;

use super::coverage::fields;

/// One base on one server.
#[derive(Debug, Default)]
pub struct Measured {
    /// The server's version.
    pub version: String,
    /// The base.
    pub base: &'static str,
    /// How many single changes were sent.
    pub sent: usize,
    /// How many combinations were sent.
    pub combinations: usize,
    /// Single changes that the server accepts and stores as another Job.
    pub effective: usize,
    /// Single changes that it accepts and stores as the same Job.
    pub ineffective: usize,
    /// The same of combinations.
    pub combined_effective: usize,
    /// The same of combinations.
    pub combined_ineffective: usize,
    /// Changes with an effect that the shape allows on purpose.
    pub admitted_exceptions: usize,
    /// Where those are.
    pub exceptions: BTreeSet<&'static str>,
    /// Changes with an effect that were admitted.
    pub wrongly_admitted: usize,
    /// Changes without an effect that were refused.
    pub wrongly_refused: usize,
    /// Changes that the server takes out before the webhook is asked, refused offline.
    pub only_offline: usize,
    /// What is wrong, in sentences.
    pub wrong: BTreeSet<String>,
}

impl Measured {
    pub fn admitted(&mut self, change: &Change, difference: &str) {
        self.wrongly_admitted += 1;
        let sentence = format!("{}: ADMITTED with an effect: {difference}", change.describe());
        self.wrong.insert(sentence);
    }

    pub fn refused(&mut self, change: &Change, judged: &Findings) {
        self.wrongly_refused += 1;
        let found: Vec<String> =
            judged.findings.iter().map(|f| format!("{}: {}", f.path, f.message)).collect();
        let sentence =
            format!("{}: REFUSED without an effect: {}", change.describe(), found.join("; "));
        self.wrong.insert(sentence);
    }

    pub fn mistakes(&self) -> impl Iterator<Item = String> + '_ {
        self.wrong.iter().map(|wrong| format!("{} {}: {wrong}", self.version, self.base))
    }

    #[track_caller]
    pub fn check(&self) {
        let wrong: Vec<String> = self.mistakes().collect();
        assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    }

    fn cells(&self) -> [String; 11] {
        [
            self.version.trim_start_matches('v').to_owned(),
            self.base.to_owned(),
            self.sent.to_string(),
            (self.effective + self.ineffective).to_string(),
            self.effective.to_string(),
            self.ineffective.to_string(),
            format!(
                "{} of {}",
                self.combined_effective + self.combined_ineffective,
                self.combinations
            ),
            self.wrongly_admitted.to_string(),
            self.wrongly_refused.to_string(),
            self.admitted_exceptions.to_string(),
            self.only_offline.to_string(),
        ]
    }
}

const HEAD: [&str; 11] = [
    "server",
    "base",
    "changes",
    "accepted",
    "with effect",
    "without",
    "combinations accepted",
    "admitted with effect",
    "refused without",
    "exceptions",
    "offline only",
];

/// The table, past the capture of the test harness: it is what this is run for.
pub fn print(all: &[Measured]) {
    let mut text = String::from("\n");
    for measured in all {
        let cells = HEAD.iter().zip(measured.cells()).map(|(head, cell)| format!("{head} {cell}"));
        text.push_str(&cells.collect::<Vec<_>>().join(", "));
        text.push('\n');
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The table as it is committed.
pub fn markdown(all: &[Measured]) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = row(&HEAD.map(str::to_owned));
    text.push_str(&row(&HEAD.map(|_| "---".to_owned())));
    for measured in all {
        text.push_str(&row(&measured.cells()));
    }
    text
}

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/matrix.md");
const TABLE: &str = "<!-- the table: make matrix -->\n";
const GATED: &str = "<!-- what releases take out: make matrix -->\n";
const END: &str = "<!-- its end -->\n";

/// Writes both tables into `docs/matrix.md`, with the commit they were measured at.
pub fn write(all: &[Measured]) {
    put(TABLE, &format!("{}{}", measured_at(), markdown(all)));
    put(GATED, &gated(Api::get()));
}

/// The commit that something is measured at, as a sentence of its own.
pub fn measured_at() -> String {
    let git = std::process::Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = git.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    format!("Measured at commit {}.\n\n", commit.unwrap_or_default())
}

/// Writes something into `docs/matrix.md`, behind a marker.
pub fn put(marker: &str, content: &str) {
    let text = std::fs::read_to_string(FILE).unwrap();
    std::fs::write(FILE, with(&text, marker, content)).unwrap();
}

/// The text with something else between a marker and its end.
fn with(text: &str, marker: &str, content: &str) -> String {
    let (before, rest) = text.split_once(marker).expect("the place of a table");
    let (_, after) = rest.split_once(END).expect("its end");
    format!("{before}{marker}{content}{END}{after}")
}

/// The fields that some release knows and takes out.
fn gated(api: &Api) -> String {
    let mut text = String::from("| field | taken out by |\n| --- | --- |\n");
    let mut rows = vec![];
    for (subject, field) in fields(api) {
        if !field.gated.is_empty() {
            rows.push(format!("| `{subject}` | {} |\n", field.gated.join(", ")));
        }
        for (inside, releases) in &field.gated_inside {
            rows.push(format!("| `{subject}[].{inside}` | {} |\n", releases.join(", ")));
        }
    }
    rows.sort();
    rows.dedup();
    text.extend(rows);
    text
}

#[test]
fn the_documented_fields_are_those_of_the_table() {
    let text = std::fs::read_to_string(FILE).unwrap();
    assert!(text == with(&text, GATED, &gated(Api::get())), "run `make matrix`");
}
