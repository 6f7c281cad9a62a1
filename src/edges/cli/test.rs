//! `jobshape test`: run JobShapeTest files.

use clap::Args;
use serde_json::json;

use crate::edges::cli::{
    CannotRun, Format, at_default, print, sentence, stderr_style, substitution,
};
use crate::edges::suites::{self, LoadedSuite};
use crate::formats::report::snippet::{mistake, place};
use crate::formats::suite::case::complaints_about_base;
use crate::formats::suite::{Ready, Server};

/// The flags of `jobshape test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Test files, or directories with them
    #[arg(value_name = "DIR|FILE", default_value = "rules")]
    paths: Vec<String>,
    /// KEY=VALUE lines that fill ${KEY} in shapes and templates before they are read
    #[arg(long, value_name = "FILE")]
    substitute: Option<String>,
    /// How to print the result
    #[arg(short, long, value_name = "FORMAT", default_value = "human")]
    output: Format,
}

/// What became of one case.
struct Ran {
    /// `file:line:column` of the case.
    place: String,
    suite: String,
    name: String,
    /// What the server does with its Job before it could ask a webhook.
    server: Option<Server>,
    /// What was wrong; empty for a case that passed.
    complaints: Vec<String>,
    /// Whether it could be run at all.
    could_run: bool,
}

/// Runs the verb: 0 when every case passed, 1 when one failed, 2 when one could not be run.
///
/// # Errors
/// Files that cannot be read, and mistakes in them.
pub fn run(args: &TestArgs) -> Result<u8, CannotRun> {
    let substitution = substitution(args.substitute.as_deref())?;
    let loaded = suites::load(&args.paths, substitution.as_ref(), stderr_style())
        .map_err(|reports| at_default(&args.paths, nothing_tested(reports), "an argument"))?;
    let mut ran = vec![];
    let mut reports = vec![];
    for one in &loaded {
        match run_suite(one) {
            Ok(cases) => ran.extend(cases),
            Err(found) => reports.extend(found),
        }
    }
    if !reports.is_empty() {
        return Err(nothing_tested(reports));
    }
    let passed = ran.iter().filter(|r| r.complaints.is_empty()).count();
    let broken = ran.iter().filter(|r| !r.could_run).count();
    let failed = ran.len() - passed - broken;
    match args.output {
        Format::Human => print(&human(&ran, passed, failed, broken))?,
        Format::Json => {
            let results: Vec<serde_json::Value> = ran.iter().map(as_json).collect();
            let summary = json!({"passed": passed, "failed": failed, "error": broken});
            let text =
                serde_json::to_string_pretty(&json!({"results": results, "summary": summary}))
                    .map_err(CannotRun::because)?;
            print(&(text + "\n"))?;
        }
    }
    Ok(match (broken, failed, passed) {
        (1.., _, _) | (0, 0, 0) => 2,
        (0, 1.., _) => 1,
        (0, 0, _) => 0,
    })
}

/// The reports, and what they mean when there are several.
fn nothing_tested(mut reports: Vec<String>) -> CannotRun {
    if reports.len() > 1 {
        reports.push(sentence(format_args!("{} mistakes; nothing was tested", reports.len())));
    }
    CannotRun(reports)
}

fn run_suite(one: &LoadedSuite) -> Result<Vec<Ran>, Vec<String>> {
    let suite = &one.suite;
    let ready = Ready::new(suite, &one.shapes, &one.files).map_err(|mistakes| {
        mistakes.iter().map(|m| mistake(&[&one.source], m, stderr_style())).collect::<Vec<_>>()
    })?;
    let base = ready.judge(&ready.base(), false);
    let mut ran = vec![Ran {
        place: one.source.name.clone(),
        suite: suite.name.clone(),
        name: "the base is admitted".to_owned(),
        server: None,
        complaints: complaints_about_base(&base),
        could_run: true,
    }];
    for case in &suite.cases {
        let (complaints, could_run) = match ready.build(case) {
            Ok(built) => (case.complaints(&ready.judge(&built, case.as_written)), true),
            Err(message) => (vec![message], false),
        };
        ran.push(Ran {
            place: place(&one.source, case.at),
            suite: suite.name.clone(),
            name: case.name.clone(),
            server: case.server,
            complaints,
            could_run,
        });
    }
    Ok(ran)
}

fn human(ran: &[Ran], passed: usize, failed: usize, broken: usize) -> String {
    let mut text = String::new();
    for one in ran {
        let word = match (one.complaints.is_empty(), one.could_run) {
            (true, _) => "ok  ",
            (false, true) => "FAIL",
            (false, false) => "ERR ",
        };
        let server = one.server.map(|s| format!(" (server: {})", s.word())).unwrap_or_default();
        text.push_str(&format!("{word} {}: {}{server}\n", one.suite, one.name));
        if !one.complaints.is_empty() {
            text.push_str(&format!("       at {}\n", one.place));
        }
        for complaint in &one.complaints {
            text.push_str(&format!("       {complaint}\n"));
        }
    }
    text.push_str(&format!("{passed} passed, {failed} failed"));
    if broken > 0 {
        text.push_str(&format!(", {broken} could not be run"));
    }
    let unseen = ran.iter().filter(|one| one.server.is_some()).count();
    if unseen > 0 {
        text.push_str(&format!("; {unseen} of them no webhook would see as they are"));
    }
    text.push('\n');
    text
}

fn as_json(one: &Ran) -> serde_json::Value {
    let result = match (one.complaints.is_empty(), one.could_run) {
        (true, _) => "pass",
        (false, true) => "fail",
        (false, false) => "error",
    };
    let mut json = json!({
        "suite": one.suite, "case": one.name, "source": one.place, "result": result,
        "complaints": one.complaints,
    });
    if let Some(server) = one.server {
        json["server"] = server.word().into();
    }
    json
}
