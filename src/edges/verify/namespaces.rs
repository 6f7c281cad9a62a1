//! Is each governed namespace there, and does the live configuration send it to the right entry?

use serde_json::Value;

use super::configuration::webhooks;
use super::{Verification, listed, unknown};
use crate::formats::manifest::configuration::{AUDIT, ENFORCE, entries};
use crate::formats::report::verified::Line;

const CHECK: &str = "namespaces";

pub(super) async fn look(verification: &Verification<'_>, live: Option<&Value>) -> Vec<Line> {
    let mut lines = vec![];
    let mut good = vec![];
    let entries = entries(verification.shapes);
    for namespace in verification.governed() {
        let object = match verification.find(&format!("/api/v1/namespaces/{namespace}")).await {
            Ok(object) => object,
            Err(error) => {
                lines.push(unknown(CHECK, &format!("the namespace {namespace}"), &error));
                continue;
            }
        };
        let Some(object) = object else {
            let message = format!("a shape governs the namespace {namespace}, and there is none");
            let fix = "mend the name in `match.namespaces` of the shape, or create the namespace";
            lines.push(Line::failed(CHECK, message, fix));
            continue;
        };
        let Some(live) = live else { continue };
        let wanted = entries.iter().find(|e| e.namespaces.iter().any(|n| n == namespace));
        let wanted = wanted.map_or(ENFORCE, |entry| entry.path);
        let labels = &object["metadata"]["labels"];
        let sent: Vec<&str> = webhooks(live)
            .iter()
            .filter(|webhook| selects(&webhook["namespaceSelector"], labels))
            .map(path)
            .collect();
        if sent == [wanted] {
            let how = if wanted == AUDIT { "recorded" } else { "enforced" };
            good.push(format!("{namespace} ({how})"));
            continue;
        }
        let message = match &sent[..] {
            [] => format!(
                "the live configuration does not send {namespace} anywhere: every Job passes there"
            ),
            _ => format!(
                "the live configuration sends {namespace} to {}, not to {wanted} alone",
                listed(&sent)
            ),
        };
        let fix = "apply the configuration that `jobshape render` prints for these shapes";
        lines.push(Line::failed(CHECK, message, fix));
    }
    if !good.is_empty() {
        lines.insert(
            0,
            Line::ok(CHECK, format!("there, and sent to the webhook: {}", listed(&good))),
        );
    }
    if let Some(live) = live {
        lines.extend(not_governed(verification, live));
    }
    lines
}

/// Namespaces that are sent to the webhook although no shape governs them: nothing passes there.
fn not_governed(verification: &Verification<'_>, live: &Value) -> Option<Line> {
    let governed = verification.governed();
    let mut more = vec![];
    for webhook in webhooks(live) {
        let expressions = webhook["namespaceSelector"]["matchExpressions"].as_array();
        for expression in expressions.into_iter().flatten().filter(|e| e["operator"] == "In") {
            let values = expression["values"].as_array().into_iter().flatten();
            more.extend(values.filter_map(Value::as_str).filter(|n| !governed.contains(n)));
        }
    }
    if more.is_empty() {
        return None;
    }
    let message = format!(
        "the live configuration sends {} to the webhook, and no shape given here governs that: where it fails closed, no Job is admitted",
        listed(&more)
    );
    let fix = "give a shape for it, or apply the configuration that `jobshape render` prints";
    Some(Line::failed(CHECK, message, fix))
}

fn path(webhook: &Value) -> &str {
    let client = &webhook["clientConfig"];
    let of_service = client["service"]["path"].as_str();
    let of_url =
        || client["url"].as_str().and_then(|url| url.find("/validate/").map(|at| &url[at..]));
    of_service.or_else(of_url).unwrap_or("?")
}

/// Whether a label selector selects these labels (apimachinery's `LabelSelectorAsSelector`): an
/// empty one selects everything, an expression of an unknown operator nothing.
fn selects(selector: &Value, labels: &Value) -> bool {
    let of = |key: &str| labels.get(key).and_then(Value::as_str);
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    let mut expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    equal.into_iter().all(|(key, value)| of(key) == value.as_str())
        && expressions.all(|expression| {
            let label = expression["key"].as_str().and_then(of);
            let values = expression["values"].as_array().into_iter().flatten();
            let mut values = values.filter_map(Value::as_str);
            match expression["operator"].as_str() {
                Some("In") => label.is_some_and(|label| values.any(|value| value == label)),
                Some("NotIn") => label.is_none_or(|label| values.all(|value| value != label)),
                Some("Exists") => label.is_some(),
                Some("DoesNotExist") => label.is_none(),
                _ => false,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_select_as_the_api_server_says() {
        let labels = json!({"a": "1", "b": "2"});
        let one = |operator: &str, key: &str, values: Value| {
            selects(
                &json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}),
                &labels,
            )
        };
        assert!(selects(&json!({}), &labels) && selects(&Value::Null, &Value::Null));
        assert!(selects(&json!({"matchLabels": {"a": "1"}}), &labels));
        assert!(!selects(&json!({"matchLabels": {"a": "1", "b": "1"}}), &labels));
        assert!(one("In", "a", json!(["0", "1"])) && !one("In", "c", json!(["1"])));
        assert!(one("NotIn", "c", json!(["1"])) && !one("NotIn", "a", json!(["1"])));
        assert!(one("Exists", "a", json!([])) && !one("Exists", "c", json!([])));
        assert!(one("DoesNotExist", "c", json!([])) && !one("DoesNotExist", "a", json!([])));
        assert!(!one("Gt", "a", json!(["0"])));
    }
}
