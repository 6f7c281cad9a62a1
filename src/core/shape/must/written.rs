//! `must` as a shape document has it.

use super::MustDocument;
use super::schema::Schema;
use crate::core::mistake::Mistake;
use crate::core::shape::document::{Placed, RuleDocument};
use crate::core::shape::fields::Fields;
use crate::core::tree::Node;

/// `must` of a rule, and `absent` beside it.
pub fn read(
    rule: &Node<'_>,
    fields: &mut Fields<'_, '_>,
    select: &[Placed],
) -> Option<MustDocument> {
    let absent = fields.get("absent").and_then(Node::as_bool);
    if let Some(node) = fields.get("absent").filter(|node| node.as_bool().is_none()) {
        fields.mistake(node.at, "`absent` of a rule is true or false");
    }
    let Some(must) = fields.get("must") else {
        if fields.get("absent").is_some() {
            let at = fields.key_at("absent");
            fields.mistake(at, "`absent` of a rule says something only beside `must`");
        }
        return None;
    };
    if fields.get("entries").is_some() {
        let at = fields.key_at("entries");
        fields.mistake(at, "a rule has `entries` or `must`, not both");
    }
    if fields.get("select").is_none() {
        let at = fields.key_at("must");
        fields.mistakes().push(Mistake::new(at, "`must` of a rule needs `select` beside it").help(
            "name the places that it is about, as `select: [$.spec.template.spec.hostNetwork]`",
        ));
    }
    let schema = Schema::read(must, fields.mistakes())?;
    Some(MustDocument {
        schema,
        select: select.to_vec(),
        absent: absent.unwrap_or_default(),
        at: rule.at,
    })
}

/// What a shape without a template may hold, and what it has to.
pub fn check_guard(spec: &mut Fields<'_, '_>, rules: &[RuleDocument]) {
    const OF_TEMPLATES: [&str; 4] = ["variables", "optional", "unpinned", "literals"];
    if !rules.iter().any(|rule| rule.must.is_some()) {
        let message = "spec has no template and no rule with `must`: it would judge nothing";
        let help = "name the template with `templateFrom` or `templates`; a guard, which has none, says in `must` of its rules what has to be so";
        let at = spec.at();
        spec.mistakes().push(Mistake::new(at, message).help(help));
        return;
    }
    for key in OF_TEMPLATES {
        if spec.get(key).is_some() {
            let at = spec.key_at(key);
            spec.mistake(
                at,
                format!("`{key}` of spec says something about a template, and a guard has none"),
            );
        }
    }
    for rule in rules.iter().filter(|rule| rule.must.is_none()) {
        let name = &rule.rule.name;
        spec.mistakes().push(
            Mistake::new(
                rule.rule.written_at,
                format!("the rule `{name}` of a guard has no `must`: there is no template that it could compare with"),
            )
            .help("say in `must` what has to be so, or name a template"),
        );
    }
}
