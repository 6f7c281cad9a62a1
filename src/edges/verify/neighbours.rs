//! Who else changes Jobs and Pods on their way: what a mutating webhook or policy adds is refused,
//! or was never seen.

use serde_json::Value;

use super::{Verification, items, unknown};
use crate::formats::report::verified::Line;

const CHECK: &str = "neighbours";

/// A resource that is asked about: its group and name.
const RESOURCES: [(&str, &str); 3] = [("batch", "jobs"), ("batch", "cronjobs"), ("", "pods")];

const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// By the versions that have had them, newest first.
const POLICIES: [&str; 3] = [
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1alpha1/mutatingadmissionpolicies",
];

pub(super) async fn look(verification: &Verification<'_>) -> Vec<Line> {
    let mut found = vec![];
    match verification.get(WEBHOOKS).await {
        Err(error) => return vec![unknown(CHECK, "the mutating webhooks", &error)],
        Ok(list) => {
            for configuration in items(&list) {
                let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
                for webhook in webhooks {
                    let (name, rules) = (&webhook["name"], &webhook["rules"]);
                    found.extend(about("webhook", name, rules));
                }
            }
        }
    }
    for path in POLICIES {
        match verification.find(path).await {
            Err(error) => return vec![unknown(CHECK, "the mutating policies", &error)],
            Ok(None) => {}
            Ok(Some(list)) => {
                for policy in items(&list) {
                    let rules = &policy["spec"]["matchConstraints"]["resourceRules"];
                    found.extend(about("policy", &policy["metadata"]["name"], rules));
                }
                break;
            }
        }
    }
    if found.is_empty() {
        return vec![Line::ok(CHECK, "nothing else changes Jobs, CronJobs or Pods")];
    }
    let message = "also looked at and perhaps changed on the way, unless its selectors say otherwise: what is added to a Job is judged, what is added to a Pod is not";
    vec![Line::note(CHECK, message).with(found)]
}

/// What a webhook or policy is about, if it is about one of the resources.
fn about(what: &str, name: &Value, rules: &Value) -> Option<String> {
    let holds = |list: &Value, wanted: &str| {
        let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut texts = texts;
        texts.any(|text| text == "*" || text == "*/*" || text == wanted)
    };
    let of = |(group, resource): &(&str, &str)| {
        let mut rules = rules.as_array().into_iter().flatten();
        rules.any(|rule| holds(&rule["apiGroups"], group) && holds(&rule["resources"], resource))
    };
    let resources: Vec<&str> =
        RESOURCES.iter().filter(|resource| of(resource)).map(|(_, name)| *name).collect();
    let name = name.as_str().unwrap_or_default();
    (!resources.is_empty()).then(|| format!("{what} {name}: {}", resources.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_can_touch_jobs_or_pods_is_told() {
        let one = |groups: Value, resources: Value| {
            about("webhook", &json!("x"), &json!([{"apiGroups": groups, "resources": resources}]))
        };
        assert_eq!(one(json!([""]), json!(["pods"])).unwrap(), "webhook x: pods");
        assert_eq!(one(json!(["*"]), json!(["*"])).unwrap(), "webhook x: jobs, cronjobs, pods");
        assert_eq!(one(json!(["batch"]), json!(["jobs/status"])), None);
        assert_eq!(one(json!(["apps"]), json!(["*"])), None);
    }
}
