//! `make fuzz TARGET=review`.
#![no_main]

#[path = "../mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::review::check(data));
