//! Measures the overhead of supervision for one run of the real agent.

use super::Bench;
use super::api::BenchApi;
use super::disk::Disk;
use super::process::time_command;
use super::sample::{median, ms};
use super::sandbox::{Sandbox, newest};
use super::section::{ResultRow, ResultSection};
use jiff::Timestamp;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

const BAR_MS: f64 = 30.0;
const PROMPT: &str = "Say that you are done.";
const PERMISSION: [&str; 2] = ["--permission-mode", "bypassPermissions"];

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let api = BenchApi::start(Duration::ZERO)?;
    let mut disk = Disk::new(sandbox.path())?;
    let bare = || {
        let mut command = sandbox.agent_command(&bench.claude, &api);
        command.args(["-p", PROMPT, "--output-format", "stream-json", "--verbose"]).args(PERMISSION);
        command
    };
    let shell = || {
        let mut command = sandbox.agent_command("/bin/sh", &api);
        command.args(["-c", "\"$@\"; exit $?", "sh"]).arg(&bench.claude);
        command.args(["-p", PROMPT, "--output-format", "stream-json", "--verbose"]).args(PERMISSION);
        command
    };
    let with_longhaul = || {
        let mut command = sandbox.agent_command(&bench.longhaul, &api);
        command
            .args(["run", PROMPT, "--output-format", "json", "--agent-path"])
            .arg(&bench.claude)
            .args(PERMISSION);
        command
    };
    // The first start writes the agent's configuration and fills the page cache.
    let commands: [&dyn Fn() -> Command; 3] = [&bare, &shell, &with_longhaul];
    for command in commands {
        time_command(&mut command())?;
    }
    let (mut bares, mut shells, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut supervised_times, mut added, mut own_times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.count(10, 3) {
        let alone = ms(time_command(&mut bare())?);
        let supervised = ms(time_command(&mut with_longhaul())?);
        own_times.push(supervised - agent_ms(&newest(&sandbox.longhaul_home().join("runs"), 2)?)?);
        bares.push(alone);
        supervised_times.push(supervised);
        added.push(supervised - alone);
        shells.push(ms(time_command(&mut shell())?));
        for _ in 0..4 {
            syncs.push(ms(disk.append()?));
        }
    }
    let (alone, supervised, shell) = (median(&bares), median(&supervised_times), median(&shells));
    let difference = supervised - alone;
    Ok(ResultSection {
        about: "The real Claude Code from launch to exit against a loopback API that answers at once: bare `claude -p`, \
                the same through `sh -c`, and `longhaul run`, in turn after one warm-up each.",
        rows: vec![
            ResultRow::at_most(
                "`longhaul run` over bare `claude -p`, difference of medians",
                BAR_MS,
                "ms",
                difference,
            )
            .with_ratio(supervised / alone, "bare"),
            ResultRow::without_bar("the same, median of the pairs' differences", "ms", median(&added)),
            ResultRow::without_bar(
                "`longhaul run` before its agent's start and after its end",
                "ms",
                median(&own_times),
            ),
            ResultRow::without_bar("`longhaul run`", "ms", supervised),
            ResultRow::without_bar("bare `claude -p`", "ms", alone),
            ResultRow::without_bar("`sh -c claude -p` over bare", "ms", shell - alone),
            ResultRow::without_bar("append and fdatasync of 4 KiB", "ms", median(&syncs)),
        ],
        appendix: String::new(),
    })
}

/// Returns the lifetime of a run's agent, from the run's records. The rest of the run's time belongs to the
/// supervisor.
fn agent_ms(run: &Path) -> io::Result<f64> {
    let journal = fs::read_to_string(run.join("journal.jsonl"))?;
    let exit: Value = serde_json::from_slice(&fs::read(run.join("attempts/001/exit.json"))?)?;
    let spawned = journal
        .lines()
        .filter(|line| line.contains("\"attempt_spawned\""))
        .find_map(|line| serde_json::from_str::<Value>(line).ok()?["at"].as_f64());
    let ended = exit["ended_at"].as_str().and_then(|stamp| stamp.parse::<Timestamp>().ok());
    let lifetime = spawned.zip(ended).map(|(spawned, ended)| ended.as_millisecond() as f64 - spawned);
    lifetime.ok_or_else(|| {
        io::Error::other(format!("the files of {} do not state the lifetime of the agent", run.display()))
    })
}
