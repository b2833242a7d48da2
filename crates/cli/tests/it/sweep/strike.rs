//! Strikes: the faults that a sweep injects, and the variables that order them.

/// A fault injected at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    KillSupervisor,
    KillAgent,
    KillBoth,
    /// The same for a run whose agent consults guards.
    KillSupervisorGuarded,
    KillBothGuarded,
    TermSupervisor,
    /// SIGTERM to every process of the run at once, as a service manager sends it.
    TermAll,
    TermAgent,
    StopSupervisor,
    StopAgent,
    /// The disk is full from one call of the store until the supervisor exits.
    FullDisk,
    /// One call of the store has room for half of its data.
    ShortWrite,
}

impl Strike {
    /// Returns the label for people.
    pub fn label(self) -> &'static str {
        match self {
            Strike::KillSupervisor => "SIGKILL of the supervisor",
            Strike::KillAgent => "SIGKILL of the agent",
            Strike::KillBoth => "SIGKILL of both",
            Strike::KillSupervisorGuarded => "SIGKILL of the supervisor, the agent guarded",
            Strike::KillBothGuarded => "SIGKILL of both, the agent guarded",
            Strike::TermSupervisor => "SIGTERM of the supervisor",
            Strike::TermAll => "SIGTERM of all processes",
            Strike::TermAgent => "SIGTERM of the agent",
            Strike::StopSupervisor => "SIGSTOP of the supervisor for 5 s",
            Strike::StopAgent => "SIGSTOP of the agent for 5 s",
            Strike::FullDisk => "a full disk from one store call on",
            Strike::ShortWrite => "half a write in a store call",
        }
    }

    /// Returns the variable that orders the strike at a point, and its value.
    pub fn order(self, point: u64) -> (&'static str, String) {
        let (name, action) = match self {
            Strike::KillSupervisor | Strike::KillSupervisorGuarded => ("LONGHAUL_FAILPOINT", "supervisor"),
            Strike::KillAgent => ("LONGHAUL_FAILPOINT", "agent"),
            Strike::KillBoth | Strike::KillBothGuarded => ("LONGHAUL_FAILPOINT", "both"),
            Strike::TermSupervisor => ("LONGHAUL_FAILPOINT", "supervisor:term"),
            Strike::TermAll => ("LONGHAUL_FAILPOINT", "all:term"),
            Strike::TermAgent => ("LONGHAUL_FAILPOINT", "agent:term"),
            Strike::StopSupervisor => ("LONGHAUL_FAILPOINT", "supervisor:stop"),
            Strike::StopAgent => ("LONGHAUL_FAILPOINT", "agent:stop"),
            Strike::FullDisk => ("LONGHAUL_STORE_FAULT", "enospc"),
            Strike::ShortWrite => ("LONGHAUL_STORE_FAULT", "short"),
        };
        (name, format!("{action}@{point}"))
    }

    /// Returns the variable that names the log of the points.
    pub fn log(self) -> &'static str {
        if self.is_disk_fault() { "LONGHAUL_STORE_LOG" } else { "LONGHAUL_FAILPOINT_LOG" }
    }

    /// Returns the number of points of a plain test.
    pub fn sample(self) -> u64 {
        match self {
            Strike::KillSupervisor
            | Strike::KillAgent
            | Strike::KillBoth
            | Strike::KillSupervisorGuarded
            | Strike::KillBothGuarded => 6,
            Strike::TermSupervisor | Strike::TermAll | Strike::TermAgent => 4,
            // Each takes five seconds.
            Strike::StopSupervisor | Strike::StopAgent => 2,
            Strike::FullDisk | Strike::ShortWrite => 6,
        }
    }

    /// Returns how many turns may be requested again: one if the agent ends, and another one if its command
    /// is stopped before the agent sees its own signal. If its supervisor freezes before it sends the prompt, the agent is stopped as
    /// silent.
    pub fn wasted_max(self) -> u64 {
        match self {
            Strike::KillSupervisor | Strike::KillSupervisorGuarded => 0,
            Strike::KillAgent
            | Strike::KillBoth
            | Strike::KillBothGuarded
            | Strike::TermSupervisor
            | Strike::TermAgent
            | Strike::StopSupervisor
            | Strike::StopAgent
            | Strike::FullDisk
            | Strike::ShortWrite => 1,
            Strike::TermAll => 2,
        }
    }

    pub fn is_guarded(self) -> bool {
        matches!(self, Strike::KillSupervisorGuarded | Strike::KillBothGuarded)
    }

    /// Returns whether the system asks the supervisor to stop.
    pub fn is_shutdown(self) -> bool {
        matches!(self, Strike::TermSupervisor | Strike::TermAll)
    }

    pub fn is_disk_fault(self) -> bool {
        matches!(self, Strike::FullDisk | Strike::ShortWrite)
    }

    pub fn is_freeze(self) -> bool {
        matches!(self, Strike::StopSupervisor | Strike::StopAgent)
    }
}
