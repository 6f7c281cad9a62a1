//! `make fuzz TARGET=yaml`.
#![no_main]

#[path = "../mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::yaml::check(data));
