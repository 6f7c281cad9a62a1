//! Webhook configurations: in effect when the harness says so, and gone when it says so.

use serde_json::json;

use super::job;
use super::stand_in::StandIn;
use crate::apiserver::{self, Identity, Probe};

#[tokio::test]
async fn a_refusal_of_a_webhook_arrives_whole() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("refused").await.unwrap();
    let dispatcher = Identity::service_account(&namespace.name, "dispatcher");
    namespace.allow_jobs(&dispatcher).await.unwrap();
    let response = json!({
        "allowed": false,
        "status": {"code": 403, "reason": "Forbidden", "message": "not this one"},
        "warnings": ["a \"quoted\" one, and a \\ too", "another"],
    });
    let stand_in = StandIn::start(cluster, response).await;
    let configuration = stand_in.configuration(cluster);
    let probe = Probe { identity: &dispatcher, namespace: &namespace.name, job: &job("probe") };
    let webhook = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
    assert!(webhook.first_refusal.is_by_webhook(), "{}", webhook.first_refusal);

    let session = cluster.session(&dispatcher).await.unwrap();
    let refusal = session.create_job(&namespace.name, &job("one")).await.unwrap_err();
    assert_eq!((refusal.code, refusal.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        refusal.message,
        "admission webhook \"stand-in.jobshape.dev\" denied the request: not this one"
    );
    assert_eq!(refusal.warnings, ["a \"quoted\" one, and a \\ too", "another"]);
}

#[tokio::test]
async fn a_webhook_is_in_effect_where_it_was_installed_and_nowhere_else() {
    let cluster = apiserver::shared().await;
    let governed = cluster.namespace("governed").await.unwrap();
    let free = cluster.namespace("free").await.unwrap();
    // Nothing listens there, and the policy is to refuse then.
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "absent"},
        "webhooks": [{
            "name": "absent.jobshape.dev",
            "clientConfig": {"url": cluster.webhook_url(1, "/review")},
            "rules": [{
                "apiGroups": ["batch"], "apiVersions": ["v1"],
                "resources": ["jobs"], "operations": ["CREATE"],
            }],
            "failurePolicy": "Fail", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
        }],
    });
    let probe = Probe { identity: &Identity::Admin, namespace: &governed.name, job: &job("probe") };
    let webhook = cluster.install_webhook(&configuration, &[&governed], &probe).await.unwrap();
    assert!(webhook.first_refusal.is_failed_call(), "{}", webhook.first_refusal);
    assert!(webhook.name.starts_with("absent-"), "{}", webhook.name);

    let session = cluster.session(&Identity::Admin).await.unwrap();
    session.create_job(&governed.name, &job("one")).await.unwrap_err();
    session.create_job(&free.name, &job("one")).await.unwrap();
    webhook.remove(cluster, &probe).await.unwrap();
    session.create_job(&governed.name, &job("one")).await.unwrap();
}

#[tokio::test]
async fn a_probe_that_something_else_refuses_is_a_failure_and_leaves_nothing() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("probe").await.unwrap();
    let nobody = Identity::user("nobody", &[]);
    let probe = Probe { identity: &nobody, namespace: &namespace.name, job: &job("probe") };
    let configuration = json!({"metadata": {"name": "refused"}, "webhooks": []});
    let refused = cluster.install_webhook(&configuration, &[&namespace], &probe).await;
    let failure = refused.err().unwrap().to_string();
    assert!(failure.contains("but by no webhook: 403 Forbidden"), "{failure}");

    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let left = cluster.session(&Identity::Admin).await.unwrap().get(path).await.unwrap();
    let items = left.body["items"].as_array().unwrap();
    let names: Vec<_> = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    assert!(!names.iter().any(|name| name.starts_with("refused-")), "{names:?}");
}
