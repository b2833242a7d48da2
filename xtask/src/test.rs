//! `cargo xtask test [--deny-skipped]`: runs every check that a change must pass.
//!
//! It continues after a failure, and reports failures, flaky tests and skipped tests at the end. A test without its
//! requirements passes and writes a note.

mod retry;
mod skipped;

use retry::Tested;
pub use skipped::note_skipped;

use crate::programs::cargo;
use crate::real_agent;
use std::path::Path;
use std::time::Instant;
use std::{env, io, thread};

/// Commands of cargo before the tests, one after another.
const CHECKS: &[&str] = &[
    "fmt --all --check",
    "clippy --workspace --all-targets --quiet -- --deny warnings",
    // A build without telemetry must have no warnings either.
    "clippy --package longhaul-cli --no-default-features --quiet -- --deny warnings",
    // Nor must one that finds processes as on macOS.
    "clippy --package longhaul-cli --features portable-processes --quiet -- --deny warnings",
    "run --quiet --package xtask -- words",
    // The documentation for users of the library must have no broken links.
    "rustdoc --quiet --package longhaul -- --deny warnings",
    "run --quiet --package xtask -- sim --runs 500000 --workflows 100000",
    // One build for each platform, which the tests of all packages share.
    "run --quiet --package xtask -- dist --profile cross --check --out target/packages-cross",
    "run --quiet --package xtask -- packages npm --dist target/packages-cross",
    "run --quiet --package xtask -- packages python --dist target/packages-cross",
    "run --quiet --package xtask -- packages together --dist target/packages-cross",
];

/// Tests of recovery that also pass when a run's processes are found as on macOS.
const PORTABLE_TESTS: &str = "test --quiet --package longhaul --package longhaul-cli \
    --features longhaul-cli/portable-processes --no-fail-fast --lib --test it -- \
    system:: recovering:: orphans:: suspending:: boot:: sweep:: memory_limit_stops long_output_is_shortened";

/// The test command. `--all-targets` would build the examples as tests, but tests start one of them.
const TESTS: &str = "test --workspace --no-fail-fast";

pub fn test(root: &Path, deny_skipped: bool) -> io::Result<()> {
    let notes = tempfile::NamedTempFile::new()?;
    let mut environment = vec![(skipped::NOTES_VARIABLE, notes.path().to_owned())];
    // Most end-to-end tests wait for an agent, so one more than there are cores saves time.
    if env::var_os("RUST_TEST_THREADS").is_none() {
        let threads = thread::available_parallelism()?.get() + 1;
        environment.push(("RUST_TEST_THREADS", threads.to_string().into()));
    }
    let mut failed = Vec::new();
    // The tests with a package that is missing are skipped.
    for (variable, located) in [
        ("LONGHAUL_TEST_CLAUDE", real_agent::locate(root)),
        ("LONGHAUL_TEST_GSD", real_agent::locate_gsd(root)),
        ("LONGHAUL_TEST_MCP_SDK", real_agent::locate_mcp_sdk(root)),
    ] {
        match located {
            Ok(path) => environment.push((variable, path)),
            Err(error) => failed.push(error.to_string()),
        }
    }
    let cargo_with = |args: &[&str]| {
        let mut command = cargo();
        command.args(args).envs(environment.iter().map(|(name, value)| (name, value))).current_dir(root);
        command
    };
    let (mut flaky, start) = (Vec::new(), Instant::now());
    for args in CHECKS.iter().chain([&PORTABLE_TESTS, &TESTS]) {
        println!("▶ cargo {args} (at {} s)", start.elapsed().as_secs());
        let args: Vec<&str> = args.split(' ').collect();
        match retry::run(&args, cargo_with)? {
            Tested::Passed => {}
            Tested::Flaky(tests) => flaky.extend(tests),
            Tested::Failed(status) => failed.push(format!("cargo {}: {status}", args.join(" "))),
        }
    }
    let skipped_tests = skipped::read_notes(notes.path())?;
    print!("\n{}", skipped::render(&skipped_tests));
    if !flaky.is_empty() {
        println!("flaky, passed when run again: {}", flaky.join(", "));
    }
    // In CI, no person reads the list.
    let is_ci = env::var_os("CI").is_some_and(|set| !set.is_empty() && set != "false");
    if (deny_skipped || is_ci) && !skipped_tests.is_empty() {
        failed.push(
            "a test was skipped, which is a failure with --deny-skipped and where CI is set".to_owned(),
        );
    }
    if failed.is_empty() { Ok(()) } else { Err(io::Error::other(failed.join("\nerror: "))) }
}
