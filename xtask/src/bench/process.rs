//! Measures one process from outside: processor time and peak memory, its own and nobody else's.
//!
//! `wait4` adds up whatever a process has waited for, so an agent's figures would count as its
//! supervisor's. Therefore `/proc` is read while it runs, and once more while it is a zombie: the
//! kernel keeps its times until somebody waits for it.

use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

/// What one process took.
pub struct Metered {
    pub status: ExitStatus,
    /// User and system time. The kernel tells it in hundredths of a second.
    pub cpu: Duration,
    /// The same of the children it has waited for: of its agents.
    pub children_cpu: Duration,
    /// The most memory it had at once.
    pub peak_kib: u64,
}

// Peaks are the kernel's own high-water mark; only what happens after the last look can be missed.
const LOOK_EVERY: Duration = Duration::from_millis(5);
// `/proc/PID/stat` counts in USER_HZ, which is 100 on every Linux that Rust runs on.
const TICK: Duration = Duration::from_millis(10);

/// Runs the command to its end.
pub fn metered(command: &mut Command) -> io::Result<Metered> {
    let mut child = command.spawn()?;
    let mut peak_kib = 0;
    loop {
        peak_kib = peak_kib.max(peak_kib_of(child.id()).unwrap_or(0));
        let Stat { state, cpu, children_cpu } = stat(child.id())?;
        if state == 'Z' {
            return Ok(Metered { status: child.wait()?, cpu, children_cpu, peak_kib });
        }
        sleep(LOOK_EVERY);
    }
}

/// Runs the command to its end and returns how long that took; one that fails is an error.
pub fn timed(command: &mut Command) -> io::Result<Duration> {
    let started = Instant::now();
    let status = command.status()?;
    let duration = started.elapsed();
    if status.success() { Ok(duration) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}

/// The process's memory high-water mark.
pub fn peak_kib_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The processor time of a live process, by its threads' nanoseconds: for spans of seconds in which
/// almost nothing happens. Threads that ended meanwhile are not in it.
pub fn fine_cpu(pid: u32) -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
        let times = fs::read_to_string(thread.path().join("schedstat"))?;
        nanos += times.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

/// How often a live process has gone to sleep by itself: once for every wake-up.
pub fn sleeps(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// A child that is killed when dropped, so that a failing bench leaves nothing behind.
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Gone already in every good case.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `/proc/PID/stat` says.
struct Stat {
    state: char,
    cpu: Duration,
    children_cpu: Duration,
}

fn stat(pid: u32) -> io::Result<Stat> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))?;
    let odd = || io::Error::other(format!("/proc/{pid}/stat reads {stat:?}"));
    // The name in parentheses may hold anything; fields are counted behind its end.
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or_else(odd)?.1.split_whitespace().collect();
    let state = fields.first().and_then(|word| word.chars().next()).ok_or_else(odd)?;
    let ticks = |index: usize| fields.get(index).and_then(|word| word.parse::<u32>().ok()).ok_or_else(odd);
    Ok(Stat { state, cpu: TICK * (ticks(11)? + ticks(12)?), children_cpu: TICK * (ticks(13)? + ticks(14)?) })
}
