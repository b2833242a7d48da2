//! Decodes recorded streams into one JSON line each: `cargo run --example decode FILE…`
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use longhaul_agent::{dialect_for, stream_report};
use longhaul_core::Exit;

fn main() {
    let Some(claude) = dialect_for("claude") else { return };
    for path in std::env::args().skip(1) {
        let line =
            std::fs::read(&path).map(|stream| stream_report(&*claude, &path, &stream, Exit::Unobserved, ""));
        match line.map(|report| serde_json::to_string(&report)) {
            Ok(Ok(line)) => println!("{line}"),
            Ok(Err(error)) => println!("{path}: {error}"),
            Err(error) => println!("{path}: {error}"),
        }
    }
}
