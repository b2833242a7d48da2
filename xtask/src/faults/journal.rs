//! What a run's journal says from outside: which process is the agent, and what became of each attempt.

use crate::bench::sandbox::{Sandbox, newest};
use rustix::process::Pid;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The directory of the place's one run, once there is one.
pub fn run_dir(place: &Sandbox) -> Option<PathBuf> {
    newest(&place.longhaul_home().join("runs"), 2).ok()
}

/// Its records so far; a line that is still being written is left out.
pub fn records(place: &Sandbox) -> Vec<Value> {
    let journal = run_dir(place).and_then(|dir| fs::read_to_string(dir.join("journal.jsonl")).ok());
    let steps = journal.unwrap_or_default();
    let steps = steps.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    steps.filter_map(|mut step| Some(step["records"].as_array_mut()?.split_off(0))).flatten().collect()
}

/// The process of the attempt that was begun last.
pub fn agent(place: &Sandbox) -> Option<Pid> {
    let records = records(place);
    let spawned = records.iter().rev().find(|record| record["record"] == "attempt_spawned")?;
    Pid::from_raw(spawned["proc"]["pid"].as_i64()?.try_into().ok()?)
}

/// The faults that ended attempts and not the run.
pub fn survived(records: &[Value]) -> Vec<String> {
    let ended = records.iter().filter(|record| record["record"] == "attempt_ended");
    ended.filter_map(|record| record["fault"].as_str().map(str::to_owned)).collect()
}

/// How often the work did not pass its checks.
pub fn checks_failed(records: &[Value]) -> usize {
    records.iter().filter(|record| record["record"] == "checked" && record["result"] == "failed").count()
}

/// When the first attempt ended that ended after this moment, in milliseconds since 1970.
pub fn attempt_ended_after(records: &[Value], moment_ms: u64) -> Option<u64> {
    let ended = records.iter().filter(|record| record["record"] == "attempt_ended");
    ended.filter_map(|record| record["at"].as_u64()).find(|at| *at >= moment_ms)
}
