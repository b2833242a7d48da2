//! Times processes, and measures the processor time and peak memory of one process from outside, without those
//! of its children.
//!
//! `wait4` adds up the times of all awaited children, so an agent's figures would count as its supervisor's.
//! Therefore this module reads `/proc` while the process runs, and again while it is a zombie. The kernel
//! keeps the times of a zombie until its parent waits for it.

use crate::programs::succeed;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

pub struct ProcessUsage {
    /// User and system time. The kernel reports it in hundredths of a second.
    pub cpu: Duration,
    pub children_cpu: Duration,
    /// Peak resident memory, which includes the pages of its files that the kernel can drop.
    peak_kib: u64,
    /// Highest share of memory that was seen.
    pub memory_share: MemoryShare,
}

impl ProcessUsage {
    pub fn peak_mib(&self) -> f64 {
        self.peak_kib as f64 / 1024.0
    }
}

/// A process's share of memory, in KiB.
#[derive(Clone, Copy, Default)]
pub struct MemoryShare {
    /// Its resident memory, with each shared page divided by the number of processes that share it (PSS).
    pub proportional: u64,
    /// The pages that only this process maps.
    pub private: u64,
}

// The kernel keeps the peak itself, so only a rise after the last probe can be missed.
const PROBE_INTERVAL: Duration = Duration::from_millis(5);
// The kernel walks the whole address space of the measured process to answer, which would slow it down.
const SHARE_INTERVAL: Duration = Duration::from_millis(200);
// `/proc/PID/stat` counts in USER_HZ, which is 100 on every Linux that Rust runs on.
const TICK: Duration = Duration::from_millis(10);

/// Runs the command to its end and measures its resources. A failing command is an error.
pub fn measure_command(command: &mut Command) -> io::Result<ProcessUsage> {
    let mut child = command.spawn()?;
    let (mut peak_kib, mut memory_share) = (0, MemoryShare::default());
    let mut share_at = Instant::now();
    loop {
        peak_kib = peak_kib.max(peak_kib_of(child.id()).unwrap_or(0));
        if share_at <= Instant::now() {
            memory_share = memory_share.max(MemoryShare::of(child.id()).unwrap_or_default());
            share_at = Instant::now() + SHARE_INTERVAL;
        }
        let Stat { state, cpu, children_cpu } = stat(child.id())?;
        if state == 'Z' {
            return match child.wait()? {
                status if status.success() => Ok(ProcessUsage { cpu, children_cpu, peak_kib, memory_share }),
                status => Err(io::Error::other(format!("{command:?}: {status}"))),
            };
        }
        sleep(PROBE_INTERVAL);
    }
}

impl MemoryShare {
    pub fn of(pid: u32) -> Option<MemoryShare> {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let kib = |name: &str| number_after(&rollup, name);
        let private = kib("Private_Clean:")? + kib("Private_Dirty:")?;
        Some(MemoryShare { proportional: kib("Pss:")?, private })
    }

    fn max(self, other: MemoryShare) -> MemoryShare {
        MemoryShare {
            proportional: self.proportional.max(other.proportional),
            private: self.private.max(other.private),
        }
    }
}

/// Runs the command to its end and returns its duration. A failing command is an error.
pub fn time_command(command: &mut Command) -> io::Result<Duration> {
    let started = Instant::now();
    succeed(command)?;
    Ok(started.elapsed())
}

/// Returns what the probe finds. Nothing found before the timeout is an error.
pub fn wait_until<T>(
    description: &str,
    timeout: Duration,
    mut probe: impl FnMut() -> Option<T>,
) -> io::Result<T> {
    let started = Instant::now();
    while started.elapsed() < timeout {
        if let Some(found) = probe() {
            return Ok(found);
        }
        sleep(PROBE_INTERVAL);
    }
    Err(io::Error::other(format!("timed out after {timeout:?} waiting for {description}")))
}

pub fn peak_kib_of(pid: u32) -> Option<u64> {
    number_in(&format!("/proc/{pid}/status"), "VmHWM:")
}

fn number_in(file: &str, name: &str) -> Option<u64> {
    number_after(&fs::read_to_string(file).ok()?, name)
}

fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Returns the processor time of a live process from its threads' nanosecond counters, which also resolve
/// nearly idle seconds. Threads that have ended are not included.
pub fn precise_cpu(pid: u32) -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
        let times = fs::read_to_string(thread.path().join("schedstat"))?;
        nanos += times.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

/// Returns how often a live process went to sleep voluntarily, which is the number of its wake-ups.
pub fn wakeups(pid: u32) -> u64 {
    number_in(&format!("/proc/{pid}/status"), "voluntary_ctxt_switches:").unwrap_or(0)
}

/// A child that is killed when dropped, so that a failed measurement leaves no process.
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // The child has exited already unless the bench failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Stat {
    state: char,
    cpu: Duration,
    children_cpu: Duration,
}

fn stat(pid: u32) -> io::Result<Stat> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))?;
    let malformed = || io::Error::other(format!("/proc/{pid}/stat is malformed: {stat:?}"));
    // The name in parentheses may contain anything, so fields are counted after its end.
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or_else(malformed)?.1.split_whitespace().collect();
    let state = fields.first().and_then(|word| word.chars().next()).ok_or_else(malformed)?;
    let ticks =
        |index: usize| fields.get(index).and_then(|word| word.parse::<u32>().ok()).ok_or_else(malformed);
    Ok(Stat { state, cpu: TICK * (ticks(11)? + ticks(12)?), children_cpu: TICK * (ticks(13)? + ticks(14)?) })
}
