//! The edges floor: the command line, the files and the webhook server.

pub mod serve;
