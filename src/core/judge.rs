//! The judgement: the compiled template and a Job walked together, deviations attributed to
//! rules, and the verdict. There is no second implementation of a decision anywhere.

pub mod bindings;
pub mod explain;
pub mod finding;
pub mod generated;
pub mod lists;
pub mod misspelled;
pub mod raise;
pub mod record;
pub mod seen;
pub mod siblings;
pub mod update;
pub mod values;
pub mod verdict;
pub mod walk;

use crate::core::shape::Shape;
use crate::core::tree::Node;

pub use finding::{Finding, Findings};
pub use verdict::{Request, Shapes, Verdict, VerdictKind};

/// The findings of one Job against one shape, whatever the shape's match says. `namespace` is the
/// request's.
#[must_use]
pub fn judge_one(shape: &Shape, job: &Node<'_>, namespace: &str) -> Findings {
    let mut walk = walk::Walk::new(shape, job, namespace);
    walk.job();
    walk.finish()
}

#[cfg(test)]
mod tests;
