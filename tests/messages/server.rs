//! The same mistakes, made against a real API server.

use jobshape::core::judge::Shapes;
use jobshape::core::shape::Shape;
use serde_json::{Value, json};

use super::{ADMITTED, Mistake, file_name, folder, load, mistakes, printed, snapshots, written};
use crate::apiserver::{self, Identity, InstalledWebhook, Method, Namespace, Probe, Session};
use crate::both_ways::webhook::{changed, configuration, serve};
use crate::serve::Running;

/// What stands before every refusal of the webhook.
const DENIED: &str = "admission webhook \"enforce.jobshape.dev\" denied the request: ";

/// A shape in force, in a namespace of this test alone.
struct Governed<'c> {
    folder: String,
    committed: Shape,
    shape: Shape,
    namespace: Namespace<'c>,
    _webhook: Running,
    _installed: InstalledWebhook,
}

#[tokio::test]
async fn a_client_gets_what_is_written_down() {
    let cluster = apiserver::shared().await;
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let mut governed: Vec<Governed<'_>> = vec![];
    let mut received = vec![];
    for mistake in mistakes() {
        if !governed.iter().any(|one| one.folder == mistake.shape) {
            governed.push(govern(&mistake).await);
        }
        let one = governed.iter().find(|one| one.folder == mistake.shape).unwrap();
        let refusal = refused(&session, one, &mistake).await;
        let printed = printed(&folder(&mistake), &mistake.job(&one.committed));
        received.push((file_name(&mistake), written(&printed, &mistake, &refusal)));
    }
    snapshots().bind(|| {
        for (name, text) in &received {
            insta::assert_snapshot!(name.as_str(), text);
        }
    });
}

/// Puts the shape of a mistake in force in a namespace that no other test has: a copy of it that
/// differs by that name alone.
async fn govern(mistake: &Mistake) -> Governed<'static> {
    let cluster = apiserver::shared().await;
    let committed = load(&folder(mistake));
    let namespace = cluster.namespace("messages").await.unwrap();
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder(mistake)).unwrap() {
        let file = file.unwrap();
        if !file.file_type().unwrap().is_file() || file.file_name() == "tests.yaml" {
            continue;
        }
        let (from, to) = (&committed.namespaces[0], &namespace.name);
        let text = std::fs::read_to_string(file.path()).unwrap();
        let text = text.replace(&format!("namespaces: [{from}]"), &format!("namespaces: [{to}]"));
        let text = text.replace(&format!("namespace: {from}\n"), &format!("namespace: {to}\n"));
        std::fs::write(copy.path().join(file.file_name()), text).unwrap();
    }
    let shape = load(copy.path());
    let webhook = serve(cluster, Shapes::new(vec![shape.clone()]).unwrap());
    let job = shape.first().fill(&[]).unwrap().to_json();
    let tampered = changed(job, "/spec/template/spec/hostNetwork", json!(true));
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &tampered };
    let configuration = configuration(&webhook);
    let installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
    Governed {
        folder: mistake.shape.clone(),
        committed,
        shape,
        namespace,
        _webhook: webhook,
        _installed: installed,
    }
}

/// What a client gets, as if the committed shape had spoken.
async fn refused(session: &Session, one: &Governed<'_>, mistake: &Mistake) -> String {
    let job: Value = mistake.job(&one.shape);
    let resource = if job["kind"] == "CronJob" { "cronjobs" } else { "jobs" };
    let path = format!("{}?dryRun=All", one.namespace.path("batch/v1", resource));
    let refusal = match session.submit(Method::POST, &path, &job).await {
        Err(refusal) => refusal,
        Ok(accepted) => {
            assert!(accepted.warnings.iter().any(|w| w.starts_with("unknown field")));
            return ADMITTED.to_owned();
        }
    };
    if let Some(said) = &mistake.itself {
        assert!(!refusal.is_by_webhook() && refusal.message.contains(said), "{refusal}");
        return format!("… {said} …");
    }
    assert_eq!((refusal.code, refusal.reason.as_str()), (403, "Forbidden"), "{refusal}");
    if mistake.dropped.is_some() {
        assert!(refusal.warnings.iter().any(|w| w.starts_with("unknown field")), "{refusal}");
    }
    let message = refusal.message.strip_prefix(DENIED).unwrap_or_else(|| panic!("{refusal}"));
    message.replacen(one.shape.short_digest(), one.committed.short_digest(), 1)
}
