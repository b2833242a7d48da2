//! Links the program at a fixed address on Linux.
//!
//! A program that can be loaded anywhere has 66,000 pointers to adjust at each start, in 250 pages of private memory.
//! Each run starts Longhaul twice, and each hook of an agent once more. The price is that the program's own address is not
//! random; its libraries, heap and stacks still have random addresses.

// Cargo reads a build script's stdout.
#![allow(clippy::disallowed_macros)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|found| found.contains("crt-static"));
    // The linker of static programs selects other startup objects itself: `xtask dist` asks the compiler instead.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
