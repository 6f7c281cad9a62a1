//! The JSON output of `check`: an interface, described by `docs/check-output.schema.json`.

use serde::Serialize;

use crate::core::judge::update::Start;
use crate::formats::report::judged::{JudgedJob, Summary};

#[derive(Serialize)]
struct Output<'a> {
    results: Vec<OneResult<'a>>,
    summary: Counts,
}

#[derive(Serialize)]
struct Counts {
    allow: usize,
    deny: usize,
    error: usize,
    ungoverned: usize,
    exempt: usize,
}

#[derive(Serialize)]
struct OneResult<'a> {
    source: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    exempt: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    findings: Vec<OneFinding<'a>>,
    #[serde(rename = "findingsTotal")]
    findings_total: usize,
    #[serde(rename = "findingsOld", skip_serializing_if = "is_zero")]
    findings_old: usize,
    #[serde(rename = "judgedAsNew", skip_serializing_if = "Option::is_none")]
    judged_as_new: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Serialize)]
struct OneFinding<'a> {
    rule: &'a str,
    action: &'static str,
    #[serde(rename = "raisedBy", skip_serializing_if = "Option::is_none")]
    raised_by: Option<&'a str>,
    path: &'a str,
    pointer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a str>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(rename = "ruleMessage", skip_serializing_if = "Option::is_none")]
    rule_message: Option<&'a str>,
    shape: &'a str,
    digest: &'a str,
}

/// The whole output, ending in a newline.
///
/// # Errors
/// None that JSON in memory can have.
pub fn output(jobs: &[JudgedJob]) -> serde_json::Result<String> {
    let summary = Summary::of(jobs);
    let output = Output {
        results: jobs.iter().map(one).collect(),
        summary: Counts {
            allow: summary.allow,
            deny: summary.deny,
            error: summary.error,
            ungoverned: summary.ungoverned,
            exempt: summary.exempt,
        },
    };
    serde_json::to_string_pretty(&output).map(|text| text + "\n")
}

fn one(job: &JudgedJob) -> OneResult<'_> {
    let shape = job.verdict.shape.as_deref();
    let findings = job.verdict.findings.findings.iter().zip(&job.positions);
    let findings = findings.filter_map(|(finding, position)| {
        let shape = job.verdict.shape_of(finding)?;
        Some(OneFinding {
            rule: &shape.rule(finding.rule).name,
            action: finding.action.word(),
            raised_by: finding.raised_by.map(|rule| shape.rule(rule).name.as_str()),
            path: &finding.path,
            pointer: &finding.pointer,
            line: position.map(|p| p.line),
            column: position.map(|p| p.column),
            expected: finding.expected.as_deref(),
            message: &finding.message,
            help: finding.help.as_deref(),
            rule_message: shape.rule(finding.rule).message.as_deref(),
            shape: &shape.name,
            digest: &shape.digest,
        })
    });
    let findings = findings.collect();
    OneResult {
        source: &job.source,
        kind: &job.kind,
        namespace: &job.namespace,
        name: &job.name,
        verdict: job.verdict.kind.word(),
        shape: shape.map(|s| s.name.as_str()),
        digest: shape.map(|s| s.digest.as_str()),
        exempt: job.verdict.exempt,
        alternatives: job.verdict.alternatives.iter().map(|s| s.name.as_str()).collect(),
        reason: job.verdict.reason.clone(),
        findings,
        findings_total: job.verdict.findings.count,
        findings_old: job.verdict.findings.old,
        judged_as_new: job.verdict.start.map(Start::describe),
    }
}
