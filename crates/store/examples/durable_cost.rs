//! Measures the cost of durability on a disk:
//! `cargo run --release -p longhaul-store --example durable_cost [DIR]`.
#![allow(clippy::print_stdout)]

use longhaul_core::{Moment, Preset, ProcessId, Record, RunId, RunSpec, SessionId};
use longhaul_store::{Day, Home, Journal, Plan, SessionLock, compact};
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const ROUNDS: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let base = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = base.join(format!("longhaul-durable-cost-{}", std::process::id()));
    fs::create_dir(&dir)?;
    let result = measure(&dir);
    fs::remove_dir_all(&dir)?;
    result
}

fn measure(dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = File::create(dir.join("raw"))?;
    report("write 200 bytes, fdatasync", || {
        file.write_all(&[b'x'; 200])?;
        Ok(file.sync_data()?)
    })?;

    let home = Home::open(Some(dir.join("home")), |_| None)?;
    let day: Day = "2025-11-22".parse()?;
    let mut roll = 0;
    report("create run (2 flushes)", || {
        roll += 1;
        home.create_run(&day, roll, &plan())?;
        Ok(())
    })?;
    report("create run, attempt, 6 steps, 4 syncs (6 flushes)", || {
        roll += 1;
        whole_run(&home, &day, roll)
    })?;

    let mut journal = Journal::create(&dir.join("journal.jsonl"))?;
    report("append one step, no flush", || Ok(journal.append(Moment(1), &step())?))?;
    for _ in 0..100_000 {
        journal.append(Moment(1), &step())?;
    }
    drop(journal);
    once("load a journal of 100,100 steps", || {
        <Journal>::load(&dir.join("journal.jsonl"))?;
        Ok(())
    })?;
    report("lock and release a session", || {
        SessionLock::acquire(&home, "claude", &SessionId::from("s"), &RunId::from("k"))?;
        Ok(())
    })?;

    let stream = dir.join("stream.jsonl");
    let line = [vec![b'd'; 1_200], b"\n".to_vec()].concat();
    fs::write(&stream, line.repeat(200_000))?;
    let mut line_number = 0_u64;
    once("compact 240 MB, keeping one line in ten", || {
        compact(&stream, |_| {
            line_number += 1;
            line_number.is_multiple_of(10)
        })?;
        Ok(())
    })?;
    once("find the last of 200 runs", || {
        home.find("@")?;
        Ok(())
    })
}

fn whole_run(home: &Home, day: &Day, roll: u64) -> Result<(), Box<dyn Error>> {
    let mut run = home.create_run(day, roll, &plan())?;
    run.dir.attempt(1).create()?.create_stream()?;
    // A supervisor syncs before an action, not before an observation.
    for sync in [true, false, false, true, true, true] {
        run.journal.append(Moment(1), &step())?;
        if sync {
            run.journal.sync()?;
        }
    }
    Ok(())
}

fn step() -> Vec<Record> {
    vec![Record::AttemptSpawned {
        at: Moment(1_763_775_245_120),
        process: ProcessId { pid: 4711, start_ticks: 123_456 },
    }]
}

fn plan() -> Plan {
    let spec = RunSpec::new(
        "claude",
        "/home/me/project",
        "fix the failing tests ".repeat(20),
        Preset::Default.policy(),
    );
    let args = vec!["-p".to_owned(), "--verbose".to_owned()];
    Plan::new(spec.with(|spec| spec.agent.args = args), Moment(0))
}

/// Prints the median and the 90th percentile of [`ROUNDS`] rounds.
fn report(label: &str, mut round: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        round()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!(
        "{label}: median {}, p90 {}",
        micros(times[times.len() / 2]),
        micros(times[times.len() * 9 / 10])
    );
    Ok(())
}

fn once(label: &str, round: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    round()?;
    println!("{label}: {}", micros(start.elapsed()));
    Ok(())
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}
