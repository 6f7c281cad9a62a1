//! The edges floor: the command line, the files and the webhook server.

pub mod certs;
pub mod cli;
pub mod cluster;
pub mod files;
pub mod own;
pub mod parallel;
pub mod serve;
pub mod shapes;
pub mod suites;
pub mod verify;
