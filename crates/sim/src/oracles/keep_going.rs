//! Checks that a run continues when its agent stops on its own. The stops are counted independently of the
//! core, and the rule for the next step is restated from the documentation.

use super::clocks::ClockWatch;
use super::limits::LimitWatch;
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AfterAttempt, AgentResult, Event, Evidence, Fault, FoundAttempt, KeepGoing, KeepGoingPrompt,
    LimitThreshold, Moment, Notice, OutcomeKind, Policy, PromptKind, Record, Remedy, StopReason,
    TerminalReason,
};

/// The output of the current process since its start.
#[derive(Clone, Copy, Debug, Default)]
struct AgentSignals {
    results: u32,
    result: Option<AgentResult>,
    claimed_done: bool,
    workspace: Option<u64>,
    shells: u32,
}

/// The stops of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeepGoingWatch {
    signals: AgentSignals,
    /// Number of ended exchanges at the last prompt or the last counted stop.
    results_before: u32,
    /// Whether a stop was counted and no prompt followed yet.
    needs_prompt: bool,
    /// Whether the agent is being stopped.
    stopping: bool,
    stops: u32,
    /// Number of consecutive stops with a done claim.
    done_claims: u32,
    /// Number of consecutive stops without a change since the stop before.
    idle_stops: u32,
    workspace: Option<u64>,
    limit_warning_sent: bool,
    cancelled: bool,
    limited: bool,
    /// Whether the wrap-up was prompted, or a limit is exhausted.
    is_wrapping_up: bool,
}

/// The expected reaction to a stop.
#[derive(Debug, PartialEq, Eq)]
enum ExpectedNext {
    Finished,
    Idle,
    Prompt(PromptKind),
}

/// The inputs of the expected reaction, other than the counts.
#[derive(Clone, Copy)]
pub(crate) struct KeepGoingSources<'a> {
    pub policy: &'a Policy,
    pub clocks: &'a ClockWatch,
    pub limits: &'a LimitWatch,
}

impl KeepGoingWatch {
    /// Receives an event before the run does.
    pub(crate) fn receive(&mut self, event: &Event) {
        match event {
            Event::Noticed(notice) => self.signals.on_notice(notice),
            Event::Exited(evidence) | Event::Recovered { found: FoundAttempt::Ended(evidence), .. } => {
                self.signals = AgentSignals::new(evidence);
            }
            // The new supervisor reads the stream again from its start.
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

    /// Receives a record, before the oracles that count the run's usage.
    pub(crate) fn on_record(&mut self, record: &Record, sources: KeepGoingSources<'_>) -> OracleResult {
        match record {
            Record::RunReopened { .. } => {
                let KeepGoingWatch { stops, workspace, .. } = *self;
                *self = KeepGoingWatch { stops, workspace, ..KeepGoingWatch::default() };
            }
            Record::AttemptStarted { plan, .. } => {
                (self.signals, self.results_before) = (AgentSignals::default(), 0);
                (self.needs_prompt, self.stopping) = (false, false);
                self.on_prompt(plan.prompt)?;
            }
            Record::AttemptSpawned { .. } => self.signals = AgentSignals::default(),
            Record::AgentStopped {
                claimed_done: claimed,
                workspace_fingerprint: workspace,
                background,
                ..
            } => {
                self.check_stop(*claimed, *workspace, *background, sources.policy)?;
                self.on_stop(*claimed, *workspace, *background);
            }
            Record::PromptSent { at, prompt, .. } => {
                if !matches!(prompt, PromptKind::WrapUp(_)) {
                    self.check_prompt(*at, *prompt, sources)?;
                }
                self.on_prompt(*prompt)?;
                (self.results_before, self.needs_prompt, self.stopping) =
                    (self.signals.results, false, false);
            }
            Record::LimitReached { threshold, .. } => {
                (self.limited, self.results_before) = (true, self.signals.results);
                self.is_wrapping_up |= *threshold == LimitThreshold::Exhausted;
            }
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::SuspendOrdered { .. } => self.stopping = true,
            Record::StopOrdered { .. } => self.stopping = true,
            Record::InputClosed { at } => self.check_input_closed(*at, sources.policy)?,
            Record::AttemptEnded { at, fault, next, .. } => self.check_end(*at, *fault, next, sources)?,
            Record::RunFinished { outcome, .. } if outcome.kind == OutcomeKind::Done => {
                let done = active_keep_going(sources.policy).is_none() || self.done_claims >= 2;
                ensure(done, Oracle::KeepsGoing, || {
                    format!("done without two done claims in a row: {self:?}")
                })?;
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

    fn on_stop(&mut self, claimed: bool, workspace: Option<u64>, shells: u32) {
        let unchanged = shells == 0 && workspace.is_some_and(|workspace| self.workspace == Some(workspace));
        self.stops += 1;
        self.done_claims = if claimed { self.done_claims + 1 } else { 0 };
        self.idle_stops = if unchanged { self.idle_stops + 1 } else { 0 };
        self.workspace = workspace;
        (self.results_before, self.needs_prompt) = (self.signals.results, true);
    }

    /// Records a prompt to the agent.
    fn on_prompt(&mut self, prompt: PromptKind) -> OracleResult {
        self.is_wrapping_up |= matches!(prompt, PromptKind::WrapUp(_));
        self.limit_warning_sent |=
            matches!(prompt, PromptKind::KeepGoing(KeepGoingPrompt { limit_near: true, .. }));
        let continues = matches!(prompt, PromptKind::KeepGoing(_) | PromptKind::ConfirmDone);
        ensure(!continues || !self.limited && !self.cancelled, Oracle::KeepsGoing, || {
            format!("{prompt:?} is sent after a cancel or a reached limit: {self:?}")
        })?;
        let stop =
            if let PromptKind::KeepGoing(keep_going) = prompt { keep_going.stop_number } else { self.stops };
        ensure(stop == self.stops, Oracle::KeepsGoing, || format!("{prompt:?} after stop {}", self.stops))
    }

    /// Returns the expected reaction to the last stop.
    fn expected_next(
        &self,
        keep_going: &KeepGoing,
        at: Moment,
        sources: KeepGoingSources<'_>,
    ) -> ExpectedNext {
        let KeepGoingSources { policy, clocks, limits } = sources;
        if self.done_claims >= 2 {
            return ExpectedNext::Finished;
        }
        if self.done_claims == 1 {
            return ExpectedNext::Prompt(PromptKind::ConfirmDone);
        }
        if self.idle_stops >= keep_going.idle_stops_max {
            return ExpectedNext::Idle;
        }
        let near_limit = !self.limit_warning_sent && limits.is_near(policy, clocks, at);
        let status_due = keep_going.status_every > 0 && self.stops.is_multiple_of(keep_going.status_every);
        let active_time = (status_due || near_limit).then(|| clocks.active(at));
        let KeepGoing { keep_improving, .. } = *keep_going;
        ExpectedNext::Prompt(PromptKind::KeepGoing(KeepGoingPrompt {
            stop_number: self.stops,
            keep_improving,
            active_time,
            limit_near: near_limit,
        }))
    }

    /// Returns whether no prompt may follow the last stop.
    fn is_final(&self, keep_going: &KeepGoing) -> bool {
        self.done_claims >= 2 || self.done_claims == 0 && self.idle_stops >= keep_going.idle_stops_max
    }

    fn check_stop(
        &self,
        claimed: bool,
        workspace: Option<u64>,
        shells: u32,
        policy: &Policy,
    ) -> OracleResult {
        let recorded = (claimed, workspace, shells);
        let expected = active_keep_going(policy).is_some()
            && self.signals.results > self.results_before
            && self.signals.result.is_some_and(|result| is_good(policy, &result))
            && !self.is_wrapping_up
            && recorded == (self.signals.claimed_done, self.signals.workspace, self.signals.shells);
        ensure(expected, Oracle::KeepsGoing, || {
            format!("a stop at {recorded:?} is recorded that did not happen: {self:?}")
        })
    }

    /// Checks a prompt that follows a stop.
    fn check_prompt(&self, at: Moment, prompt: PromptKind, sources: KeepGoingSources<'_>) -> OracleResult {
        let expected =
            active_keep_going(sources.policy).map(|keep_going| self.expected_next(keep_going, at, sources));
        ensure(
            self.needs_prompt && expected == Some(ExpectedNext::Prompt(prompt)),
            Oracle::KeepsGoing,
            || format!("{prompt:?} is sent, not {expected:?}: {self:?}"),
        )
    }

    /// Checks that the agent's input may close.
    fn check_input_closed(&self, at: Moment, policy: &Policy) -> OracleResult {
        let Some(keep_going) = active_keep_going(policy) else { return Ok(()) };
        let stopped = self.signals.results > self.results_before || self.needs_prompt;
        let usable = self.signals.result.is_some_and(|result| is_good(policy, &result));
        let allowed = !(stopped && usable)
            || self.is_final(keep_going)
            || self.cancelled
            || self.limited
            || self.stopping;
        ensure(allowed, Oracle::KeepsGoing, || {
            format!("the input of a stopped agent is closed at {at:?}: {self:?}")
        })
    }

    /// Checks the decision at the end of an attempt.
    fn check_end(
        &mut self,
        at: Moment,
        fault: Option<Fault>,
        next: &AfterAttempt,
        sources: KeepGoingSources<'_>,
    ) -> OracleResult {
        let policy = sources.policy;
        let continues = matches!(next, AfterAttempt::Attempt { remedy: Remedy::KeepGoing, .. });
        let usable = fault.is_none() || fault == Some(Fault::Permission) && policy.allow_denials;
        let Some(keep_going) = active_keep_going(policy).filter(|_| usable && !self.is_wrapping_up) else {
            return ensure(!continues, Oracle::KeepsGoing, || {
                format!("the run continues with {next:?} without a stop: {self:?}")
            });
        };
        ensure(self.signals.results <= self.results_before, Oracle::KeepsGoing, || {
            format!("the last stop was not recorded: {self:?}")
        })?;
        let expected = self.expected_next(keep_going, at, sources);
        let valid = match next {
            AfterAttempt::Finish(outcome) => match outcome.kind {
                OutcomeKind::Done => expected == ExpectedNext::Finished,
                OutcomeKind::Cancelled => {
                    self.cancelled && (expected != ExpectedNext::Finished || fault.is_some())
                }
                OutcomeKind::Failed if outcome.limit.is_some() => matches!(expected, ExpectedNext::Prompt(_)),
                OutcomeKind::Failed => {
                    expected == ExpectedNext::Idle && outcome.fault == Some(Fault::Unfinished)
                }
                // Another oracle decides whether the limit was reached.
                OutcomeKind::OverBudget | OutcomeKind::OutOfTime => {
                    outcome.limit.is_some() && matches!(expected, ExpectedNext::Prompt(_)) && !self.cancelled
                }
                OutcomeKind::NeedsPerson
                | OutcomeKind::CheckFailed
                | OutcomeKind::NotStarted
                | OutcomeKind::Incomplete
                | OutcomeKind::Bug
                | OutcomeKind::RetryLater
                | OutcomeKind::Suspended => false,
            },
            AfterAttempt::Attempt { at: attempt_at, plan, .. } => {
                let saves = self.limited && matches!(plan.prompt, PromptKind::WrapUp(_));
                let prompted = saves && matches!(expected, ExpectedNext::Prompt(_))
                    || expected == ExpectedNext::Prompt(plan.prompt);
                continues && prompted && *attempt_at == at && !self.cancelled
            }
            AfterAttempt::Check => false,
        };
        ensure(valid, Oracle::KeepsGoing, || format!("{next:?} follows a stop, not {expected:?}: {self:?}"))
    }
}

impl AgentSignals {
    fn new(evidence: &Evidence) -> AgentSignals {
        AgentSignals {
            results: evidence.results,
            result: evidence.result.filter(|_| !evidence.exchange_open),
            claimed_done: evidence.claimed_done,
            workspace: evidence.workspace_fingerprint,
            shells: 0,
        }
    }

    fn on_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::ExchangeStarted => (self.result, self.claimed_done, self.workspace) = (None, false, None),
            Notice::ToolStarted => (self.result, self.workspace) = (None, None),
            Notice::ClaimedDone => self.claimed_done = true,
            Notice::ExchangeEnded(result) => (self.results, self.result) = (self.results + 1, Some(*result)),
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

/// Returns the keep-going policy, or `None` if the run has a check. In such a run, the check decides.
pub(super) fn active_keep_going(policy: &Policy) -> Option<&KeepGoing> {
    policy.keep_going.as_ref().filter(|_| policy.checks.is_none())
}

/// Returns whether the agent ended an exchange with this result on its own.
pub(super) fn is_good(policy: &Policy, result: &AgentResult) -> bool {
    let AgentResult { is_error, terminal_reason, stop_reason, empty, denials, stop_hook_capped, .. } =
        *result;
    let ended =
        !is_error && terminal_reason == TerminalReason::Completed && stop_reason == StopReason::EndTurn;
    ended && !empty && !stop_hook_capped && (denials == 0 || policy.allow_denials)
}
