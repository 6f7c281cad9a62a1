//! What is wrong with a shape, and what a good one is: one file an idea.

mod digest;
mod document;
mod identities;
mod placeholders;
mod places;
mod releases;
mod selectors;
mod template;
mod variables;
