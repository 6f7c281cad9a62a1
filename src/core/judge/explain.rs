//! Deviations in words: what the template expects and how the Job differs, and never a value that
//! the Job has.

mod extra;
mod strings;
mod variables;
mod wanted;

use std::borrow::Cow;

use crate::core::kubernetes::cron_job::SCHEDULED;
use crate::core::kubernetes::defaults::Filled;
use crate::core::shape::compile::word;
use crate::core::shape::compiled::{CompiledNode, NodeId, Want};
use crate::core::shape::template::Template;
use crate::core::shape::text::Mismatch;
use crate::core::shape::variable::VariableId;
use wanted::{entry, expected, named};

/// What is said about a deviation.
#[derive(Debug, Default)]
pub struct Said {
    /// What is wrong and what was expected, a sentence without a full stop.
    pub message: Cow<'static, str>,
    /// The fix, as an order.
    pub help: Option<Cow<'static, str>>,
    /// What the template has there, if that is one short thing.
    pub expected: Option<String>,
    /// Where in the Job's string the difference is: line and column, from 1.
    pub part: Option<(usize, usize)>,
}

impl Said {
    fn new(message: impl Into<Cow<'static, str>>) -> Said {
        Said { message: message.into(), ..Said::default() }
    }

    fn help(self, help: impl Into<Cow<'static, str>>) -> Said {
        Said { help: Some(help.into()), ..self }
    }
}

/// One place where a Job differs from what the shape accepts. Strings of the Job are here to be
/// compared with, not to be shown.
#[derive(Debug)]
pub enum Deviation<'a> {
    /// The template has nothing here.
    Extra {
        /// The value only spells out what absence means too.
        means_absent: bool,
        /// The struct, list or map that it stands in.
        parent: NodeId,
        /// Its name, if it is a field.
        field: Option<&'a str>,
    },
    /// The template has something here, and the Job nothing.
    Missing {
        /// What the server fills in instead.
        filled: Option<String>,
    },
    /// A second entry of the same key.
    Duplicate,
    /// The entries are the template's in another order.
    Order {
        /// The order counts because a value holds `$(`.
        by_expansion: bool,
    },
    /// Another scalar.
    Differs,
    /// Another string.
    Text {
        /// The Job's.
        found: &'a str,
    },
    /// A string that does not follow the template's text around its variables.
    Pattern {
        /// The Job's.
        found: &'a str,
        /// Where it stops following.
        mismatch: Mismatch,
    },
    /// A value of another JSON type.
    WrongType(&'static str),
    /// A value that its variable's constraint refuses.
    Constraint {
        /// The variable.
        variable: VariableId,
        /// The Job's value, if it is a string.
        value: Option<&'a str>,
    },
    /// A value that is none of the variable's type.
    NotOfType {
        /// The variable.
        variable: VariableId,
        /// What it is.
        found: &'static str,
    },
    /// A variable with two values.
    Disagrees {
        /// The variable.
        variable: VariableId,
        /// Where its value is fixed.
        first: &'a str,
    },
    /// The kubelet would expand something in a variable's value.
    Expansion,
    /// Another value than the default that the template's siblings give.
    NotTheDefault {
        /// The default.
        default: &'a Filled,
    },
    /// The server fills in something else than beside the template's fields.
    OtherDefault {
        /// For the template.
        template: &'a Filled,
        /// For the Job.
        job: &'a Filled,
    },
    /// A label that the server generates is missing.
    GeneratedMissing,
    /// The selector is not the generated one.
    Selector,
    /// The name is not made from the template's `generateName`.
    GeneratedName,
    /// A Job of a CronJob that somebody else than the controller makes.
    NotTheController,
    /// The owner is not the CronJob, or is not written as the controller writes it.
    Owner {
        /// Or as `kubectl create job --from` does.
        manual: bool,
    },
    /// The name is not the CronJob's and the minute that the Job was scheduled for.
    ChildName,
}

impl Deviation<'_> {
    /// Whether the Job lacks what the template has.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Deviation::Missing { .. }
                | Deviation::OtherDefault { .. }
                | Deviation::GeneratedMissing
        )
    }

    /// Whether the Job has what the template lacks.
    #[must_use]
    pub fn is_extra(&self) -> bool {
        matches!(self, Deviation::Extra { .. })
    }

    /// What is said; `id` is the node, or what is to hold it if there is none.
    #[must_use]
    pub fn explain(&self, template: &Template, id: NodeId) -> Said {
        if let Deviation::Extra { means_absent, parent, field } = *self {
            return extra::said(template, parent, field, means_absent);
        }
        let node = template.tree.node(id);
        let expected = expected(template, id);
        let said = match self {
            Deviation::Missing { filled } => missing(template, id, expected.as_deref(), filled),
            Deviation::Differs => differs(template, id, expected.as_deref()),
            Deviation::Text { found } => match &node.want {
                Want::Text(_) if node.filled => differs(template, id, expected.as_deref()),
                Want::Text(want) => strings::text(template, id, want, found),
                _ => differs(template, id, expected.as_deref()),
            },
            Deviation::Pattern { found, mismatch } => match &node.want {
                Want::Pattern(pattern) => strings::pattern(template, pattern, found, *mismatch),
                _ => differs(template, id, expected.as_deref()),
            },
            Deviation::WrongType(found) => wrong_type(template, id, found),
            Deviation::Constraint { variable, value } => {
                variables::constraint(template, node, *variable, *value)
            }
            Deviation::NotOfType { variable, found } => {
                variables::not_of_type(template, node, *variable, found)
            }
            Deviation::Disagrees { variable, first } => {
                variables::disagrees(template, *variable, first)
            }
            Deviation::Expansion => {
                Said::new("a variable's value takes part in `$(…)`, which the kubelet would expand")
                    .help("leave `$(` out of the value")
            }
            _ => self.explain_generated(template, id),
        };
        Said { expected, ..said }
    }

    /// What the server orders, fills in or generates.
    fn explain_generated(&self, template: &Template, id: NodeId) -> Said {
        match self {
            Deviation::Duplicate => Said::new("a second entry with the same key; the template has one")
                .help("take one of them out"),
            Deviation::Order { by_expansion } => {
                let said = Said::new(if *by_expansion {
                    "the order is not the template's, and a value holds `$(`, which sees only earlier entries"
                } else {
                    "the order is not the template's"
                });
                match wanted::names(template, id) {
                    Some(names) => said.help(format!("put them in this order: {names}")),
                    None => said.help("put the entries in the template's order"),
                }
            }
            Deviation::NotTheDefault { default: Filled::Nothing } => Said::new(
                "the template leaves it out, and the server fills in nothing beside its other fields",
            )
            .help("take it out"),
            Deviation::NotTheDefault { default } => Said::new(format!(
                "the template leaves it out, and the server fills in {}",
                filled(default)
            ))
            .help("take it out"),
            Deviation::OtherDefault { template, job } => {
                let said = Said::new(format!(
                    "left out, the server fills in {} here, and {} beside the template's fields",
                    filled(job),
                    filled(template)
                ));
                match template {
                    Filled::Nothing => said,
                    template => said.help(format!("write {}", filled(template))),
                }
            }
            Deviation::GeneratedMissing => {
                Said::new("the label that the server generates is missing")
            }
            Deviation::Selector => Said::new(
                "the selector is not exactly the one that the server generates for this Job",
            )
            .help("take the selector out: the server adds it"),
            Deviation::GeneratedName => Said::new(
                "the name is not the template's generateName followed by five characters",
            )
            .help("take the name out: the server makes one from generateName"),
            Deviation::NotTheController => Said::new(
                "the template is a CronJob, and its Jobs are made by the CronJob controller alone",
            )
            .help("let the CronJob make it; `manualRuns: true` in the shape's match admits `kubectl create job --from`"),
            Deviation::Owner { manual: false } => Said::new(
                "a Job of the CronJob has one owner, the CronJob of the template, as its controller writes it",
            )
            .help("let the CronJob make the Job"),
            Deviation::Owner { manual: true } => Said::new(
                "a manual run has one owner, the CronJob of the template, as kubectl writes it",
            )
            .help("make the Job with `kubectl create job --from`"),
            Deviation::ChildName => Said::new(format!(
                "the name of a Job of the CronJob is the CronJob's, a dash and the minute of its annotation {SCHEDULED}"
            ))
            .help("let the CronJob make the Job"),
            _ => Said::new("differs from the template"),
        }
    }
}

/// What the template has and the Job has not.
fn missing(
    template: &Template,
    id: NodeId,
    expected: Option<&str>,
    server_fills_in: &Option<String>,
) -> Said {
    let written = entry(template, id);
    let has = expected.map(str::to_owned).or_else(|| written.as_ref().map(|w| format!("`{w}`")));
    let mut text = match has {
        Some(has) => format!("missing: the template has {has} here"),
        None => "missing: the template has this".to_owned(),
    };
    if let Some(filled) = server_fills_in {
        text.push_str(&format!(", and the server fills in {filled}"));
    }
    Said::new(text).help(match written {
        Some(value) => format!("add `{}`", named(template, id, value)),
        None => format!("copy it from {}", template.called()),
    })
}

/// Another value than the template's.
fn differs(template: &Template, id: NodeId, expected: Option<&str>) -> Said {
    let node = template.tree.node(id);
    match expected {
        Some(expected) if node.filled => {
            Said::new(format!("the template leaves it out, and the server fills in {expected}"))
                .help("take it out")
        }
        Some(expected) => {
            Said::new(format!("the template has {expected} here")).help(write_it(template, id))
        }
        None => Said::new("differs from the template").help(write_it(template, id)),
    }
}

/// The order to write what the template has.
fn write_it(template: &Template, id: NodeId) -> String {
    match entry(template, id) {
        Some(written) => format!("write `{written}`"),
        None => format!("copy it from {}", template.called()),
    }
}

/// A value of another JSON type than the template's.
fn wrong_type(template: &Template, id: NodeId, found: &str) -> Said {
    let node = template.tree.node(id);
    let wanted = kind_word(node);
    let scalar = matches!(found, "an integer" | "a number" | "a boolean");
    let said = format!("{wanted} is expected here, not {found}");
    match &node.want {
        Want::Pattern(_) if scalar => Said::new(said).help("put it in quotes"),
        Want::Text(text) if scalar && wanted::needs_quotes(text) => {
            Said::new(said).help("put it in quotes")
        }
        Want::Bool(_) | Want::Number(_) if found == "a string" => {
            Said::new(said).help("leave the quotes out")
        }
        _ => Said::new(said).help(write_it(template, id)),
    }
}

fn filled(filled: &Filled) -> String {
    match filled {
        Filled::Nothing => "nothing".to_owned(),
        Filled::Int(int) => int.to_string(),
        Filled::Text(text) => format!("`{text}`"),
        Filled::EmptyStruct => "`{}`".to_owned(),
    }
}

fn kind_word(node: &CompiledNode) -> &'static str {
    match node.want {
        Want::Bool(_) => "a boolean",
        Want::Number(_) => "an integer",
        Want::Text(_) | Want::Pattern(_) => "a string",
        Want::Quantity(..) => "a quantity",
        Want::Struct | Want::Map => "a map",
        Want::List => "a list",
        _ => word(node.kind),
    }
}
