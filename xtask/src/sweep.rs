//! `cargo xtask sweep`: injects signals and full disks at random points of a small task and of a workflow, and
//! writes the results to `benches/RESILIENCE.md`. The test binary plays the points. This command adds up their results.
//!
//! A failing point does not stop the others: it is reported with its reason, and the command fails at the
//! end. If there are too few points for the bars, the table is only printed. Linux only.

mod result;
mod table;

use crate::programs::{AgentChoice, Programs, SeedOptions, built, cargo, succeed};
use crate::results::{RESILIENCE, SWEEPS_ACP, SWEEPS_CLAUDE, SWEEPS_SCRIPTED};
use crate::{machine, real_agent};
use clap::Args;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

/// Number of points that the bars need, for each kind of strike.
const POINTS_MIN: u64 = 20;
const SEEDS: u64 = 3;

#[derive(Args)]
pub struct SweepOptions {
    #[command(flatten)]
    rig: SeedOptions,
    /// Number of points for each kind of strike and each seed
    ///
    /// The default is 20 points with the scripted agent, and 20 points of all seeds together with the real one.
    #[arg(long)]
    points: Option<u64>,
}

pub fn sweep(root: &Path, options: &SweepOptions) -> io::Result<()> {
    let is_scripted = options.rig.is_scripted();
    let seeds = options.rig.seeds(SEEDS);
    // A point takes one second with the scripted agent and several with the real one.
    let points_default =
        if is_scripted { POINTS_MIN } else { POINTS_MIN.div_ceil(seeds.len().max(1) as u64) };
    let points = options.points.unwrap_or(points_default);
    let longhaul = built(root, "debug", "longhaul");
    let claude = if is_scripted { longhaul.clone() } else { real_agent::locate(root)? };
    let programs = Programs { longhaul, claude };
    succeed(tests().arg("--no-run").current_dir(root))?;
    let report = tempfile::NamedTempFile::new()?;
    let mut failing = 0;
    let (agent, name) = match options.rig.agent {
        AgentChoice::Scripted => ("scripted", SWEEPS_SCRIPTED),
        AgentChoice::Acp => ("acp", SWEEPS_ACP),
        AgentChoice::Claude => ("claude", SWEEPS_CLAUDE),
    };
    let markdown = machine::measure(root, &programs, name, || {
        let mut aborted = Vec::new();
        eprintln!("seeds: {}", table::seeds(&seeds));
        for seed in &seeds {
            let mut play = tests();
            play.args(["--", "sweep::work", "--nocapture"]).current_dir(root);
            play.env("LONGHAUL_SWEEP", agent);
            play.env("LONGHAUL_SWEEP_POINTS", points.to_string());
            play.env("LONGHAUL_SWEEP_SEED", seed.to_string());
            play.env("LONGHAUL_SWEEP_REPORT", report.path());
            if !is_scripted {
                play.env("LONGHAUL_TEST_CLAUDE", &programs.claude);
            }
            let status = play.status()?;
            if !status.success() {
                aborted.push(format!("seed {seed} was aborted: the test binary ended with {status}"));
            }
        }
        let results = result::read(&fs::read_to_string(report.path())?)?;
        failing = results.iter().filter(|result| !result.failed.is_empty()).count() + aborted.len();
        Ok(table::section(&results, &seeds, &aborted, !is_scripted))
    })?;
    if points * seeds.len() as u64 >= POINTS_MIN {
        RESILIENCE.save(root, name, &markdown)?;
    }
    if failing > 0 { Err(io::Error::other(format!("{failing} points failed"))) } else { Ok(()) }
}

fn tests() -> Command {
    let mut command = cargo();
    command.args(["test", "--quiet", "--package", "longhaul-cli", "--test", "it"]);
    command
}
