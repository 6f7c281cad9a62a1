//! The documents of our own kinds in a text: shapes, and test files.

use crate::core::mistake::{Mistake, nearest};
use crate::core::shape::document::{API_VERSION, KIND as SHAPE};
use crate::core::tree::{Node, Value};
use crate::formats::documents::listed;
use crate::formats::suite::KIND as TEST;

/// Every document of this kind, those in a `List` too. What is of another's kind is passed over; what
/// was probably meant to be ours is a mistake, since nobody would judge by it.
pub fn documents_of<'t>(kind: &str, text: &'t str) -> Vec<Result<Node<'t>, Mistake>> {
    let ours = |document: Result<Node<'t>, Mistake>| match document {
        Ok(root) if kind_of(&root) == Some(kind) => Some(Ok(root)),
        Ok(root) => nearly_ours(&root).map(Err),
        Err(found) => Some(Err(found)),
    };
    listed(text).into_iter().filter_map(ours).collect()
}

fn kind_of<'n>(root: &'n Node<'n>) -> Option<&'n str> {
    root.get("kind").and_then(Node::as_str)
}

fn nearly_ours(root: &Node<'_>) -> Option<Mistake> {
    let kinds = [SHAPE, TEST];
    if let Value::List(items) = &root.value {
        let item = items.iter().find(|item| kind_of(item).is_some_and(|k| kinds.contains(&k)))?;
        return Some(
            Mistake::new(item.at, "a list that is no `List` holds it, which nobody reads")
                .help("put a line `---` before each document, or the list under `items` of a `kind: List`"),
        );
    }
    let version = root.get("apiVersion").and_then(Node::as_str).unwrap_or_default();
    let is_ours = group(version) == group(API_VERSION);
    let Some(node) = root.get("kind") else {
        let typed = root.entries().iter().find(|entry| nearest(&entry.key, ["kind"]).is_some());
        let is_meant = is_ours
            || typed.is_some_and(|entry| entry.node.as_str().is_some_and(|k| kinds.contains(&k)));
        let at = typed.map_or(root.at, |entry| entry.key_at);
        return is_meant
            .then(|| Mistake::new(at, "it has no `kind`").help(format!("write `kind: {SHAPE}`")));
    };
    let kind = node.as_str().unwrap_or_default();
    if kinds.contains(&kind) {
        return None;
    }
    // In another group only what nobody else would call a kind of theirs.
    let meant =
        nearest(kind, kinds).filter(|_| is_ours || kind.to_lowercase().contains("jobshape"));
    (is_ours || meant.is_some()).then(|| {
        Mistake::new(node.at, format!("no kind `{kind}`"))
            .help(format!("did you mean `{}`?", meant.unwrap_or(SHAPE)))
    })
}

fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of what is found, or what is said.
    fn found(text: &str) -> Vec<String> {
        let said = |one: Result<Node<'_>, Mistake>| match one {
            Ok(root) => format!("{} at {}", kind_of(&root).unwrap_or_default(), root.at),
            Err(mistake) => format!("{}: {mistake}", text.get(mistake.at as usize..).unwrap_or("")),
        };
        documents_of(SHAPE, text).into_iter().map(said).collect()
    }

    #[test]
    fn what_is_in_a_list_is_found() {
        let list = "apiVersion: v1\nkind: List\nitems:\n- kind: JobShape\n- kind: Job\n- {kind: JobShape}\n";
        assert_eq!(found(list), ["JobShape at 35", "JobShape at 64"]);
        let typed = "apiVersion: jobshape.dev/v1alpha1\nkind: JobShapeList\nitems: [{spec: {}}]\n";
        assert_eq!(found(typed), ["JobShape at 61"]);
        let json = r#"{"kind": "List", "items": [{"kind": "JobShape"}]} {"kind": "JobShape"}"#;
        assert_eq!(found(json).len(), 2);
        for wrong in ["kind: List\n", "kind: List\nitems: {}\n"] {
            assert!(found(wrong)[0].contains("`List` needs a list under `items`"), "{wrong}");
        }
        let within = "kind: List\nitems: [{kind: List, items: [{kind: JobShape}]}]\n";
        assert!(found(within)[0].contains("a list stands within a list"));
        let bare = "- op: add\n- kind: JobShape\n";
        assert!(found(bare)[0].starts_with("kind: JobShape\n: a list that is no `List`"));
    }

    #[test]
    fn what_was_meant_to_be_ours_is_not_passed_over() {
        let ours = "apiVersion: jobshape.dev/v1alpha1\n";
        for (text, said) in [
            (format!("{ours}kind: Jobshape\n"), "no kind `Jobshape`; did you mean `JobShape`?"),
            (format!("{ours}kind: JobShapeTests\n"), "did you mean `JobShapeTest`?"),
            (format!("{ours}kind: Shape\n"), "no kind `Shape`; did you mean `JobShape`?"),
            (format!("{ours}kind: ~\n"), "no kind ``"),
            (ours.to_owned(), "it has no `kind`; write `kind: JobShape`"),
            ("Kind: JobShape\n".to_owned(), "it has no `kind`"),
            ("apiVersion: x.io/v1\nkind: JobShapes\n".to_owned(), "did you mean `JobShape`?"),
        ] {
            let found = found(&text);
            assert!(found.len() == 1 && found[0].contains(said), "{text}{found:?}");
        }
        for other in
            ["kind: Job\n", "a: 1\n", "- op: add\n", "kind: Jobs\n", "x\n", "kind: AccessList\n"]
        {
            assert_eq!(found(other), [""; 0], "{other}");
        }
        assert_eq!(found(&format!("{ours}kind: JobShapeTest\n")), [""; 0]);
    }
}
