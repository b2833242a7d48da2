//! Measures the overhead of supervision for one run of the real agent.

use super::Bench;
use crate::api::Loopback;
use crate::journal;
use crate::process::time_command;
use crate::results::ResultSection;
use crate::sample::median;
use crate::sandbox::{PERMISSION, Sandbox};
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;
use std::{fs, io};

const BAR_MS: f64 = 30.0;
const PROMPT: &str = "Say that you are done.";
const BARE: [&str; 5] = ["-p", PROMPT, "--output-format", "stream-json", "--verbose"];

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let loopback = Loopback::with_outage(Duration::ZERO)?;
    let claude = &bench.programs.claude;
    let mut bare = || time_command(sandbox.agent_command(claude, &loopback).args(BARE).args(PERMISSION));
    let mut agent_ms = Vec::new();
    let mut supervised = || {
        let duration = time_command(&mut sandbox.run(&bench.programs, &loopback, PROMPT))?;
        agent_ms.push(lifetime_ms(&sandbox)?);
        Ok(duration)
    };
    // The first start writes the agent's configuration and fills the page cache.
    bare()?;
    supervised()?;
    let [alone, supervised] = bench.samples(30, 3, [&mut bare, &mut supervised])?;
    let differences = |from: &[f64], subtracted: &[f64]| {
        let differences = from.iter().zip(subtracted).map(|(from, subtracted)| from - subtracted);
        median(&differences.collect::<Vec<f64>>())
    };
    let added = differences(&supervised, &alone);
    let own = differences(&supervised, &agent_ms[1..]);
    let [alone, supervised] = [alone, supervised].map(|samples| median(&samples));
    let mut section = ResultSection::new(
        "The real Claude Code from launch to exit against a loopback API that answers at once: bare `claude -p` and \
         `longhaul run`, in turn after one warm-up each.",
    );
    section
        .figure(
            "`longhaul run` over bare `claude -p`, difference of medians",
            BAR_MS,
            "ms",
            supervised - alone,
        )
        .ratio(supervised / alone, "bare");
    section.figure("the same, median of the pairs' differences", None, "ms", added);
    section.figure("`longhaul run` before its agent's start and after its end", None, "ms", own);
    section.figure("`longhaul run`", None, "ms", supervised);
    section.figure("bare `claude -p`", None, "ms", alone);
    Ok(section)
}

/// Returns the lifetime of the last run's agent, from the run's records. The rest of the run's time belongs to
/// the supervisor.
fn lifetime_ms(sandbox: &Sandbox) -> io::Result<f64> {
    let records = journal::records(sandbox);
    let spawned = records.iter().find(|record| record["record"] == "attempt_spawned");
    let spawned = spawned.and_then(|record| record["at"].as_f64());
    let dir = journal::run_dir(sandbox).ok_or(io::ErrorKind::NotFound)?;
    let exit: Value = serde_json::from_slice(&fs::read(dir.join("attempts/001/exit.json"))?)?;
    let ended = exit["ended_at"].as_str().and_then(|stamp| stamp.parse::<Timestamp>().ok());
    let lifetime = spawned.zip(ended).map(|(spawned, ended)| ended.as_millisecond() as f64 - spawned);
    lifetime.ok_or_else(|| io::Error::other("the files of a run do not state the lifetime of its agent"))
}
