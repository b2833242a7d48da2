//! Measures a run that waits for the reset of a usage window.

use super::Bench;
use crate::journal;
use crate::process::{KillOnDrop, peak_kib_of, precise_cpu, wait_until, wakeups};
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use longhaul_drill::scripted::{REPLAY, REPLAY_EXIT};
use serde_json::Value;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, io};

const CORE_BAR_PERCENT: f64 = 0.1;
const TIMEOUT: Duration = Duration::from_secs(20);

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let recording = sandbox.path().join("recording.jsonl");
    record(&bench.root, &recording)?;
    let mut command = sandbox.scripted_run(&bench.programs.longhaul, "json")?;
    let run = KillOnDrop(command.env(REPLAY, &recording).env(REPLAY_EXIT, "1").spawn()?);
    let pid = run.0.id();
    wait_until("the wait of the run", TIMEOUT, || is_waiting(&sandbox).then_some(()))?;
    // After this second, the records and files of the decision are written.
    sleep(Duration::from_secs(1));

    let (cpu, count, started) = (precise_cpu(pid)?, wakeups(pid), Instant::now());
    sleep(Duration::from_secs(bench.count(15, 3) as u64));
    let seconds = started.elapsed().as_secs_f64();
    let share = (precise_cpu(pid)? - cpu).as_secs_f64() / seconds * 100.0;
    let wakeups_per_second = (wakeups(pid) - count) as f64 / seconds;
    let peak = peak_kib_of(pid).unwrap_or(0) as f64 / 1024.0;

    let mut section = ResultSection::new(
        "The agent's stream reports a usage limit that resets in three hours; the run waits.",
    );
    section.figure("CPU while waiting", CORE_BAR_PERCENT, "% of a core", share);
    section.figure("wake-ups", None, "per second", wakeups_per_second);
    section.figure("peak memory", None, "MB", peak);
    Ok(section)
}

/// Writes a recorded usage limit whose reset is three hours from now.
fn record(root: &Path, file: &Path) -> io::Result<()> {
    let recorded =
        fs::read_to_string(root.join("crates/agent/fixtures/claude/usage-limit-5h-rejected.jsonl"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let old = recorded.split("\"resetsAt\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
    let old = old.ok_or_else(|| io::Error::other("the recorded usage limit has no reset"))?;
    fs::write(
        file,
        recorded.replace(&format!("\"resetsAt\":{old}"), &format!("\"resetsAt\":{}", now + 3 * 3600)),
    )
}

fn is_waiting(sandbox: &Sandbox) -> bool {
    let status = journal::run_dir(sandbox).and_then(|dir| fs::read(dir.join("status.json")).ok());
    let status: Value = serde_json::from_slice(&status.unwrap_or_default()).unwrap_or_default();
    status["status"] == "waiting"
}
