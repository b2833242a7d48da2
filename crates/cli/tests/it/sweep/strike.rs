//! What strikes, and how the binary under test is told to let it.

/// What goes wrong at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    KillSupervisor,
    KillAgent,
    KillBoth,
    /// The same, of a run whose agent asks before each tool.
    KillSupervisorGuarded,
    KillBothGuarded,
    TermSupervisor,
    /// SIGTERM to every process of the run at once, as a service manager sends it.
    TermAll,
    TermAgent,
    StopSupervisor,
    StopAgent,
    /// The disk is full from a call of the store on, until the supervisor has ended.
    FullDisk,
    /// One call of the store finds room for half of it.
    ShortWrite,
}

impl Strike {
    /// For people.
    pub fn words(self) -> &'static str {
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
            Strike::FullDisk => "no room from a store call on",
            Strike::ShortWrite => "half a write in a store call",
        }
    }

    /// The variable that orders it at a point, and its value.
    pub fn order(self, point: u64) -> (&'static str, String) {
        let (name, what) = match self {
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
        (name, format!("{what}@{point}"))
    }

    /// The variable that names the file in which the points are counted.
    pub fn log(self) -> &'static str {
        if self.is_of_the_disk() { "LONGHAUL_STORE_LOG" } else { "LONGHAUL_FAILPOINT_LOG" }
    }

    /// How many points a plain test takes.
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

    /// How many turns may be asked for again: one, where an agent ended. An agent whose supervisor stands still before it
    /// has said what is to be done is silent, and is ended for it.
    pub fn wasted_max(self) -> u64 {
        match self {
            Strike::KillSupervisor | Strike::KillSupervisorGuarded => 0,
            Strike::KillAgent
            | Strike::KillBoth
            | Strike::KillBothGuarded
            | Strike::TermSupervisor
            | Strike::TermAll
            | Strike::TermAgent
            | Strike::StopSupervisor
            | Strike::StopAgent
            | Strike::FullDisk
            | Strike::ShortWrite => 1,
        }
    }

    pub fn is_guarded(self) -> bool {
        matches!(self, Strike::KillSupervisorGuarded | Strike::KillBothGuarded)
    }

    /// Whether the system asks the supervisor to end.
    pub fn is_shutdown(self) -> bool {
        matches!(self, Strike::TermSupervisor | Strike::TermAll)
    }

    pub fn is_of_the_disk(self) -> bool {
        matches!(self, Strike::FullDisk | Strike::ShortWrite)
    }

    pub fn is_stop(self) -> bool {
        matches!(self, Strike::StopSupervisor | Strike::StopAgent)
    }
}
