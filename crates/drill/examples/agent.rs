//! The scripted agent as a program of its own: for trying it by hand and for this crate's tests.

#![allow(missing_docs)]

fn main() -> std::process::ExitCode {
    longhaul_drill::scripted::main(std::env::args_os().skip(1))
}
