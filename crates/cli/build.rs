//! Links the program at a fixed address on Linux.
//!
//! A program that can be loaded anywhere has 66,000 pointers to adjust at each start, in 250 pages of private memory.
//! Each run starts Longhaul twice, and each hook of an agent once more. Safe Rust has no need of random addresses.

// Cargo reads a build script's stdout.
#![allow(clippy::disallowed_macros)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    // The linker of musl's targets selects other startup objects itself: `xtask dist` asks the compiler instead.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
