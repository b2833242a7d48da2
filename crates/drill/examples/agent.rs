//! Runs the scripted agent as a separate program, for manual use and for this crate's tests.

#![allow(missing_docs)]

fn main() -> std::process::ExitCode {
    longhaul_drill::scripted::main(std::env::args_os().skip(1))
}
