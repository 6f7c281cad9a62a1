//! `make fuzz TARGET=job`.
#![no_main]

#[path = "../mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::job::check(data));
