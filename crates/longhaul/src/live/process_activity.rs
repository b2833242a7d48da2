//! What the processes of a silent run do, as the kernel tells it: who uses the processor, and who has a connection.
//! Looks only; ends and starts nothing, and decides nothing.

use super::run_marker::RunMarker;
use super::sweep::processes_with;
use longhaul_core::{ProcessActivity, ProcessId, ProcessState};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

// A build or a test shows in this time; a process that waits for a network or a timer does not.
const LOOK: Duration = Duration::from_secs(2);
// Five percent of a processor, at the kernel's hundred ticks a second: a server that waits and now and then collects its
// garbage stays below, and work shows even on a machine with ten times as much of it as processors.
const BUSY_TICKS: u64 = 10;
// `st` of `/proc/net/tcp`: both ends are there.
const ESTABLISHED: &str = "01";

/// Looks for a while what the run's processes do, and its agent; nothing where no process can be looked at.
pub(crate) async fn probe(marker: &RunMarker, agent: ProcessId) -> Option<ProcessActivity> {
    let before = times(marker, agent);
    tokio::time::sleep(LOOK).await;
    let after = times(marker, agent);
    let state = after.get(&agent)?.state;
    let used = |process: &ProcessId, now: &CpuTimes| {
        let own = now.own.saturating_sub(before.get(process).map_or(0, |then| then.own));
        // What an agent's tools had used is told when they end, and was no work of its own. Of the others it tells
        // of work in pieces too short to be met.
        let ended = now.ended.saturating_sub(before.get(process).map_or(0, |then| then.ended));
        if process == &agent { own } else { own + ended }
    };
    let is_busy = |(process, now): &(&ProcessId, &CpuTimes)| used(process, now) >= BUSY_TICKS;
    let agent_is_busy = after.get_key_value(&agent).is_some_and(|found| is_busy(&found));
    Some(ProcessActivity {
        agent: match state {
            'T' | 't' => ProcessState::Frozen,
            // At one look it may be a file being read.
            'D' if before.get(&agent).is_some_and(|then| then.state == 'D') => ProcessState::Blocked,
            _ if agent_is_busy => ProcessState::Busy,
            _ => ProcessState::Idle,
        },
        connections: connections(after.keys()),
        children: after.len() as u32 - 1,
        busy_children: after.iter().filter(|found| found.0 != &agent && is_busy(found)).count() as u32,
    })
}

/// What a process has used of the processor so far, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    state: char,
    own: u64,
    /// Its children that have ended and that it has taken notice of.
    ended: u64,
}

/// The agent and every other process of the run.
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

/// Reads `/proc/PID/stat`. Its fields are counted behind the parenthesis of the name, which may hold anything: the
/// first is the third of the manual.
fn parse(pid: u32, stat: &str) -> Option<(ProcessId, CpuTimes)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let times = CpuTimes {
        state: fields.first()?.chars().next()?,
        own: number(14)? + number(15)?,
        ended: number(16)? + number(17)?,
    };
    Some((ProcessId { pid, start_ticks: number(22)? }, times))
}

/// How many network connections these processes have open; one that several of them hold counts once.
fn connections<'a>(procs: impl Iterator<Item = &'a ProcessId>) -> u32 {
    let mut held = BTreeSet::new();
    for ProcessId { pid, .. } in procs {
        let mut open = BTreeSet::new();
        for table in ["tcp", "tcp6"] {
            let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
            open.extend(text.lines().filter_map(established));
        }
        held.extend(sockets(*pid).into_iter().filter(|socket| open.contains(socket)));
    }
    held.len() as u32
}

/// The socket of a line of `/proc/PID/net/tcp`, if both its ends are there.
fn established(line: &str) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    (*fields.get(3)? == ESTABLISHED).then(|| fields.get(9)?.parse().ok()).flatten()
}

/// The sockets that a process has open.
fn sockets(pid: u32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests;
