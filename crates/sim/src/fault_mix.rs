//! What a world does to a run, as numbers: which faults, how often, how long. Swarm seeds draw one,
//! a user's fault profile is turned into one. It never holds state.

use longhaul_core::{Fault, Usd};

/// From `least` to `most`, both included. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Interval {
    pub(crate) const fn new(least: u64, most: u64) -> Interval {
        Interval { least, most }
    }
}

/// How many faults there are: the length of tables over them.
pub(crate) const FAULTS: usize = Fault::ALL.len();

/// Where in an attempt's life a fault strikes by its nature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// When the process is started, or in its first moments.
    Spawn,
    /// When the agent asks its API.
    Request,
    /// When the agent runs a tool.
    Tool,
    /// When the agent gives its last answer.
    Answer,
}

impl FaultPoint {
    const ALL: [FaultPoint; 4] =
        [FaultPoint::Spawn, FaultPoint::Request, FaultPoint::Tool, FaultPoint::Answer];

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

/// What a world does to a run.
#[derive(Clone, Debug)]
pub(crate) struct FaultMix {
    /// The chance of each fault at each occurrence of its point, per million.
    odds: [u32; FAULTS],
    /// The chance of any fault at each point, per million: one draw decides the common case.
    any: [u32; FaultPoint::ALL.len()],
    /// After so many faults the world is healed: every run of a bounded world must end.
    pub(crate) faults_max: u32,
    /// After so many failed requests the API serves for good, whatever the length of its walls.
    pub(crate) failed_requests_max: u64,
    /// Tool calls that the work needs.
    pub(crate) work: Interval,
    /// From the spawn to the session's opening.
    pub(crate) boot: Interval,
    /// From a request to its answer.
    pub(crate) think: Interval,
    /// One tool call.
    pub(crate) tool: Interval,
    /// A tool call that takes far too long (`attempt_timeout` among the faults).
    pub(crate) slow_tool: Interval,
    /// How long a server does not serve.
    pub(crate) outage: Interval,
    /// From a usage limit to its reset.
    pub(crate) reset: Interval,
    /// A silence, before something else ends it.
    pub(crate) hang: Interval,
    /// Chances, per million: that a limit names its reset ...
    pub(crate) reset_named: u32,
    /// ... that a network fault is a captive portal's answer ...
    pub(crate) portal: u32,
    /// ... that a wall's refusals carry a hint ...
    pub(crate) hinted: u32,
    /// ... that an answer leaves a background shell ...
    pub(crate) shell: u32,
    /// ... that its end starts another turn ...
    pub(crate) notified: u32,
    /// ... that an agent never says that it is idle ...
    pub(crate) never_idle: u32,
    /// ... that it exits by itself after its result ...
    pub(crate) exits_after_result: u32,
    /// ... that it does not end when its input does ...
    pub(crate) lingers: u32,
    /// ... that it does not heed an interrupt or SIGTERM ...
    pub(crate) ignores_stops: u32,
    /// ... that nothing can end it ...
    pub(crate) unkillable: u32,
    /// ... that its process is stopped while its tool runs ...
    pub(crate) frozen: u32,
    /// ... that its processes take more memory than they may, where that is limited ...
    pub(crate) exceeds_memory: u32,
    /// ... that one that is silent has a child that works ...
    pub(crate) busy_child: u32,
    /// ... that one that hangs goes on saying things ...
    pub(crate) no_progress: u32,
    /// ... that the file of a session was moved, or damaged, since it was used, or lacks its end ...
    pub(crate) moved: u32,
    pub(crate) damaged: u32,
    pub(crate) stale: u32,
    /// ... that nobody but the agent can look at it ...
    pub(crate) hidden: u32,
    /// ... that no copy of it can be written ...
    pub(crate) unwritable: u32,
    /// ... that an agent begins anew where it should go on, or opens another session ...
    pub(crate) starts_over: u32,
    pub(crate) wrong_session: u32,
    /// ... that somebody lets a run go on that is over ...
    pub(crate) reopen: u32,
    /// ... that a spawn finds no resources ...
    pub(crate) no_resources: u32,
    /// ... that a model that condenses older work fails, or hangs ...
    pub(crate) summary_fails: u32,
    pub(crate) summary_hangs: u32,
    /// ... that work is found wanting, or what judges it hangs ...
    pub(crate) check_fails: u32,
    pub(crate) check_hangs: u32,
    /// ... that an agent that is kept going stops while work is left ...
    pub(crate) stops_early: u32,
    /// ... that it says so when its work is finished, and says so while work is left ...
    pub(crate) claims: u32,
    pub(crate) claims_early: u32,
    /// ... that it finds something to do when it is told to go on ...
    pub(crate) finds_work: u32,
    /// ... that the supervisor is killed at a step ...
    pub(crate) kill: u32,
    /// ... that its death ends the agent's input ...
    pub(crate) input_ends_with_supervisor: u32,
    /// ... that somebody cancels the run, and that the machine sleeps once in it.
    pub(crate) cancel: u32,
    pub(crate) sleep: u32,
    /// How long a background shell runs.
    pub(crate) shell_lasts: Interval,
    /// How long the supervisor is down after a kill.
    pub(crate) down: Interval,
    /// When a cancel or a sleep comes, from the start of the run.
    pub(crate) incident: Interval,
    /// What a request costs.
    pub(crate) request_cost: Usd,
}

impl FaultMix {
    /// A world in which nothing fails.
    pub(crate) fn calm() -> FaultMix {
        FaultMix {
            odds: [0; FAULTS],
            any: [0; FaultPoint::ALL.len()],
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
            reset_named: 900_000,
            portal: 0,
            hinted: 0,
            shell: 0,
            notified: 0,
            never_idle: 0,
            exits_after_result: 0,
            lingers: 0,
            ignores_stops: 0,
            unkillable: 0,
            frozen: 0,
            exceeds_memory: 0,
            busy_child: 0,
            no_progress: 0,
            moved: 0,
            damaged: 0,
            stale: 0,
            hidden: 0,
            unwritable: 0,
            starts_over: 0,
            wrong_session: 0,
            reopen: 0,
            no_resources: 0,
            summary_fails: 0,
            summary_hangs: 0,
            check_fails: 0,
            check_hangs: 0,
            stops_early: 0,
            claims: 1_000_000,
            claims_early: 0,
            finds_work: 0,
            kill: 0,
            input_ends_with_supervisor: 0,
            cancel: 0,
            sleep: 0,
            shell_lasts: Interval::new(100, 3_600_000),
            down: Interval::new(1, 7_200_000),
            incident: Interval::new(1, 3_600_000),
            request_cost: Usd(6_600),
        }
    }

    /// The same world with `fault` striking so many times in a million.
    pub(crate) fn strike(&mut self, fault: Fault, per_million: u32) {
        self.odds[fault as usize] = per_million;
        let point = FaultPoint::new(fault);
        let here = Fault::ALL.iter().copied().filter(|fault| FaultPoint::new(*fault) == point);
        self.any[point as usize] = here.map(|fault| self.odds_of(fault)).sum::<u32>().min(1_000_000);
    }

    /// The fault that strikes at this occurrence of `point`, if one does. `roll` is below a million.
    pub(crate) fn struck(&self, point: FaultPoint, roll: u32) -> Option<Fault> {
        if roll >= self.any[point as usize] {
            return None;
        }
        let mut below = 0;
        Fault::ALL.iter().copied().filter(|fault| FaultPoint::new(*fault) == point).find(|fault| {
            below += self.odds[*fault as usize];
            roll < below
        })
    }

    /// The chance of `fault`, per million.
    pub(crate) fn odds_of(&self, fault: Fault) -> u32 {
        self.odds[fault as usize]
    }
}
