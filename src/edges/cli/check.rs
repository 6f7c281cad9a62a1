//! `jobshape check`: judge Jobs in files.

use clap::{Args, ValueEnum};

mod objects;
mod old;

use objects::{Judging, NotJudged};
use old::OldJobs;

use crate::core::shape::identities::Named;
use crate::core::shape::rule::Action;
use crate::edges::cli::{
    CannotRun, Format, at_default, print, say, sentence, stderr_style, stdout_style, substitution,
};
use crate::edges::{files, shapes};
use crate::formats::report::judged::Summary;
use crate::formats::report::{human, json};

/// The flags of `jobshape check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Shapes to judge by: a directory, a file, or - for standard input
    #[arg(long, value_name = "DIR|FILE|-", default_value = "rules")]
    shapes: Vec<String>,
    /// Jobs to judge: files with any number of documents, directories, or - for standard input; also AdmissionReviews
    #[arg(value_name = "JOB.yaml|DIR|-", required = true)]
    jobs: Vec<String>,
    /// The namespace of Jobs that name none
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// What the Jobs replace, which makes each an UPDATE: a file with Jobs of the same names
    #[arg(long, value_name = "FILE")]
    old: Option<String>,
    /// Who creates the Jobs: a user name, as for kubectl; nobody named is somebody whom every shape is for
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,
    /// A group of theirs; may be given several times
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    groups: Vec<String>,
    /// The weakest action whose findings make the exit status 1
    #[arg(long, value_name = "ACTION", default_value = "enforce")]
    fail_on: FailOn,
    /// Do not fail because no shape governs a Job
    #[arg(long)]
    allow_ungoverned: bool,
    /// KEY=VALUE lines that fill ${KEY} in shapes and templates before they are read
    #[arg(long, value_name = "FILE")]
    substitute: Option<String>,
    /// How to print the result
    #[arg(short, long, value_name = "FORMAT", default_value = "human")]
    output: Format,
}

/// The words of `--fail-on`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    /// Only refusals.
    Enforce,
    /// Warnings too.
    Warn,
    /// Any finding.
    Audit,
}

/// Runs the verb.
///
/// # Errors
/// Shapes that cannot be loaded, and paths with no Job in them.
pub fn run(args: &CheckArgs) -> Result<u8, CannotRun> {
    let from_stdin = args.shapes.iter().chain(&args.jobs).chain(&args.old);
    if from_stdin.filter(|path| *path == files::STDIN).count() > 1 {
        return Err(CannotRun::because(
            "standard input holds one thing: the shapes, the Jobs, or what they replace",
        ));
    }
    let substitution = substitution(args.substitute.as_deref())?;
    let loaded = shapes::load(&args.shapes, substitution.as_ref(), stderr_style())
        .map_err(|errors| at_default(&args.shapes, errors.into(), "--shapes"))?;
    let shapes = shapes::into_together(loaded)?;
    let old = match &args.old {
        Some(name) => Some(OldJobs::read(name, args.namespace.as_deref())?),
        None => None,
    };
    let judging = Judging {
        shapes: &shapes,
        namespace: args.namespace.as_deref(),
        old: old.as_ref(),
        requester: args.user.as_deref().map(|user| Named::new(user, &args.groups)),
    };
    let mut sources = vec![];
    let mut jobs = vec![];
    let mut errors = vec![];
    for path in &args.jobs {
        let before = (jobs.len(), errors.len());
        let mut others: Vec<String> = vec![];
        match files::expand(path) {
            Ok(names) => {
                for name in names {
                    match files::read(&name) {
                        Ok(source) => {
                            for one in judging.text(&source, sources.len()) {
                                match one {
                                    Ok(job) => jobs.push(job),
                                    Err(NotJudged::OtherKind(kind)) if others.contains(&kind) => {}
                                    Err(NotJudged::OtherKind(kind)) => others.push(kind),
                                    Err(NotJudged::Unreadable(report)) => errors.push(report),
                                }
                            }
                            sources.push(source);
                        }
                        Err(message) => errors.push(sentence(message)),
                    }
                }
                if (jobs.len(), errors.len()) == before {
                    errors.push(sentence(no_job(path, &others)));
                }
            }
            Err(message) => errors.push(sentence(message)),
        }
    }
    if !errors.is_empty() {
        // Verdicts of the others beside them would pass for a result.
        return Err(CannotRun(errors));
    }
    match args.output {
        Format::Human => print(&human::output(&jobs, &sources, stdout_style()))?,
        Format::Json => print(&json::output(&jobs).map_err(CannotRun::because)?)?,
    }
    let fail_on = match args.fail_on {
        FailOn::Enforce => Action::Enforce,
        FailOn::Warn => Action::Warn,
        FailOn::Audit => Action::Audit,
    };
    let summary = Summary::of(&jobs);
    let status = summary.status(&jobs, fail_on, args.allow_ungoverned);
    if summary.ungoverned > 0 && !args.allow_ungoverned {
        say(&sentence(format_args!(
            "{} ungoverned: load a shape that names the namespace, or say --allow-ungoverned",
            jobs_are(summary.ungoverned)
        )));
    }
    if status == 1 && summary.deny == 0 {
        say(&sentence(format_args!(
            "nothing was refused, and there are findings that --fail-on counts as failures"
        )));
    }
    Ok(status)
}

fn jobs_are(count: usize) -> String {
    if count == 1 { "1 Job is".to_owned() } else { format!("{count} Jobs are") }
}

/// Why a path was worth nothing: what it holds instead of Jobs.
fn no_job(path: &str, others: &[String]) -> String {
    if others.is_empty() {
        return format!("{path}: there is no Job in it, nothing was judged");
    }
    format!(
        "{path}: there is no Job of batch/v1 in it, only {}; nothing was judged",
        others.join(", ")
    )
}
