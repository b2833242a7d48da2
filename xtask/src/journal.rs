//! Reads a run's journal from outside: the process of the agent, and the results of attempts.

use crate::sandbox::{Sandbox, newest};
use rustix::process::Pid;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Returns the directory of the sandbox's newest run, once it exists.
pub fn run_dir(sandbox: &Sandbox) -> Option<PathBuf> {
    newest(&sandbox.longhaul_home().join("runs"), 2).ok()
}

/// Returns the run's records so far, each with the time of its step, without a line that is still being
/// written.
pub fn records(sandbox: &Sandbox) -> Vec<Value> {
    let journal = run_dir(sandbox).and_then(|dir| fs::read_to_string(dir.join("journal.jsonl")).ok());
    let steps = journal.unwrap_or_default();
    let steps = steps.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut records = Vec::new();
    for mut step in steps {
        let Some(of_step) = step["records"].as_array_mut().map(std::mem::take) else { continue };
        records.extend(of_step.into_iter().map(|mut record| {
            record["at"] = step["at"].clone();
            record
        }));
    }
    records
}

pub fn agent(sandbox: &Sandbox) -> Option<Pid> {
    let records = records(sandbox);
    let spawned = records.iter().rev().find(|record| record["record"] == "attempt_spawned")?;
    Pid::from_raw(spawned["process"]["pid"].as_i64()?.try_into().ok()?)
}

pub fn survived(records: &[Value]) -> Vec<String> {
    let end_records = records.iter().filter(|record| record["record"] == "attempt_ended");
    end_records.filter_map(|record| record["fault"].as_str().map(str::to_owned)).collect()
}

pub fn checks_failed(records: &[Value]) -> usize {
    records.iter().filter(|record| record["record"] == "check_ended" && record["result"] == "failed").count()
}

/// Returns when the next attempt ended after this moment, in milliseconds since 1970.
pub fn attempt_ended_after(records: &[Value], moment_ms: u64) -> Option<u64> {
    let end_records = records.iter().filter(|record| record["record"] == "attempt_ended");
    end_records.filter_map(|record| record["at"].as_u64()).find(|at| *at >= moment_ms)
}
