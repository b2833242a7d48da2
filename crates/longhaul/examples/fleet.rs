//! Many runs in one process, on one thread, and what that takes.
//!
//! ```text
//! fleet LONGHAUL RUNS LINES_PER_SECOND SECONDS
//! ```
//! Every run has an agent of its own: the scripted one of the program `LONGHAUL`, which writes lines
//! of about 1.2 kB at this rate. Agents are started one after the other; once all of them write, the
//! process measures itself for so many seconds and prints what it found as one JSON object.
#![allow(clippy::print_stdout)]

use longhaul::{Observer, RunRequest, supervise};
use longhaul_core::{OutcomeKind, Preset};
use longhaul_store::Home;
use std::cell::Cell;
use std::error::Error;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use std::{env, fs};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep};

// Far enough apart that an agent's start is over before the next begins.
const START_EVERY: Duration = Duration::from_millis(60);
// After the last agent has begun to write, and before the first may have ended.
const SETTLE: Duration = Duration::from_secs(2);
const LINE_BYTES: u32 = 1_200;
// Of the window; the median of them counts, so that one in which the machine did something else does not.
const PARTS: u32 = 5;

/// What is asked for on the command line.
struct Fleet {
    longhaul: PathBuf,
    runs: u32,
    lines_per_second: u32,
    window: Duration,
}

/// What all runs have read together.
#[derive(Default)]
struct Seen {
    lines: Cell<u64>,
    writing: Cell<u32>,
    ended: Cell<u32>,
    done: Cell<u32>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let fleet = fleet()?;
    let place = tempfile::tempdir()?;
    let home = Home::open(Some(place.path().to_owned()), |_| None)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(measure(&fleet, &home)))
}

fn fleet() -> Result<Fleet, Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let mut next = || args.next().ok_or("usage: fleet LONGHAUL RUNS LINES_PER_SECOND SECONDS");
    Ok(Fleet {
        longhaul: next()?.into(),
        runs: next()?.parse()?,
        lines_per_second: next()?.parse()?,
        window: Duration::from_secs(next()?.parse()?),
    })
}

async fn measure(fleet: &Fleet, home: &Home) -> Result<(), Box<dyn Error>> {
    let seen = Rc::new(Seen::default());
    let mut runs = JoinSet::new();
    for _ in 0..fleet.runs {
        runs.spawn_local(one(request(fleet, home)?, Rc::clone(&seen)));
        sleep(START_EVERY).await;
    }
    while seen.writing.get() < fleet.runs && seen.ended.get() == 0 {
        sleep(START_EVERY).await;
    }
    sleep(SETTLE).await;

    let (started, lines) = (Instant::now(), seen.lines.get());
    let mut shares = Vec::new();
    for _ in 0..PARTS {
        let (started, cpu) = (Instant::now(), cpu()?);
        sleep(fleet.window / PARTS).await;
        shares.push((self::cpu()? - cpu).as_secs_f64() / started.elapsed().as_secs_f64());
    }
    shares.sort_by(f64::total_cmp);
    let (lines, seconds) = (seen.lines.get() - lines, started.elapsed().as_secs_f64());
    let memory = memory_kib("VmHWM:")?;
    let steady = seen.ended.get() == 0;

    while runs.join_next().await.is_some() {}
    println!(
        "{}",
        serde_json::json!({
            "runs": fleet.runs,
            "steady": steady,
            "cpu_percent": shares[shares.len() / 2] * 100.0,
            "peak_mb": memory as f64 / 1024.0,
            "lines_a_second": lines as f64 / seconds,
            "done": seen.done.get(),
        })
    );
    Ok(())
}

async fn one(request: RunRequest, seen: Rc<Seen>) {
    let mut counter = Counter { seen: Rc::clone(&seen), writes: false };
    // Nobody cancels these runs; the sender stays, so that the channel does not close.
    let (_sender, cancels) = tokio::sync::mpsc::channel(1);
    let report = supervise(request, &mut counter, cancels).await;
    seen.ended.set(seen.ended.get() + 1);
    if report.is_ok_and(|report| report.outcome.kind == OutcomeKind::Done) {
        seen.done.set(seen.done.get() + 1);
    }
}

struct Counter {
    seen: Rc<Seen>,
    writes: bool,
}

impl Observer for Counter {
    fn on_output(&mut self, bytes: &[u8]) {
        if !self.writes {
            self.writes = true;
            self.seen.writing.set(self.seen.writing.get() + 1);
        }
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.seen.lines.set(self.seen.lines.get() + lines as u64);
    }
}

fn request(fleet: &Fleet, home: &Home) -> Result<RunRequest, Box<dyn Error>> {
    // Until the last one has started, through the window, and as long again as it takes to settle.
    let seconds = (START_EVERY * fleet.runs + SETTLE * 3 + fleet.window).as_secs() as u32;
    let flood = format!("{}:{LINE_BYTES}:{}", seconds * fleet.lines_per_second, fleet.lines_per_second);
    let mut request = RunRequest::new(
        home.clone(),
        &fleet.longhaul,
        env::current_dir()?,
        "write",
        Preset::Default.policy(),
    );
    request.agent.program.leading_args.push("drill-agent".to_owned());
    request.environment.set.insert("LONGHAUL_SCRIPTED_FLOOD".to_owned(), flood);
    Ok(request)
}

/// The processor time of this process alone, its ended threads included.
fn cpu() -> Result<Duration, Box<dyn Error>> {
    let stat = fs::read_to_string("/process/self/stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("no name in stat")?.1.split_whitespace().collect();
    let ticks = fields[11].parse::<u32>()? + fields[12].parse::<u32>()?;
    // The kernel tells it in hundredths of a second.
    Ok(Duration::from_millis(10) * ticks)
}

fn memory_kib(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/process/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line in status")?;
    Ok(line.split_whitespace().next().ok_or("no figure in status")?.parse()?)
}
