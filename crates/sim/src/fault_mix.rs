//! The fault mix of a world, as numbers: which faults, how often, how long. A mix never contains state.
//!
//! Each seed of a swarm draws a mix, and a fault profile is converted to one.

use longhaul_core::{Fault, Usd};

/// An inclusive range from `min` to `max`. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interval {
    pub min: u64,
    pub max: u64,
}

impl Interval {
    pub(crate) const fn new(min: u64, max: u64) -> Interval {
        Interval { min, max }
    }
}

/// Number of faults: the length of tables by fault.
pub(crate) const FAULTS: usize = Fault::ALL.len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// The process starts.
    Spawn,
    /// The agent sends a request to its API.
    Request,
    /// The agent runs a tool.
    Tool,
    /// The agent gives its last answer.
    Answer,
}

impl FaultPoint {
    pub(crate) fn new(fault: Fault) -> FaultPoint {
        match fault {
            Fault::AgentMissing
            | Fault::AgentUnusable
            | Fault::SessionLost
            | Fault::SessionExists
            | Fault::SessionBusy => FaultPoint::Spawn,
            Fault::RateLimited
            | Fault::Overloaded
            | Fault::ServerError
            | Fault::Network
            | Fault::UsageLimit
            | Fault::Crashed
            | Fault::Interrupted
            | Fault::OutOfMemory
            | Fault::Stalled
            | Fault::ContextFull
            | Fault::OutputLimit
            | Fault::InvalidResult
            | Fault::Auth
            | Fault::Billing
            | Fault::ModelUnknown
            | Fault::Refused
            | Fault::BadRequest
            | Fault::TurnLimit
            | Fault::AgentBudget
            | Fault::Unknown => FaultPoint::Request,
            Fault::AttemptTimeout | Fault::GuardLapsed => FaultPoint::Tool,
            Fault::Unfinished | Fault::Permission => FaultPoint::Answer,
        }
    }
}

/// The faults of a world, with their frequencies and durations. All chances are per million.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultMix {
    /// The chance of each fault at each occurrence of its point.
    odds: [u32; FAULTS],
    /// Number of faults after which no further fault strikes, so that every run of a bounded world must
    /// finish.
    pub faults_max: u32,
    /// Number of failed requests after which the API never fails again, even during an outage.
    pub failed_requests_max: u64,
    /// Tool calls that the work needs.
    pub work: Interval,
    /// Time from the spawn to the opening of the session.
    pub boot: Interval,
    /// Time from a request to its response.
    pub think: Interval,
    pub tool: Interval,
    /// Duration of a tool call that takes far too long (`attempt_timeout` among the faults).
    pub slow_tool: Interval,
    pub outage: Interval,
    /// Time from a usage limit to its reset.
    pub reset: Interval,
    /// Duration of a silence.
    pub hang: Interval,
    pub shell_duration: Interval,
    /// Time from the death of a supervisor to the start of the next one.
    pub supervisor_downtime: Interval,
    /// Time from the start of the run to a cancel or a sleep.
    pub event_delay: Interval,
    pub request_cost: Usd,
    /// Chance that a usage limit names its reset.
    pub reset_named: u32,
    /// Chance that a network fault is the response of a captive portal.
    pub portal: u32,
    /// Chance that the refusals of an outage contain a hint.
    pub hint: u32,
    /// Chance that an answer leaves a background shell.
    pub leaves_shell: u32,
    /// Chance that the end of such a shell starts another exchange.
    pub shell_starts_exchange: u32,
    /// Chance that an agent never reports that it is idle.
    pub never_idle: u32,
    pub exits_after_result: u32,
    /// Chance that an agent does not exit when its input closes.
    pub lingers: u32,
    /// Chance that an agent ignores an interrupt and SIGTERM.
    pub ignores_stops: u32,
    pub unkillable: u32,
    /// Chance that the process of an agent freezes while its tool runs.
    pub frozen: u32,
    pub exceeds_memory: u32,
    /// Chance that a silent agent has a busy child process.
    pub busy_child: u32,
    /// Chance that a hanging agent still sends output.
    pub no_progress: u32,
    /// Chances that a session file was moved, was damaged or lost its end since its last use.
    pub moved: u32,
    pub damaged: u32,
    pub stale: u32,
    /// Chance that only the agent can read the session file.
    pub hidden: u32,
    /// Chance that no copy of the session file can be written.
    pub unwritable: u32,
    /// Chance that an agent starts over instead of resuming.
    pub starts_over: u32,
    /// Chance that an agent opens another session than requested.
    pub wrong_session: u32,
    /// Chance that the user resumes a finished run.
    pub reopen: u32,
    /// Chance that a spawn lacks resources.
    pub no_resources: u32,
    pub summary_fails: u32,
    pub summary_hangs: u32,
    pub check_fails: u32,
    pub check_hangs: u32,
    /// Chances that a reviewer gives no verdict, hangs, and finds something missing.
    pub review_fails: u32,
    pub review_hangs: u32,
    pub review_finds: u32,
    /// Chance that an agent in a run with keep-going stops while work remains.
    pub stops_early: u32,
    /// Chances that such an agent claims to be done when no work remains, and while work remains.
    pub claims: u32,
    pub claims_early: u32,
    /// Chance that such an agent finds more work when prompted to continue.
    pub finds_work: u32,
    /// Chance that the supervisor is killed at a step.
    pub kill: u32,
    pub input_closes_with_supervisor: u32,
    pub cancel: u32,
    /// Chance that the machine sleeps once during the run.
    pub sleep: u32,
}

impl FaultMix {
    pub(crate) fn calm() -> FaultMix {
        FaultMix {
            faults_max: u32::MAX,
            failed_requests_max: u64::MAX,
            work: Interval::new(1, 8),
            // Measured on an idle machine: 0.45 s to the first event.
            boot: Interval::new(300, 900),
            think: Interval::new(500, 20_000),
            tool: Interval::new(10, 30_000),
            slow_tool: Interval::new(600_000, 14_400_000),
            outage: Interval::new(1_000, 600_000),
            reset: Interval::new(1_000, 18_000_000),
            hang: Interval::new(1_000_000, 86_400_000),
            shell_duration: Interval::new(100, 3_600_000),
            supervisor_downtime: Interval::new(1, 7_200_000),
            event_delay: Interval::new(1, 3_600_000),
            request_cost: Usd(6_600),
            reset_named: 900_000,
            claims: 1_000_000,
            ..FaultMix::default()
        }
    }

    pub(crate) fn set_odds(&mut self, fault: Fault, per_million: u32) {
        self.odds[fault as usize] = per_million;
    }

    /// Returns the fault that strikes at this occurrence of `point`, if any. `roll` is below a million.
    pub(crate) fn fault_at(&self, point: FaultPoint, roll: u32) -> Option<Fault> {
        let mut below = 0;
        Fault::ALL.iter().copied().filter(|fault| FaultPoint::new(*fault) == point).find(|fault| {
            below += self.odds[*fault as usize];
            roll < below
        })
    }

    /// Returns the chance of `fault`, per million.
    pub(crate) fn fault_odds(&self, fault: Fault) -> u32 {
        self.odds[fault as usize]
    }
}
