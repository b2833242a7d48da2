//! Developer commands: `cargo xtask COMMAND`. One file per command; this file only dispatches to them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool prints to its user")]

mod api;
mod archive;
mod bench;
mod commit_time;
mod decode;
mod dist;
mod faults;
mod journal;
mod machine;
mod mutants;
mod packages;
mod platform;
mod process;
mod processes;
mod programs;
mod real_agent;
mod results;
mod sample;
mod sandbox;
mod sim;
mod sweep;
mod test;
mod words;

use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

/// Developer commands of the workspace
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Command {
    /// Run everything that a change must pass, and list skipped tests at the end
    Test {
        /// Count skipped tests as failures, as if CI were set
        #[arg(long)]
        deny_skipped: bool,
    },
    /// Measure speed and memory, and write benches/RESULTS.md
    Bench(bench::BenchOptions),
    /// Run a small task under every survivable fault, and write benches/RESILIENCE.md
    Faults(faults::FaultOptions),
    /// Send signals and fill disks at many points of a run, and write benches/RESILIENCE.md
    Sweep(sweep::SweepOptions),
    /// Simulate seeds of the core, runs and workflows, or print the trace of one seed
    #[command(override_usage = "cargo xtask sim [--runs N] [--workflows N] [--start SEED] [--threads N]
       cargo xtask sim --seed SEED
       cargo xtask sim --workflow-seed SEED")]
    Sim {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Break the core in known ways; an oracle must catch each
    Mutants {
        /// Test only mutants whose names start with this; no table is written
        name: Option<String>,
    },
    /// Build the package of a language, and test it in an empty environment
    #[command(subcommand)]
    Packages(packages::Package),
    /// Build the program for every platform, and pack it for npm, for pip and by hand
    Dist(dist::DistOptions),
    /// Reject words that are not plain English
    Words,
    /// Decode recorded streams, one JSON line each
    Decode(decode::DecodeOptions),
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace's root");
    let result = match Command::parse() {
        Command::Test { deny_skipped } => test::test(root, deny_skipped),
        Command::Bench(options) => bench::bench(root, options),
        Command::Faults(options) => faults::faults(root, options),
        Command::Sweep(options) => sweep::sweep(root, &options),
        Command::Sim { args } => sim::run(root, &args),
        Command::Mutants { name } => mutants::run(root, name.as_deref()),
        Command::Packages(package) => packages::packages(root, &package),
        Command::Dist(options) => dist::dist(root, &options),
        Command::Words => words::words(root),
        Command::Decode(options) => decode::decode(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
