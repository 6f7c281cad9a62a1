//! The formats floor: between bytes and the core's words. No sockets, no clusters.

pub mod documents;
pub mod emit;
pub mod json;
pub mod manifest;
mod refused;
pub mod report;
pub mod review;
pub mod substitute;
pub mod suite;
pub mod text;
pub mod yaml;
