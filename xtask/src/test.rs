//! `cargo xtask test [--deny-left-out]`: everything a change must pass. The README's test command.
//!
//! It goes on to its end whatever fails, and tells there what failed and what was not tried at all: a test that needs what
//! this machine has not got says so and passes, and would be taken for one that was made.

mod skipped;

use crate::{cargo, real_agent};
use skipped::SkippedTest;
use std::path::Path;
use std::{env, io};

/// Seeds that every test run simulates.
const SIM_RUNS: &str = "500000";

/// What cargo is asked for before the tests, one after another.
const CHECKS: &[&[&str]] = &[
    &["fmt", "--all", "--check"],
    &["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"],
    // A build without telemetry is the same program.
    &["clippy", "--package", "longhaul-cli", "--no-default-features", "--quiet", "--", "--deny", "warnings"],
    // The front page for those who build on the library: every link of it leads somewhere.
    &["rustdoc", "--quiet", "--package", "longhaul", "--", "--deny", "warnings"],
    &["run", "--quiet", "--release", "--package", "xtask", "--", "sim", "--runs", SIM_RUNS],
];

/// Without --all-targets: that would build the examples as tests, and tests start one of them.
const TESTS: &[&str] = &["test", "--workspace", "--no-fail-fast"];

/// Runs everything, and tells at the end what failed and what was left out.
pub fn test(root: &Path, args: &[String]) -> io::Result<()> {
    let deny = is_denied(args)?;
    let notes = tempfile::NamedTempFile::new()?;
    let mut environment = vec![("LONGHAUL_TEST_LEFT_OUT", notes.path().to_owned())];
    let mut failed = Vec::new();
    match real_agent::found(root) {
        Ok(claude) => {
            println!("real agent: {}", claude.display());
            environment.push(("LONGHAUL_TEST_CLAUDE", claude));
        }
        // Whoever tests with it leaves that out.
        Err(error) => failed.push(error.to_string()),
    }
    for args in CHECKS.iter().chain([&TESTS]) {
        let words = format!("cargo {}", args.join(" "));
        println!("▶ {words}");
        let environment = environment.iter().map(|(name, value)| (name, value));
        let status = cargo().args(*args).envs(environment).current_dir(root).status()?;
        if !status.success() {
            failed.push(format!("{words}: {status}"));
        }
    }
    let omitted = skipped::collected(notes.path())?;
    print!("\n{}", skipped::told(&omitted));
    verdict(failed, &omitted, deny)
}

/// Whether what is left out counts as failed: if that is asked for, and where nobody would read the list.
fn is_denied(args: &[String]) -> io::Result<bool> {
    match args {
        [] => Ok(env::var_os("CI").is_some_and(|set| !set.is_empty() && set != "false")),
        [flag] if flag == "--deny-left-out" => Ok(true),
        _ => Err(io::Error::other("test takes --deny-left-out and nothing else")),
    }
}

fn verdict(mut failed: Vec<String>, omitted: &[SkippedTest], deny: bool) -> io::Result<()> {
    if deny && !omitted.is_empty() {
        failed.push(
            "something was left out, which is a failure with --deny-left-out and where CI is set".to_owned(),
        );
    }
    if failed.is_empty() { Ok(()) } else { Err(io::Error::other(failed.join("\nerror: "))) }
}
