//! Reads the system's table of processes. It contains the system calls that cannot be tested on another system.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as platform;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as platform;

use longhaul_core::ProcessId;
pub(crate) use platform::{available_bytes, connections, oom_kills, resident_bytes};
#[cfg(any(not(target_os = "linux"), feature = "portable-processes"))]
pub(crate) use platform::{boot_id, path_of, users_of, was_started_by};

/// Data of a process. Times are in clock ticks of 10 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// The letter of `ps`.
    pub(crate) state: char,
    /// Process group and process session. Both are 0 if their leader is outside of this PID namespace.
    pub(crate) group: u32,
    pub(crate) session: u32,
    pub(crate) own_ticks: u64,
    /// Time of ended children that the process has waited for.
    pub(crate) child_ticks: u64,
    /// When the process started, in the unit of [`ProcessId`](longhaul_core::ProcessId).
    pub(crate) start_ticks: u64,
}

impl ProcessStat {
    /// Returns `None` if there is no such process.
    pub(crate) fn read(pid: u32) -> Option<ProcessStat> {
        platform::stat(pid)
    }

    pub(crate) fn id(self) -> ProcessId {
        ProcessId { pid: self.pid, start_ticks: self.start_ticks }
    }

    /// Returns whether the process has exited and still has its PID.
    #[cfg(any(not(target_os = "linux"), feature = "portable-processes"))]
    pub(crate) fn has_exited(self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Returns whether the process leads its group, but not its session.
    // Not with `getsid`: rustix reads its result as a PID, but a session from outside of this PID namespace is 0.
    pub(crate) fn leads_only_a_group(self) -> bool {
        self.group == self.pid && self.session != self.pid
    }
}

#[cfg(any(not(target_os = "linux"), feature = "portable-processes"))]
pub(crate) fn all() -> Vec<ProcessStat> {
    platform::pids().into_iter().filter_map(ProcessStat::read).collect()
}

pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    ProcessStat::read(pid).map(|stat| stat.start_ticks)
}

/// Returns `true` if SIGSTOP or Ctrl-Z has stopped the process and it was not continued.
pub fn is_frozen(pid: u32) -> bool {
    ProcessStat::read(pid).is_some_and(|stat| stat.state == 'T')
}
