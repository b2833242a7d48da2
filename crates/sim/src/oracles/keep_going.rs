//! Checks that a run continues when its agent stops on its own. The stops are counted independently of the
//! core, and the rule for the next step is restated from the documentation.

use super::facts::Facts;
use super::limits::LimitWatch;
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AfterAttempt, AttemptEnd, Fault, KeepGoing, KeepGoingPrompt, LimitThreshold, Moment, Outcome,
    OutcomeKind, PromptKind, Record, Remedy,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct KeepGoingWatch {
    /// Number of ended exchanges at the last prompt or the last counted stop.
    results_before: u32,
    /// Whether a stop was counted and no prompt followed yet.
    needs_prompt: bool,
    stopping: bool,
    stops: u32,
    /// Number of consecutive stops with a done claim.
    done_claims: u32,
    /// Number of consecutive stops without a change since the stop before.
    idle_stops: u32,
    workspace: Option<u64>,
    limit_warning_sent: bool,
    /// Whether the wrap-up was prompted, or a limit is exhausted.
    is_wrapping_up: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum ExpectedNext {
    Finished,
    Idle,
    Prompt(PromptKind),
}

impl KeepGoingWatch {
    /// Receives a record, before the oracles that count the run's usage.
    pub(crate) fn on_record(&mut self, record: &Record, facts: &Facts, limits: &LimitWatch) -> OracleResult {
        match record {
            Record::RunReopened { .. } => {
                let KeepGoingWatch { stops, workspace, .. } = *self;
                *self = KeepGoingWatch { stops, workspace, ..KeepGoingWatch::default() };
            }
            Record::AttemptStarted { plan } => {
                (self.results_before, self.needs_prompt, self.stopping) = (0, false, false);
                self.on_prompt(plan.prompt, facts)?;
            }
            Record::AgentStopped { claimed_done, workspace_fingerprint, background, .. } => {
                let recorded = (*claimed_done, *workspace_fingerprint, *background);
                let expected = facts.keep_going().is_some()
                    && facts.agent.results > self.results_before
                    && facts.ended_well()
                    && !self.is_wrapping_up
                    && recorded == (facts.agent.claimed_done, facts.agent.workspace, facts.agent.shells);
                ensure(expected, Oracle::KeepsGoing, || {
                    format!("a stop at {recorded:?} is recorded that did not happen: {self:?}")
                })?;
                self.on_stop(facts);
            }
            Record::PromptSent { prompt, .. } => {
                if !matches!(prompt, PromptKind::WrapUp(_)) {
                    let expected =
                        facts.keep_going().map(|rule| self.expected_next(rule, facts.at, facts, limits));
                    let is_expected = expected == Some(ExpectedNext::Prompt(*prompt));
                    ensure(self.needs_prompt && is_expected, Oracle::KeepsGoing, || {
                        format!("{prompt:?} is sent, not {expected:?}: {self:?}")
                    })?;
                }
                self.on_prompt(*prompt, facts)?;
                (self.results_before, self.needs_prompt, self.stopping) = (facts.agent.results, false, false);
            }
            Record::LimitReached { threshold, .. } => {
                self.results_before = facts.agent.results;
                self.is_wrapping_up |= *threshold == LimitThreshold::Exhausted;
            }
            Record::SuspendOrdered { .. } | Record::StopOrdered { .. } => self.stopping = true,
            Record::InputClosed => self.check_input_closed(facts.at, facts)?,
            Record::AttemptEnded(AttemptEnd { fault, next, .. }) => {
                self.check_end(facts.at, *fault, next, facts, limits)?
            }
            Record::RunFinished { outcome } if outcome.kind == OutcomeKind::Done => {
                let done = facts.keep_going().is_none() || self.done_claims >= 2;
                ensure(done, Oracle::KeepsGoing, || {
                    format!("done without two done claims in a row: {self:?}")
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn on_stop(&mut self, facts: &Facts) {
        let agent = &facts.agent;
        let unchanged = agent.shells == 0 && agent.workspace.is_some() && agent.workspace == self.workspace;
        self.stops += 1;
        self.done_claims = if agent.claimed_done { self.done_claims + 1 } else { 0 };
        self.idle_stops = if unchanged { self.idle_stops + 1 } else { 0 };
        self.workspace = agent.workspace;
        (self.results_before, self.needs_prompt) = (agent.results, true);
    }

    fn on_prompt(&mut self, prompt: PromptKind, facts: &Facts) -> OracleResult {
        self.is_wrapping_up |= matches!(prompt, PromptKind::WrapUp(_));
        self.limit_warning_sent |=
            matches!(prompt, PromptKind::KeepGoing(KeepGoingPrompt { limit_near: true, .. }));
        let continues = matches!(prompt, PromptKind::KeepGoing(_) | PromptKind::ConfirmDone);
        let is_ending = facts.reached.is_some() || facts.cancel.is_some();
        ensure(!continues || !is_ending, Oracle::KeepsGoing, || {
            format!("{prompt:?} is sent after a cancel or a reached limit: {self:?}")
        })?;
        let stop =
            if let PromptKind::KeepGoing(keep_going) = prompt { keep_going.stop_number } else { self.stops };
        ensure(stop == self.stops, Oracle::KeepsGoing, || format!("{prompt:?} after stop {}", self.stops))
    }

    fn expected_next(
        &self,
        keep_going: &KeepGoing,
        at: Moment,
        facts: &Facts,
        limits: &LimitWatch,
    ) -> ExpectedNext {
        if self.done_claims >= 2 {
            return ExpectedNext::Finished;
        }
        if self.done_claims == 1 {
            return ExpectedNext::Prompt(PromptKind::ConfirmDone);
        }
        if self.idle_stops >= keep_going.idle_stops_max {
            return ExpectedNext::Idle;
        }
        let limit_near = !self.limit_warning_sent && limits.is_near(facts, at);
        let status_due = keep_going.status_every > 0 && self.stops.is_multiple_of(keep_going.status_every);
        ExpectedNext::Prompt(PromptKind::KeepGoing(KeepGoingPrompt {
            stop_number: self.stops,
            keep_improving: keep_going.keep_improving,
            active_time: (status_due || limit_near).then(|| facts.clocks.active(at)),
            limit_near,
        }))
    }

    fn check_input_closed(&self, at: Moment, facts: &Facts) -> OracleResult {
        let Some(keep_going) = facts.keep_going() else { return Ok(()) };
        let stopped = facts.agent.results > self.results_before || self.needs_prompt;
        let is_final =
            self.done_claims >= 2 || self.done_claims == 0 && self.idle_stops >= keep_going.idle_stops_max;
        let is_ending = facts.cancel.is_some() || facts.reached.is_some() || self.stopping;
        let allowed = !(stopped && facts.ended_well()) || is_final || is_ending;
        ensure(allowed, Oracle::KeepsGoing, || {
            format!("the input of a stopped agent is closed at {at:?}: {self:?}")
        })
    }

    fn check_end(
        &self,
        at: Moment,
        fault: Option<Fault>,
        next: &AfterAttempt,
        facts: &Facts,
        limits: &LimitWatch,
    ) -> OracleResult {
        let continues = matches!(next, AfterAttempt::Attempt { remedy: Remedy::KeepGoing, .. });
        let usable = fault.is_none() || fault == Some(Fault::Permission) && facts.policy.allow_denials;
        let Some(keep_going) = facts.keep_going().filter(|_| usable && !self.is_wrapping_up) else {
            return ensure(!continues, Oracle::KeepsGoing, || {
                format!("the run continues with {next:?} without a stop: {self:?}")
            });
        };
        ensure(facts.agent.results <= self.results_before, Oracle::KeepsGoing, || {
            format!("the last stop was not recorded: {self:?}")
        })?;
        let expected = self.expected_next(keep_going, at, facts, limits);
        let is_cancelled = facts.cancel.is_some();
        let valid = match next {
            AfterAttempt::Finish(Outcome { kind, limit, fault: cause, .. }) => match kind {
                OutcomeKind::Done => expected == ExpectedNext::Finished,
                OutcomeKind::Cancelled => {
                    is_cancelled && (expected != ExpectedNext::Finished || fault.is_some())
                }
                // Another oracle decides whether the limit was reached.
                OutcomeKind::Failed | OutcomeKind::OverBudget | OutcomeKind::OutOfTime if limit.is_some() => {
                    matches!(expected, ExpectedNext::Prompt(_)) && !is_cancelled
                }
                OutcomeKind::Failed => expected == ExpectedNext::Idle && *cause == Some(Fault::Unfinished),
                _ => false,
            },
            AfterAttempt::Attempt { at: attempt_at, plan, .. } => {
                let saves = facts.reached.is_some() && matches!(plan.prompt, PromptKind::WrapUp(_));
                let prompted = saves && matches!(expected, ExpectedNext::Prompt(_))
                    || expected == ExpectedNext::Prompt(plan.prompt);
                continues && prompted && *attempt_at == at && !is_cancelled
            }
            AfterAttempt::Check => false,
        };
        ensure(valid, Oracle::KeepsGoing, || format!("{next:?} follows a stop, not {expected:?}: {self:?}"))
    }
}
