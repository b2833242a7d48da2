//! Whether a run is kept going whose agent stops by itself: an own count of its stops, and the rule, written anew from the
//! documentation, of what follows each of them.

use super::clocks::ClockWatch;
use super::limits::LimitWatch;
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AfterAttempt, AgentResult, Event, Evidence, Fault, FoundAttempt, KeepGoing, KeepGoingPrompt,
    LimitThreshold, Moment, Notice, OutcomeKind, Policy, PromptKind, Record, Remedy, StopReason,
    TerminalReason,
};

/// What the present process has said since it was started.
#[derive(Clone, Copy, Debug, Default)]
struct AgentSignals {
    turns: u32,
    settled: Option<AgentResult>,
    claimed: bool,
    workspace: Option<u64>,
    shells: u32,
}

/// The stops of one run, counted anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeepGoingWatch {
    signals: AgentSignals,
    /// So many of its turns were over when it was last told something, or when its last stop was counted.
    answered: u32,
    /// Its stop was counted, and nothing was said to that yet.
    owed: bool,
    /// Somebody ends it.
    stopping: bool,
    stops: u32,
    /// How often in a row it said at a stop that the work is finished.
    claims: u32,
    /// How often in a row nothing had changed since the stop before.
    idle: u32,
    workspace: Option<u64>,
    warned: bool,
    cancelled: bool,
    limited: bool,
    /// The run was told to save its work, or has nothing left to do it with.
    saving: bool,
}

/// What follows a stop.
#[derive(Debug, PartialEq, Eq)]
enum ExpectedNext {
    Finished,
    Idle,
    Prompt(PromptKind),
}

/// What everything that a stop may depend on is read from.
type Sources<'a> = (&'a Policy, &'a ClockWatch, &'a LimitWatch);

impl KeepGoingWatch {
    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, event: &Event) {
        match event {
            Event::Noticed(notice) => self.signals.note(notice),
            Event::Exited(evidence) | Event::Recovered { found: FoundAttempt::Ended(evidence), .. } => {
                self.signals = AgentSignals::new(evidence);
            }
            // It is told again from the beginning.
            Event::Recovered { found: FoundAttempt::Running(_), .. } => {
                self.signals = AgentSignals::default()
            }
            Event::Started(_)
            | Event::Reopened(..)
            | Event::SessionInspected(_)
            | Event::SummaryEnded(_)
            | Event::CheckEnded(_)
            | Event::ProcessesProbed(_)
            | Event::Spawned(_)
            | Event::SpawnFailed(_)
            | Event::Swept(_)
            | Event::Downtime(_)
            | Event::Ticked
            | Event::Cancelled(_) => {}
        }
    }

    /// Takes in a record, before those who count what the run uses do.
    pub(crate) fn take(&mut self, record: &Record, sources: Sources<'_>) -> OracleResult {
        match record {
            Record::RunReopened { .. } => {
                let KeepGoingWatch { stops, workspace, .. } = *self;
                *self = KeepGoingWatch { stops, workspace, ..KeepGoingWatch::default() };
            }
            Record::AttemptStarted { plan, .. } => {
                (self.signals, self.answered) = (AgentSignals::default(), 0);
                (self.owed, self.stopping) = (false, false);
                self.tell(plan.prompt)?;
            }
            Record::AttemptSpawned { .. } => self.signals = AgentSignals::default(),
            Record::AgentStopped {
                claimed_done: claimed,
                workspace_fingerprint: workspace,
                background,
                ..
            } => {
                self.check_stop((*claimed, *workspace, *background), sources)?;
                self.stop(*claimed, *workspace, *background);
            }
            Record::PromptSent { at, prompt: say, .. } => {
                if !matches!(say, PromptKind::WrapUp(_)) {
                    self.check_prompt(*at, *say, sources)?;
                }
                self.tell(*say)?;
                (self.answered, self.owed, self.stopping) = (self.signals.turns, false, false);
            }
            Record::LimitReached { threshold: reach, .. } => {
                (self.limited, self.answered) = (true, self.signals.turns);
                self.saving |= *reach == LimitThreshold::Exhausted;
            }
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::SuspendOrdered { .. } => self.stopping = true,
            Record::StopOrdered { .. } => self.stopping = true,
            Record::InputClosed { at } => self.check_let_go(*at, sources)?,
            Record::AttemptEnded { at, fault, next, .. } => self.check_end(*at, *fault, next, sources)?,
            Record::RunFinished { outcome, .. } if outcome.kind == OutcomeKind::Done => {
                let done = kept(sources.0).is_none() || self.claims >= 2;
                ensure(done, Oracle::KeepsGoing, || format!("done, and it never said so twice: {self:?}"))?;
            }
            Record::RunStarted { .. }
            | Record::ResumeStrategyChosen { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::SummaryEnded { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::StallDeferred { .. }
            | Record::Recovered { .. }
            | Record::Suspended { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::CheckEnded { .. }
            | Record::Downtime { .. }
            | Record::Swept { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    fn stop(&mut self, claimed: bool, workspace: Option<u64>, shells: u32) {
        let unchanged = shells == 0 && workspace.is_some_and(|workspace| self.workspace == Some(workspace));
        self.stops += 1;
        self.claims = if claimed { self.claims + 1 } else { 0 };
        self.idle = if unchanged { self.idle + 1 } else { 0 };
        self.workspace = workspace;
        (self.answered, self.owed) = (self.signals.turns, true);
    }

    /// The agent hears this.
    fn tell(&mut self, say: PromptKind) -> OracleResult {
        self.saving |= matches!(say, PromptKind::WrapUp(_));
        self.warned |= matches!(say, PromptKind::KeepGoing(KeepGoingPrompt { limit_near: true, .. }));
        let pushes = matches!(say, PromptKind::KeepGoing(_) | PromptKind::ConfirmDone);
        ensure(!pushes || !self.limited && !self.cancelled, Oracle::KeepsGoing, || {
            format!("{say:?} is said to one that is to end: {self:?}")
        })?;
        let stop = if let PromptKind::KeepGoing(push) = say { push.stop_number } else { self.stops };
        ensure(stop == self.stops, Oracle::KeepsGoing, || format!("{say:?} after stop {}", self.stops))
    }

    /// What follows the last stop.
    fn right(
        &self,
        keep_going: &KeepGoing,
        at: Moment,
        (policy, clocks, limits): Sources<'_>,
    ) -> ExpectedNext {
        if self.claims >= 2 {
            return ExpectedNext::Finished;
        }
        if self.claims == 1 {
            return ExpectedNext::Prompt(PromptKind::ConfirmDone);
        }
        if self.idle >= keep_going.idle_stops_max {
            return ExpectedNext::Idle;
        }
        let last = !self.warned && limits.is_near(policy, clocks, at);
        let due = keep_going.status_every > 0 && self.stops.is_multiple_of(keep_going.status_every);
        let worked = (due || last).then(|| clocks.active(at));
        let KeepGoing { keep_improving: extended, .. } = *keep_going;
        ExpectedNext::Prompt(PromptKind::KeepGoing(KeepGoingPrompt {
            stop_number: self.stops,
            keep_improving: extended,
            active_time: worked,
            limit_near: last,
        }))
    }

    /// Whether the last stop was the last of all.
    fn is_final(&self, keep_going: &KeepGoing) -> bool {
        self.claims >= 2 || self.claims == 0 && self.idle >= keep_going.idle_stops_max
    }

    fn check_stop(&self, recorded: (bool, Option<u64>, u32), (policy, ..): Sources<'_>) -> OracleResult {
        let right = kept(policy).is_some()
            && self.signals.turns > self.answered
            && self.signals.settled.is_some_and(|result| is_good(policy, &result))
            && !self.saving
            && recorded == (self.signals.claimed, self.signals.workspace, self.signals.shells);
        ensure(right, Oracle::KeepsGoing, || format!("a stop at {recorded:?} that was none: {self:?}"))
    }

    /// It is told this because it stopped.
    fn check_prompt(&self, at: Moment, say: PromptKind, sources: Sources<'_>) -> OracleResult {
        let right = kept(sources.0).map(|keep_going| self.right(&keep_going, at, sources));
        ensure(self.owed && right == Some(ExpectedNext::Prompt(say)), Oracle::KeepsGoing, || {
            format!("it is told {say:?}, and not {right:?}: {self:?}")
        })
    }

    /// Its input ends.
    fn check_let_go(&self, at: Moment, (policy, ..): Sources<'_>) -> OracleResult {
        let Some(keep_going) = kept(policy) else { return Ok(()) };
        let stopped = self.signals.turns > self.answered || self.owed;
        let good = self.signals.settled.is_some_and(|result| is_good(policy, &result));
        let may = !(stopped && good)
            || self.is_final(&keep_going)
            || self.cancelled
            || self.limited
            || self.stopping;
        ensure(may, Oracle::KeepsGoing, || format!("it stopped, and is let go at {at:?}: {self:?}"))
    }

    /// The attempt is over: what follows?
    fn check_end(
        &mut self,
        at: Moment,
        fault: Option<Fault>,
        next: &AfterAttempt,
        sources: Sources<'_>,
    ) -> OracleResult {
        let policy = sources.0;
        let pushed = matches!(next, AfterAttempt::Attempt { remedy: Remedy::KeepGoing, .. });
        let good = fault.is_none() || fault == Some(Fault::Permission) && policy.allow_denials;
        let Some(keep_going) = kept(policy).filter(|_| good && !self.saving) else {
            return ensure(!pushed, Oracle::KeepsGoing, || format!("kept going with {next:?}: {self:?}"));
        };
        ensure(self.signals.turns <= self.answered, Oracle::KeepsGoing, || {
            format!("its last stop was not counted: {self:?}")
        })?;
        let right = self.right(&keep_going, at, sources);
        let follows = match next {
            AfterAttempt::Finish(outcome) => match outcome.kind {
                OutcomeKind::Done => right == ExpectedNext::Finished,
                OutcomeKind::Cancelled => {
                    self.cancelled && (right != ExpectedNext::Finished || fault.is_some())
                }
                OutcomeKind::Failed if outcome.limit.is_some() => matches!(right, ExpectedNext::Prompt(_)),
                OutcomeKind::Failed => {
                    right == ExpectedNext::Idle && outcome.fault == Some(Fault::Unfinished)
                }
                // Those who count say whether it is reached.
                OutcomeKind::OverBudget | OutcomeKind::OutOfTime => {
                    outcome.limit.is_some() && matches!(right, ExpectedNext::Prompt(_)) && !self.cancelled
                }
                OutcomeKind::NeedsPerson
                | OutcomeKind::CheckFailed
                | OutcomeKind::NotStarted
                | OutcomeKind::Incomplete
                | OutcomeKind::Bug
                | OutcomeKind::RetryLater
                | OutcomeKind::Suspended => false,
            },
            AfterAttempt::Attempt { at: then, plan, .. } => {
                let saves = self.limited && matches!(plan.prompt, PromptKind::WrapUp(_));
                let told = saves && matches!(right, ExpectedNext::Prompt(_))
                    || right == ExpectedNext::Prompt(plan.prompt);
                pushed && told && *then == at && !self.cancelled
            }
            AfterAttempt::Check => false,
        };
        ensure(follows, Oracle::KeepsGoing, || {
            format!("{next:?} follows a stop, and not {right:?}: {self:?}")
        })
    }
}

impl AgentSignals {
    fn new(evidence: &Evidence) -> AgentSignals {
        AgentSignals {
            turns: evidence.results,
            settled: evidence.result.filter(|_| !evidence.exchange_open),
            claimed: evidence.claimed_done,
            workspace: evidence.workspace_fingerprint,
            shells: 0,
        }
    }

    fn note(&mut self, notice: &Notice) {
        match notice {
            Notice::ExchangeStarted => (self.settled, self.claimed, self.workspace) = (None, false, None),
            Notice::ToolStarted => (self.settled, self.workspace) = (None, None),
            Notice::ClaimedDone => self.claimed = true,
            Notice::ExchangeEnded(result) => (self.turns, self.settled) = (self.turns + 1, Some(*result)),
            Notice::WorkspaceFingerprinted(workspace) => self.workspace = Some(*workspace),
            Notice::BackgroundChanged(shells) => self.shells = *shells,
            Notice::SessionOpened(_)
            | Notice::Activity
            | Notice::MessageEnded
            | Notice::ToolEnded
            | Notice::UsageUpdated(_)
            | Notice::Idle
            | Notice::Retrying { .. }
            | Notice::RateLimitChanged(_)
            | Notice::ProcessFrozen
            | Notice::MemoryExceeded => {}
        }
    }
}

/// How the run is kept going: one whose work is judged is kept going by that.
pub(super) fn kept(policy: &Policy) -> Option<KeepGoing> {
    if policy.check.is_some() { None } else { policy.keep_going }
}

/// Whether a turn with this result ended because the agent thought that it was time.
pub(super) fn is_good(policy: &Policy, result: &AgentResult) -> bool {
    let AgentResult {
        is_error, terminal_reason: ending, stop_reason, empty, denials, stop_hook_capped, ..
    } = *result;
    let ended = !is_error && ending == TerminalReason::Completed && stop_reason == StopReason::EndTurn;
    ended && !empty && !stop_hook_capped && (denials == 0 || policy.allow_denials)
}
