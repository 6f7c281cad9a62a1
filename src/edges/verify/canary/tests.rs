//! What is found to send, before anything is sent.

use kube::{Client, Config};

use super::*;
use crate::core::judge::Shapes;
use crate::core::testing::{self, document, read};
use crate::formats::manifest::Names;

fn guard(name: &str, rules: &str) -> Shape {
    let spec = format!("match: {{namespaces: [ns]}}\ntemplates: []\nrules:\n{rules}");
    let text = document(&spec)
        .replace("  templates: []\n", "")
        .replace("metadata: {name: worker}", &format!("metadata: {{name: {name}}}"));
    Shape::load(&read(&text), &[]).unwrap()
}

/// Titles of what would be sent to show that the first of the shapes refuses.
async fn found(shapes: Vec<Shape>) -> Vec<String> {
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let shapes = Shapes::new(shapes).unwrap();
    let verification = Verification {
        config: &config,
        client: Client::try_from(config.clone()).unwrap(),
        shapes: &shapes,
        names: &Names::default(),
        submitters: vec![],
        trusted: &[],
        allow_aks_terms: false,
    };
    let shape = &shapes.all()[0];
    let submitter = &Named::new("somebody", &[]);
    let canary = Canary { verification: &verification, shape, submitter, namespace: "ns" };
    let all = canary.against_guards();
    let refused = all.into_iter().filter(|one| canary.refuses(one).is_some());
    refused.map(|one| format!("{}: {}", one.object["metadata"]["name"], one.title)).collect()
}

const NETWORK: &str = "- {name: network, select: [$.spec.template.spec.hostNetwork], must: {const: false}, absent: true}";

#[tokio::test]
async fn a_guard_is_shown_by_what_it_refuses() {
    let alone = found(vec![guard("guard", NETWORK)]).await;
    assert_eq!(alone, ["\"jobshape-canary\": uses the node's network"]);
    let image = "- {name: image, select: ['$.spec.template.spec.containers[*].image'], must: {pattern: '.*@sha256:.*'}}";
    let image = found(vec![guard("guard", image)]).await;
    assert_eq!(image[0], "\"jobshape-canary\": says no more than an API server needs");
    // Nothing that is made up has such a name.
    let never = "- {name: never, select: [$.spec.template.spec.runtimeClassName], must: {const: x}, absent: true}";
    assert_eq!(found(vec![guard("guard", never)]).await, [""; 0]);
}

#[tokio::test]
async fn beside_a_template_only_what_the_guard_alone_refuses_counts() {
    // It refuses whatever is not its template, so that the guard is not heard.
    let closed = testing::shape(&testing::job(), "");
    assert_eq!(found(vec![guard("guard", NETWORK), closed]).await, [""; 0]);
    // It leaves the network open.
    let open = "rules:\n- {name: open, select: [$.spec.template.spec.hostNetwork], action: Audit}";
    let open = testing::shape(&testing::job(), open);
    let beside = found(vec![guard("guard", NETWORK), open]).await;
    assert_eq!(beside, ["\"worker\": uses the node's network"]);
    // Of two that refuse the same the first is heard.
    let two = found(vec![guard("guard", NETWORK), guard("other", NETWORK)]).await;
    assert_eq!(two.len(), 1);
    let audited = NETWORK.replace("must", "action: Audit, must");
    assert_eq!(found(vec![guard("guard", &audited)]).await, [""; 0]);
}

#[test]
fn what_is_not_tried_is_said() {
    let shape = testing::shape(&testing::job(), "match: {namespaces: [ns], users: [a, b]}");
    assert_eq!(
        not_tried(&shape, "a"),
        ["only a is tried; `match` names 2 users and groups".to_owned()]
    );
    assert_eq!(not_tried(&testing::shape(&testing::job(), ""), "a"), [""; 0]);
}

#[test]
fn a_cron_job_is_changed_where_its_job_is() {
    let job = made_up::job("ns");
    let mut cron_job = job.clone();
    cron_job.kind = "CronJob";
    cron_job.object = json!({"spec": {"jobTemplate": {"spec": job.object["spec"].clone()}}});
    for (of, at) in [(job, "/spec"), (cron_job, "/spec/jobTemplate/spec")] {
        let all = changed(&of);
        let network = all.iter().find(|one| one.title == "uses the node's network").unwrap();
        let at = format!("{at}/template/spec/hostNetwork");
        assert_eq!(network.object.pointer(&at), Some(&json!(true)));
    }
}
