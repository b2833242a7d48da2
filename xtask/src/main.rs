//! Developer commands: `cargo xtask COMMAND`. One file per command; this file only dispatches to them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool prints to its user")]

mod bench;
mod decode;
mod faults;
mod limits;
mod mutants;
mod real_agent;
mod resilience;
mod sim;
mod sweep;
mod test;
mod walkthroughs;
mod words;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "cargo xtask COMMAND

  test [--deny-skipped]                        everything that a change must pass; what this machine has not got what it
                                                needs for is told at the end, and is a failure if that is wanted (or CI set)
  bench [NAME…] [--quick] [--longhaul FILE]     measure, and write benches/RESULTS.md
  faults [--agent scripted|claude] [--only NAME…] [--seeds N | --seed SEED] [--quick] [--keep]
                                                what becomes of a run under every fault that can be survived,
                                                written to benches/RESILIENCE.md
  sweep [--agent scripted|claude] [--points N] [--seeds N | --seed SEED]
                                                signals and full disks at N points each of a run and each seed (3 fresh
                                                ones; 7 points with the real agent, 20 with the scripted one), written
                                                to benches/RESILIENCE.md
  walkthroughs                                  the real agent in a git repository, killed in mid-tool and recovered by
                                                hand, written to benches/RESILIENCE.md
  limits                                        the real agent until each limit ends its run: what is saved, and how far
                                                it goes beyond; written to benches/RESILIENCE.md
  sim [--runs N] [--start SEED] [--threads N]   fly a swarm of seeds through the core
  sim --seed SEED                               tell the story of one seed
  sim --walls                                   how soon a run goes on after an overload
  mutants [NAME]                                break the core in known ways; each must be caught
  decode [--agent NAME] [--exit CODE] FILE…     what recorded streams say, a JSON line each";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let args: Vec<String> = args.collect();
    match command.as_str() {
        "test" => exit_code(test::test(&root(), &args)),
        "bench" => exit_code(bench::bench(&root(), &args)),
        "faults" => exit_code(faults::faults(&root(), &args)),
        "sweep" => exit_code(sweep::sweep(&root(), &args)),
        "walkthroughs" => exit_code(walkthroughs::walkthroughs(&root(), &args)),
        "words" => exit_code(words::words(&root(), &args)),
        "limits" => exit_code(limits::limits(&root(), &args)),
        "sim" => sim::run(&args),
        "mutants" => mutants::run(&args),
        "decode" => exit_code(decode::decode(&args)),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn exit_code(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the workspace's root directory.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the workspace's root").to_owned()
}

/// Returns the cargo that started this program.
fn cargo() -> std::process::Command {
    std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
