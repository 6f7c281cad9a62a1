//! The integration tests: one binary, so that one control plane serves them all.

mod apiserver;
mod harness;
mod tables;
