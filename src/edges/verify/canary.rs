//! A Job that must pass and Jobs that must not, sent as whoever submits them, as dry runs: proof that
//! these shapes decide, by the digest in the refusal or in the warning.

use serde_json::json;

use self::made_up::{Candidate, changed};
use super::{Verification, unknown};
use crate::core::judge::{Request, Verdict, VerdictKind};
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::shape::identities::Named;
use crate::core::tree::Node;
use crate::edges::cluster::dry_run::{Answer, DryRuns};
use crate::formats::report::refusal;
use crate::formats::report::verified::{Line, Status};

mod made_up;

const CHECK: &str = "canary";

/// In the field manager's name.
const CREATED_BY: &str = "verify";

/// Enough to see that it is no accident.
const TAMPERED: usize = 3;

pub(super) async fn look(verification: &Verification<'_>) -> Vec<Line> {
    let mut lines = vec![];
    let shapes = verification.shapes.all().iter().zip(&verification.submitters);
    for (shape, submitter) in shapes {
        let Some(submitter) = submitter else {
            let message = format!("nobody says who submits what {} is about", shape.name);
            let fix = "name the identity with --as USER, or in `request` of the shape's test file; a stream of manifests has no test file, and needs --as";
            lines.push(unproved(message, fix));
            continue;
        };
        for namespace in &shape.namespaces {
            let canary = Canary { verification, shape, submitter, namespace };
            let line = match canary.fly().await {
                Ok(line) | Err(line) => line,
            };
            lines.push(line);
        }
    }
    lines
}

fn unproved(message: String, fix: &str) -> Line {
    Line { fix: Some(fix.to_owned()), ..Line::new(CHECK, Status::Unknown, message) }
}

/// What one shape says in one of its namespaces.
struct Canary<'a> {
    verification: &'a Verification<'a>,
    shape: &'a Shape,
    submitter: &'a Named,
    namespace: &'a str,
}

impl Canary<'_> {
    fn about(&self) -> String {
        format!("{} ({}) in {}", self.shape.name, self.shape.short_digest(), self.namespace)
    }

    /// Sends what the shape is about. An error is a line too: the one that ends it.
    async fn fly(&self) -> Result<Line, Line> {
        let (about, shape) = (self.about(), self.shape);
        let requester = self.submitter.requester();
        let user = requester.user;
        if shape.exempts(Some(&requester)) {
            let message = format!("{about}: {user} is exempt from it, which proves nothing");
            return Err(unproved(message, "name whoever really submits with --as USER"));
        }
        let dry_runs =
            DryRuns::new(self.verification.config, self.submitter, self.namespace, CREATED_BY)
                .map_err(|error| unknown(CHECK, "the answer to a dry run", &error))?;
        let (candidates, begin) = if shape.is_guard() {
            (self.against_guards(), String::new())
        } else {
            let filled = self.filled(shape).map_err(|why| {
                Line::failed(CHECK, format!("{about}: {why}"), "see jobshape fill")
            })?;
            self.admitted(&dry_runs, &filled).await?;
            (changed(&filled), format!("the filled template is admitted as {user}, "))
        };
        let line = if shape.enforces() {
            self.refused(&dry_runs, &candidates, &begin).await?
        } else {
            self.warned(&dry_runs, &candidates, &begin).await?
        };
        Ok(line)
    }

    /// The first template of a shape as it must pass.
    fn filled(&self, shape: &Shape) -> Result<Candidate, String> {
        let template = shape.first();
        let mut object = template.fill(&[]).map_err(|why| why.to_string())?.to_json();
        object["metadata"]["namespace"] = json!(self.namespace);
        let title = format!("is the filled template of {}", shape.name);
        Ok(Candidate { title, kind: template.of.kind(), object })
    }

    async fn admitted(&self, dry_runs: &DryRuns, filled: &Candidate) -> Result<(), Line> {
        match dry_runs.create(&filled.object).await {
            Answer::Admitted(_) => Ok(()),
            Answer::Refused(said) => {
                let (about, user) = (self.about(), self.submitter.requester().user);
                let message =
                    format!("{about}: the filled template, sent as {user}, is refused: {said}");
                let fix = if said.contains("is forbidden: ") {
                    "name whoever really submits with --as USER, or let it create them"
                } else {
                    "if the refusal is not by jobshape, see who else decides; else see the lines above"
                };
                Err(Line::failed(CHECK, message, fix))
            }
            Answer::None(error) => Err(unknown(CHECK, "the answer to a dry run", &error)),
        }
    }

    /// What some guard may refuse: what the templates beside it are about, and what is made up,
    /// each changed in all ways. Only what no template refuses shows that a guard is asked.
    fn against_guards(&self) -> Vec<Candidate> {
        let beside = self.verification.shapes.of_namespace(self.namespace).iter();
        let filled = beside.filter(|shape| !shape.is_guard()).filter_map(|s| self.filled(s).ok());
        let bases: Vec<Candidate> = filled.chain([made_up::job(self.namespace)]).collect();
        let changes: Vec<Candidate> = bases.iter().flat_map(changed).collect();
        bases.into_iter().chain(changes).collect()
    }

    fn judged(&self, candidate: &Candidate) -> Verdict {
        self.verification.shapes.judge(&Request {
            kind: candidate.kind,
            namespace: self.namespace,
            operation: Operation::Create,
            requester: Some(self.submitter.requester()),
            object: &Node::from_json(&candidate.object),
            old: None,
            pointers: false,
        })
    }

    /// Who refuses it, by name and digest. A guard must do so itself.
    fn refuses(&self, candidate: &Candidate) -> Option<String> {
        let verdict = self.judged(candidate);
        let speaker = verdict.shape.filter(|_| verdict.kind == VerdictKind::Deny)?;
        let counts = !self.shape.is_guard() || speaker.name == self.shape.name;
        counts.then(|| format!("{} ({})", speaker.name, speaker.short_digest()))
    }

    async fn refused(
        &self,
        dry_runs: &DryRuns,
        candidates: &[Candidate],
        begin: &str,
    ) -> Result<Line, Line> {
        let (about, user) = (self.about(), self.submitter.requester().user);
        let of_these = candidates.iter().filter_map(|one| Some((one, self.refuses(one)?)));
        let tampered: Vec<_> = of_these.take(TAMPERED).collect();
        if tampered.is_empty() {
            let what = if self.shape.is_guard() { "this guard" } else { "this shape" };
            let message = format!(
                "{about}: {begin}no Job that {what} refuses is known here; nothing proves that it is asked"
            );
            let fix =
                "send one that it refuses as a dry run, and look for its digest in the answer";
            return Err(unproved(message, fix));
        }
        for (candidate, speaker) in &tampered {
            let title = &candidate.title;
            match dry_runs.create(&candidate.object).await {
                Answer::Refused(said) if said.contains(&format!("jobshape: {speaker} refused")) => {
                }
                Answer::Refused(said) => {
                    let message = format!(
                        "{about}: a Job that {title} is refused, but not by {speaker}: {said}"
                    );
                    let fix = "see whether every replica serves these shapes, and who else decides";
                    return Err(Line::failed(CHECK, message, fix));
                }
                Answer::Admitted(_) => {
                    let message =
                        format!("{about}: a Job that {title}, sent as {user}, is admitted");
                    let fix =
                        "the boundary is not live: see the lines above, from the configuration on";
                    return Err(Line::failed(CHECK, message, fix));
                }
                Answer::None(error) => {
                    return Err(unknown(CHECK, "the answer to a dry run", &error));
                }
            }
        }
        let titles = tampered.iter().map(|(one, _)| format!("refused: one that {}", one.title));
        let details = titles.chain(not_tried(self.shape, user)).collect();
        let count = tampered.len();
        let message = format!("{about}: {begin}tampered ones are refused by it: {count}");
        Ok(Line::ok(CHECK, message).with(details))
    }

    /// Where nothing is refused, a warning is all that whoever sends a Job gets to see.
    async fn warned(
        &self,
        dry_runs: &DryRuns,
        candidates: &[Candidate],
        begin: &str,
    ) -> Result<Line, Line> {
        let (about, user) = (self.about(), self.submitter.requester().user);
        let by = format!("jobshape: {} ({}): ", self.shape.name, self.shape.short_digest());
        let warns = |one: &&Candidate| {
            let verdict = self.judged(one);
            verdict.kind == VerdictKind::Allow
                && refusal::warnings(&verdict).iter().any(|text| text.starts_with(&by))
        };
        let Some(candidate) = candidates.iter().find(warns) else {
            let message = format!(
                "{about}: {begin}nothing is enforced. That it is asked cannot be proved from here: audit annotations are seen by the API server only; look at jobshape_reviews_total"
            );
            return Ok(Line::note(CHECK, message).with(not_tried(self.shape, user)));
        };
        let title = &candidate.title;
        match dry_runs.create(&candidate.object).await {
            Answer::Admitted(warnings) if warnings.iter().any(|text| text.contains(&by)) => {
                let message =
                    format!("{about}: {begin}a tampered one gets its warning; nothing is enforced");
                let mut details = vec![format!("warned: one that {title}")];
                details.extend(not_tried(self.shape, user));
                Ok(Line::ok(CHECK, message).with(details))
            }
            Answer::Admitted(_) => {
                let message =
                    format!("{about}: a Job that {title}, sent as {user}, gets no warning of it");
                let fix = "nobody is asked, or not by these shapes: see the lines above, from the configuration on";
                Err(Line::failed(CHECK, message, fix))
            }
            Answer::Refused(said) => {
                let message =
                    format!("{about}: a Job that {title}, sent as {user}, is refused: {said}");
                let fix = "see whether every replica serves these shapes, and who else decides";
                Err(Line::failed(CHECK, message, fix))
            }
            Answer::None(error) => Err(unknown(CHECK, "the answer to a dry run", &error)),
        }
    }
}

/// What a line must not be read as: all templates, or all who submit.
fn not_tried(shape: &Shape, user: &str) -> Vec<String> {
    let mut said = vec![];
    let templates = shape.written().count();
    if templates > 1 {
        said.push(format!("only the first of {templates} templates is tried"));
    }
    let named = shape.who.users.len() + shape.who.groups.len();
    if named > 1 {
        said.push(format!("only {user} is tried; `match` names {named} users and groups"));
    }
    said
}

#[cfg(test)]
mod tests;
