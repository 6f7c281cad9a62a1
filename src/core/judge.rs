//! The judgement: the compiled template and a Job walked together, deviations attributed to
//! rules, and the verdict. There is no second implementation of a decision anywhere.

pub mod alternatives;
pub mod bindings;
pub mod children;
pub mod explain;
pub mod finding;
pub mod generated;
pub mod guards;
pub mod lists;
pub mod misspelled;
pub mod musts;
pub mod raise;
pub mod record;
pub mod seen;
pub mod shapes;
pub mod siblings;
pub mod update;
pub mod values;
pub mod verdict;
pub mod walk;

use crate::core::shape::Shape;
use crate::core::shape::must::Reading;
use crate::core::shape::template::Template;
use crate::core::tree::Node;

pub use finding::{Finding, Findings};
pub use shapes::Shapes;
pub use verdict::{Request, Verdict, VerdictKind};

/// The findings of one object against one template of a shape, whatever the shape's match says.
/// `namespace` is the request's. A Job of a CronJob is taken as one that its controller makes.
#[must_use]
pub fn judge_one(
    shape: &Shape,
    template: &Template,
    object: &Node<'_>,
    namespace: &str,
) -> Findings {
    let mut walk = walk::Walk::new(shape, template, object, namespace);
    walk.origin = children::Origin::Controller;
    walk.job();
    let found = walk.finish();
    if !shape.has_musts() {
        return found;
    }
    let whole = musts::Whole::new(template.api, template.of.kind(), object, namespace);
    found.and(musts::findings(shape, Reading::Beside(template.of), &whole, None, false))
}

#[cfg(test)]
mod tests;
