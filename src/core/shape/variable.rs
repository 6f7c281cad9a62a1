//! Variables: named places in the template whose value may differ.

use super::constraint::{Constraint, Setting};

/// Index of a variable in its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub u16);

/// A variable of a shape.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The text that stands for it in the template.
    pub placeholder: String,
    /// What its value may be.
    pub constraint: Constraint,
    /// The value that `fill` uses: the example, the first word of an enum, the const, or the
    /// sample at the first of its places.
    pub example: Option<Setting>,
    /// Whether its value may take part in an expansion by the kubelet.
    pub expansion: bool,
    /// Whether its constraint could not be read: a mistake was reported, and no other follows.
    pub broken: bool,
    /// Where the variable is written down in the shape.
    pub written_at: u32,
}

/// The variables of a shape.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    all: Vec<Variable>,
}

impl Variables {
    /// Adds a variable.
    pub fn push(&mut self, variable: Variable) {
        self.all.push(variable);
    }

    /// A variable by its index.
    #[must_use]
    pub fn get(&self, id: VariableId) -> &Variable {
        &self.all[usize::from(id.0)]
    }

    /// A variable by its index, to be completed while the shape is compiled.
    pub fn get_mut(&mut self, id: VariableId) -> &mut Variable {
        &mut self.all[usize::from(id.0)]
    }

    /// A variable by its name.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<VariableId> {
        self.iter().find(|(_, v)| v.name == name).map(|(id, _)| id)
    }

    /// All variables, in the order of the shape.
    pub fn iter(&self) -> impl Iterator<Item = (VariableId, &Variable)> {
        self.all
            .iter()
            .enumerate()
            .map(|(i, v)| (VariableId(u16::try_from(i).unwrap_or(u16::MAX)), v))
    }

    /// The variable whose placeholder `text` begins with.
    #[must_use]
    pub fn placeholder_at(&self, text: &str) -> Option<(VariableId, &str)> {
        self.iter()
            .find(|(_, v)| !v.placeholder.is_empty() && text.starts_with(v.placeholder.as_str()))
            .map(|(id, v)| (id, v.placeholder.as_str()))
    }
}
