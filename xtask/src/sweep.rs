//! `cargo xtask sweep`: strikes runs of a small piece of work at points drawn from all that there are, and writes what
//! came of it to `benches/RESILIENCE.md`. The test binary plays the points; here they are added up.
//!
//! A point that fails stops nothing: it is told with its reason, and the command fails at the end. A missed bar is told
//! with its figure. Fewer points than the bars are about are printed and not written. Linux only.

mod result;
mod table;

use crate::bench::machine::{self, Ticks};
use crate::bench::section::Section;
use crate::faults::{fresh_seeds, number};
use crate::resilience::{Part, save};
use crate::{cargo, real_agent};
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

/// The points that the bars are about, for each thing that strikes.
const POINTS_LEAST: u64 = 20;
const SEEDS: u64 = 3;

/// What was asked for on the command line.
struct Options {
    scripted: bool,
    /// For each thing that strikes, and each seed.
    points: u64,
    seeds: Vec<u64>,
}

/// Sweeps, prints the table, and writes it if it has enough points.
pub fn sweep(root: &Path, args: &[String]) -> io::Result<()> {
    let asked = asked(args)?;
    let claude = if asked.scripted { None } else { Some(real_agent::found(root)?) };
    let built = tests().arg("--no-run").current_dir(root).status()?;
    if !built.success() {
        return Err(io::Error::other(format!("build the tests: {built}")));
    }
    let longhaul = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let longhaul = longhaul.join("debug/longhaul");
    let (machine, ticks) =
        (machine::described(root, &longhaul, claude.as_deref().unwrap_or(&longhaul)), Ticks::now());

    let report = tempfile::NamedTempFile::new()?;
    let mut broken = Vec::new();
    eprintln!("seeds: {}", table::seeds(&asked.seeds));
    for seed in &asked.seeds {
        let mut play = tests();
        play.args(["--", "sweep::wh", "--nocapture"]).current_dir(root);
        play.env("LONGHAUL_SWEEP", if asked.scripted { "scripted" } else { "claude" });
        play.env("LONGHAUL_SWEEP_POINTS", asked.points.to_string());
        play.env("LONGHAUL_SWEEP_SEED", seed.to_string());
        play.env("LONGHAUL_SWEEP_REPORT", report.path());
        if let Some(claude) = &claude {
            play.env("LONGHAUL_TEST_CLAUDE", claude);
        }
        let status = play.status()?;
        if !status.success() {
            broken.push(format!("seed {seed} broke off: the test binary ended with {status}"));
        }
    }
    let told = result::read(&fs::read_to_string(report.path())?)?;
    let failed = table::failed(&told, &broken);
    let section = Section {
        about: table::ABOUT,
        rows: table::bars(&told, !asked.scripted),
        appendix: table::table(&told, &asked.seeds) + &failed,
    };
    let (name, part) = if asked.scripted {
        ("Sweeps with the scripted agent", Part::SweepsScripted)
    } else {
        ("Sweeps with the real Claude Code", Part::SweepsClaude)
    };
    let markdown = section.markdown(name, &format!("{machine} · {}", Ticks::stolen_since(ticks)));
    println!("{markdown}");
    if asked.points * asked.seeds.len() as u64 >= POINTS_LEAST {
        save(root, part, &markdown)?;
    }
    eprintln!("{} bars missed", section.missed());
    let failing = told.iter().filter(|told| !told.failed.is_empty()).count() + broken.len();
    if failing > 0 { Err(io::Error::other(format!("{failing} points failed"))) } else { Ok(()) }
}

fn tests() -> Command {
    let mut command = cargo();
    command.args(["test", "--quiet", "--package", "longhaul-cli", "--test", "it"]);
    command
}

fn asked(args: &[String]) -> io::Result<Options> {
    let (mut scripted, mut points, mut count, mut seeds) = (false, None, SEEDS, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--points" => points = Some(number(arg, args.next())?),
            "--seeds" => count = number(arg, args.next())?,
            "--seed" => seeds.push(number(arg, args.next())?),
            "--agent" => match args.next().map(String::as_str) {
                Some("scripted") => scripted = true,
                Some("claude") => scripted = false,
                _ => return Err(io::Error::other("--agent is scripted or claude")),
            },
            other => return Err(io::Error::other(format!("`{other}` is not understood; see `cargo xtask`"))),
        }
    }
    if seeds.is_empty() {
        seeds = fresh_seeds(count);
    }
    // The scripted agent costs a second a point; the real one several.
    let enough = if scripted { POINTS_LEAST } else { POINTS_LEAST.div_ceil(seeds.len().max(1) as u64) };
    Ok(Options { scripted, points: points.unwrap_or(enough), seeds })
}
