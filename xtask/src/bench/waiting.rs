//! Measures a run that waits for the reset of a usage window, and whether SIGTERM stops it.

use super::Bench;
use super::process::{KillOnDrop, peak_kib_of, precise_cpu, wakeups};
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, io};

const CORE_BAR_PERCENT: f64 = 0.1;
const TERMINATED: i32 = 143;
const TIMEOUT: Duration = Duration::from_secs(20);

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let recording = sandbox.path().join("recording.jsonl");
    record(&bench.root, &recording)?;
    let mut command = sandbox.scripted_run(&bench.longhaul, "json")?;
    command.env("LONGHAUL_SCRIPTED_REPLAY", &recording).env("LONGHAUL_SCRIPTED_EXIT", "1");
    let mut run = KillOnDrop(command.spawn()?);
    let pid = run.0.id();
    await_waiting(&sandbox)?;
    // After this second, the records and files of the decision are written.
    sleep(Duration::from_secs(1));

    let (cpu, count, started) = (precise_cpu(pid)?, wakeups(pid), Instant::now());
    sleep(Duration::from_secs(bench.count(15, 3) as u64));
    let seconds = started.elapsed().as_secs_f64();
    let share = (precise_cpu(pid)? - cpu).as_secs_f64() / seconds * 100.0;
    let wakeups_per_second = (wakeups(pid) - count) as f64 / seconds;
    let peak = peak_kib_of(pid).unwrap_or(0) as f64 / 1024.0;

    let started = Instant::now();
    if let Some(pid) = Pid::from_raw(pid as i32) {
        kill_process(pid, Signal::TERM)?;
    }
    let status = run.0.wait()?;
    let stop = started.elapsed().as_secs_f64() * 1e3;
    Ok(ResultSection {
        about: "The agent's stream reports a usage limit that resets in three hours; the run waits, and is then \
                stopped by SIGTERM.",
        rows: vec![
            ResultRow::at_most("CPU while waiting", CORE_BAR_PERCENT, "% of a core", share),
            ResultRow::without_bar("wake-ups", "per second", wakeups_per_second),
            ResultRow::without_bar("peak memory", "MB", peak),
            ResultRow::condition(
                "exit after SIGTERM",
                format!("code {TERMINATED}"),
                status.to_string(),
                status.code() == Some(TERMINATED),
            ),
            ResultRow::without_bar("from SIGTERM to the exit", "ms", stop),
        ],
        appendix: String::new(),
    })
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

fn await_waiting(sandbox: &Sandbox) -> io::Result<()> {
    let started = Instant::now();
    while started.elapsed() < TIMEOUT {
        if status_of(&sandbox.longhaul_home().join("runs")).as_deref() == Some("waiting") {
            return Ok(());
        }
        sleep(Duration::from_millis(50));
    }
    Err(io::Error::other("the run does not wait for the reset"))
}

/// Returns the status word of the only run.
fn status_of(runs: &Path) -> Option<String> {
    let first = |dir: &Path| Some(fs::read_dir(dir).ok()?.flatten().next()?.path());
    let run = first(&first(runs)?)?;
    let status: Value = serde_json::from_slice(&fs::read(run.join("status.json")).ok()?).ok()?;
    status["status"].as_str().map(str::to_owned)
}
