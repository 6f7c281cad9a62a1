//! Several shapes in one namespace, for the requests of some and not of others: offline with `--as`,
//! and by the identities that the real server authenticates.

use jobshape::core::judge::{Request, Shapes, VerdictKind};
use jobshape::core::shape::Shape;
use jobshape::core::shape::document::Operation;
use jobshape::core::shape::identities::Named;
use jobshape::core::tree::Node;
use serde_json::{Value, json};

use super::webhook::{changed, configuration, job, load, serve};
use crate::apiserver::{Cluster, Identity, Options, Probe};

fn image(tag: &str) -> Value {
    changed(job("one"), "/spec/template/spec/containers/0/image", json!(format!("r.example/{tag}")))
}

fn shapes(namespace: &str) -> Vec<Shape> {
    let shape = |name: &str, of_match: &str, rest: &str, tags: &[&str]| {
        let templates: Vec<String> = tags.iter().map(|tag| image(tag).to_string()).collect();
        load(&format!(
            "apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {{name: {name}}}
spec:
  match: {{namespaces: [{namespace}]{of_match}}}
{rest}  templates: [{}]
",
            templates.join(", ")
        ))
    };
    let runner = format!(", users: ['system:serviceaccount:{namespace}:runner']");
    vec![
        shape("roll-over", ", exempt: {groups: [break-glass]}", "", &["app:2", "app:1"]),
        shape("tried", "", "  action: Audit\n", &["app:3"]),
        shape("ci", &runner, "", &["ci:1"]),
    ]
}

async fn agree(cluster: &Cluster) {
    let namespace = cluster.namespace("several").await.unwrap();
    let name = namespace.name.as_str();
    let everybody = Identity::user("bob", &["staff"]);
    let runner = Identity::service_account(name, "runner");
    let on_call = Identity::user("alice", &["break-glass"]);
    for identity in [&everybody, &runner, &on_call] {
        namespace.allow(identity, "create", "batch", "jobs").await.unwrap();
    }
    let shapes = Shapes::new(shapes(name)).unwrap();
    let webhook = serve(cluster, shapes.clone());
    let probe = Probe { identity: &everybody, namespace: name, job: &image("probe") };
    let configuration = configuration(&webhook);
    let _installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();

    let networked = |tag: &str| changed(image(tag), "/spec/template/spec/hostNetwork", json!(true));
    let mixed = changed(image("app:1"), "/spec/activeDeadlineSeconds", json!(1));
    // Whoever asks, what for, and what comes of it: `true` is admitted.
    let cases: [(&Identity, Value, bool); 16] = [
        (&everybody, image("app:2"), true),
        (&everybody, image("app:1"), true),
        (&everybody, image("app:3"), true),
        (&everybody, networked("app:3"), false),
        (&everybody, networked("app:2"), false),
        (&everybody, mixed, false),
        (&everybody, image("ci:1"), false),
        (&everybody, image("x"), false),
        (&runner, image("ci:1"), true),
        (&runner, image("app:2"), true),
        (&runner, networked("ci:1"), false),
        // What is left for who is exempt from the one that enforces only records.
        (&on_call, image("app:3"), true),
        (&on_call, image("app:2"), true),
        (&on_call, image("x"), true),
        (&on_call, networked("app:3"), true),
        (&on_call, image("ci:1"), true),
    ];
    for (identity, job, admitted) in cases {
        let Identity::As { user, groups } = identity else { panic!("somebody in particular") };
        let named = Named::new(user, groups);
        let object = Node::from_json(&job);
        let offline = shapes.judge(&Request {
            kind: "Job",
            namespace: name,
            operation: Operation::Create,
            requester: Some(named.requester()),
            object: &object,
            old: None,
            pointers: false,
        });
        assert_eq!(offline.kind == VerdictKind::Allow, admitted, "offline, {user}: {job}");
        assert_eq!(offline.exempt, identity == &on_call, "{user}");
        let session = cluster.session(identity).await.unwrap();
        match session.dry_run_job(name, &job).await {
            Ok(_) => assert!(admitted, "the server, {user}: {job}"),
            Err(refusal) => {
                assert!(refusal.is_by_webhook() && !admitted, "{user}: {refusal}");
                let shape = offline.shape.unwrap();
                let speaker = format!("{} ({}) refused", shape.name, shape.short_digest());
                assert!(refusal.message.contains(&speaker), "{speaker}: {refusal}");
                for other in offline.alternatives {
                    assert!(refusal.message.contains(&other.name), "{}: {refusal}", other.name);
                }
            }
        }
    }
    let series = "jobshape_exempt_total{dry_run=\"true\",verdict=\"allow\"}";
    assert_eq!(webhook.metric(series).await, Some(5.0));
}

#[tokio::test]
async fn each_identity_gets_what_its_shapes_say() {
    agree(crate::apiserver::shared().await).await;
}

/// `make matrix` asks for this one.
#[tokio::test]
#[ignore = "make matrix: an API server of each release"]
async fn on_every_release() {
    for version in crate::apiserver::versions() {
        let options = Options { version, ..Options::default() };
        agree(&Cluster::from_environment(&options).await.unwrap()).await;
        println!("several shapes: {version} ok");
    }
}
