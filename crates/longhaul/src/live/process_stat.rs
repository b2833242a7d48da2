//! Reads the state, the groups and the CPU time of a process from `/proc/PID/stat`.

use std::fs;

/// A part of `/proc/PID/stat`. Times are in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) state: char,
    /// Process group and process session. Both are 0 if their leader is outside of this PID namespace.
    pub(crate) group: u32,
    pub(crate) session: u32,
    pub(crate) own_ticks: u64,
    /// Time of ended children that the process has waited for.
    pub(crate) child_ticks: u64,
    pub(crate) start_ticks: u64,
}

impl ProcessStat {
    /// Returns `None` if there is no such process.
    pub(crate) fn read(pid: u32) -> Option<ProcessStat> {
        ProcessStat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Fields are counted after the closing parenthesis of the name, because the name may contain anything. The
    /// first of them is number 3 in the manual.
    pub(super) fn parse(stat: &str) -> Option<ProcessStat> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let id = |field: usize| number(field).and_then(|id| u32::try_from(id).ok());
        Some(ProcessStat {
            state: fields.first()?.chars().next()?,
            group: id(5)?,
            session: id(6)?,
            own_ticks: number(14)? + number(15)?,
            child_ticks: number(16)? + number(17)?,
            start_ticks: number(22)?,
        })
    }
}

/// Returns the start time of a process, in clock ticks.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    ProcessStat::read(pid).map(|stat| stat.start_ticks)
}

/// Returns `true` if SIGSTOP has stopped the process and it was not continued.
pub(crate) fn is_frozen(pid: u32) -> bool {
    ProcessStat::read(pid).is_some_and(|stat| stat.state == 'T')
}
