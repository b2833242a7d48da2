//! Drives many runs on one thread of one process, and measures the resources.
//!
//! ```text
//! fleet LONGHAUL RUNS LINES_PER_SECOND SECONDS
//! ```
//! Every run has its own agent: the scripted agent of the program `LONGHAUL`. It writes lines of about 1.2 kB
//! at this rate. Agents start one after the other. Once all of them write, the process measures itself for
//! `SECONDS` and prints the results as one JSON object.
#![allow(clippy::print_stdout)]

use longhaul::{Environment, Home, Observer, OutcomeKind, Preset, RunRequest, RunSpec, Supervisor};
use memchr::memchr_iter;
use std::cell::Cell;
use std::error::Error;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use std::{env, fs};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep};

// Long enough that one agent has started before the next one starts.
const START_EVERY: Duration = Duration::from_millis(60);
// The wait between the first line of the last agent and the measurement. It also separates the measurement
// from the end of the first agent.
const SETTLE: Duration = Duration::from_secs(2);
const LINE_BYTES: u32 = 1_200;
// Number of parts of the window. The median part counts, so that a part with other load on the machine is
// ignored.
const PARTS: u32 = 5;

/// The command line.
struct Fleet {
    longhaul: PathBuf,
    runs: u32,
    lines_per_second: u32,
    window: Duration,
}

/// The output that all runs have read.
#[derive(Default)]
struct Totals {
    lines: Cell<u64>,
    writing: Cell<u32>,
    ended: Cell<u32>,
    done: Cell<u32>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let fleet = fleet()?;
    let scratch = tempfile::tempdir()?;
    let home = Home::open(Some(scratch.path().to_owned()), |_| None)?;
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
    let totals = Rc::new(Totals::default());
    let mut runs = JoinSet::new();
    for _ in 0..fleet.runs {
        let supervisor = Supervisor::from(home.clone()).with_environment(environment(fleet));
        runs.spawn_local(drive(supervisor, spec(fleet)?, Rc::clone(&totals)));
        sleep(START_EVERY).await;
    }
    while totals.writing.get() < fleet.runs && totals.ended.get() == 0 {
        sleep(START_EVERY).await;
    }
    sleep(SETTLE).await;

    let (started, lines) = (Instant::now(), totals.lines.get());
    let mut shares = Vec::new();
    for _ in 0..PARTS {
        let (started, cpu) = (Instant::now(), cpu()?);
        sleep(fleet.window / PARTS).await;
        shares.push((self::cpu()? - cpu).as_secs_f64() / started.elapsed().as_secs_f64());
    }
    shares.sort_by(f64::total_cmp);
    let (lines, seconds) = (totals.lines.get() - lines, started.elapsed().as_secs_f64());
    let memory = memory_kib("VmHWM:")?;
    let steady = totals.ended.get() == 0;

    while runs.join_next().await.is_some() {}
    println!(
        "{}",
        serde_json::json!({
            "runs": fleet.runs,
            "steady": steady,
            "cpu_percent": shares[shares.len() / 2] * 100.0,
            "peak_mb": memory as f64 / 1024.0,
            "lines_a_second": lines as f64 / seconds,
            "done": totals.done.get(),
        })
    );
    Ok(())
}

async fn drive(supervisor: Supervisor, spec: RunSpec, totals: Rc<Totals>) {
    let mut counter = Counter { totals: Rc::clone(&totals), writes: false };
    let report = supervisor.observe(RunRequest::from(spec).into(), &mut counter).await;
    totals.ended.set(totals.ended.get() + 1);
    if report.is_ok_and(|report| report.outcome.kind == OutcomeKind::Done) {
        totals.done.set(totals.done.get() + 1);
    }
}

struct Counter {
    totals: Rc<Totals>,
    writes: bool,
}

impl Observer for Counter {
    fn on_bytes(&mut self, bytes: &[u8]) {
        if !self.writes {
            self.writes = true;
            self.totals.writing.set(self.totals.writing.get() + 1);
        }
        let lines = memchr_iter(b'\n', bytes).count();
        self.totals.lines.set(self.totals.lines.get() + lines as u64);
    }
}

fn spec(fleet: &Fleet) -> Result<RunSpec, Box<dyn Error>> {
    let mut spec = RunSpec::new(&fleet.longhaul, env::current_dir()?, "write", Preset::Default.policy());
    spec.agent.leading_args.push("drill-agent".to_owned());
    Ok(spec)
}

fn environment(fleet: &Fleet) -> Environment {
    // The agent writes from the first start to the end of the window, plus the settling time.
    let seconds = (START_EVERY * fleet.runs + SETTLE * 3 + fleet.window).as_secs() as u32;
    let flood = format!("{}:{LINE_BYTES}:{}", seconds * fleet.lines_per_second, fleet.lines_per_second);
    let mut environment = Environment::default();
    environment.set.insert("LONGHAUL_SCRIPTED_FLOOD".to_owned(), flood);
    environment
}

/// Returns the CPU time of this process, including its ended threads.
fn cpu() -> Result<Duration, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("no name in stat")?.1.split_whitespace().collect();
    let ticks = fields[11].parse::<u32>()? + fields[12].parse::<u32>()?;
    // The kernel reports hundredths of a second.
    Ok(Duration::from_millis(10) * ticks)
}

fn memory_kib(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line in status")?;
    Ok(line.split_whitespace().next().ok_or("no number in status")?.parse()?)
}
