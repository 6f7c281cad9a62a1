//! Is the live configuration the one that the shapes ask for?

use serde_json::{Value, json};

use super::{Verification, unknown};
use crate::formats::documents::documents;
use crate::formats::manifest::configuration::{Reached, configuration, entries};
use crate::formats::report::verified::Line;

const CHECK: &str = "configuration";

/// Where the configurations are.
pub(super) const PATH: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// Terms that AKS's Admissions Enforcer adds to every namespace selector. Elsewhere, and where the
/// component `aks` keeps it away, they are a way out for whoever may label a namespace.
fn platform_terms() -> [Value; 3] {
    [
        json!({"key": "control-plane", "operator": "NotIn", "values": ["true"]}),
        json!({"key": "control-plane", "operator": "DoesNotExist"}),
        json!({"key": "kubernetes.azure.com/managedby", "operator": "NotIn", "values": ["aks"]}),
    ]
}

/// Also the live configuration, if there is one.
pub(super) async fn look(verification: &Verification<'_>) -> (Vec<Line>, Option<Value>) {
    let name = &verification.names.configuration;
    let live = match verification.find(&format!("{PATH}/{name}")).await {
        Ok(live) => live,
        Err(error) => {
            let what = format!("the ValidatingWebhookConfiguration {name}");
            return (vec![unknown(CHECK, &what, &error)], None);
        }
    };
    let fix = "apply the configuration that `jobshape render` prints for these shapes, and see that whatever deploys it has it in its list";
    let Some(live) = live else {
        let message = format!(
            "there is no ValidatingWebhookConfiguration {name}: nothing is asked, and every Job passes"
        );
        return (vec![Line::failed(CHECK, message, fix)], None);
    };
    let rendered = rendered(verification);
    let allowed = verification.allow_aks_terms;
    let differences = differences(&rendered, &live, allowed);
    let terms = platform_terms_in(&live);
    let fix = match terms[..] {
        [_, ..] if !allowed => {
            "if the Admissions Enforcer of AKS added the terms on `control-plane` and `kubernetes.azure.com/managedby`, keep it away with manifests/components/aks, or say --allow-aks-terms; else somebody opened a way out: apply what `jobshape render` prints"
        }
        _ => fix,
    };
    let line = if differences.is_empty() {
        Line::ok(CHECK, format!("{name} is what the shapes render"))
    } else {
        let message = format!("{name} is not what the shapes render");
        Line::failed(CHECK, message, fix).with(differences)
    };
    let mut lines = vec![line];
    if allowed && !terms.is_empty() {
        let message = "a platform added terms to the namespace selectors";
        lines.push(Line::note(CHECK, message).with(terms));
    }
    (lines, Some(live))
}

fn rendered(verification: &Verification<'_>) -> Value {
    let names = verification.names;
    let entries = entries(verification.shapes);
    let text = configuration(&names.configuration, Reached::Service(names), &entries);
    let document = documents(&text).next();
    document.and_then(Result::ok).map_or(Value::Null, |document| document.root.to_json())
}

/// The entries of a configuration.
pub(super) fn webhooks(configuration: &Value) -> &[Value] {
    configuration["webhooks"].as_array().map_or(&[], Vec::as_slice)
}

fn named<'v>(webhooks: &'v [Value], name: &Value) -> Option<&'v Value> {
    webhooks.iter().find(|webhook| &webhook["name"] == name)
}

fn differences(rendered: &Value, live: &Value, allow_aks_terms: bool) -> Vec<String> {
    let (wanted, found) = (webhooks(rendered), webhooks(live));
    let mut differences = vec![];
    for webhook in found {
        if named(wanted, &webhook["name"]).is_none() {
            differences.push(format!("the entry {} should not be there", webhook["name"]));
        }
    }
    for webhook in wanted {
        let name = webhook["name"].as_str().unwrap_or_default();
        match named(found, &webhook["name"]) {
            None => differences.push(format!("the entry {name} is missing")),
            Some(live) => compare(
                name,
                &plain(webhook, false),
                &plain(live, allow_aks_terms),
                &mut differences,
            ),
        }
    }
    differences
}

/// An entry without what somebody else has to say, and without what a server fills in with nothing.
fn plain(webhook: &Value, allow_aks_terms: bool) -> Value {
    let mut webhook = webhook.clone();
    if let Some(client) = webhook["clientConfig"].as_object_mut() {
        client.remove("caBundle");
    }
    let terms = platform_terms();
    if allow_aks_terms
        && let Some(expressions) = webhook["namespaceSelector"]["matchExpressions"].as_array_mut()
    {
        expressions.retain(|expression| !terms.contains(expression));
    }
    if let Some(fields) = webhook.as_object_mut() {
        fields.retain(|_, value| *value != json!({}) && *value != json!([]) && !value.is_null());
    }
    sort(&mut webhook);
    webhook
}

/// The lists of strings in a configuration are sets.
fn sort(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(sort);
            if items.iter().all(Value::is_string) {
                items.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            }
        }
        Value::Object(fields) => fields.values_mut().for_each(sort),
        _ => {}
    }
}

fn compare(at: &str, wanted: &Value, found: &Value, differences: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            for (key, value) in wanted {
                let below = format!("{at}.{key}");
                compare(&below, value, found.get(key).unwrap_or(&Value::Null), differences);
            }
            for key in found.keys().filter(|key| !wanted.contains_key(*key)) {
                differences.push(format!("{at}.{key}: {}, not there by the shapes", found[key]));
            }
        }
        (Value::Array(wanted), Value::Array(found))
            if wanted.len() == found.len() && !wanted.iter().all(Value::is_string) =>
        {
            for (index, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                compare(&format!("{at}[{index}]"), wanted, found, differences);
            }
        }
        (wanted, Value::Null) => differences.push(format!("{at}: missing, {wanted} by the shapes")),
        (wanted, found) if wanted != found => {
            differences.push(format!("{at}: {found}, {wanted} by the shapes"));
        }
        _ => {}
    }
}

fn platform_terms_in(live: &Value) -> Vec<String> {
    let terms = platform_terms();
    let mut found = vec![];
    for webhook in webhooks(live) {
        let expressions = webhook["namespaceSelector"]["matchExpressions"].as_array();
        for expression in expressions.into_iter().flatten().filter(|e| terms.contains(e)) {
            let name = webhook["name"].as_str().unwrap_or_default();
            let (key, operator) = (&expression["key"], &expression["operator"]);
            let key = key.as_str().unwrap_or_default();
            let operator = operator.as_str().unwrap_or_default();
            found.push(format!("{name}: {key} {operator}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(change: impl FnOnce(&mut Value)) -> Vec<String> {
        allowing(false, change)
    }

    fn allowing(aks: bool, change: impl FnOnce(&mut Value)) -> Vec<String> {
        let wanted = json!({"webhooks": [{
            "name": "enforce.jobshape.dev",
            "clientConfig": {"service": {"name": "jobshape", "port": 443}},
            "rules": [{"resources": ["jobs", "cronjobs"], "operations": ["CREATE", "UPDATE"]}],
            "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}]},
            "failurePolicy": "Fail",
        }]});
        let mut live = wanted.clone();
        live["webhooks"][0]["objectSelector"] = json!({});
        live["webhooks"][0]["clientConfig"]["caBundle"] = json!("eA==");
        change(&mut live["webhooks"][0]);
        differences(&wanted, &live, aks)
    }

    #[test]
    fn what_others_write_and_what_says_nothing_is_no_difference() {
        assert_eq!(one(|_| {}), [""; 0]);
        assert_eq!(one(|w| w["rules"][0]["resources"] = json!(["cronjobs", "jobs"])), [""; 0]);
        let aks = || json!({"key": "control-plane", "operator": "NotIn", "values": ["true"]});
        let add = |w: &mut Value, term: Value| {
            let terms = w["namespaceSelector"]["matchExpressions"].as_array_mut().unwrap();
            terms.push(term);
        };
        assert_eq!(allowing(true, |w| add(w, aks())), [""; 0]);
        assert_eq!(one(|w| add(w, aks())).len(), 1);
        let mine = json!({"key": "mine", "operator": "DoesNotExist"});
        assert_eq!(allowing(true, |w| add(w, mine)).len(), 1);
    }

    #[test]
    fn every_difference_is_named_with_both_sides() {
        assert_eq!(
            one(|w| w["failurePolicy"] = json!("Ignore")),
            ["enforce.jobshape.dev.failurePolicy: \"Ignore\", \"Fail\" by the shapes"]
        );
        assert_eq!(
            one(|w| w["namespaceSelector"]["matchExpressions"][0]["values"] = json!(["a"])),
            [
                "enforce.jobshape.dev.namespaceSelector.matchExpressions[0].values: [\"a\"], [\"a\",\"b\"] by the shapes"
            ]
        );
        assert_eq!(
            one(|w| w["objectSelector"] = json!({"matchLabels": {"x": "y"}})),
            [
                "enforce.jobshape.dev.objectSelector: {\"matchLabels\":{\"x\":\"y\"}}, not there by the shapes"
            ]
        );
        assert_eq!(
            one(|w| w["rules"] = json!([])),
            [
                "enforce.jobshape.dev.rules: missing, [{\"operations\":[\"CREATE\",\"UPDATE\"],\"resources\":[\"cronjobs\",\"jobs\"]}] by the shapes"
            ]
        );
        assert_eq!(
            one(|w| w["name"] = json!("else")),
            ["the entry \"else\" should not be there", "the entry enforce.jobshape.dev is missing"]
        );
    }
}
