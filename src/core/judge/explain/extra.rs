//! What the Job has and the template has not: what it may have been meant for.

use crate::core::judge::explain::Said;
use crate::core::judge::explain::wanted::{is_written, names, written};
use crate::core::kubernetes::api::{Kind, NEWEST};
use crate::core::mistake::nearest;
use crate::core::shape::compiled::{Name, NodeId};
use crate::core::shape::template::Template;

/// Longest field name that is looked up anywhere.
const MAX_FIELD: usize = 64;

/// What is said of something that stands in `parent`; `field`: its name there, if that is a struct.
pub(super) fn said(
    template: &Template,
    parent: NodeId,
    field: Option<&str>,
    means_absent: bool,
) -> Said {
    if means_absent {
        return Said::new("spelled-out default: the template leaves it out").help("take it out");
    }
    let node = template.tree.node(parent);
    match (field, node.kind) {
        (Some(field), kind @ Kind::Struct(_)) if template.api.field(kind, field).is_none() => {
            unknown_field(template, parent, kind, field)
        }
        (Some(_), _) => Said::new("the template has nothing here").help("take it out"),
        (None, kind) => entry(template, parent, kind),
    }
}

/// An entry of a list or map.
fn entry(template: &Template, parent: NodeId, kind: Kind) -> Said {
    let node = template.tree.node(parent);
    let named = match kind {
        Kind::List(list) => template.api.list(list).is_keyed(),
        _ => true,
    };
    let count = written(template, &node.children).chain(written(template, &node.items)).count();
    let message = match (named, count) {
        (_, 0) => "the template has nothing here".to_owned(),
        (true, _) => match names(template, parent) {
            Some(names) => format!("the template has only {names} here"),
            None => "the template has no such entry".to_owned(),
        },
        (false, 1) => "the template has only one entry here".to_owned(),
        (false, count) => format!("the template has only {count} entries here"),
    };
    Said::new(message).help("take it out")
}

/// A field that the API has not: one of another place, or misspelled.
fn unknown_field(template: &Template, parent: NodeId, kind: Kind, field: &str) -> Said {
    if field.len() > MAX_FIELD {
        return Said::new("the template has nothing here").help("take it out");
    }
    let elsewhere = template
        .tree
        .iter()
        .find(|(_, node)| is_written(node) && matches!(&node.name, Name::Key(key) if key == field));
    if let Some((id, _)) = elsewhere {
        let place = template.tree.path(id);
        return Said::new(format!(
            "Kubernetes has no such field here: the template has it at {place}"
        ))
        .help(format!("move it to {place}"));
    }
    let none = "Kubernetes has no such field";
    let Kind::Struct(structure) = kind else {
        return Said::new("the template has nothing here").help("take it out");
    };
    let known = template.api.structure(structure).fields.iter().map(|known| known.name);
    let meant = nearest(field, known);
    let in_template = |meant: &&str| {
        written(template, &template.tree.node(parent).children).any(|(key, _)| key == meant)
    };
    if let Some(meant) = meant.filter(in_template) {
        return Said::new(format!("{none}: did you mean `{meant}`?"))
            .help(format!("rename it to `{meant}`, as in the template"));
    }
    let message = match meant {
        Some(meant) => format!("{none}, and the template has no `{meant}` either"),
        None => format!("{none} (as of {NEWEST}), and the template has none"),
    };
    Said::new(message).help("take it out")
}
