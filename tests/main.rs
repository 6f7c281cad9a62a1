//! The integration tests: one binary, one module a subject, so that one control plane serves them
//! all.

mod apiserver;
mod cli;
mod harness;
mod serve;
mod tables;
mod yaml;
