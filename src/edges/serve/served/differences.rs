//! How shapes differ from those before them, for whoever reads the log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::core::judge::Shapes;
use crate::core::shape::identities::Identities;
use crate::core::shape::rule::Action;

/// A shape that came, went or changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference<'s> {
    /// Its name.
    pub shape: &'s str,
    /// Its digest before, as refusals abbreviate it; nothing for a new one.
    pub before: Option<&'s str>,
    /// And now.
    pub after: Option<&'s str>,
}

/// Every shape that came, went or changed.
pub fn differences<'s>(before: &'s Shapes, after: &'s Shapes) -> Vec<Difference<'s>> {
    let digests = |shapes: &'s Shapes| -> BTreeMap<&'s str, (&'s str, &'s str)> {
        let all = shapes.all().iter();
        all.map(|s| (s.name.as_str(), (s.digest.as_str(), s.short_digest()))).collect()
    };
    let (before, after) = (digests(before), digests(after));
    let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let changed = names.into_iter().filter(|name| before.get(name) != after.get(name));
    changed
        .map(|shape| Difference {
            shape,
            before: before.get(shape).map(|(_, short)| *short),
            after: after.get(shape).map(|(_, short)| *short),
        })
        .collect()
}

/// A namespace in which more is admitted than before: by a template that it did not have.
#[derive(Debug, PartialEq, Eq)]
pub struct Widened<'s> {
    namespace: &'s str,
    before: BTreeSet<Template<'s>>,
    after: BTreeSet<Template<'s>>,
}

/// A template: its shape, and which of those that stand there it is.
type Template<'s> = (&'s str, usize);

impl fmt::Display for Widened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |(shape, index): &Template<'_>| match index {
            0 => (*shape).to_owned(),
            index => format!("{shape}[{index}]"),
        };
        let list = |templates: &BTreeSet<Template<'_>>| match templates.len() {
            0 => "nothing".to_owned(),
            _ => templates.iter().map(name).collect::<Vec<_>>().join(", "),
        };
        write!(f, "{}: {} -> {}", self.namespace, list(&self.before), list(&self.after))
    }
}

/// Every namespace with a template that it did not have. Templates are alternatives, so each one
/// more admits more. A template that changed is none more: its digest tells.
pub fn widened<'s>(before: &'s Shapes, after: &'s Shapes) -> Vec<Widened<'s>> {
    let of = |shapes: &'s Shapes| {
        templates(shapes.all().iter().map(|s| (&s.namespaces, &s.name, s.written().count())))
    };
    wider(&of(before), of(after))
}

/// Every shape that is no longer for somebody whom it was for: what nobody governs is admitted. The
/// shape, and a sentence.
pub fn opened<'s>(before: &'s Shapes, after: &'s Shapes) -> Vec<(&'s str, String)> {
    let mut opened = vec![];
    for shape in after.all() {
        let Some(was) = before.all().iter().find(|was| was.name == shape.name) else { continue };
        let all = |of: &'s Identities| of.users.iter().chain(&of.groups);
        for name in all(&shape.exempt).filter(|name| !all(&was.exempt).any(|old| old == *name)) {
            opened.push((&*shape.name, format!("{} is taken away from {name}", shape.name)));
        }
        let gone = all(&was.who).filter(|name| !all(&shape.who).any(|new| new == *name));
        let gone: Vec<&str> = gone.map(String::as_str).collect();
        if shape.who.is_empty() {
            continue;
        }
        if was.who.is_empty() {
            let names: Vec<&str> = all(&shape.who).map(String::as_str).collect();
            let only = names.join(", ");
            opened.push((
                &*shape.name,
                format!("{} is for {only} only, and was for all", shape.name),
            ));
        } else if !gone.is_empty() {
            let gone = gone.join(", ");
            opened.push((&*shape.name, format!("{} is not for {gone} any more", shape.name)));
        }
    }
    opened
}

/// A rule that refuses less in a namespace than it did: its action is a weaker one.
#[derive(Debug, PartialEq, Eq)]
pub struct Weakened<'s> {
    /// The shape that it stands in.
    pub shape: &'s str,
    namespace: &'s str,
    rule: &'s str,
    before: Action,
    after: Action,
}

impl fmt::Display for Weakened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, rule, before, after, .. } = self;
        write!(f, "{namespace}: {rule}: {before} -> {after}")
    }
}

/// Every rule whose action is weaker than it was, in each namespace that its shape governed and
/// governs. A rule of another name is another rule.
pub fn weakened<'s>(before: &'s Shapes, after: &'s Shapes) -> Vec<Weakened<'s>> {
    let before = actions(before);
    let weaker = actions(after).into_iter().filter_map(|((shape, namespace, rule), after)| {
        let before = *before.get(&(shape, namespace, rule))?;
        (after < before).then_some(Weakened { shape, namespace, rule, before, after })
    });
    weaker.collect()
}

/// The action of each rule, by shape, namespace and name.
fn actions(shapes: &Shapes) -> BTreeMap<(&str, &str, &str), Action> {
    let mut actions = BTreeMap::new();
    for shape in shapes.all() {
        for namespace in &shape.namespaces {
            for rule in &shape.rules {
                actions.insert((&*shape.name, &**namespace, &*rule.name), rule.action);
            }
        }
    }
    actions
}

type Templates<'s> = BTreeMap<&'s str, BTreeSet<Template<'s>>>;

fn templates<'s>(
    shapes: impl Iterator<Item = (&'s Vec<String>, &'s String, usize)>,
) -> Templates<'s> {
    let mut templates = Templates::new();
    for (namespaces, name, count) in shapes {
        for namespace in namespaces {
            let there = templates.entry(namespace).or_default();
            there.extend((0..count).map(|index| (name.as_str(), index)));
        }
    }
    templates
}

fn wider<'s>(before: &Templates<'s>, after: Templates<'s>) -> Vec<Widened<'s>> {
    let wider = after.into_iter().filter_map(|(namespace, after)| {
        let before = before.get(namespace).cloned().unwrap_or_default();
        (!after.is_subset(&before)).then_some(Widened { namespace, before, after })
    });
    wider.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::shape::Shape;
    use crate::core::testing;
    use crate::core::tree::Node;

    fn said(before: &[(&str, &[&str])], after: &[(&str, &[&str])]) -> Vec<String> {
        let owned = |shapes: &[(&str, &[&str])]| -> Vec<(Vec<String>, String)> {
            let all = shapes.iter();
            all.map(|(name, spaces)| {
                (spaces.iter().map(|s| (*s).to_owned()).collect(), (*name).to_owned())
            })
            .collect()
        };
        let (before, after) = (owned(before), owned(after));
        let before = templates(before.iter().map(|(spaces, name)| (spaces, name, 1)));
        let after = templates(after.iter().map(|(spaces, name)| (spaces, name, 1)));
        wider(&before, after).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_template_more_is_wider_and_one_less_or_another_version_is_not() {
        let one: &[(&str, &[&str])] = &[("a", &["pm-agent", "ci"])];
        let two: &[(&str, &[&str])] = &[("a", &["pm-agent", "ci"]), ("b", &["pm-agent"])];
        assert_eq!(said(one, two), ["pm-agent: a -> a, b"]);
        assert!(said(two, one).is_empty());
        assert!(said(two, two).is_empty());
        assert_eq!(said(&[], one), ["ci: nothing -> a", "pm-agent: nothing -> a"]);
        assert!(said(one, &[]).is_empty());
        // One for another is wider too: what the new one admits was refused.
        assert_eq!(said(one, &[("b", &["ci"])]), ["ci: a -> b"]);
        assert_eq!(said(one, &[("a", &["ci", "new"])]), ["new: nothing -> a"]);
    }

    fn with(of_match: &str, templates: usize) -> Shapes {
        let files = vec!["{file: a}"; templates].join(", ");
        let spec = format!("match: {{namespaces: [ns]{of_match}}}\ntemplateFrom: [{files}]");
        let jobs: Vec<Node<'static>> = (0..templates)
            .map(|n| {
                let job = testing::job().set("worker/image", format!("x:{n}").into());
                testing::read(&job.text())
            })
            .collect();
        let shape = Shape::load(&testing::read(&testing::document(&spec)), &jobs);
        Shapes::new(vec![shape.map_err(|m| m[0].to_string()).unwrap()]).unwrap()
    }

    #[test]
    fn a_second_template_in_a_shape_is_wider() {
        let (one, two) = (with("", 1), with("", 2));
        let said = |before: &Shapes, after: &Shapes| -> Vec<String> {
            widened(before, after).iter().map(ToString::to_string).collect()
        };
        assert_eq!(said(&one, &two), ["ns: worker -> worker, worker[1]"]);
        assert!(said(&two, &one).is_empty());
    }

    #[test]
    fn a_shape_that_is_for_fewer_leaves_the_others_to_nobody() {
        let said = |before: &str, after: &str| -> Vec<String> {
            let (before, after) = (with(before, 1), with(after, 1));
            opened(&before, &after).into_iter().map(|(_, how)| how).collect()
        };
        assert_eq!(said("", ", exempt: {users: [a]}"), ["worker is taken away from a"]);
        assert_eq!(
            said(", exempt: {users: [a]}", ", exempt: {groups: [a, b]}"),
            ["worker is taken away from b"]
        );
        assert!(said(", exempt: {users: [a]}", "").is_empty());
        assert_eq!(said("", ", users: [a]"), ["worker is for a only, and was for all"]);
        assert_eq!(said(", users: [a, b]", ", users: [b, c]"), ["worker is not for a any more"]);
        assert!(said(", users: [a]", "").is_empty());
        assert!(said(", users: [a]", ", users: [a, b]").is_empty());
    }
}
