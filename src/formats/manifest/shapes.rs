//! The ConfigMap of the shapes: each as one document that needs no file beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::core::shape::rule::Action;
use crate::core::tree::{Entry, NOWHERE, Node, Value};
use crate::formats::emit;
use crate::formats::manifest::{DOMAIN, Names};

/// Most bytes of shapes in one ConfigMap. The API server takes 1 MiB of data
/// (kubernetes/pkg/apis/core/validation, `MaxSecretSize`), and what a person adds must fit too.
pub const MOST: usize = 900 * 1024;

/// Most bytes of all annotations of an object (k8s.io/apimachinery/pkg/api/validation,
/// `TotalAnnotationSizeLimitB`). `kubectl apply` keeps a copy of the object in one.
const MOST_ANNOTATED: usize = 256 * 1024;

/// A shape as it stands in the ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Its name; no two loaded shapes have the same.
    pub name: String,
    /// The document, YAML.
    pub text: String,
}

impl Rendered {
    /// A document that [`self_contained`] made.
    #[must_use]
    pub fn of(document: &Node<'_>) -> Self {
        let name = document.get("metadata").and_then(|metadata| metadata.get("name"));
        let name = name.and_then(Node::as_str).unwrap_or_default().to_owned();
        Rendered { name, text: emit::yaml(document) }
    }

    /// Its key. A shape's name is a DNS label, so this is one that a ConfigMap and a file system take.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}.yaml", self.name)
    }
}

/// More than one ConfigMap holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes of all together.
    pub bytes: usize,
    /// Bytes and name of each, the largest first.
    pub each: Vec<(usize, String)>,
}

/// The document with the templates in it that its `templateFrom` names. Its digest stays what it
/// is: the digest is of exactly this.
#[must_use]
pub fn self_contained(root: &Node<'_>, templates: &[Node<'_>]) -> Node<'static> {
    let mut root = root.clone().into_owned();
    if let Some(Value::Map(entries)) = child(&mut root, "spec").map(|spec| &mut spec.value)
        && let Some(from) = entries.iter_mut().find(|entry| entry.key == "templateFrom")
    {
        let templates = templates.iter().map(|node| node.clone().into_owned()).collect();
        from.key = Cow::Borrowed("templates");
        from.node = Node::new(Value::List(templates));
    }
    root
}

/// The document with no rule's action stronger than `most`. This is another digest: the digest
/// says which rules spoke.
#[must_use]
pub fn lowered(document: &Node<'_>, most: Action) -> Node<'static> {
    let mut document = document.clone().into_owned();
    let Some(spec) = child(&mut document, "spec") else { return document };
    if let Some(Value::List(rules)) = child(spec, "rules").map(|rules| &mut rules.value) {
        for rule in rules {
            lower(rule, most);
        }
    }
    if spec.get("action").is_none()
        && let Value::Map(entries) = &mut spec.value
    {
        entries.push(Entry {
            key: Cow::Borrowed("action"),
            key_at: NOWHERE,
            node: word(Action::Enforce),
        });
    }
    lower(spec, most);
    document
}

/// Lowers the `action` that a map has.
fn lower(map: &mut Node<'static>, most: Action) {
    if let Some(action) = child(map, "action")
        && action.as_str().and_then(Action::from_word).is_some_and(|action| action > most)
    {
        *action = word(most);
    }
}

fn word(action: Action) -> Node<'static> {
    Node::new(Value::String(Cow::Borrowed(action.word())))
}

fn child<'n, 'a>(node: &'n mut Node<'a>, key: &str) -> Option<&'n mut Node<'a>> {
    let Value::Map(entries) = &mut node.value else { return None };
    entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
}

/// The ConfigMap as YAML: one key a shape, in the order of the names.
///
/// # Errors
/// When there is more than one ConfigMap holds.
pub fn config_map(
    names: &Names,
    shapes: &[Rendered],
    annotations: &[(&str, &str)],
) -> Result<String, TooLarge> {
    let mut each: Vec<(usize, String)> =
        shapes.iter().map(|shape| (shape.text.len(), shape.name.clone())).collect();
    let bytes = each.iter().map(|(bytes, _)| bytes).sum();
    if bytes > MOST {
        each.sort_by(|a, b| b.cmp(a));
        return Err(TooLarge { bytes, each });
    }
    // Flux would fill `${X}` in it, and a shape may hold that as plain text.
    let ours = [("kustomize.toolkit.fluxcd.io/substitute", "disabled")];
    let annotations: BTreeMap<&str, &str> = ours.iter().chain(annotations).copied().collect();
    let data: BTreeMap<String, &str> =
        shapes.iter().map(|shape| (shape.key(), shape.text.as_str())).collect();
    // Written as a list of entries: a serde_json map would order the keys.
    let map = |entries: Vec<(&str, Node<'static>)>| {
        let entries = entries.into_iter().map(|(key, node)| Entry {
            key: Cow::Owned(key.to_owned()),
            key_at: NOWHERE,
            node,
        });
        Node::new(Value::Map(entries.collect()))
    };
    let text = |text: &str| Node::new(Value::String(Cow::Owned(text.to_owned())));
    let metadata = map(vec![
        ("name", text(&names.shapes)),
        ("namespace", text(&names.namespace)),
        ("annotations", map(annotations.iter().map(|(key, value)| (*key, text(value))).collect())),
    ]);
    let object = map(vec![
        ("apiVersion", text("v1")),
        ("kind", text("ConfigMap")),
        ("metadata", metadata),
        ("data", map(data.iter().map(|(key, value)| (key.as_str(), text(value))).collect())),
    ]);
    Ok(emit::yaml(&object))
}

/// Whether `kubectl apply` without `--server-side` would refuse the ConfigMap of these shapes.
#[must_use]
pub fn needs_server_side_apply(shapes: &[Rendered]) -> bool {
    // The copy is JSON: quotes and line ends cost a byte more. What else stands there is small.
    let copy: usize =
        shapes.iter().map(|shape| serde_json::Value::from(&*shape.text).to_string().len()).sum();
    copy + 4096 > MOST_ANNOTATED
}

/// The annotation that says that [`lowered`] was at work, with the strongest action that is left.
#[must_use]
pub fn lowered_annotation() -> String {
    format!("{DOMAIN}/lowered-to")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::shape::Shape;
    use crate::formats::documents::documents;

    fn read(text: &str) -> Node<'static> {
        documents(text).next().unwrap().unwrap().root.into_owned()
    }

    const SHAPE: &str = "
apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {name: a}
spec:
  match: {namespaces: [a]}
  templateFrom: [{file: t}]
  rules:
  - {name: one, select: [$.spec.suspend], action: Warn, auditUntil: 2027-01-31}
  - {name: two, select: [$.spec.parallelism], action: Audit}
  - {name: three, select: [$.spec.completions], action: Enforce}
  - {name: four, select: [$.spec.backoffLimit]}
";
    const TEMPLATE: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: a}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: a, image: r.example/a, command: [sh, -c, \"if x; then\\n\\ty\\nfi\\n\", 'to ${X}', '1e3'], env: [{name: V, value: 'no'}]}
";

    fn document() -> Node<'static> {
        self_contained(&read(SHAPE), &[read(TEMPLATE)])
    }

    #[test]
    fn a_shape_by_itself_has_the_digest_that_it_had() {
        let before = Shape::load(&read(SHAPE), &[read(TEMPLATE)]).unwrap();
        let rendered = Rendered::of(&document());
        let after = Shape::load(&read(&rendered.text), &[]).unwrap();
        assert_eq!((after.digest, after.name), (before.digest, before.name));
        assert!(!rendered.text.contains("templateFrom"), "{}", rendered.text);
        assert_eq!(rendered.key(), "a.yaml");
    }

    #[test]
    fn no_action_is_stronger_than_asked_and_none_is_raised() {
        let actions = |most| {
            let shape = Shape::load(&lowered(&document(), most), &[]).unwrap();
            shape.rules.iter().map(|rule| rule.action.word()).collect::<Vec<_>>()
        };
        assert_eq!(actions(Action::Audit), ["Audit"; 5]);
        assert_eq!(actions(Action::Warn), ["Warn", "Audit", "Warn", "Warn", "Warn"]);
        assert_eq!(actions(Action::Enforce), ["Warn", "Audit", "Enforce", "Enforce", "Enforce"]);
    }

    #[test]
    fn the_config_map_holds_the_documents_by_name() {
        let other = Rendered { name: "0".to_owned(), text: "a: b\n".to_owned() };
        let rendered = Rendered::of(&document());
        let text =
            config_map(&Names::default(), &[rendered.clone(), other], &[("x/y", "z")]).unwrap();
        let read = read(&text);
        let data = read.get("data").unwrap();
        let keys: Vec<&str> = data.entries().iter().map(|entry| &*entry.key).collect();
        assert_eq!(keys, ["0.yaml", "a.yaml"]);
        assert_eq!(data.get("a.yaml").unwrap().as_str(), Some(&*rendered.text));
        let head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: jobshape-shapes\n  namespace: jobshape-system\n  annotations:\n    \
                    kustomize.toolkit.fluxcd.io/substitute: disabled\n    x/y: z\ndata:\n  \"0.yaml\": \"a: b\\n\"\n  a.yaml: |\n    apiVersion: ";
        assert!(text.starts_with(head), "{text}");
    }

    #[test]
    fn more_than_fits_names_the_largest_first() {
        let shape =
            |name: &str, bytes: usize| Rendered { name: name.to_owned(), text: "x".repeat(bytes) };
        let (a, b) = (shape("a", MOST / 2), shape("b", MOST / 2));
        let names = Names::default();
        assert!(config_map(&names, &[a.clone(), b.clone()], &[]).is_ok());
        let error = config_map(&names, &[a, b, shape("c", 1)], &[]).unwrap_err();
        assert_eq!(error.bytes, MOST + 1);
        assert_eq!(error.each[0].1, "b");
        assert!(needs_server_side_apply(&[shape("a", 260 * 1024)]));
        assert!(!needs_server_side_apply(&[shape("a", 250 * 1024)]));
    }
}
