//! The digest of a shape: which version of the rules spoke.

use sha2::{Digest as _, Sha256};

use crate::core::tree::Node;

/// SHA-256, in hexadecimal, of the RFC 8785 JSON of `spec` as written, with `templateFrom`
/// replaced by `templates`: the same for a file, a ConfigMap and a resource.
#[must_use]
pub fn of(root: &Node<'_>, template: &Node<'_>) -> String {
    let mut spec = root.get("spec").map(Node::to_json).unwrap_or_default();
    if let Some(map) = spec.as_object_mut()
        && map.remove("templateFrom").is_some()
    {
        map.insert("templates".to_owned(), serde_json::Value::Array(vec![template.to_json()]));
    }
    let canonical = canonical(&spec);
    let hash = Sha256::digest(canonical.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 8785 JSON, except that an integer keeps all its digits: two templates that differ only
/// beyond 2^53 are two templates.
fn canonical(json: &serde_json::Value) -> String {
    use serde_json::Value as Json;
    match json {
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Json::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by_cached_key(|key| key.encode_utf16().collect::<Vec<u16>>());
            let entries: Vec<String> = keys
                .into_iter()
                .map(|key| format!("{}:{}", Json::from(key.as_str()), canonical(&map[key])))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Json::Number(number) if number.is_f64() => {
            serde_json_canonicalizer::to_string(number).unwrap_or_else(|_| number.to_string())
        }
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canonical_form_is_that_of_rfc_8785() {
        let json = serde_json::json!({"b": [1e3, 0.5, 1e30], "a\u{e000}": 1, "a\u{10000}": "\u{1}é\"", "big": 9_007_199_254_740_993_i64});
        assert_eq!(
            canonical(&json),
            "{\"a\u{10000}\":\"\\u0001é\\\"\",\"a\u{e000}\":1,\"b\":[1000,0.5,1e+30],\"big\":9007199254740993}"
        );
    }
}
