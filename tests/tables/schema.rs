//! What one property of an OpenAPI v3 schema says, in the words of the table.

use serde_json::Value;

/// Types that are one scalar on the wire although they are structs in Go.
const SCALARS: [(&str, &str); 5] = [
    ("io.k8s.apimachinery.pkg.api.resource.Quantity", "quantity"),
    ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "int-or-string"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "time"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "time"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "any"),
];

/// `JobSpec` of `io.k8s.api.batch.v1.JobSpec`.
pub fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The full name of the type that a property refers to. A default or a description beside a
/// reference makes the server wrap it in an `allOf` of one.
fn referred(of: &Value) -> Option<&str> {
    let direct = of.get("$ref");
    let wrapped =
        of["allOf"].as_array().filter(|all| all.len() == 1).and_then(|all| all[0].get("$ref"));
    direct.or(wrapped)?.as_str()?.strip_prefix("#/components/schemas/")
}

/// The struct that a property leads to, through lists and maps.
pub fn reference(of: &Value) -> Option<&str> {
    match referred(of) {
        Some(name) if SCALARS.iter().any(|(scalar, _)| *scalar == name) => None,
        Some(name) => Some(name),
        None => of.get("items").or(of.get("additionalProperties")).and_then(reference),
    }
}

/// The third column.
pub fn value(of: &Value) -> Result<String, String> {
    if let Some(name) = referred(of) {
        let scalar = SCALARS.iter().find(|(scalar, _)| *scalar == name);
        return Ok(scalar.map_or(short(name), |(_, word)| word).to_owned());
    }
    let word = match (of["type"].as_str(), of["format"].as_str()) {
        (Some("array"), _) => return Ok(format!("[{}]", value(&of["items"])?)),
        (Some("object"), _) => return Ok(format!("{{{}}}", value(&of["additionalProperties"])?)),
        (Some("string"), None) => "string",
        (Some("string"), Some("byte")) => "bytes",
        (Some("string"), Some("date-time")) => "time",
        (Some("string"), Some("int-or-string")) => "int-or-string",
        (Some("boolean"), None) => "boolean",
        (Some("integer"), _) => "integer",
        (Some("number"), _) => "number",
        _ => return Err(format!("a schema nobody has met yet: {of}")),
    };
    Ok(word.to_owned())
}

/// The fourth column.
pub fn list(of: &Value) -> Result<String, String> {
    if of["type"] != "array" {
        return Ok("-".to_owned());
    }
    let keys = of["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
    let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
    let merge = of["x-kubernetes-patch-merge-key"].as_str();
    match (of["x-kubernetes-list-type"].as_str(), merge) {
        (Some("map"), _) if !keys.is_empty() => Ok(format!("map:{}", keys.join(","))),
        (Some(plain @ ("atomic" | "set")), _) => Ok(plain.to_owned()),
        (None, Some(key)) => Ok(format!("merge:{key}")),
        (None, None) => Ok("-".to_owned()),
        (Some(other), _) => Err(format!("a list type nobody has met yet: {other}")),
    }
}
