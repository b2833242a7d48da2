//! Decides from a table of processes which of them descend from remembered ones. It asks the system nothing.

use crate::live::system::process_table::ProcessStat;
use longhaul_core::ProcessId;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the processes of the table that belong to the run, without those that have exited. `was_started_by_run` tells
/// whether a remembered process started this one, even if it has exited since.
pub(super) fn members(
    remembered: &BTreeSet<ProcessId>,
    table: &[ProcessStat],
    was_started_by_run: impl Fn(&ProcessStat) -> bool,
) -> Vec<ProcessStat> {
    let by_pid: BTreeMap<u32, &ProcessStat> = table.iter().map(|stat| (stat.pid, stat)).collect();
    // A PID is not reused while its group or session has a process.
    let is_reused = |process: &ProcessId| by_pid.get(&process.pid).is_some_and(|stat| stat.id() != *process);
    let mut ids: BTreeSet<u32> =
        remembered.iter().filter(|process| !is_reused(process)).map(|process| process.pid).collect();
    ids.extend(table.iter().filter(|stat| was_started_by_run(stat)).map(|stat| stat.pid));
    loop {
        let count = ids.len();
        for stat in table {
            let belongs = |id: u32| id != 0 && ids.contains(&id);
            if belongs(stat.parent) || belongs(stat.group) || belongs(stat.session) {
                ids.insert(stat.pid);
            }
        }
        if ids.len() == count {
            break;
        }
    }
    table.iter().filter(|stat| ids.contains(&stat.pid) && !stat.has_exited()).copied().collect()
}

/// Returns whether a remembered process is running, or leads a group or a session that has other processes.
pub(super) fn is_needed(process: ProcessId, table: &[ProcessStat]) -> bool {
    let leads = |stat: &ProcessStat| stat.group == process.pid || stat.session == process.pid;
    let leads_others = table.iter().any(|stat| stat.pid != process.pid && !stat.has_exited() && leads(stat));
    match table.iter().find(|stat| stat.pid == process.pid) {
        Some(stat) => stat.id() == process && (!stat.has_exited() || leads_others),
        None => leads_others,
    }
}
