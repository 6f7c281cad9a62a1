//! What stands outside the program in the faults and the benchmarks: replicas of it as processes,
//! their certificates, and clients that send many reviews or many Jobs.

#![allow(dead_code, unused_imports, reason = "the faults and the benchmarks use a part each")]

pub mod authority;
mod client;
mod replica;
pub mod reviews;

pub use client::{Client, Reply, Target};
pub use replica::{Replica, Settings, free_ports};
