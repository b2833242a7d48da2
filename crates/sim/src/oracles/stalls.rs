//! Whether a working agent is left alone and a hanging one is not: judged from what the agent said
//! and when, by an own account of it.

use super::keep_going::{is_good, kept};
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AgentResult, Event, Moment, Notice, Policy, ProcessActivity, ProcessState, Record, SessionId, Span,
    StopCause,
};

// Whoever is sent to look has so long.
const LOOK: Span = Span::from_secs(30);
// Nothing excuses a silence of so many times its limit.
const EXCUSED_TIMES: u64 = 9;

/// What the present process has said.
#[derive(Clone, Debug, Default)]
pub(crate) struct StallWatch {
    live: bool,
    closing_since: Option<Moment>,
    stopping: bool,
    started_at: Moment,
    heard_at: Moment,
    /// When a message or a tool call was finished last.
    finished_at: Moment,
    /// Until when its silence is excused.
    deferred_until: Moment,
    /// What was seen of its processes, and when.
    processes: Option<(Moment, ProcessActivity)>,
    /// When a new supervisor began to read the stream anew.
    recovered_at: Moment,
    halted: bool,
    swollen: bool,
    /// It took more memory than it may while nobody was stopping it.
    is_too_large: bool,
    /// When it was seen to stand still; before, its tool might have been waited for.
    halted_at: Moment,
    tools: u32,
    shells: u32,
    settled_at: Option<Moment>,
    /// Its last result, and whether it claimed to be done since its turn began.
    result: Option<AgentResult>,
    claimed: bool,
    /// Whether it was prompted while its shells run, and whether the run is about to end.
    asked: bool,
    ends: bool,
    /// Turns that have ended since the stream was read from its beginning, and how many had when something was said.
    turns: u32,
    turns_before: u32,
    idle: bool,
    rejections: u32,
    rejection: u32,
    /// The session that the attempt was to open, and whether it opened another.
    ordered: Option<SessionId>,
    other_session: bool,
}

impl StallWatch {
    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, now: Moment, event: &Event, policy: &Policy) -> OracleResult {
        match event {
            // The supervisor looks by itself before it decides anything else.
            Event::Noticed(Notice::WorkspaceFingerprinted(_)) => {}
            Event::Noticed(notice) => {
                self.overdue(now, policy)?;
                self.note(now, notice);
            }
            Event::Recovered { .. } => self.begin_listening(now),
            // What a sleep means is told by its record, which a kill may take with it.
            Event::Downtime(_) | Event::Ticked => {}
            Event::ProcessesProbed(signs) => {
                self.overdue(now, policy)?;
                self.processes = signs.map(|signs| (now, signs));
            }
            Event::Started(_)
            | Event::Reopened(..)
            | Event::SessionInspected(_)
            | Event::SummaryEnded(_)
            | Event::CheckEnded(_)
            | Event::Spawned(_)
            | Event::SpawnFailed(_)
            | Event::Exited(_)
            | Event::Swept(_)
            | Event::Cancelled(_) => self.overdue(now, policy)?,
        }
        Ok(())
    }

    fn begin_listening(&mut self, now: Moment) {
        let StallWatch {
            live,
            closing_since,
            stopping,
            started_at: began,
            deferred_until: excused_until,
            turns_before,
            ends,
            ..
        } = *self;
        *self = StallWatch {
            ordered: self.ordered.take(),
            live,
            closing_since,
            stopping,
            started_at: began,
            heard_at: now,
            finished_at: now,
            deferred_until: excused_until,
            turns_before,
            ends,
            recovered_at: now,
            ..StallWatch::default()
        };
    }

    fn sleep(&mut self, span: Span) {
        self.started_at = self.started_at + span;
        self.heard_at = self.heard_at + span;
        self.finished_at = self.finished_at + span;
        self.deferred_until = self.deferred_until + span;
        self.settled_at = self.settled_at.map(|at| at + span);
        self.closing_since = self.closing_since.map(|at| at + span);
    }

    fn note(&mut self, now: Moment, notice: &Notice) {
        if *notice == Notice::MemoryExceeded {
            self.swollen = true;
            self.is_too_large |= self.live && !self.stopping;
            return;
        }
        self.halted = *notice == Notice::ProcessFrozen;
        if self.halted {
            self.halted_at = now;
            return;
        }
        self.heard_at = self.heard_at.max(now);
        // A tool that begins tells that the message is there which asks for it.
        if !matches!(
            notice,
            Notice::Activity
                | Notice::Idle
                | Notice::WorkspaceFingerprinted(_)
                | Notice::Retrying { .. }
                | Notice::RateLimitChanged(_)
        ) {
            self.finished_at = now;
        }
        match notice {
            Notice::SessionOpened(session) => {
                self.other_session |= self.ordered.as_ref().is_some_and(|ordered| ordered != session);
            }
            Notice::ExchangeStarted => (self.settled_at, self.idle, self.claimed) = (None, false, false),
            Notice::ClaimedDone => self.claimed = true,
            Notice::ToolStarted => {
                (self.settled_at, self.idle) = (None, false);
                self.tools += 1;
            }
            Notice::ToolEnded => self.tools = self.tools.saturating_sub(1),
            Notice::WorkspaceFingerprinted(_) => {}
            Notice::ExchangeEnded(result) => {
                (self.settled_at, self.tools, self.result) = (Some(now), 0, Some(*result));
                self.turns += 1;
            }
            Notice::Idle => self.idle = true,
            Notice::BackgroundChanged(shells) => {
                self.shells = *shells;
                self.asked &= *shells > 0;
                self.idle = false;
            }
            Notice::Retrying { attempt, status, delay } => {
                self.heard_at = self.heard_at.max(now + *delay);
                if *status == Some(401) && *attempt != self.rejection {
                    self.rejection = *attempt;
                    self.rejections += 1;
                }
            }
            Notice::Activity
            | Notice::UsageUpdated(_)
            | Notice::RateLimitChanged(_)
            | Notice::MessageEnded
            | Notice::MemoryExceeded
            | Notice::ProcessFrozen => {}
        }
    }

    /// Something that should have been decided before now was not.
    fn overdue(&self, now: Moment, policy: &Policy) -> OracleResult {
        // What is told again is told before anything can be decided.
        if !self.live || self.stopping || now == self.recovered_at {
            return Ok(());
        }
        ensure(!self.is_too_large, Oracle::Patience, || {
            format!("more memory than it may have, and left alone: {self:?}")
        })?;
        let silent = self.settled_at.is_none() && (self.tools == 0 || self.halted);
        let due = |stall| (self.heard_at + stall).max(self.deferred_until).max(self.halted_at) + LOOK;
        let hangs = policy.stall_timeout.is_some_and(|stall| now > due(stall));
        ensure(!silent || !hangs, Oracle::Patience, || {
            format!("silent for {} and left alone", now.since(self.heard_at))
        })?;
        let circles = policy.progress_timeout.is_some_and(|limit| now > self.finished_at + limit);
        ensure(!silent || self.tools > 0 || !circles, Oracle::Patience, || {
            format!("nothing finished for {}, and left alone", now.since(self.finished_at))
        })?;
        let lingers = match (self.settled_at, self.closing_since) {
            (Some(at), None) if self.shells > 0 => {
                now > at + policy.background_wait && !(self.asked && self.waits(policy))
            }
            (Some(_), None) => now > self.heard_at + policy.exit_timeout,
            (Some(at), Some(since)) => now > at.max(since).max(self.heard_at) + policy.exit_timeout,
            (None, _) => false,
        };
        ensure(!lingers, Oracle::Patience, || "its work is over, and it is left running".to_owned())?;
        let late = policy.attempt_timeout.is_some_and(|timeout| now > self.started_at + timeout);
        ensure(!late || self.closing_since.is_some(), Oracle::Patience, || {
            "the attempt outlives its timeout".to_owned()
        })?;
        ensure(self.rejections < 2, Oracle::Patience, || "rejected twice and left to try on".to_owned())
    }

    /// Whether its shells are waited for until a limit.
    fn waits(&self, policy: &Policy) -> bool {
        let good = self.result.is_some_and(|result| is_good(policy, &result));
        let may = good && !self.claimed && !self.ends;
        may && kept(policy).is_some() && self.shells > 0
    }

    /// Takes in a record: a stop needs its reason.
    pub(crate) fn take(&mut self, record: &Record, policy: &Policy) -> OracleResult {
        match record {
            Record::AttemptStarted { at, plan } => {
                let ordered = Some(plan.session.id().clone());
                let ends = self.ends;
                let since =
                    StallWatch { started_at: *at, heard_at: *at, finished_at: *at, ..StallWatch::default() };
                *self = StallWatch { ordered, ends, ..since };
            }
            Record::AttemptSpawned { at, .. } => {
                self.live = true;
                (self.started_at, self.heard_at, self.finished_at) = (*at, *at, *at);
            }
            Record::StallDeferred { at, until, .. } => {
                self.may_excuse(*at, *until, policy)?;
                self.deferred_until = *until;
            }
            Record::InputClosed { at } => {
                self.may_end_input(*at, policy)?;
                if !self.stopping {
                    self.closing_since = Some(*at);
                }
            }
            Record::StopOrdered { at, cause: why, .. } => {
                if !self.stopping {
                    self.may_stop(*at, *why, policy)?;
                }
                self.stopping = true;
            }
            Record::PromptSent { at, .. } => {
                (self.stopping, self.turns_before, self.asked) = (false, self.turns, self.shells > 0);
                (self.settled_at, self.idle, self.claimed) = (None, false, false);
                (self.rejections, self.rejection) = (0, 0);
                self.heard_at = self.heard_at.max(*at);
                self.finished_at = self.finished_at.max(*at);
            }
            Record::AttemptEnded { .. } => self.live = false,
            Record::AgentStopped { at, claimed_done: claimed, background, .. } => {
                let due = self.settled_at.is_some_and(|settled| *at >= settled + policy.background_wait);
                ensure(*background == 0 || *claimed || due && !self.asked, Oracle::Patience, || {
                    format!("asked about its shells, and it was not time: {self:?}")
                })?;
            }
            Record::LimitReached { .. } | Record::CancelRequested { .. } => self.ends = true,
            Record::RunReopened { .. } => self.ends = false,
            Record::Downtime { duration: span } => self.sleep(*span),
            Record::RunStarted { .. }
            | Record::Recovered { .. }
            | Record::ResumeStrategyChosen { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::SummaryEnded { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::CheckEnded { .. }
            | Record::Swept { .. }
            | Record::SuspendOrdered { .. }
            | Record::Suspended { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    fn may_end_input(&self, at: Moment, policy: &Policy) -> OracleResult {
        let over = self.settled_at.is_some() && self.shells == 0;
        let answered = self.turns > self.turns_before;
        let quiet = self.idle && answered || at >= self.heard_at + policy.exit_timeout;
        ensure(self.stopping || over && quiet, Oracle::Patience, || {
            format!("its input ends while it works: {self:?}")
        })
    }

    /// Whether something was seen just now that excuses a silence, and the silence is not too long for that.
    fn is_excusable(&self, at: Moment, stall: Span) -> bool {
        let works = self.processes.is_some_and(|(seen_at, signs)| {
            seen_at == at && signs.busy_children > 0 && signs.agent != ProcessState::Frozen
        });
        works && !self.halted && at < self.longest(stall)
    }

    fn longest(&self, stall: Span) -> Moment {
        self.heard_at + Span(stall.0.saturating_mul(EXCUSED_TIMES))
    }

    fn may_excuse(&self, at: Moment, until: Moment, policy: &Policy) -> OracleResult {
        let stall = policy.stall_timeout.unwrap_or_default();
        let due = at >= (self.heard_at + stall).max(self.deferred_until)
            && at < until
            && until <= self.longest(stall).min(at + stall);
        ensure(due && self.is_excusable(at, stall), Oracle::Patience, || {
            format!("excused until {until:?} without a reason: {self:?}")
        })
    }

    fn may_stop(&self, at: Moment, why: StopCause, policy: &Policy) -> OracleResult {
        let silence = at.since(self.heard_at);
        let may = match why {
            StopCause::Stalled => {
                let hangs =
                    |stall| silence >= stall && at >= self.deferred_until && !self.is_excusable(at, stall);
                (self.tools == 0 || self.halted)
                    && self.settled_at.is_none()
                    && policy.stall_timeout.is_some_and(hangs)
            }
            StopCause::NoProgress => {
                self.tools == 0
                    && self.settled_at.is_none()
                    && policy.progress_timeout.is_some_and(|limit| at >= self.finished_at + limit)
            }
            StopCause::TimedOut => {
                policy.attempt_timeout.is_some_and(|timeout| at >= self.started_at + timeout)
            }
            StopCause::AuthRejected => self.rejections >= 2,
            StopCause::MemoryLimit => self.swollen,
            // Those who count say whether it was time.
            StopCause::WrapUp | StopCause::LimitReached => self.settled_at.is_none(),
            StopCause::WrongSession => self.other_session,
            StopCause::DidNotExit => self.outlasts_its_input(at, policy) && self.shells == 0,
            StopCause::BackgroundStopped => {
                let over = self.settled_at.is_some_and(|settled| at >= settled + policy.background_wait);
                // Those who count say whether a limit ends it sooner.
                let limited = self.settled_at.is_some() && policy.limits.can_end_run();
                // One that did not hear its last prompt cannot be asked.
                let deaf = self.turns <= self.turns_before;
                let due = limited || over && (deaf || !self.waits(policy));
                let due = due || self.outlasts_its_input(at, policy);
                self.shells > 0 && due
            }
            // Who asked for it is the business of another oracle.
            StopCause::Cancelled | StopCause::Suspended => true,
        };
        ensure(may, Oracle::Patience, || format!("stopped as {why:?} without the reason: {self:?}"))
    }

    fn outlasts_its_input(&self, at: Moment, policy: &Policy) -> bool {
        self.settled_at.is_some() && self.closing_since.is_some_and(|since| at >= since + policy.exit_timeout)
    }
}
