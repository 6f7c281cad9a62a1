//! The formats floor: between bytes and the core's words. No sockets, no clusters.

pub mod review;
