//! `cargo xtask test`: everything a change must pass. The README's test command.

use crate::real_agent;
use std::path::Path;
use std::process::Command;
use std::{env, io};

/// Seeds that every test run simulates.
const SIM_RUNS: &str = "500000";

/// Runs everything; the first failure ends it.
pub fn test(root: &Path) -> io::Result<()> {
    let claude = real_agent::install(root)?;
    println!("real agent: {}", claude.display());
    run(root, &["fmt", "--all", "--check"])?;
    run(root, &["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"])?;
    // A build without telemetry is the same program.
    run(
        root,
        &[
            "clippy",
            "--package",
            "longhaul-cli",
            "--no-default-features",
            "--quiet",
            "--",
            "--deny",
            "warnings",
        ],
    )?;
    // The front page for those who build on the library: every link of it leads somewhere.
    run(root, &["rustdoc", "--quiet", "--package", "longhaul", "--", "--deny", "warnings"])?;
    run(root, &["run", "--quiet", "--release", "--package", "xtask", "--", "sim", "--runs", SIM_RUNS])?;
    // Without --all-targets: that would build the examples as tests, and tests start one of them.
    let mut tests = cargo(root, &["test", "--workspace", "--no-fail-fast"]);
    check(tests.env("LONGHAUL_TEST_CLAUDE", &claude))
}

fn run(root: &Path, args: &[&str]) -> io::Result<()> {
    check(&mut cargo(root, args))
}

fn cargo(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root);
    command
}

fn check(command: &mut Command) -> io::Result<()> {
    let shown = format!("{command:?}");
    println!("▶ {shown}");
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{shown}: {status}"))) }
}
