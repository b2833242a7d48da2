//! Probes the processes of a silent run: their CPU use and network connections. It never starts or stops a
//! process, and decides nothing.

use super::run_marker::RunMarker;
use super::system::{self, ProcessStat};
use longhaul_core::{ProcessActivity, ProcessId, ProcessState};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

// In this time a build or a test uses CPU time. A process that waits for a network or a timer does not.
const PROBE_TIME: Duration = Duration::from_secs(2);
// Five percent of a core, at the kernel's hundred ticks a second. A waiting server that sometimes collects
// garbage uses less. Work uses more, even on a machine with ten times as many busy processes as cores.
const BUSY_TICKS: u64 = 10;

/// Probes the run's processes and its agent for a while. Returns `None` if the agent cannot be found.
pub(crate) async fn probe(marker: &RunMarker, agent: ProcessId) -> Option<ProcessActivity> {
    let before = stats(marker, agent);
    tokio::time::sleep(PROBE_TIME).await;
    let after = stats(marker, agent);
    let state = after.get(&agent)?.state;
    let used_ticks = |process: &ProcessId, now: &ProcessStat| {
        let own_ticks = now.own_ticks.saturating_sub(before.get(process).map_or(0, |then| then.own_ticks));
        // The kernel adds the CPU time of children when they end. The agent's children are tools, so their
        // time is not the agent's work. For other processes it reveals short-lived children that no sample
        // sees.
        let child_ticks =
            now.child_ticks.saturating_sub(before.get(process).map_or(0, |then| then.child_ticks));
        if process == &agent { own_ticks } else { own_ticks + child_ticks }
    };
    let is_busy = |(process, now): &(&ProcessId, &ProcessStat)| used_ticks(process, now) >= BUSY_TICKS;
    let agent_is_busy = after.get_key_value(&agent).is_some_and(|entry| is_busy(&entry));
    // A shared connection counts once.
    let connected: BTreeSet<u64> =
        after.keys().flat_map(|process| system::connections(process.pid)).collect();
    Some(ProcessActivity {
        agent: match state {
            'T' | 't' => ProcessState::Frozen,
            // A single sample may only show that the process is reading a file.
            'D' if before.get(&agent).is_some_and(|then| then.state == 'D') => ProcessState::Blocked,
            _ if agent_is_busy => ProcessState::Busy,
            _ => ProcessState::Idle,
        },
        connections: connected.len() as u32,
        children: after.len() as u32 - 1,
        busy_children: after.iter().filter(|entry| entry.0 != &agent && is_busy(entry)).count() as u32,
    })
}

fn stats(marker: &RunMarker, agent: ProcessId) -> BTreeMap<ProcessId, ProcessStat> {
    let all: BTreeSet<u32> = marker.processes().into_iter().chain([agent.pid]).collect();
    let stats = all.into_iter().filter_map(|pid| {
        let stat = ProcessStat::read(pid)?;
        Some((stat.id(), stat))
    });
    stats.filter(|(process, _)| process.pid != agent.pid || *process == agent).collect()
}

#[cfg(test)]
mod tests;
