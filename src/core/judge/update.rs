//! UPDATE: the ratchet. What a Job had before may stay as it is, and nothing else.
//!
//! A Job that broke its shape before the shape existed can still be labelled, finished and
//! collected; no update makes it worse, and none lets its Pods start again. What passes does not
//! depend on a list of mutable fields, which differs by Kubernetes version: it is the whole Job.

use crate::core::tree::Node;

pub mod before;
pub mod difference;
pub mod removal;
pub mod start;

pub use before::Before;
pub use difference::Difference;
pub use removal::only_removes;
pub use start::Start;

/// The object that an UPDATE replaces. It is read when somebody looks at it: most updates conform,
/// and then nobody does.
#[derive(Clone, Copy)]
pub struct Old<'j> {
    read: &'j dyn Fn() -> Option<&'j Node<'j>>,
}

impl<'j> Old<'j> {
    /// An object behind a function, which answers nothing for one that cannot be read.
    #[must_use]
    pub fn new(read: &'j dyn Fn() -> Option<&'j Node<'j>>) -> Self {
        Old { read }
    }

    /// The object.
    #[must_use]
    pub fn get(&self) -> Option<&'j Node<'j>> {
        (self.read)()
    }
}

impl std::fmt::Debug for Old<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Old")
    }
}
