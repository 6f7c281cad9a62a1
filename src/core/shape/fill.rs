//! The template filled with values: the Job that must pass.

use std::borrow::Cow;

use crate::core::kubernetes::api::Kind;
use crate::core::kubernetes::keys::item_key;
use crate::core::mistake::{Mistake, suggestion};
use crate::core::shape::compiled::{Compiled, NodeId, Want};
use crate::core::shape::constraint::Setting;
use crate::core::shape::cron_job;
use crate::core::shape::template::{Of, Template};
use crate::core::shape::variable::VariableId;
use crate::core::tree::{Entry, NOWHERE, Node, Number, Value};

impl Template {
    /// The template with these values, and the variables' examples for the others. Values are not
    /// checked: a test fills in what must be refused.
    ///
    /// # Errors
    /// A variable that has neither a value nor an example.
    pub fn fill(&self, values: &[(VariableId, Setting)]) -> Result<Node<'static>, Mistake> {
        self.filled(values).map(Node::into_owned)
    }

    /// The same, with everything but the values borrowed from the template.
    ///
    /// # Errors
    /// As [`Template::fill`].
    pub fn filled(&self, values: &[(VariableId, Setting)]) -> Result<Node<'_>, Mistake> {
        for (id, variable) in self.variables.iter() {
            if self.used.contains(&id)
                && variable.example.is_none()
                && !values.iter().any(|(given, _)| *given == id)
            {
                return Err(Mistake::new(
                    variable.written_at,
                    format!("the variable `{}` has no value: it has no example", variable.name),
                ));
            }
        }
        let filler = Filler { template: self, values };
        let mut filled = filler.node(&self.written, Compiled::ROOT);
        if self.of == Of::Child {
            cron_job::complete(&mut filled);
        }
        Ok(filled)
    }

    /// Values given as `NAME` and text, in the variables' types. A text that is no value of the
    /// type stays a string: whoever checks refuses it.
    ///
    /// # Errors
    /// A name that no variable has.
    pub fn settings<'t>(
        &self,
        values: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Vec<(VariableId, Setting)>, Mistake> {
        let mut settings = vec![];
        for (name, text) in values {
            let Some(id) = self.variables.by_name(name) else {
                let names: Vec<&str> =
                    self.variables.iter().map(|(_, v)| v.name.as_str()).collect();
                let help = suggestion(name, &names);
                return Err(
                    Mistake::new(NOWHERE, format!("the shape has no variable `{name}`")).help(help)
                );
            };
            let constraint = &self.variables.get(id).constraint;
            settings.push((
                id,
                constraint.read_text(text).unwrap_or_else(|| Setting::Text(text.to_owned())),
            ));
        }
        Ok(settings)
    }
}

struct Filler<'a, 'v> {
    template: &'a Template,
    values: &'v [(VariableId, Setting)],
}

impl<'a> Filler<'a, '_> {
    fn value(&self, id: VariableId) -> Setting {
        let given =
            self.values.iter().rev().find(|(variable, _)| *variable == id).map(|(_, v)| v.clone());
        given
            .or_else(|| self.template.variables.get(id).example.clone())
            .unwrap_or_else(|| Setting::Text(String::new()))
    }

    fn node(&self, node: &'a Node<'static>, id: NodeId) -> Node<'a> {
        let api = self.template.api;
        let tree = &self.template.tree;
        let compiled = tree.node(id);
        let value = match (&compiled.want, &node.value) {
            (Want::Pattern(pattern), _) => {
                Value::String(Cow::Owned(pattern.fill(|id| self.value(id).to_text())))
            }
            (Want::Variable(variable), _) => scalar(self.value(*variable)),
            (_, Value::Map(entries)) => Value::Map(
                entries
                    .iter()
                    .map(|e| Entry {
                        key: Cow::Borrowed(&e.key),
                        key_at: e.key_at,
                        node: match tree.child(id, &e.key) {
                            Some(child) => self.node(&e.node, child),
                            None => e.node.borrowed(),
                        },
                    })
                    .collect(),
            ),
            (_, Value::List(items)) => Value::List(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        let key = match compiled.kind {
                            Kind::List(list) if api.list(list).is_keyed() => {
                                item_key(api, api.list(list), item)
                            }
                            _ => None,
                        };
                        let child = match key {
                            Some(key) => {
                                compiled.items.iter().find(|(k, _)| *k == key).map(|(_, id)| *id)
                            }
                            None => compiled.items.get(index).map(|(_, id)| *id),
                        };
                        child.map_or_else(|| item.borrowed(), |child| self.node(item, child))
                    })
                    .collect(),
            ),
            _ => return node.borrowed(),
        };
        Node { value, at: node.at }
    }
}

fn scalar(setting: Setting) -> Value<'static> {
    match setting {
        Setting::Text(text) | Setting::Quantity(_, text) => Value::String(Cow::Owned(text)),
        Setting::Int(int) => Value::Number(Number::Int(int)),
        Setting::Bool(value) => Value::Bool(value),
    }
}
