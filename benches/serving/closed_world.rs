//! A ValidatingAdmissionPolicy that pins a Job whole, as a native backstop would: for each object of
//! the Job, no other field that the API has, and every field equal.
//!
//! It is what jobshape is measured against, not a product: it knows no variable, and no field that
//! is newer than the table it is made from.

use jobshape::core::kubernetes::api::{Api, Kind};
use serde_json::Value;

/// The release whose schema the expressions are checked against.
const RELEASE: &str = "1.36";

/// Words that CEL keeps for itself; a field of that name is written with underscores.
const RESERVED: [&str; 4] = ["namespace", "in", "import", "package"];

/// The expressions that hold for `stored`, a Job as the server stores it, and for no other; what the
/// server writes itself is left out.
pub fn expressions(stored: &Value) -> Vec<String> {
    let api = Api::get();
    let mut out = Vec::new();
    let spec = api.field(api.job(), "spec").map_or(Kind::Unknown, |field| field.kind);
    let mut policy = Policy { api, out: &mut out };
    policy.walk("object.spec", spec, &stored["spec"]);
    let labels = "object.metadata.labels";
    for (key, value) in stored["metadata"]["labels"].as_object().into_iter().flatten() {
        if !generated(key) {
            policy.say(format!("{labels}[{}] == {value}", quoted(key)));
        }
    }
    out
}

struct Policy<'a> {
    api: &'static Api,
    out: &'a mut Vec<String>,
}

impl Policy<'_> {
    fn say(&mut self, expression: String) {
        self.out.push(expression);
    }

    fn walk(&mut self, at: &str, kind: Kind, value: &Value) {
        match (kind, value) {
            (Kind::Struct(id), Value::Object(object)) => {
                let mut absent = Vec::new();
                for field in &self.api.structure(id).fields {
                    if !field.versions.contains(&RELEASE) || server_writes(at, field.name) {
                        continue;
                    }
                    let path = format!("{at}.{}", name(field.name));
                    match object.get(field.name) {
                        Some(value) => self.walk(&path, field.kind, value),
                        None => absent.push(format!("!has({path})")),
                    }
                }
                if !absent.is_empty() {
                    self.say(absent.join(" && "));
                }
            }
            (Kind::List(id), Value::Array(items)) => {
                let list = self.api.list(id);
                let kind = list.item;
                let by_name = list.keys.first() == Some(&"name") && list.keys.len() == 1;
                let key = if by_name { Some("name") } else { list.keys.first().copied() };
                self.say(format!("size({at}) == {}", items.len()));
                for (n, item) in items.iter().enumerate() {
                    let named = key.and_then(|key| Some((key, item.get(key)?.as_str()?)));
                    let entry = match named {
                        Some((key, text)) => {
                            format!("{at}.filter(x, x.{key} == {})[0]", quoted(text))
                        }
                        None => format!("{at}[{n}]"),
                    };
                    self.walk(&entry, kind, item);
                }
            }
            (Kind::Map(id), Value::Object(map)) => {
                let item = self.api.list(id).item;
                let own = map.iter().filter(|(key, _)| !generated(key));
                let keys: Vec<String> = own.clone().map(|(key, _)| quoted(key)).collect();
                let known = keys.join(", ");
                self.say(format!(
                    "{at}.all(k, k in [{known}] || k.endsWith('controller-uid') || k.endsWith('job-name'))"
                ));
                for (key, value) in own {
                    self.walk(&format!("{at}[{}]", quoted(key)), item, value);
                }
            }
            (Kind::Quantity { .. }, value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.say(format!(
                    "quantity(string({at})).compareTo(quantity({})) == 0",
                    quoted(&text)
                ));
            }
            (_, Value::String(text)) => self.say(format!("{at} == {}", quoted(text))),
            (_, Value::Bool(_) | Value::Number(_)) => self.say(format!("{at} == {value}")),
            // An empty object, such as an emptyDir without fields.
            (_, _) => self.say(format!("has({at})")),
        }
    }
}

fn server_writes(at: &str, field: &str) -> bool {
    matches!(
        (at, field),
        ("object.spec", "selector")
            | ("object.spec.template.metadata", "creationTimestamp" | "namespace")
    )
}

/// Labels that the Job's own registration adds.
fn generated(key: &str) -> bool {
    key.ends_with("controller-uid") || key.ends_with("job-name")
}

fn name(field: &str) -> String {
    if RESERVED.contains(&field) { format!("__{field}__") } else { field.to_owned() }
}

/// A CEL string: JSON's escapes are CEL's too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
