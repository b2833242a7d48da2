//! Reads the system's table of processes. It contains the system calls that cannot be tested on another system.

mod linux;

pub(crate) use linux::{available_bytes, connections, oom_kills, resident_bytes};

/// Data of a process. Times are in clock ticks of 10 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// The letter of `ps`.
    pub(crate) state: char,
    /// Process group and process session. Both are 0 if their leader is outside of this PID namespace.
    pub(crate) group: u32,
    pub(crate) session: u32,
    pub(crate) pid: u32,
    pub(crate) own_ticks: u64,
    /// Time of ended children that the process has waited for.
    pub(crate) child_ticks: u64,
    /// When the process started, in the unit of [`ProcessId`](longhaul_core::ProcessId).
    pub(crate) start_ticks: u64,
}

impl ProcessStat {
    /// Returns `None` if there is no such process.
    pub(crate) fn read(pid: u32) -> Option<ProcessStat> {
        linux::stat(pid)
    }

    /// Returns whether the process leads its group, but not its session.
    // Not with `getsid`: rustix reads its result as a PID, but a session from outside of this PID namespace is 0.
    pub(crate) fn leads_only_a_group(self) -> bool {
        self.group == self.pid && self.session != self.pid
    }
}

/// Returns the start time of a process.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    ProcessStat::read(pid).map(|stat| stat.start_ticks)
}

/// Returns `true` if SIGSTOP has stopped the process and it was not continued.
pub(crate) fn is_frozen(pid: u32) -> bool {
    ProcessStat::read(pid).is_some_and(|stat| stat.state == 'T')
}
