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

  test [--deny-skipped]                         run everything that a change must pass; list skipped tests at the end,
                                                which are a failure with --deny-skipped or if CI is set
  bench [NAME…] [--quick] [--longhaul FILE]     measure, and write benches/RESULTS.md
  faults [--agent scripted|claude] [--only NAME…] [--seeds N | --seed SEED] [--quick] [--keep]
                                                run a small task under every survivable fault, and write
                                                benches/RESILIENCE.md
  sweep [--agent scripted|claude] [--points N] [--seeds N | --seed SEED]
                                                signals and full disks at N points of a run for each seed (3 new ones;
                                                7 points with the real agent, 20 with the scripted one), and write
                                                benches/RESILIENCE.md
  walkthroughs                                  the real agent in a git repository, killed during a tool call and
                                                recovered by hand; write benches/RESILIENCE.md
  limits                                        the real agent until each limit ends its run: saved work and excess; write
                                                benches/RESILIENCE.md
  sim [--runs N] [--start SEED] [--threads N]   simulate seeds of the core
  sim --seed SEED                               print the trace of one seed
  mutants [NAME]                                break the core in known ways; each must be caught
  words                                         reject words that are not plain English
  decode [--agent NAME] [--exit CODE] FILE…     decode recorded streams, one JSON line each";

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
