//! What a server does before it says that it is ready: each shape admits its own filled template,
//! and refuses it with one change in the region of each of its rules. A server that answers alike
//! to everything is not ready.

use std::borrow::Cow;

use crate::core::judge::judge_one;
use crate::core::kubernetes::api::Kind;
use crate::core::kubernetes::keys::item_key;
use crate::core::shape::Shape;
use crate::core::shape::compiled::{Name, NodeId};
use crate::core::shape::rule::RuleId;
use crate::core::shape::template::Template;
use crate::core::tree::{Entry, NOWHERE, Node, Value};

/// So many places of a rule are tried before it is said to notice nothing: some are not compared,
/// like those that the server owns.
const PLACES: usize = 8;

/// A key and a value that no template has.
const STRANGE: &str = "jobshapeSelfTest";

/// Tests one shape.
///
/// # Errors
/// A sentence: what it should have admitted or refused.
pub fn self_test(shape: &Shape) -> Result<(), String> {
    let namespace = shape.namespaces.first().map_or("", String::as_str);
    tested(shape, |template, job| judge_one(shape, template, job, namespace).count > 0)
}

fn tested(shape: &Shape, is_refused: impl Fn(&Template, &Node<'_>) -> bool) -> Result<(), String> {
    let name = &shape.name;
    // What each rule notices: nothing yet known of it, and then whether it does in any template.
    let mut notice: Vec<Option<bool>> = vec![None; shape.rules.len()];
    for template in &shape.templates {
        let filled = template
            .filled(&[])
            .map_err(|m| format!("the shape `{name}` cannot be filled: {m}"))?;
        if is_refused(template, &filled) {
            return Err(format!("the shape `{name}` refuses its own template"));
        }
        let places = places(shape, template);
        if places.iter().all(Vec::is_empty) {
            return Err(format!("the shape `{name}` compares nothing"));
        }
        for (noticed, places) in notice.iter_mut().zip(&places) {
            // Where the way to a place ends early, somebody else may be the one who notices; that
            // counts only if no place can be reached.
            let (mut there, mut near) = (None, None);
            for place in places {
                let (changed, exact) = disturbed(template, &filled, *place);
                let noticed = if exact { &mut there } else { &mut near };
                *noticed = Some(*noticed == Some(true) || is_refused(template, &changed));
                if there == Some(true) {
                    break;
                }
            }
            *noticed = match (*noticed, there.or(near)) {
                (Some(before), Some(now)) => Some(before || now),
                (before, now) => before.or(now),
            };
        }
    }
    for (rule, noticed) in shape.rules.iter().zip(notice) {
        // A rule whose every place belongs to others has nothing to say.
        if noticed == Some(false) {
            return Err(format!(
                "the shape `{name}` does not notice a change that its rule `{}` is there for",
                rule.name
            ));
        }
    }
    Ok(())
}

/// For each rule some places that it speaks for; those that it names come first.
fn places(shape: &Shape, template: &Template) -> Vec<Vec<NodeId>> {
    let mut places = vec![vec![]; shape.rules.len()];
    let mut note = |rule: RuleId, node: NodeId| {
        if let Some(places) = places.get_mut(usize::from(rule.0))
            && places.len() < PLACES
            && !places.contains(&node)
        {
            places.push(node);
        }
    };
    let compared = || template.tree.iter().filter(|(_, node)| !node.unpinned);
    for (id, node) in compared() {
        for rule in node.claims.own_select.into_iter().chain(node.claims.own_entries) {
            note(rule, id);
        }
    }
    for (id, node) in compared() {
        for rule in [node.claims.value, node.claims.entry, node.claims.list] {
            note(rule, id);
        }
    }
    places
}

/// The Job with something strange at a place, or where the way to it ends; whether it is the place.
fn disturbed<'n>(template: &Template, job: &'n Node<'_>, place: NodeId) -> (Node<'n>, bool) {
    let mut job = job.borrowed();
    let mut way = vec![];
    let mut at = place;
    while template.tree.node(at).name != Name::Root {
        way.push(at);
        at = template.tree.node(at).parent;
    }
    let mut here = &mut job;
    while let Some(next) = way.pop() {
        let Some(index) = find(template, here, next) else {
            add(here, &template.tree.node(next).name);
            return (job, next == place);
        };
        here = match &mut here.value {
            Value::Map(entries) => &mut entries[index].node,
            Value::List(items) => &mut items[index],
            _ => return (job, false),
        };
    }
    match here.value {
        Value::Map(_) | Value::List(_) => add(here, &Name::Any),
        // Of another type than any value that could be accepted here.
        _ => here.value = strange().value,
    }
    (job, true)
}

/// Where in a map or list a node of the compiled tree stands.
fn find(template: &Template, parent: &Node<'_>, node: NodeId) -> Option<usize> {
    let compiled = template.tree.node(node);
    match (&compiled.name, &parent.value) {
        (Name::Key(key), Value::Map(entries)) => entries.iter().position(|e| e.key == key.as_str()),
        (Name::Index(index), Value::List(items)) => Some(*index).filter(|i| *i < items.len()),
        (Name::Item(key), Value::List(items)) => {
            let Kind::List(list) = template.tree.node(compiled.parent).kind else { return None };
            let list = template.api.list(list);
            items.iter().position(|item| {
                item_key(template.api, list, item).is_some_and(|found| found == key.as_str())
            })
        }
        _ => None,
    }
}

fn add(parent: &mut Node<'_>, name: &Name) {
    match &mut parent.value {
        Value::Map(entries) => {
            let key = if let Name::Key(key) = name { key.clone() } else { STRANGE.to_owned() };
            entries.push(Entry { key: Cow::Owned(key), key_at: NOWHERE, node: strange() });
        }
        Value::List(items) => items.push(strange()),
        value => *value = strange().value,
    }
}

fn strange() -> Node<'static> {
    let node = Node::new(Value::String("self-test".into()));
    Node::new(Value::Map(vec![Entry { key: STRANGE.into(), key_at: NOWHERE, node }]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::shape::compiled::Compiled;
    use crate::core::testing;

    const RULES: &str = "rules:
- {name: image, select: ['$.spec.template.spec.containers[*].image']}
- {name: pull-secrets, select: [$.spec.template.spec.imagePullSecrets]}
- {name: which, entries: [$.spec.template.spec.containers]}
- {name: rest}";

    fn shape() -> Shape {
        testing::shape(&testing::job(), RULES)
    }

    fn image<'n>(job: &'n Node<'_>) -> Option<&'n str> {
        let spec = job.get("spec")?.get("template")?.get("spec")?;
        spec.get("containers")?.items().first()?.get("image")?.as_str()
    }

    #[test]
    fn every_rule_notices_a_change_in_its_own_region() {
        let shape = shape();
        assert_eq!(self_test(&shape), Ok(()));
        let filled = shape.first().fill(&[]).unwrap();
        for (index, (rule, places)) in
            shape.rules.iter().zip(places(&shape, shape.first())).enumerate()
        {
            let speaks = |place: &NodeId| {
                let (changed, _) = disturbed(shape.first(), &filled, *place);
                let found = judge_one(&shape, shape.first(), &changed, "").findings;
                found.iter().any(|finding| usize::from(finding.rule.0) == index)
            };
            assert!(places.iter().any(speaks), "{}", rule.name);
        }
    }

    #[test]
    fn who_answers_alike_to_everything_or_overlooks_a_rule_fails() {
        let shape = shape();
        let error = tested(&shape, |_, _| true).unwrap_err();
        assert!(error.ends_with("refuses its own template"), "{error}");
        let error = tested(&shape, |_, _| false).unwrap_err();
        assert!(error.ends_with("does not notice a change that its rule `image` is there for"));
        let blind = |template: &Template, job: &Node<'_>| {
            image(job).is_some() && judge_one(&shape, template, job, "").count > 0
        };
        let error = tested(&shape, blind).unwrap_err();
        assert!(error.contains("`image`"), "{error}");
    }

    #[test]
    fn a_shape_that_compares_nothing_fails() {
        let mut shape = shape();
        let nodes: Vec<NodeId> = shape.first().tree.iter().map(|(id, _)| id).collect();
        for id in nodes {
            shape.templates[0].tree.node_mut(id).unpinned = true;
        }
        assert!(shape.first().tree.node(Compiled::ROOT).unpinned);
        let error = self_test(&shape).unwrap_err();
        assert!(error.ends_with("compares nothing"), "{error}");
    }
}
