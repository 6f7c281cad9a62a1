//! The command line as a person meets it: real invocations, and what they print.
//!
//! `cli/*.trycmd` and `cli/*.toml` run in `cli/files`, the README and the documents where they
//! stand. `TRYCMD=overwrite cargo test --test main cli` writes down what is printed now; read the
//! difference before it is committed.

use std::path::Path;
use std::process::{Command, Output, Stdio};

mod bad_input;
mod check_output;
mod committed;
mod rendered;

/// The command, where its examples are.
fn jobshape() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobshape"));
    command.current_dir(root().join("tests/cli/files")).stdin(Stdio::null());
    command
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn run(arguments: &[&str]) -> Output {
    jobshape().args(arguments).output().unwrap()
}

fn cases() -> trycmd::TestCases {
    let cases = trycmd::TestCases::new();
    cases.register_bin("jobshape", Path::new(env!("CARGO_BIN_EXE_jobshape")));
    cases
}

#[test]
fn invocations_print_what_is_written_down() {
    cases().case("tests/cli/*.trycmd").case("tests/cli/*.toml").run();
}

#[test]
fn documents_show_what_is_printed() {
    cases().case("README.md").case("docs/*.md").run();
}

/// Colour is for terminals, and for whoever asks for it.
#[test]
fn a_pipe_gets_no_escape_codes() {
    let check = ["check", "--shapes", "shapes", "more/bad.yaml"];
    let lint = ["lint", "broken/report.yaml"];
    let help = ["check", "--help"];
    for arguments in [&check[..], &lint, &help] {
        let output = run(arguments);
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(!printed.is_empty() && !printed.contains('\u{1b}'), "{printed:?}");
    }
    // The same lines with CLICOLOR_FORCE: the search above looks for the right thing.
    let coloured = |more: Option<(&str, &str)>| {
        let mut command = jobshape();
        command.args(check).env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
        text(&command.envs(more).output().unwrap().stdout)
    };
    assert!(coloured(None).contains("\u{1b}["));
    assert!(!coloured(Some(("NO_COLOR", "1"))).contains('\u{1b}'));
}

/// `jobshape check … | head -1` is no error.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut command = jobshape();
    command.args(["check", "--shapes", "shapes", "jobs"]).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}
