//! One process of an agent CLI, as a model: what it is doing, what its files say so far, and what
//! is true of it. What it does next is in `acts.rs`.

use longhaul_core::{
    AgentResult, AttemptPlan, Evidence, Exit, Fault, Moment, ProcessId, RateLimit, SessionId, Span,
    StartupError, StopLevel,
};

/// Never, as a moment.
pub(crate) const NEVER: Moment = Moment(u64::MAX);

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It starts up; then its session is open.
    Boot,
    /// A turn begins.
    Ask,
    /// A request is under way; halfway there is a sign of life.
    Think,
    /// The API answers.
    Answer,
    /// The answer is there: it is for a tool, or it is the last one.
    Act,
    /// A tool is to run, and nobody is there to let it.
    Wait,
    /// A tool runs, and what the answer used that asks for it is told.
    Tell,
    /// A tool runs.
    Tool,
    /// The turn ends with the result in `closing`.
    Finish,
    /// It says that no turn is owed.
    Settle,
    /// No turn is owed; a background shell may run.
    Rest,
    /// The end of a background shell starts a turn.
    Wake,
    /// It exits by itself.
    Leave,
    /// It is silent until something ends it.
    Hang,
    /// It goes on saying things and finishes nothing, until something ends it.
    NoProgress,
}

/// The least stop that an agent heeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RespondsTo {
    /// Any stop from this level on.
    From(StopLevel),
    /// None: a process in the kernel's hands.
    Nothing,
}

impl RespondsTo {
    pub(crate) fn obeys(self, level: StopLevel) -> bool {
        match self {
            RespondsTo::From(least) => level >= least,
            RespondsTo::Nothing => false,
        }
    }
}

/// One process.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) process: ProcessId,
    pub(crate) plan: AttemptPlan,
    pub(crate) stage: Stage,
    /// When the stage is over.
    pub(crate) at: Moment,
    /// How it refuses to start.
    pub(crate) refusal: Option<(StartupError, Fault)>,
    /// What kills it from outside, and when.
    pub(crate) death: Option<Fault>,
    pub(crate) death_at: Moment,
    /// The stop that is under way, and when it takes effect.
    pub(crate) stop: StopLevel,
    pub(crate) stop_at: Moment,
    pub(crate) obeys: RespondsTo,
    /// What its files say so far.
    pub(crate) evidence: Evidence,
    /// What its last result truly means.
    pub(crate) meaning: Option<Fault>,
    /// The result that its present turn ends with, and what that means.
    pub(crate) closing: (AgentResult, Option<Fault>),
    pub(crate) tool_open: bool,
    /// When the tool call that was begun last is over.
    pub(crate) tool_until: Moment,
    /// Whether nobody knows yet what its last answer used.
    pub(crate) unprompted: bool,
    pub(crate) turn_open: bool,
    pub(crate) shells: u32,
    pub(crate) shells_until: Moment,
    /// Inner retries of the present request.
    pub(crate) inner: u32,
    pub(crate) input_ended: bool,
    /// Whether a line of ours waits to be read.
    pub(crate) prompted: bool,
    /// Tool calls that are left for saving the work, if that is what it does.
    pub(crate) saving: Option<u32>,
    pub(crate) mute: bool,
    pub(crate) brief: bool,
    pub(crate) lingers: bool,
    /// Whether it has a child that works while it is silent, once somebody has looked.
    pub(crate) works: Option<bool>,
    /// How often it says something that means nothing, and until when.
    pub(crate) babble: (Span, Moment),
    /// Whether its process was stopped.
    pub(crate) frozen: bool,
    /// It begins anew where it should go on, and says nothing of it.
    pub(crate) forgets: bool,
    /// It opens another session than it was told.
    pub(crate) strays: bool,
}

impl Agent {
    pub(crate) fn new(process: ProcessId, plan: AttemptPlan, boot_until: Moment) -> Agent {
        Agent {
            process,
            plan,
            stage: Stage::Boot,
            at: boot_until,
            refusal: None,
            death: None,
            death_at: NEVER,
            stop: StopLevel::Interrupt,
            stop_at: NEVER,
            obeys: RespondsTo::From(StopLevel::Interrupt),
            evidence: Evidence::of_exit(Exit::Unobserved),
            meaning: None,
            closing: (AgentResult::COMPLETED, None),
            tool_open: false,
            tool_until: NEVER,
            unprompted: false,
            turn_open: false,
            shells: 0,
            shells_until: NEVER,
            inner: 0,
            input_ended: false,
            prompted: false,
            saving: None,
            mute: false,
            brief: false,
            lingers: false,
            works: None,
            babble: (Span::ZERO, NEVER),
            frozen: false,
            forgets: false,
            strays: false,
        }
    }

    /// The session that it writes to.
    pub(crate) fn session(&self) -> &SessionId {
        self.plan.session.id()
    }

    pub(crate) fn next_at(&self) -> Moment {
        self.at.min(self.death_at).min(self.stop_at)
    }

    pub(crate) fn go(&mut self, stage: Stage, at: Moment) {
        (self.stage, self.at) = (stage, at);
    }

    /// A line of ours comes: it begins a turn, or reads it when it is idle.
    pub(crate) fn hears(&mut self, soon: Moment) {
        if self.stage == Stage::Rest {
            self.go(Stage::Ask, soon);
        } else {
            self.prompted = true;
        }
    }

    /// Why it ended, if it ends now from `cause`: its last result decides unless a turn was open.
    pub(crate) fn truth(&self, cause: Fault) -> Option<Fault> {
        match self.evidence.result {
            _ if self.evidence.guard_lapsed => Some(Fault::GuardLapsed),
            // What was done in another conversation is not this run's work.
            _ if self.strayed() || self.forgets => Some(Fault::SessionLost),
            Some(_) if !self.evidence.exchange_open => self.meaning,
            Some(_) | None => Some(cause),
        }
    }

    /// Whether it opened another session than it was told.
    pub(crate) fn strayed(&self) -> bool {
        self.strays && self.evidence.session.is_some()
    }

    /// What it said last of the account's usage window.
    pub(crate) fn stated_limit(&self) -> Option<RateLimit> {
        self.evidence.rate_limit
    }
}
