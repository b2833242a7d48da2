//! `cargo xtask sweep`: injects signals and full disks at random points of a small task, and writes the
//! results to `benches/RESILIENCE.md`. The test binary plays the points. This command adds up their results.
//!
//! A failing point does not stop the others: it is reported with its reason, and the command fails at the
//! end. A missed bar is reported with its figure. If there are too few points for the bars, the table is only
//! printed. Linux only.

mod result;
mod table;

use crate::bench::machine::{self, Ticks};
use crate::bench::section::ResultSection;
use crate::faults::{fresh_seeds, number};
use crate::resilience::{Part, save};
use crate::{cargo, real_agent};
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

/// Number of points that the bars need, for each kind of strike.
const POINTS_MIN: u64 = 20;
const SEEDS: u64 = 3;

/// Options of the command line.
struct Options {
    /// `scripted`, `acp` or `claude`.
    agent: &'static str,
    /// Number of points for each kind of strike and each seed.
    points: u64,
    seeds: Vec<u64>,
}

/// Sweeps, prints the table, and writes it if it has enough points.
pub fn sweep(root: &Path, args: &[String]) -> io::Result<()> {
    let options = options(args)?;
    let is_claude = options.agent == "claude";
    let claude = if is_claude { Some(real_agent::locate(root)?) } else { None };
    let status = tests().arg("--no-run").current_dir(root).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("build the tests: {status}")));
    }
    let longhaul = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let longhaul = longhaul.join("debug/longhaul");
    let (machine, ticks) =
        (machine::describe(root, &longhaul, claude.as_deref().unwrap_or(&longhaul)), Ticks::now());

    let report = tempfile::NamedTempFile::new()?;
    let mut aborted = Vec::new();
    eprintln!("seeds: {}", table::seeds(&options.seeds));
    for seed in &options.seeds {
        let mut play = tests();
        play.args(["--", "sweep::work_", "--nocapture"]).current_dir(root);
        play.env("LONGHAUL_SWEEP", options.agent);
        play.env("LONGHAUL_SWEEP_POINTS", options.points.to_string());
        play.env("LONGHAUL_SWEEP_SEED", seed.to_string());
        play.env("LONGHAUL_SWEEP_REPORT", report.path());
        if let Some(claude) = &claude {
            play.env("LONGHAUL_TEST_CLAUDE", claude);
        }
        let status = play.status()?;
        if !status.success() {
            aborted.push(format!("seed {seed} was aborted: the test binary ended with {status}"));
        }
    }
    let results = result::read(&fs::read_to_string(report.path())?)?;
    let failed = table::failed(&results, &aborted);
    let section = ResultSection {
        about: table::ABOUT,
        rows: table::bars(&results, is_claude),
        appendix: table::table(&results, &options.seeds) + &failed,
    };
    let (name, part) = match options.agent {
        "scripted" => ("Sweeps with the scripted agent", Some(Part::SweepsScripted)),
        "acp" => ("Sweeps with the scripted agent over the Agent Client Protocol", None),
        _ => ("Sweeps with the real Claude Code", Some(Part::SweepsClaude)),
    };
    let markdown = section.markdown(name, &format!("{machine} · {}", Ticks::stolen_since(ticks)));
    println!("{markdown}");
    if let Some(part) = part
        && options.points * options.seeds.len() as u64 >= POINTS_MIN
    {
        save(root, part, &markdown)?;
    }
    eprintln!("{} bars missed", section.missed());
    let failing = results.iter().filter(|result| !result.failed.is_empty()).count() + aborted.len();
    if failing > 0 { Err(io::Error::other(format!("{failing} points failed"))) } else { Ok(()) }
}

fn tests() -> Command {
    let mut command = cargo();
    command.args(["test", "--quiet", "--package", "longhaul-cli", "--test", "it"]);
    command
}

fn options(args: &[String]) -> io::Result<Options> {
    let (mut agent, mut points, mut count, mut seeds) = ("claude", None, SEEDS, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--points" => points = Some(number(arg, args.next())?),
            "--seeds" => count = number(arg, args.next())?,
            "--seed" => seeds.push(number(arg, args.next())?),
            "--agent" => match args.next().map(String::as_str) {
                Some("scripted") => agent = "scripted",
                Some("acp") => agent = "acp",
                Some("claude") => agent = "claude",
                _ => return Err(io::Error::other("--agent is scripted, acp or claude")),
            },
            other => return Err(io::Error::other(format!("unknown argument `{other}`; see `cargo xtask`"))),
        }
    }
    if seeds.is_empty() {
        seeds = fresh_seeds(count);
    }
    // A point takes one second with the scripted agent and several with the real one.
    let is_fast = agent != "claude";
    let default_points = if is_fast { POINTS_MIN } else { POINTS_MIN.div_ceil(seeds.len().max(1) as u64) };
    Ok(Options { agent, points: points.unwrap_or(default_points), seeds })
}
