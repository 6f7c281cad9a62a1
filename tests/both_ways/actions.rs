//! What the actions of rules become at the client and in the audit log of a real server.

use std::time::{Duration, Instant};

use jobshape::core::judge::Shapes;
use serde_json::{Value, json};

use super::refusal::Spoken;
use super::webhook::{changed, configuration, job, serve, shape};
use crate::apiserver::{Cluster, ControlPlane, Identity, Options, Probe};

const RULES: &str = "  - {name: labels-warn, select: [$.metadata.labels], action: Warn}
  - {name: annotations-audit, select: [$.metadata.annotations], action: Audit}
  - {name: everything}";

/// A server of its own, because an audit log is asked for at the start.
#[tokio::test]
async fn warnings_arrive_and_audit_findings_stand_in_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    let log = folder.path().join("audit.log");
    let jobs = json!({"group": "batch", "resources": ["jobs"]});
    let only_jobs = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "rules": [{"level": "Metadata", "resources": [jobs]}, {"level": "None"}],
    });
    std::fs::write(&policy, only_jobs.to_string()).unwrap();
    let options = Options {
        controllers: false,
        apiserver_arguments: vec![
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", log.display()),
        ],
        ..Options::default()
    };
    let cluster = Cluster::Own(ControlPlane::start(&options).await.unwrap());
    let namespace = cluster.namespace("actions").await.unwrap();
    let shape = shape(&namespace.name, RULES);
    let webhook = serve(&cluster, Shapes::new(vec![shape.clone()]).unwrap());
    let dispatcher = Identity::service_account(&namespace.name, "dispatcher");
    namespace.allow_jobs(&dispatcher).await.unwrap();
    let tampered = changed(job("main-x"), "/spec/activeDeadlineSeconds", json!(1));
    let probe = Probe { identity: &dispatcher, namespace: &namespace.name, job: &tampered };
    let configuration = configuration(&webhook);
    let installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
    assert_eq!(Spoken::read(&installed.first_refusal, &shape).unwrap().rules(), ["everything"]);

    let session = cluster.session(&dispatcher).await.unwrap();
    let warned = changed(job("main-warned"), "/metadata/labels", json!({"queue": "fast"}));
    let accepted = session.create_job(&namespace.name, &warned).await.unwrap();
    let speaker = format!("jobshape: one-main ({}): labels-warn ", shape.short_digest());
    assert!(!accepted.warnings.is_empty());
    for warning in &accepted.warnings {
        assert!(warning.starts_with(&speaker), "{warning}");
        assert!(!warning.contains("fast"), "values are not repeated: {warning}");
    }

    let audited = changed(job("main-audited"), "/metadata/annotations", json!({"note": "x"}));
    let accepted = session.create_job(&namespace.name, &audited).await.unwrap();
    assert_eq!(accepted.warnings, Vec::<String>::new());
    session.create_job(&namespace.name, &job("main-plain")).await.unwrap();

    let shape_said = format!("one-main ({})", shape.short_digest());
    let said = async |name, key: &str| event(&log, name).await["annotations"][key].clone();
    for name in ["main-warned", "main-audited", "main-plain"] {
        assert_eq!(said(name, "enforce.jobshape.dev/verdict").await, "allow", "{name}");
        assert_eq!(said(name, "enforce.jobshape.dev/shape").await, *shape_said, "{name}");
    }
    let findings = "enforce.jobshape.dev/audit-findings";
    let text = said("main-audited", findings).await;
    let text = text.as_str().unwrap_or_default();
    assert!(text.starts_with("annotations-audit metadata.annotations"), "{text}");
    assert_eq!(said("main-warned", findings).await, Value::Null);
    assert_eq!(said("main-plain", findings).await, Value::Null);
}

/// The event of the creation of a Job; it is written when its answer is.
async fn event(log: &std::path::Path, name: &str) -> Value {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut done = events.filter(|event| {
            event["stage"] == "ResponseComplete" && event["objectRef"]["name"] == name
        });
        if let Some(event) = done.next() {
            return event;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "no event of {name} in:\n{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
