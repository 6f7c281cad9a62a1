//! `jobshape check`: judge Jobs in files.

use std::thread;

use clap::{Args, ValueEnum};

use crate::core::judge::{Findings, Request, Shapes, Verdict, VerdictKind};
use crate::core::mistake::{Mistake, nearest};
use crate::core::path::cut;
use crate::core::shape::document::Operation;
use crate::core::shape::rule::Action;
use crate::core::tree::{Node, Value};
use crate::edges::cli::{
    CannotRun, Format, at_default, print, say, sentence, stderr_style, stdout_style, substitution,
};
use crate::edges::{files, shapes};
use crate::formats::documents::{Chunk, Object, Places, objects_of, read, split};
use crate::formats::report::judged::{JudgedJob, Summary};
use crate::formats::report::snippet::mistake;
use crate::formats::report::{human, json};
use crate::formats::text::Source;

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
    if args.shapes.iter().any(|p| p == files::STDIN) && args.jobs.iter().any(|p| p == files::STDIN)
    {
        return Err(CannotRun::because("standard input holds the shapes or the Jobs, not both"));
    }
    let substitution = substitution(args.substitute.as_deref())?;
    let loaded = shapes::load(&args.shapes, substitution.as_ref(), stderr_style())
        .map_err(|errors| at_default(&args.shapes, errors.into(), "--shapes"))?;
    let shapes = shapes::together(&loaded)?;
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
                            let text = judge_text(
                                &shapes,
                                &source,
                                sources.len(),
                                args.namespace.as_deref(),
                            );
                            for one in text {
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

/// Judges every Job of a text, on all cores: documents do not depend on each other.
fn judge_text(
    shapes: &Shapes,
    source: &Source,
    text: usize,
    namespace: Option<&str>,
) -> Vec<Result<JudgedJob, NotJudged>> {
    let chunks = split(&source.text);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // A thread costs more than a few documents do.
    let per_thread = chunks.len().div_ceil(cores).max(16);
    let judge = |chunks: &[Chunk<'_>]| -> Vec<Vec<Result<JudgedJob, NotJudged>>> {
        chunks
            .iter()
            .map(|chunk| {
                objects_of([(chunk.clone(), read(chunk))])
                    .into_iter()
                    .map(|object| judge_object(shapes, source, text, object, namespace))
                    .collect()
            })
            .collect()
    };
    let judged: Vec<Vec<Result<JudgedJob, NotJudged>>> = thread::scope(|scope| {
        let workers: Vec<_> =
            chunks.chunks(per_thread).map(|part| scope.spawn(|| judge(part))).collect();
        workers.into_iter().flat_map(|w| w.join().unwrap_or_default()).collect()
    });
    judged
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, job)| {
            job.map(|job| JudgedJob { source: format!("{}#{}", source.name, index + 1), ..job })
        })
        .collect()
}

/// Why an object of a text was not judged.
enum NotJudged {
    /// It is of another kind: which, and which version.
    OtherKind(String),
    /// It cannot be read: a report, ready to print.
    Unreadable(String),
}

/// One object.
fn judge_object(
    shapes: &Shapes,
    source: &Source,
    text: usize,
    object: Result<Object<'_>, Mistake>,
    namespace: Option<&str>,
) -> Result<JudgedJob, NotJudged> {
    let mut judged = JudgedJob {
        text,
        source: String::new(),
        kind: "Job".to_owned(),
        namespace: String::new(),
        name: String::new(),
        verdict: undecided("there is no object".to_owned()),
        offsets: vec![],
        positions: vec![],
    };
    let object = match object {
        Ok(object) => object,
        Err(found) => {
            return Err(NotJudged::Unreadable(mistake(&[source], &found, stderr_style())));
        }
    };
    let text_of = |node: &Node<'_>, key: &str| {
        node.get(key).and_then(Node::as_str).unwrap_or_default().to_owned()
    };
    let (job, prefix, reviewed, operation) = match review_of(&object.root) {
        Some(request) => {
            let operation = text_of(request, "operation");
            (
                request.get("object"),
                "/request/object",
                Some(text_of(request, "namespace")),
                operation,
            )
        }
        None => (Some(&object.root), "", None, "CREATE".to_owned()),
    };
    let job = job.filter(|j| matches!(j.value, Value::Map(_)));
    let Some(job) = job else {
        judged.verdict.reason = Some("the AdmissionReview has no object".to_owned());
        return Ok(judged);
    };
    let kind = text_of(job, "kind");
    let version = text_of(job, "apiVersion");
    if let Some(reason) = nearly_a_job(&version, &kind) {
        judged.verdict.reason = Some(reason);
        return Ok(judged);
    }
    if version != "batch/v1" || !matches!(kind.as_str(), "Job" | "CronJob") {
        return Err(NotJudged::OtherKind(format!("{} of {}", cut(&kind), cut(&version))));
    }
    judged.kind = kind;
    let metadata = job.get("metadata");
    judged.name = metadata.map(|m| text_of(m, "name")).unwrap_or_default();
    let own = metadata.map(|m| text_of(m, "namespace")).filter(|n| !n.is_empty());
    judged.namespace = match (reviewed.or(own), namespace) {
        (Some(found), _) => found,
        (None, Some(given)) => given.to_owned(),
        (None, None) => String::new(),
    };
    if judged.namespace.is_empty() {
        judged.verdict.reason = Some("it names no namespace: say which with -n".to_owned());
        return Ok(judged);
    }
    let Some(operation) = Operation::from_word(&operation) else {
        judged.verdict.reason = Some("jobshape judges CREATE and UPDATE only".to_owned());
        return Ok(judged);
    };
    let request = Request {
        kind: &judged.kind,
        namespace: &judged.namespace,
        operation,
        object: job,
        old: None,
    };
    judged.verdict = shapes.judge(&request);
    if shapes.of_namespace(&judged.namespace).is_none()
        && let Some(reason) = &mut judged.verdict.reason
    {
        let governed = shapes.all().iter().flat_map(|shape| &shape.namespaces);
        if let Some(meant) = nearest(&judged.namespace, governed.map(String::as_str)) {
            reason.push_str(&format!("; did you mean `{meant}`?"));
        }
    }
    let mut places = Places::of(source, &object);
    for finding in &judged.verdict.findings.findings {
        let pointer = format!("{prefix}{}", finding.pointer);
        let at = places.find(&pointer);
        judged.positions.push(at.map(|at| source.position(at)));
        let is_item = pointer.rsplit('/').next().is_some_and(|last| last.parse::<usize>().is_ok());
        // An entry is known by its name, wherever in it that stands.
        judged.offsets.push(if is_item { places.find(&format!("{pointer}/name")) } else { at });
    }
    Ok(judged)
}

/// What is wrong with an object that was probably meant to be judged: passed over, it would be
/// green because nothing ran.
fn nearly_a_job(version: &str, kind: &str) -> Option<String> {
    let meant = match kind.to_ascii_lowercase().as_str() {
        "job" => "Job",
        "cronjob" => "CronJob",
        _ => return None,
    };
    let group = version.to_ascii_lowercase();
    let ours = !group.contains('/') || group.starts_with("batch/");
    (ours && (version != "batch/v1" || kind != meant)).then(|| {
        format!(
            "`{}` of `{}` is no Job: write `kind: {meant}` and `apiVersion: batch/v1`",
            cut(kind),
            cut(version)
        )
    })
}

/// The request of an AdmissionReview.
fn review_of<'n>(root: &'n Node<'n>) -> Option<&'n Node<'n>> {
    (root.get("kind").and_then(Node::as_str) == Some("AdmissionReview"))
        .then(|| root.get("request"))
        .flatten()
}

fn undecided(reason: String) -> Verdict {
    Verdict {
        kind: VerdictKind::Error,
        shape: None,
        findings: Findings::default(),
        reason: Some(reason),
        start: None,
    }
}
