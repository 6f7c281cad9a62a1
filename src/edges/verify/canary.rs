//! A Job that must pass and Jobs that must not, sent as whoever submits them, as dry runs: proof that
//! these shapes decide, by the digest in the refusal.

use kube::{Client, Config};
use serde_json::{Value, json};

use super::{Verification, unknown};
use crate::core::judge::{Request, VerdictKind};
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::shape::identities::Named;
use crate::core::shape::template::Template;
use crate::core::tree::Node;
use crate::formats::report::verified::{Line, Status};

const CHECK: &str = "canary";

/// Enough to see that it is no accident.
const TAMPERED: usize = 3;

pub(super) async fn look(verification: &Verification<'_>) -> Vec<Line> {
    let mut lines = vec![];
    let shapes = verification.shapes.all().iter().zip(&verification.submitters);
    for (shape, submitter) in shapes {
        if shape.templates.is_empty() {
            continue;
        }
        let Some(submitter) = submitter else {
            let message = format!("nobody says who submits what {} is about", shape.name);
            let mut line = Line::new(CHECK, Status::Unknown, message);
            line.fix = Some(
                "name the identity with --as USER, or in `request` of the shape's test file"
                    .to_owned(),
            );
            lines.push(line);
            continue;
        };
        for namespace in &shape.namespaces {
            lines.push(one(verification, shape, submitter, namespace).await);
        }
    }
    lines
}

/// Sends what a shape is about to one of its namespaces.
async fn one(
    verification: &Verification<'_>,
    shape: &Shape,
    submitter: &Named,
    namespace: &str,
) -> Line {
    let about = format!("{} ({}) in {namespace}", shape.name, shape.short_digest());
    let user = submitter.requester().user.to_owned();
    if shape.exempts(Some(&submitter.requester())) {
        let message = format!("{about}: {user} is exempt from it, which proves nothing");
        let mut line = Line::new(CHECK, Status::Unknown, message);
        line.fix = Some("name whoever really submits with --as USER".to_owned());
        return line;
    }
    let template = shape.first();
    let filled = match template.fill(&[]) {
        Ok(filled) => filled,
        Err(why) => return Line::failed(CHECK, format!("{about}: {why}"), "see jobshape fill"),
    };
    let mut filled = filled.to_json();
    filled["metadata"]["namespace"] = json!(namespace);
    let sender = match Sender::new(verification.config, submitter, template, namespace) {
        Ok(sender) => sender,
        Err(error) => return unknown(CHECK, "the answer to a dry run", &error),
    };
    let judged = |object: &Value| {
        let object = Node::from_json(object);
        verification.shapes.judge(&Request {
            kind: template.of.kind(),
            namespace,
            operation: Operation::Create,
            requester: Some(submitter.requester()),
            object: &object,
            old: None,
            pointers: false,
        })
    };
    match sender.send(&filled).await {
        Answer::Admitted => {}
        Answer::Refused(said) => {
            let message =
                format!("{about}: the filled template, sent as {user}, is refused: {said}");
            let fix = if said.contains("is forbidden: ") {
                "name whoever really submits with --as USER, or let it create them"
            } else {
                "if the refusal is not by jobshape, see who else decides; else see the lines above"
            };
            return Line::failed(CHECK, message, fix);
        }
        Answer::None(error) => return unknown(CHECK, "the answer to a dry run", &error),
    }
    let tampered = tampered(template, &filled);
    let tampered: Vec<_> = tampered
        .into_iter()
        .filter_map(|(title, object)| {
            let verdict = judged(&object);
            let shape = verdict.shape.as_ref().filter(|_| verdict.kind == VerdictKind::Deny)?;
            Some((title, object, format!("{} ({})", shape.name, shape.short_digest())))
        })
        .take(TAMPERED)
        .collect();
    if tampered.is_empty() {
        let message = format!(
            "{about}: nothing is enforced yet, so no refusal can prove that it decides; the filled template is admitted"
        );
        return Line::note(CHECK, message);
    }
    for (title, object, speaker) in &tampered {
        match sender.send(object).await {
            Answer::Refused(said) if said.contains(&format!("jobshape: {speaker} refused")) => {}
            Answer::Refused(said) => {
                let message =
                    format!("{about}: a Job that {title} is refused, but not by {speaker}: {said}");
                let fix = "see whether every replica serves these shapes, and who else decides";
                return Line::failed(CHECK, message, fix);
            }
            Answer::Admitted => {
                let message = format!("{about}: a Job that {title}, sent as {user}, is admitted");
                let fix =
                    "the boundary is not live: see the lines above, from the configuration on";
                return Line::failed(CHECK, message, fix);
            }
            Answer::None(error) => return unknown(CHECK, "the answer to a dry run", &error),
        }
    }
    let titles: Vec<String> =
        tampered.iter().map(|(title, ..)| format!("refused: one that {title}")).collect();
    let message = format!(
        "{about}: the filled template is admitted as {user}, {} tampered ones are refused by it",
        tampered.len()
    );
    Line::ok(CHECK, message).with(titles)
}

/// Changes that a shape should refuse, each with what it does.
fn tampered(template: &Template, filled: &Value) -> Vec<(&'static str, Value)> {
    let pod = match template.of.kind() {
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    let mut all = vec![];
    let mut change = |title: &'static str, what: &dyn Fn(&mut Value)| {
        let mut object = filled.clone();
        if let Some(pod) = object.pointer_mut(pod) {
            what(pod);
            all.push((title, object));
        }
    };
    change("runs another image", &|pod| {
        pod["containers"][0]["image"] = json!("registry.invalid/jobshape-canary:1");
    });
    change("uses the node's network", &|pod| pod["hostNetwork"] = json!(true));
    change("has a second container", &|pod| {
        let second =
            json!({"name": "jobshape-canary", "image": "registry.invalid/jobshape-canary:1"});
        if let Some(containers) = pod["containers"].as_array_mut() {
            containers.push(second);
        }
    });
    change("runs another command", &|pod| {
        pod["containers"][0]["command"] = json!(["/jobshape-canary"]);
    });
    change("runs under another service account", &|pod| {
        pod["serviceAccountName"] = json!("jobshape-canary");
        if let Some(pod) = pod.as_object_mut() {
            pod.remove("serviceAccount");
        }
    });
    all
}

enum Answer {
    Admitted,
    Refused(String),
    None(kube::Error),
}

/// Sends dry runs as somebody.
struct Sender {
    client: Client,
    path: String,
}

impl Sender {
    fn new(
        config: &Config,
        submitter: &Named,
        template: &Template,
        namespace: &str,
    ) -> Result<Sender, kube::Error> {
        let mut config = config.clone();
        let requester = submitter.requester();
        config.auth_info.impersonate = Some(requester.user.to_owned());
        // What the API server adds by itself need not be allowed to be impersonated.
        let is_said = |group: &&String| {
            *group != "system:authenticated" && !group.starts_with("system:serviceaccounts")
        };
        let groups = submitter.groups().iter().filter(is_said).cloned();
        config.auth_info.impersonate_groups = Some(groups.collect());
        let resource = if template.of.kind() == "CronJob" { "cronjobs" } else { "jobs" };
        let path = format!(
            "/apis/batch/v1/namespaces/{namespace}/{resource}?dryRun=All&fieldManager=jobshape-verify"
        );
        Ok(Sender { client: Client::try_from(config)?, path })
    }

    async fn send(&self, object: &Value) -> Answer {
        let request = axum::http::Request::post(&self.path)
            .header("Content-Type", "application/json")
            .body(object.to_string().into_bytes());
        let request = match request {
            Ok(request) => request,
            Err(error) => return Answer::None(kube::Error::HttpError(error)),
        };
        match self.client.request::<Value>(request).await {
            Ok(_) => Answer::Admitted,
            // Asked for after admission: one of that name is there.
            Err(kube::Error::Api(status))
                if status.code == 409 && status.reason == "AlreadyExists" =>
            {
                Answer::Admitted
            }
            Err(kube::Error::Api(status)) => Answer::Refused(status.message.clone()),
            Err(error) => Answer::None(error),
        }
    }
}
