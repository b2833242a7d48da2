//! Passes the events and records of a run to the oracles that check it step by step.

use crate::coverage::{Coverage, PhaseKind};
use crate::oracles::{
    AttemptCase, Bounds, CheckWatch, ClockWatch, KeepGoingSources, KeepGoingWatch, LimitWatch, Oracle,
    OracleResult, SessionWatch, StallWatch, StopWatch, StrategyWatch, SummaryWatch, check_reaction,
    check_truth, check_wait, ensure,
};
use crate::world::{EndedAttempt, World};
use longhaul_core::{
    AfterAttempt, AttemptPlan, CancelSource, Event, Evidence, Exit, Fault, Limit, Moment, Now, Outcome,
    OutcomeKind, Policy, Record, Remedy, Span, StopCause,
};

/// The state of all oracles for one run.
#[derive(Debug, Default)]
pub(crate) struct OracleSet {
    bounds: Bounds,
    pub checks: CheckWatch,
    pub clocks: ClockWatch,
    pub summaries: SummaryWatch,
    pub keep_going: KeepGoingWatch,
    pub strategies: StrategyWatch,
    pub limits: LimitWatch,
    stalls: StallWatch,
    pub sessions: SessionWatch,
    stops: StopWatch,
    /// Whether the run was resumed, and its next attempt has not started yet.
    reopened: bool,
    /// Number of attempts before the run was resumed.
    attempts_before: u32,
    /// Source of the last cancel.
    cancel: Option<CancelSource>,
    /// Source of the cancel that the decision after the last attempt used.
    cancel_decided: Option<CancelSource>,
    /// Whether a signal suspends the run.
    suspending: bool,
    plan: Option<AttemptPlan>,
    /// Fault of the last attempt, if it failed.
    fault: Option<Fault>,
    /// The last decided wait, and the width of its jitter.
    pub last_wait: Option<(Moment, Span)>,
}

impl OracleSet {
    pub(crate) fn reset(&mut self) {
        self.sessions.clear();
        let sessions = std::mem::take(&mut self.sessions);
        *self = OracleSet { sessions, ..OracleSet::default() };
    }

    /// Receives an event before the run does.
    pub(crate) fn receive(&mut self, policy: &Policy, now: Now, event: &Event) -> OracleResult {
        self.strategies.receive(event);
        self.limits.receive(now.at, event);
        self.keep_going.receive(event);
        if !matches!(event, Event::Ticked | Event::Downtime(_) | Event::Recovered { .. }) {
            // Events of this moment are processed next.
            let limited = self.limits.is_late(policy, &self.clocks, Moment(now.at.0 - 1));
            self.checks.check_overdue(now.at, policy, limited)?;
        }
        self.stops.receive(now.at, event);
        self.summaries.receive(now.at, event, policy)?;
        self.stalls.receive(now.at, event, policy)
    }

    /// Returns whether `source` may have cancelled the run.
    pub(crate) fn is_cancelled_by(&self, source: Option<CancelSource>) -> bool {
        source.is_some() && (source == self.cancel || source == self.cancel_decided)
    }

    /// Checks after every step that a cancelled or suspended run makes no further progress.
    pub(crate) fn check_stop_obeyed(&self, phase: PhaseKind) -> OracleResult {
        let is_active = matches!(phase, PhaseKind::Running | PhaseKind::Closing | PhaseKind::Waiting);
        ensure(self.cancel.is_none() || !is_active, Oracle::Cancels, || {
            format!("the run is cancelled by {:?}, but is still {phase:?}", self.cancel)
        })?;
        let is_working = matches!(phase, PhaseKind::Running | PhaseKind::Waiting);
        ensure(!self.suspending || !is_working, Oracle::Cancels, || {
            format!("the run is being suspended, but is still {phase:?}")
        })
    }

    /// Receives a record that is on disk.
    pub(crate) fn on_record(
        &mut self,
        policy: &Policy,
        record: &Record,
        world: &World,
        coverage: &mut Coverage,
    ) -> OracleResult {
        self.clocks.on_record(record);
        self.stalls.on_record(record, policy)?;
        self.strategies.on_record(record)?;
        self.summaries.on_record(record, policy, world)?;
        let sources = KeepGoingSources { policy, clocks: &self.clocks, limits: &self.limits };
        self.keep_going.on_record(record, sources)?;
        self.limits.on_record(record, policy, &self.clocks)?;
        self.checks.on_record(record, policy)?;
        match record {
            Record::RunReopened { .. } => self.reopen(),
            Record::AttemptStarted { plan, .. } => {
                ensure(self.remaining_attempts(policy) > 0, Oracle::Bounds, || {
                    format!("attempt {} exceeds the limit on attempts", plan.attempt)
                })?;
                if std::mem::take(&mut self.reopened) {
                    self.sessions.check_reopened(plan)?;
                }
                self.plan = Some(plan.clone());
            }
            Record::CancelRequested { source, .. } => (self.cancel, self.suspending) = (Some(*source), false),
            Record::SuspendOrdered { .. } => self.suspending = true,
            Record::Suspended { .. } => ensure(!world.has_live_process(), Oracle::OneTree, || {
                "a process outlives the suspension".to_owned()
            })?,
            Record::Recovered { .. } => self.suspending = false,
            Record::ResumeStrategyChosen { strategy, .. } => coverage.strategy(*strategy),
            Record::SummaryEnded { result, .. } => coverage.summary(*result),
            Record::StopOrdered { cause, level, .. } => coverage.stop(*cause, *level),
            Record::LimitReached { limit, threshold, .. } => coverage.limit(*limit, *threshold),
            Record::PromptSent { prompt, .. } => coverage.prompt(*prompt),
            Record::AgentStopped { claimed_done, .. } => coverage.agent_stop(*claimed_done),
            Record::RunFinished { outcome, .. } => {
                let by_attempts = outcome.limit == Some(Limit::Attempts);
                ensure(!by_attempts || self.remaining_attempts(policy) == 0, Oracle::Bounds, || {
                    "the limit on attempts ends a run with remaining attempts".to_owned()
                })?;
                coverage.finish(outcome, self.fault);
            }
            Record::CheckEnded { result, .. } => coverage.check(*result),
            Record::StallDeferred { .. } => coverage.stall_deferral(),
            Record::AttemptEnded { at, fault, next, .. } => {
                self.on_attempt_ended(policy, *at, *fault, next, world, coverage)?;
            }
            Record::RunStarted { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::InputClosed { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::Downtime { .. }
            | Record::Swept { .. } => {}
        }
        self.stops.on_record(record, policy, self.cancel)
    }

    /// Returns the number of attempts that the run may still make.
    fn remaining_attempts(&self, policy: &Policy) -> u32 {
        let attempts_made = self.plan.as_ref().map_or(0, |plan| plan.attempt);
        policy.attempts_max.saturating_sub(attempts_made - self.attempts_before)
    }

    /// Resumes a finished run: its bounds start again at zero, its sessions and clocks continue.
    fn reopen(&mut self) {
        self.bounds = Bounds::default();
        self.attempts_before = self.plan.as_ref().map_or(0, |plan| plan.attempt);
        self.cancel = None;
        self.cancel_decided = None;
        self.suspending = false;
        self.last_wait = None;
        self.reopened = true;
    }

    /// Checks the end of an attempt: its fault, and whether the next decision is allowed and on time.
    fn on_attempt_ended(
        &mut self,
        policy: &Policy,
        now: Moment,
        fault: Option<Fault>,
        next: &AfterAttempt,
        world: &World,
        coverage: &mut Coverage,
    ) -> OracleResult {
        (self.last_wait, self.fault) = (None, fault);
        let Some(plan) = self.plan.clone() else {
            return ensure(false, Oracle::Bounds, || "an attempt ended that was never started".to_owned());
        };
        let unspawned;
        let ended = match &world.ended_attempt {
            Some(ended) if ended.attempt == plan.attempt => ended,
            Some(_) | None => {
                let evidence = Evidence::from_exit(Exit::NeverSpawned);
                unspawned = EndedAttempt { attempt: plan.attempt, truth: Some(Fault::Crashed), evidence };
                &unspawned
            }
        };
        // A summary exhausted a limit, so no attempt started.
        let is_unstarted = ended.evidence.exit == Exit::NeverSpawned && self.limits.is_limit_exhausted();
        let stopped = if is_unstarted { Some(StopCause::LimitReached) } else { self.stops.cause() };
        check_truth(ended, stopped, fault)?;
        self.sessions.on_attempt_ended(&plan, ended);
        // The keep-going oracle checks what follows a stop.
        let keeps_going = policy.keep_going.is_some() && policy.checks.is_none();
        if ended.evidence.made_progress {
            self.bounds.on_progress(policy);
        }
        let decides = |watch: &OracleSet| {
            watch.limits.decides(policy, &watch.clocks, now, fault, &ended.evidence, next)
        };
        self.cancel_decided = self.cancel;
        if matches!(next, AfterAttempt::Finish(Outcome { limit: Some(Limit::Attempts), .. })) {
            fault.into_iter().for_each(|fault| coverage.fault(fault));
            return Ok(());
        }
        if let AfterAttempt::Attempt { remedy: remedy @ Remedy::KeepGoing, plan, .. } = next {
            coverage.remedy(*remedy);
            coverage.prompt(plan.prompt);
            decides(self)?;
            return self.sessions.check_keep_going(plan);
        }
        let Some(fault) = fault else {
            let by_limit = decides(self)?;
            return if by_limit || keeps_going { Ok(()) } else { check_done(next, policy) };
        };
        coverage.fault(fault);
        if self.cancel.is_some() {
            let cancelled =
                matches!(next, AfterAttempt::Finish(outcome) if outcome.kind == OutcomeKind::Cancelled);
            return ensure(cancelled, Oracle::Cancels, || format!("a cancelled run continues with {next:?}"));
        }
        // The signal ended the attempt, so it does not count as a failure, and the next supervisor does not
        // wait.
        if self.suspending && fault == Fault::Interrupted {
            let resumes =
                matches!(next, AfterAttempt::Attempt { at, remedy: Remedy::Resume, .. } if *at == now);
            ensure(decides(self)? || resumes, Oracle::Bounds, || {
                format!("the suspended run continues with {next:?}")
            })?;
            return self.sessions.check_next(&plan, fault, ended.evidence.continuity, next);
        }
        if fault == Fault::Permission && policy.allow_denials {
            let by_limit = decides(self)?;
            return if by_limit || keeps_going { Ok(()) } else { check_done(next, policy) };
        }
        let next_at = match next {
            AfterAttempt::Attempt { at, .. } => Some(*at),
            AfterAttempt::Check => None,
            AfterAttempt::Finish(outcome) => outcome.retry_at,
        };
        let case = AttemptCase {
            policy,
            evidence: &ended.evidence,
            now,
            fault,
            next_at,
            attempt: plan.attempt,
            made_progress: ended.evidence.made_progress,
            session_open: self.sessions.is_open(),
            can_drop_handoff: self.strategies.can_drop_handoff(),
        };
        if !decides(self)? {
            self.bounds.check(&case, next)?;
        }
        self.sessions.check_next(&plan, fault, ended.evidence.continuity, next)?;
        if let AfterAttempt::Attempt { at, remedy, .. } = next {
            coverage.remedy(*remedy);
            check_reaction(policy, fault, *remedy)?;
            let spread = check_wait(&self.bounds, &case, *remedy, *at)?;
            self.last_wait = Some((*at, spread));
            self.bounds.count(&case);
        }
        Ok(())
    }
}

fn check_done(next: &AfterAttempt, policy: &Policy) -> OracleResult {
    let done = match next {
        AfterAttempt::Check => policy.checks.is_some(),
        AfterAttempt::Finish(outcome) => outcome.kind == OutcomeKind::Done && policy.checks.is_none(),
        AfterAttempt::Attempt { .. } => false,
    };
    ensure(done, Oracle::Truth, || format!("work that is done continues with {next:?}"))
}
