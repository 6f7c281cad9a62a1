//! `make fuzz TARGET=shape`.
#![no_main]

#[path = "../mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::shape::check(data));
