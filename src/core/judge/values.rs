//! Scalars: exact comparison, quantities by number, strings with variables in them.

use std::ops::Range;

use crate::core::judge::explain::Deviation;
use crate::core::judge::walk::Walk;
use crate::core::kubernetes::api::Kind;
use crate::core::kubernetes::quantity::Quantity;
use crate::core::shape::compiled::{NodeId, Want};
use crate::core::shape::text::{TextPattern, expands_a_value};
use crate::core::shape::variable::VariableId;
use crate::core::shape::variables::setting_of;
use crate::core::tree::{Node, Number, Value};

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// A scalar of the template, or a value of another kind than the template has.
    pub(super) fn scalar(&mut self, id: NodeId, job: &'j Node<'j>) {
        let node = self.tree.node(id);
        let same = match (&node.want, &job.value) {
            (Want::Bool(want), Value::Bool(found)) => want == found,
            (Want::Number(want), Value::Number(found)) => want == found,
            (Want::Null, Value::Null) => true,
            (Want::Text(want), Value::String(found)) => {
                if want != found {
                    self.deviation(id, &Deviation::Text { found });
                }
                return;
            }
            // Read the same way as the template's.
            (Want::Quantity(_, text), Value::String(found)) if text == found => true,
            (Want::Quantity(want, _), _) => match quantity_of(node.kind, job) {
                Some(found) => *want == found,
                None => {
                    self.deviation(id, &Deviation::WrongType(job.kind()));
                    return;
                }
            },
            (Want::Pattern(pattern), Value::String(found)) => {
                self.pattern(id, pattern, found);
                return;
            }
            (Want::Variable(variable), _) => {
                self.variable(id, *variable, job);
                return;
            }
            _ => {
                self.deviation(id, &Deviation::WrongType(job.kind()));
                return;
            }
        };
        if !same {
            self.deviation(id, &Deviation::Differs);
        }
    }

    /// A value that is a variable, in the API's type.
    fn variable(&mut self, id: NodeId, variable: VariableId, job: &Node<'_>) {
        let constraint = &self.template.variables.get(variable).constraint;
        let node = self.tree.node(id);
        let setting = match (node.kind, &job.value) {
            (Kind::String, Value::String(text)) => constraint.read_text(text),
            (Kind::Quantity { rounded: true }, _) => {
                use crate::core::shape::constraint::Setting;
                match setting_of(job, constraint.value_type()) {
                    Some(Setting::Quantity(quantity, text)) => {
                        Some(Setting::Quantity(quantity.rounded_to_milli(), text))
                    }
                    other => other,
                }
            }
            _ => setting_of(job, constraint.value_type()),
        };
        match setting {
            None => self.deviation(id, &Deviation::NotOfType { variable, found: job.kind() }),
            Some(setting) if constraint.accepts(&setting) => {
                self.bindings.add(variable, id, setting)
            }
            Some(_) => self.deviation(id, &Deviation::Constraint { variable, value: job.as_str() }),
        }
    }

    /// A string with variables in it.
    fn pattern(&mut self, id: NodeId, pattern: &TextPattern, text: &str) {
        let places = match pattern.apply(text) {
            Ok(places) => places,
            Err(mismatch) => {
                self.deviation(id, &Deviation::Pattern { found: text, mismatch });
                return;
            }
        };
        let mut guarded: Vec<Range<usize>> = vec![];
        let mut refused: Vec<VariableId> = vec![];
        let expands = self.tree.node(id).expands && text.contains("$(");
        for (variable, range) in places {
            let declared = self.template.variables.get(variable);
            let value = &text[range.clone()];
            if expands && !declared.expansion {
                guarded.push(range);
            }
            match declared.constraint.read_text(value) {
                Some(setting) if declared.constraint.accepts(&setting) => {
                    self.bindings.add(variable, id, setting);
                }
                // Once a string, however often the variable stands in it.
                _ if refused.contains(&variable) => {}
                _ => {
                    refused.push(variable);
                    self.deviation(id, &Deviation::Constraint { variable, value: Some(value) });
                }
            }
        }
        if expands && expands_a_value(text, &guarded) {
            self.deviation(id, &Deviation::Expansion);
        }
    }
}

/// The quantity that a value is; nothing but a string and a number can be one.
pub(super) fn quantity_of(kind: Kind, job: &Node<'_>) -> Option<Quantity> {
    let quantity = match &job.value {
        Value::String(text) => Quantity::parse(text)?,
        Value::Number(Number::Int(int)) => Quantity::from_int(*int),
        Value::Number(Number::Unsigned(int)) => Quantity::parse(&int.to_string())?,
        Value::Number(Number::Float(float)) => Quantity::parse(&float.to_string())?,
        _ => return None,
    };
    Some(match kind {
        Kind::Quantity { rounded: true } => quantity.rounded_to_milli(),
        _ => quantity,
    })
}
