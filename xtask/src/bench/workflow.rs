//! Measures a workflow with many items: its makespan over that of the bare agents, and the memory of all of
//! Longhaul's processes.

use super::Bench;
use crate::api::{Loopback, scenario};
use crate::process::{KillOnDrop, MemoryShare};
use crate::processes;
use crate::programs::succeed;
use crate::results::ResultSection;
use crate::sandbox::{PERMISSION, Sandbox};
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MAKESPAN_BAR: f64 = 1.15;
const MEMORY_BAR_MB: f64 = 60.0;
/// Parallel agents. They mostly wait, so that two cores are enough for them.
const PARALLEL: usize = 8;
/// A prompt as the agent reads it from stdin.
const PROMPT: &str = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Prove it.\"}}\n";
/// The kernel walks the address space of each measured process, which takes processor time.
const MEMORY_INTERVAL: Duration = Duration::from_millis(500);

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let items = bench.count(200, 16);
    let (sandbox, loopback) = (Sandbox::new()?, loopback()?);
    let agent = sandbox.scripted_agent(&bench.programs.longhaul)?;
    let bare = time_bare(&sandbox, &loopback, &agent, items)?;

    let file = sandbox.path().join("workflow.toml");
    fs::write(
        &file,
        format!(
            "start_gap = \"none\"\nmax_parallel = {PARALLEL}\n[[phase]]\nname = \"prove\"\nmax_objectives = {items}\n\
             fan_out = {{ command = \"seq {items}\" }}\nprompt = \"Prove lemma {{{{ item }}}}.\"\n"
        ),
    )?;
    let printed = sandbox.path().join("envelope.json");
    let mut command = sandbox.agent_command(&bench.programs.longhaul, &loopback);
    command.args(["loop", "--output-format", "json"]).args(PERMISSION);
    command.arg("--agent-path").arg(&agent).arg(&file).stdout(File::create(&printed)?);
    let program = fs::canonicalize(&bench.programs.longhaul)?;
    let started = Instant::now();
    let (mut workflow, mut peak_kib) = (KillOnDrop(command.spawn()?), 0);
    let (mut count_max, mut supervisor_kib) = (0, 0);
    while workflow.0.try_wait()?.is_none() {
        let is_ours = |arguments: &str| !arguments.contains("drill-agent");
        let pids = processes::of_program(&program, is_ours);
        let share = |pid: u32| MemoryShare::of(pid).map_or(0, |share| share.proportional);
        let total: u64 = pids.iter().map(|pid| share(*pid)).sum();
        if total > peak_kib {
            (peak_kib, count_max, supervisor_kib) = (total, pids.len(), share(workflow.0.id()));
        }
        thread::sleep(MEMORY_INTERVAL);
    }
    let makespan = started.elapsed();
    let envelope: Value = serde_json::from_slice(&fs::read(&printed)?)?;
    let runs = envelope["workflow"]["phases"][0]["items"].as_array().into_iter().flatten();
    let done = runs.filter(|run| run["status"] == "done").count();

    let mut section = ResultSection::new(
        "A workflow of one phase with one run for each item. The scripted agent works for one second: two \
         requests and one command. The ideal is the same number of bare agents, started one after another by \
         as many threads as runs are live. Memory is the sum over the process of the workflow and the watchdogs \
         of its live runs, without agents; a page that several processes share is divided among them (PSS).",
    );
    section.equal(format!("runs that are done, of {items}"), items, done);
    let ratio = makespan.as_secs_f64() / bare.as_secs_f64();
    section.figure(format!("makespan over the ideal, {PARALLEL} live runs"), MAKESPAN_BAR, "×", ratio);
    section.figure("makespan", None, "s", makespan.as_secs_f64());
    section.figure("ideal", None, "s", bare.as_secs_f64());
    section.figure("proportional memory, peak", MEMORY_BAR_MB, "MB", peak_kib as f64 / 1024.0);
    section.figure("of these, the process of the workflow", None, "MB", supervisor_kib as f64 / 1024.0);
    section.figure("processes at the peak", None, "", count_max as f64);
    Ok(section)
}

fn loopback() -> io::Result<Loopback> {
    let turns = "[[turn]]\ntext = \"I prove it.\"\n[[turn.tools]]\nbash = { command = \"sleep 1\" }\n\
                 [[turn]]\ntext = \"Proved.\"\n";
    Loopback::start(&scenario("Prove it.", turns)?, 1)
}

/// Runs this many bare agents, `PARALLEL` at a time, and returns the duration.
fn time_bare(sandbox: &Sandbox, loopback: &Loopback, agent: &Path, items: usize) -> io::Result<Duration> {
    let prompt = sandbox.path().join("prompt.jsonl");
    fs::write(&prompt, PROMPT)?;
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    thread::scope(|scope| {
        let worker = || {
            while next.fetch_add(1, Ordering::Relaxed) < items {
                succeed(bare(sandbox, loopback, agent).stdin(File::open(&prompt)?))?;
            }
            Ok(())
        };
        let workers: Vec<_> = (0..PARALLEL).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("the worker does not panic"))
    })
    .map(|()| started.elapsed())
}

fn bare(sandbox: &Sandbox, loopback: &Loopback, agent: &Path) -> Command {
    let mut command = sandbox.agent_command(agent, loopback);
    command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
    command.args(PERMISSION);
    command
}
