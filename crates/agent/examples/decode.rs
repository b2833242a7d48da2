//! Decodes recorded streams: one JSON line each. `cargo run --example decode FILE…`
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use longhaul_agent::{dialect, report};
use longhaul_core::Exit;

fn main() {
    let Some(claude) = dialect("claude") else { return };
    for path in std::env::args().skip(1) {
        let line = std::fs::read(&path).map(|stream| report(&*claude, &path, &stream, Exit::Unseen, ""));
        match line.map(|report| serde_json::to_string(&report)) {
            Ok(Ok(line)) => println!("{line}"),
            Ok(Err(error)) => println!("{path}: {error}"),
            Err(error) => println!("{path}: {error}"),
        }
    }
}
