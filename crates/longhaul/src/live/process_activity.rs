//! Probes the processes of a silent run: their CPU use and network connections. It never starts or stops a
//! process, and decides nothing.

use super::run_marker::RunMarker;
use super::sweep::processes_with;
use longhaul_core::{ProcessActivity, ProcessId, ProcessState};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

// A build or a test is visible in this time. A process that waits for a network or a timer is not.
const PROBE_TIME: Duration = Duration::from_secs(2);
// Five percent of a core, at the kernel's hundred ticks a second. A waiting server that sometimes collects
// garbage stays below. Work exceeds it even on a machine with ten times as many busy processes as cores.
const BUSY_TICKS: u64 = 10;
// `st` of `/proc/net/tcp` for a connection with both ends.
const ESTABLISHED: &str = "01";

/// Probes the run's processes and its agent for a while. Returns `None` if the agent cannot be found.
pub(crate) async fn probe(marker: &RunMarker, agent: ProcessId) -> Option<ProcessActivity> {
    let before = times(marker, agent);
    tokio::time::sleep(PROBE_TIME).await;
    let after = times(marker, agent);
    let state = after.get(&agent)?.state;
    let used = |process: &ProcessId, now: &CpuTimes| {
        let own = now.own.saturating_sub(before.get(process).map_or(0, |then| then.own));
        // The CPU time of ended children counts when they end. The agent's children are tools, whose time is
        // not its own work. For other processes it reveals work in pieces that are too short to be sampled.
        let children = now.children.saturating_sub(before.get(process).map_or(0, |then| then.children));
        if process == &agent { own } else { own + children }
    };
    let is_busy = |(process, now): &(&ProcessId, &CpuTimes)| used(process, now) >= BUSY_TICKS;
    let agent_is_busy = after.get_key_value(&agent).is_some_and(|entry| is_busy(&entry));
    Some(ProcessActivity {
        agent: match state {
            'T' | 't' => ProcessState::Frozen,
            // Blocked in a single sample may only mean that the process reads a file.
            'D' if before.get(&agent).is_some_and(|then| then.state == 'D') => ProcessState::Blocked,
            _ if agent_is_busy => ProcessState::Busy,
            _ => ProcessState::Idle,
        },
        connections: connections(after.keys()),
        children: after.len() as u32 - 1,
        busy_children: after.iter().filter(|entry| entry.0 != &agent && is_busy(entry)).count() as u32,
    })
}

/// CPU time of a process so far, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    state: char,
    own: u64,
    /// Time of its ended and reaped children.
    children: u64,
}

/// Returns the times of the agent and every other process of the run.
fn times(marker: &RunMarker, agent: ProcessId) -> BTreeMap<ProcessId, CpuTimes> {
    let marked = processes_with(marker).into_iter().map(|(pid, _)| pid.as_raw_nonzero().get() as u32);
    let all: BTreeSet<u32> = marked.chain([agent.pid]).collect();
    all.into_iter()
        .filter_map(times_of)
        .filter(|(process, _)| process.pid != agent.pid || *process == agent)
        .collect()
}

fn times_of(pid: u32) -> Option<(ProcessId, CpuTimes)> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/PID/stat`. Fields are counted after the parenthesis of the name, which may contain anything:
/// the first one is number 3 in the manual.
fn parse(pid: u32, stat: &str) -> Option<(ProcessId, CpuTimes)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let times = CpuTimes {
        state: fields.first()?.chars().next()?,
        own: number(14)? + number(15)?,
        children: number(16)? + number(17)?,
    };
    Some((ProcessId { pid, start_ticks: number(22)? }, times))
}

/// Returns the number of open network connections of these processes. A shared connection counts once.
fn connections<'a>(processes: impl Iterator<Item = &'a ProcessId>) -> u32 {
    let mut connected = BTreeSet::new();
    for ProcessId { pid, .. } in processes {
        let mut open = BTreeSet::new();
        for table in ["tcp", "tcp6"] {
            let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
            open.extend(text.lines().filter_map(established));
        }
        connected.extend(sockets(*pid).into_iter().filter(|socket| open.contains(socket)));
    }
    connected.len() as u32
}

/// Returns the socket of a line of `/proc/PID/net/tcp`, or `None` if it is not connected.
fn established(line: &str) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    (*fields.get(3)? == ESTABLISHED).then(|| fields.get(9)?.parse().ok()).flatten()
}

/// Returns the open sockets of a process.
fn sockets(pid: u32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests;
