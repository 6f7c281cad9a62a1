//! The table of what was done and what became of the Jobs.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::apiserver::VERSION;
use crate::row::Row;

const BEGIN: &str = "<!-- the table: make faults -->";

/// The rows as markdown.
pub fn markdown(rows: &[(&'static str, Row)]) -> String {
    let mut text = String::from(
        "| fault | Jobs | wrong | lost | in hand | longest | what was seen |\n|---|---|---|---|---|---|---|\n",
    );
    for (title, row) in rows {
        let longest = row.longest.map_or_else(String::new, |l| format!("{:.1} s", l.as_secs_f64()));
        let Row { requests, wrong, lost, in_hand, note, .. } = row;
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "| {title} | {requests} | {wrong} | {lost} | {in_hand} | {longest} | {note} |"
        );
    }
    text
}

/// Puts them into `docs/faults.md`, with the commit and the versions they were seen with.
pub fn write(rows: &[(&'static str, Row)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/faults.md");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let Some((head, _)) = before.split_once(BEGIN) else {
        eprintln!("{} has no line {BEGIN}: the table is not written", path.display());
        return;
    };
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"]);
    let rust = said("rustc", &["--version"]);
    let haproxy = said("haproxy", &["-v"]);
    let haproxy = haproxy.lines().next().unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let text = format!(
        "{head}{BEGIN}\n\nSeen at commit {commit} on {cores} cores, with kube-apiserver {VERSION}, {rust}, {haproxy}.\n\n{}",
        markdown(rows)
    );
    if let Err(error) = std::fs::write(&path, text) {
        eprintln!("{}: {error}", path.display());
    }
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |o| String::from_utf8_lossy(&o.stdout).trim().to_owned(),
    )
}
