//! The integration tests: one binary, one module a subject, so that one control plane serves them
//! all.

mod apiserver;
mod both_ways;
mod boundary;
mod certs;
mod cli;
mod corpus;
mod fuzz;
mod harness;
mod manifests;
mod matrix;
mod messages;
mod observed;
mod outside;
mod properties;
mod reports;
mod reviews;
mod serve;
mod tables;
mod webhook_input;
mod webhook_updates;
mod yaml;
