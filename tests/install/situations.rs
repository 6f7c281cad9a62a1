//! What goes wrong in an installation that is right, and what becomes of Jobs meanwhile. Each ends
//! with an installation that is live again, mended as its users would.

use std::pin::Pin;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::apiserver::{Failure, Identity, Method, Refusal};
use crate::breaks::CONFIGURATION;
use crate::installation::{GOVERNED, Installation, NAME, OWN, submitter};
use crate::outside::authority::Authority;
use crate::verified::Answer;

type Done<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// One of them.
pub struct Situation {
    /// In words.
    pub title: &'static str,
    /// Plays it, from a live installation to one that may be broken.
    pub play: for<'a> fn(&'a mut Installation) -> Done<'a>,
}

macro_rules! situations {
    ($($title:literal: $play:ident;)*) => {
        [$(Situation { title: $title, play: |installation| Box::pin($play(installation)) }),*]
    };
}

/// All of them.
pub const ALL: &[Situation] = &situations! {
    "shapes that cannot be loaded, while they are served": invalid_at_reload;
    "shapes that cannot be loaded, at start-up": invalid_at_start;
    "a namespace that the configuration sends and no shape governs": ungoverned;
    "no replica, and somebody who is exempt": nobody_there;
    "an authority that is injected late": late_authority;
    "a cloud that adds terms to selectors": terms_of_a_cloud;
    "shapes that only warn, and a guard alone, known by their manifests": warned_and_guarded;
};

/// What becomes of a Job, in words and to be seen.
pub type Fate<'a> = (&'a str, fn(&Result<(), Refusal>) -> bool);

/// See [`Fate`].
pub const ADMITTED: Fate<'_> = ("admitted", Result::is_ok);
/// See [`Fate`].
pub const REFUSED: Fate<'_> =
    ("refused by jobshape", |seen| seen.as_ref().is_err_and(Refusal::is_by_webhook));
const UNANSWERED: Fate<'_> =
    ("refused for want of an answer", |seen| seen.as_ref().is_err_and(Refusal::is_failed_call));
const UNGOVERNED: Fate<'_> = ("refused for want of a shape", |seen| {
    seen.as_ref().is_err_and(|refusal| {
        refusal.is_by_webhook() && refusal.message.contains("no shape governs it")
    })
});

/// The Job that the template is for.
pub fn worker(installation: &Installation) -> Result<Value, Failure> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/jobs/worker.yaml");
    let arguments = ["create", "--dry-run=client", "--validate=false", "-o", "json", "-f", file];
    let printed = installation.cluster.kubectl_with(&arguments, "")?;
    serde_json::from_str(&printed).map_err(Failure::during("reading the worker's Job"))
}

/// The same with another image.
pub fn tampered(installation: &Installation) -> Result<Value, Failure> {
    let mut job = worker(installation)?;
    job["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/other");
    Ok(job)
}

/// The boundary as it should be, seen by who submits.
async fn judged(installation: &mut Installation) -> Result<(), Failure> {
    let (worker, tampered) = (worker(installation)?, tampered(installation)?);
    installation.until_a_job(&submitter(), &worker, ADMITTED).await?;
    installation.until_a_job(&submitter(), &tampered, REFUSED).await
}

fn broken(text: &str) -> String {
    text.replace("  match:", "  macth:")
}

async fn invalid_at_reload(installation: &mut Installation) -> Result<(), Failure> {
    installation.ship(broken).await?;
    installation.until_said("replicas", "what stands in its files now cannot be loaded").await?;
    // The last good ones are in force, both ways.
    judged(installation).await?;
    installation.apply_again()
}

async fn invalid_at_start(installation: &mut Installation) -> Result<(), Failure> {
    installation.ship(broken).await?;
    installation.until_said("replicas", "what stands in its files now cannot be loaded").await?;
    installation.stop_replica(0).await?;
    installation.start_replica(0)?;
    // It has no last good ones; the other one has.
    installation.until_said("replicas", "jobshape-one is not ready").await?;
    judged(installation).await?;
    installation.stop_replica(1).await?;
    installation.start_replica(1)?;
    installation.until_said("service", "no ready endpoint").await?;
    let worker = worker(installation)?;
    installation.until_a_job(&submitter(), &worker, UNANSWERED).await?;
    // Nobody starts anything again.
    installation.apply_again()
}

async fn ungoverned(installation: &mut Installation) -> Result<(), Failure> {
    let elsewhere = |text: &str| {
        text.replace("- pm-agent\n", "- elsewhere\n")
            .replace("namespace: pm-agent\n", "namespace: elsewhere\n")
    };
    installation.ship(elsewhere).await?;
    let worker = worker(installation)?;
    installation.until_a_job(&submitter(), &worker, UNGOVERNED).await?;
    installation.until_said("replicas", "is served as").await?;
    installation.apply_again()
}

async fn nobody_there(installation: &mut Installation) -> Result<(), Failure> {
    let exempt =
        |text: &str| text.replace("  match:\n", "  match:\n    exempt: {users: [admin]}\n");
    installation.ship(exempt).await?;
    let tampered = tampered(installation)?;
    // Jobshape knows who is exempt,
    installation.until_a_job(&Identity::Admin, &tampered, ADMITTED).await?;
    installation.until_a_job(&submitter(), &tampered, REFUSED).await?;
    for number in 0..2 {
        installation.stop_replica(number).await?;
    }
    // and while nobody asks it, that is no help.
    installation.until_a_job(&Identity::Admin, &tampered, UNANSWERED).await?;
    // What is: nobody is asked about configurations.
    let deleted = installation.session.submit(Method::DELETE, CONFIGURATION, &json!({})).await;
    deleted.map_err(Failure::during("deleting the configuration"))?;
    installation.until_a_job(&submitter(), &tampered, ADMITTED).await?;
    for number in 0..2 {
        installation.start_replica(number)?;
    }
    installation.apply_again()
}

/// As with cert-manager, whose injector writes the configuration some time after the Secret.
async fn late_authority(installation: &mut Installation) -> Result<(), Failure> {
    installation.stop_rotator();
    let authority = Authority::new("a company's own")?;
    let name = format!("{NAME}.{OWN}.svc");
    let leaf = authority.leaf_for(&name, Duration::from_secs(90 * 24 * 3600))?;
    let pair = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": "jobshape-tls", "namespace": OWN},
        "data": {"tls.crt": STANDARD.encode(&leaf.certificate), "tls.key": STANDARD.encode(&leaf.key)},
    });
    let secret =
        format!("/api/v1/namespaces/{OWN}/secrets/jobshape-tls?fieldManager=somebody&force=true");
    let applied = installation.session.apply(&secret, &pair).await;
    applied.map_err(Failure::during("writing a certificate"))?;
    let deleted = installation.session.submit(Method::DELETE, CONFIGURATION, &json!({})).await;
    deleted.map_err(Failure::during("deleting the configuration"))?;
    installation.apply_again()?;
    installation.until_said("certificate", "is empty").await?;
    let worker = worker(installation)?;
    installation.until_a_job(&submitter(), &worker, UNANSWERED).await?;
    let bundle = STANDARD.encode(&authority.pem);
    let patch =
        json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]);
    let patch = patch.to_string();
    let arguments =
        ["patch", "validatingwebhookconfiguration", NAME, "--type=json", "--patch", &patch];
    installation.cluster.kubectl_with(&arguments, "")?;
    judged(installation).await?;
    installation.until_live().await?;
    // Whoever makes certificates here ordinarily takes it back.
    installation.start_rotator()
}

/// AKS adds terms to every configuration. One that takes the governed namespace away is no such term.
async fn terms_of_a_cloud(installation: &mut Installation) -> Result<(), Failure> {
    let add = async |installation: &Installation, term: Value| {
        let path = "/webhooks/0/namespaceSelector/matchExpressions/-";
        let patch = json!([{"op": "add", "path": path, "value": term}]).to_string();
        let arguments =
            ["patch", "validatingwebhookconfiguration", NAME, "--type=json", "--patch", &patch];
        installation.cluster.kubectl_with(&arguments, "").map(|_| ())
    };
    let azure = [
        json!({"key": "control-plane", "operator": "NotIn", "values": ["true"]}),
        json!({"key": "kubernetes.azure.com/managedby", "operator": "NotIn", "values": ["aks"]}),
    ];
    for term in azure {
        add(installation, term).await?;
    }
    installation.until_said("configuration", "--allow-aks-terms").await?;
    installation.flags = vec!["--allow-aks-terms".to_owned()];
    let is_noted = |answer: &Answer| {
        answer.status == 0
            && answer.lines.iter().any(|(check, status, text)| {
                check == "configuration" && status == "note" && text.contains("control-plane")
            })
    };
    installation.until("the terms of AKS to be noted", is_noted).await?;
    installation.flags.clear();
    let away =
        json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [GOVERNED]});
    add(installation, away).await?;
    installation.until_said("namespaces", "does not send pm-agent").await?;
    installation.apply_again()
}

const GUARD: &str = "apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {name: guard}
spec:
  match: {namespaces: [pm-agent]}
  rules:
  - {name: network, select: [$.spec.template.spec.hostNetwork], must: {const: false}, absent: true}
";

async fn warned_and_guarded(installation: &mut Installation) -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(Failure::during("making a folder"))?;
    let [guard, stream] = ["guard.yaml", "stream.yaml"]
        .map(|name| folder.path().join(name).to_string_lossy().into_owned());
    std::fs::write(&guard, GUARD).map_err(Failure::during("writing a guard"))?;
    let before = installation.shapes.clone();
    let warn = ["--shapes", &before[0], "--action", "Warn"];
    let alone = ["--shapes", &guard];
    installation.flags =
        ["--as", "system:serviceaccount:pm-agent:pm-agent"].map(str::to_owned).into();
    for (arguments, said) in [
        (&warn[..], "a tampered one gets its warning; nothing is enforced"),
        (&alone, "tampered ones are refused by it: 1"),
    ] {
        let mut render = Command::new(env!("CARGO_BIN_EXE_jobshape"));
        render.current_dir(env!("CARGO_MANIFEST_DIR")).arg("render").args(arguments);
        let rendered = render.output().map_err(Failure::during("rendering"))?.stdout;
        let text = String::from_utf8_lossy(&rendered);
        std::fs::write(&stream, &*text).map_err(Failure::during("writing manifests"))?;
        installation.cluster.kubectl_with(&["apply", "-f", "-"], &text)?;
        installation.shapes = vec![stream.clone()];
        let is_proved = |answer: &Answer| {
            answer.status == 0
                && answer.lines.iter().any(|(check, status, text)| {
                    check == "canary" && status == "ok" && text.contains(said)
                })
        };
        installation.until(said, is_proved).await?;
    }
    installation.shapes = before;
    installation.flags.clear();
    installation.apply_again()
}

/// One after the other, each from a live installation.
pub async fn all() -> Result<(), Failure> {
    let mut installation = Installation::new().await?;
    installation.until_live().await?;
    judged(&mut installation).await?;
    for situation in ALL {
        let during = |failure| Failure::during(situation.title)(failure);
        (situation.play)(&mut installation).await.map_err(during)?;
        installation.until_live().await.map_err(during)?;
        judged(&mut installation).await.map_err(during)?;
        println!("mended: {} ({GOVERNED})", situation.title);
    }
    Ok(())
}
