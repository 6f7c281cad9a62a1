//! One binary for all integration tests: linking is what they cost.

mod yaml;
