//! Verdicts in words: one file a format.

pub mod human;
pub mod json;
pub mod judged;
pub mod refusal;
pub mod snippet;
pub mod verified;
