//! The command line: one file a verb.
//!
//! Exit status, whatever the verb and the format: 0 all admitted or passed, 1 something was
//! refused or failed, 2 it could not run or nothing was judged.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::edges::files;
use crate::edges::serve::decision_log::args::whole;
use crate::edges::serve::log::Log;
use crate::edges::shapes::LoadErrors;
use crate::formats::report::snippet::{Style, mistake};
use crate::formats::substitute::Substitution;

pub mod certs;
pub mod check;
pub mod fill;
pub mod lint;
pub mod render;
pub mod serve;
pub mod test;
pub mod verify;

/// A cluster runs exactly the Jobs that were committed, and nothing else.
///
/// A shape is a committed Job template with named variables; a Job passes when it equals the template
/// in everything else. `check` and `test` judge YAML offline, `serve` is the admission webhook, and all of
/// them decide with the same code.
#[derive(Debug, Parser)]
#[command(name = "jobshape", version, max_term_width = 100, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// Where shapes and their tests are unless somebody says otherwise.
const DEFAULT_FOLDER: &str = "rules";

/// What is logged unless RUST_LOG says otherwise. Whenever a kubelet swaps a folder, notify warns of a
/// watch that went with the old one; that files are looked at at all is watched elsewhere.
const ORDINARY: &str = "info,notify=error";

/// What every verb's exit status means.
const EXIT_STATUS: &str = "Exit status:
  0  everything was admitted, or passed
  1  something was refused, or failed
  2  it could not run, or nothing was judged; 2 wins over 1";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Judge Jobs in YAML or JSON files against shapes
    #[command(after_help = EXIT_STATUS)]
    Check(check::CheckArgs),
    /// Run JobShapeTest files
    #[command(after_help = EXIT_STATUS)]
    Test(test::TestArgs),
    /// Check shapes themselves, and list what they leave open
    #[command(after_help = EXIT_STATUS)]
    Lint(lint::LintArgs),
    /// Print a shape's template filled with values: the Job that must pass
    #[command(after_help = EXIT_STATUS)]
    Fill(fill::FillArgs),
    /// Print what the shapes ask of a cluster: the webhook configuration and the ConfigMap
    #[command(after_help = EXIT_STATUS)]
    Render(render::RenderArgs),
    /// Run the admission webhook
    #[command(after_help = EXIT_STATUS)]
    Serve(Box<serve::ServeVerb>),
    /// Make the webhook's certificates
    Certs(Box<certs::CertsVerb>),
    /// See whether a cluster enforces exactly these shapes, line by line
    #[command(after_help = EXIT_STATUS)]
    Verify(verify::VerifyArgs),
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, in colour on a terminal.
    Human,
    /// For programs.
    Json,
}

/// Runs the command line.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // clap's own text and colours; help and version are no errors.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let result = match cli.verb {
        Verb::Check(args) => check::run(&args),
        Verb::Test(args) => test::run(&args),
        Verb::Lint(args) => lint::run(&args),
        Verb::Fill(args) => fill::run(&args),
        Verb::Render(args) => render::run(&args),
        Verb::Serve(args) => serve::run(*args),
        Verb::Certs(args) => certs::run(*args),
        Verb::Verify(args) => verify::run(&args),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(CannotRun(reports)) => {
            say(&together(&reports));
            ExitCode::from(2)
        }
    }
}

/// Why a verb could not run: reports for standard error.
#[derive(Debug)]
pub struct CannotRun(pub Vec<String>);

impl CannotRun {
    /// One sentence.
    pub fn because(sentence: impl std::fmt::Display) -> Self {
        CannotRun(vec![self::sentence(sentence)])
    }
}

/// A sentence for standard error.
#[must_use]
pub fn sentence(text: impl std::fmt::Display) -> String {
    format!("error: {text}\n")
}

/// Reports below each other, drawings set apart.
fn together(reports: &[String]) -> String {
    let mut text = String::new();
    let mut drawn_before = false;
    for report in reports {
        let drawn = report.lines().count() > 1;
        if !text.is_empty() && (drawn || drawn_before) {
            text.push('\n');
        }
        drawn_before = drawn;
        text.push_str(report);
    }
    text
}

/// The same errors, with a word about where to say another folder if the missing one is the
/// default that nobody typed.
#[must_use]
pub fn at_default(paths: &[String], mut errors: CannotRun, say_it: &str) -> CannotRun {
    if paths == [DEFAULT_FOLDER] && !std::path::Path::new(DEFAULT_FOLDER).exists() {
        errors = CannotRun::because(format_args!(
            "there is no folder `{DEFAULT_FOLDER}` here, which is where shapes are looked for; name another with \
             {say_it}"
        ));
    }
    errors
}

impl From<LoadErrors> for CannotRun {
    fn from(errors: LoadErrors) -> Self {
        let count = errors.reports.len();
        let mut reports = errors.reports;
        if count > 1 {
            reports.push(sentence(format_args!("{count} mistakes; nothing was loaded")));
        }
        CannotRun(reports)
    }
}

/// What `--substitute` names.
///
/// # Errors
/// A file that cannot be read, and every line in it that is no `KEY=VALUE`.
pub fn substitution(file: Option<&str>) -> Result<Option<Substitution>, CannotRun> {
    let Some(file) = file else { return Ok(None) };
    let source = files::read(file).map_err(CannotRun::because)?;
    Substitution::read(&source.text).map(Some).map_err(|mistakes| {
        CannotRun(mistakes.iter().map(|m| mistake(&[&source], m, stderr_style())).collect())
    })
}

/// How standard output is drawn: in colour on a terminal that wants it (NO_COLOR, CLICOLOR).
#[must_use]
pub fn stdout_style() -> Style {
    style(anstream::AutoStream::choice(&std::io::stdout()))
}

/// How standard error is drawn.
#[must_use]
pub fn stderr_style() -> Style {
    style(anstream::AutoStream::choice(&std::io::stderr()))
}

fn style(choice: anstream::ColorChoice) -> Style {
    if choice == anstream::ColorChoice::Never { Style::Plain } else { Style::Coloured }
}

/// Prints a result. A reader that has gone away is no error: `jobshape check … | head`.
///
/// # Errors
/// Any other failure: a result that did not arrive is none.
pub fn print(text: &str) -> Result<(), CannotRun> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CannotRun::because(format_args!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a report to standard error, where nothing can be done about a failure.
pub fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// What a process that goes on and on says of itself goes to standard error: as text on a terminal,
/// as JSON otherwise.
///
/// # Errors
/// Those of what is done meanwhile.
pub fn logging(live: impl FnOnce() -> Result<u8, CannotRun>) -> Result<u8, CannotRun> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(ORDINARY));
    let log = whole(&std::io::stderr()).and_then(Log::start).map_err(CannotRun::because)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(log.clone());
    if is_watched() {
        lines.init();
    } else {
        lines.json().flatten_event(true).init();
    }
    let ended = live();
    log.close();
    ended
}

/// Whether somebody watches standard error.
#[must_use]
fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}
