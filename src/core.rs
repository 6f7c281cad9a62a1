//! The core floor: shapes, the meaning of a Job, and the judgement. Pure: bytes are already a
//! [`tree`], and a decision is a value.

pub mod judge;
pub mod kubernetes;
pub mod mistake;
pub mod path;
pub mod shape;
pub mod tree;

#[cfg(test)]
pub(crate) mod testing;
