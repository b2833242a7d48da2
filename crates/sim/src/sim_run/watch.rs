//! All oracles that watch a run step by step, fed in one place.

use crate::coverage::{Coverage, PhaseKind};
use crate::oracles::{
    AttemptCase, Bounds, CheckWatch, ClockWatch, KeepGoingWatch, LimitWatch, Oracle, OracleResult,
    SessionWatch, StallWatch, StopWatch, StrategyWatch, SummaryWatch, check_truth, check_wait, ensure,
};
use crate::world::{EndedAttempt, World};
use longhaul_core::{
    AfterAttempt, AttemptPlan, CancelSource, Event, Evidence, Exit, Fault, Limit, Moment, Now, Outcome,
    OutcomeKind, Policy, Record, Remedy, Span, StopCause,
};

/// The oracles' memory of one run.
#[derive(Debug, Default)]
pub(crate) struct OracleSet {
    bounds: Bounds,
    pub(crate) checks: CheckWatch,
    pub(crate) clocks: ClockWatch,
    pub(crate) summaries: SummaryWatch,
    pub(crate) keep_going: KeepGoingWatch,
    pub(crate) ladder: StrategyWatch,
    pub(crate) limits: LimitWatch,
    patience: StallWatch,
    pub(crate) sessions: SessionWatch,
    stops: StopWatch,
    /// Somebody let the run go on, and the first attempt since then is to come.
    reopened: bool,
    /// Attempts that were made before that.
    attempts_before: u32,
    /// Who asked last for the end.
    cancel: Option<CancelSource>,
    /// Who asked for it when the last attempt ended: that decision stands.
    cancel_decided: Option<CancelSource>,
    /// A signal suspends the run.
    suspending: bool,
    plan: Option<AttemptPlan>,
    /// Why the last attempt failed, if it did.
    fault: Option<Fault>,
    /// The last wait that was decided, and how much chance should spread it.
    pub(crate) waited: Option<(Moment, Span)>,
}

impl OracleSet {
    pub(crate) fn begin(&mut self) {
        self.sessions.clear();
        let sessions = std::mem::take(&mut self.sessions);
        *self = OracleSet { sessions, ..OracleSet::default() };
    }

    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, policy: &Policy, now: Now, event: &Event) -> OracleResult {
        self.ladder.hear(event);
        self.limits.hear(now.at, event);
        self.keep_going.hear(event);
        if !matches!(event, Event::Ticked | Event::Downtime(_) | Event::Recovered { .. }) {
            // What comes at this very moment comes next.
            let limited = self.limits.is_late(policy, &self.clocks, Moment(now.at.0 - 1));
            self.checks.overdue(now.at, policy, limited)?;
        }
        self.stops.hear(now.at, event);
        self.summaries.hear(now.at, event, policy)?;
        self.patience.hear(now.at, event, policy)
    }

    /// Whether `by` may be the one who cancelled the run.
    pub(crate) fn cancelled_by(&self, by: Option<CancelSource>) -> bool {
        by.is_some() && (by == self.cancel || by == self.cancel_decided)
    }

    /// A run that somebody cancelled is on its way to its end after every step.
    pub(crate) fn check_stop_obeyed(&self, health: PhaseKind) -> OracleResult {
        let goes_on = matches!(health, PhaseKind::Live | PhaseKind::Closing | PhaseKind::Waiting);
        ensure(self.cancel.is_none() || !goes_on, Oracle::Cancels, || {
            format!("cancelled by {:?}, and still {health:?}", self.cancel)
        })?;
        let works = matches!(health, PhaseKind::Live | PhaseKind::Waiting);
        ensure(!self.suspending || !works, Oracle::Cancels, || format!("to be suspended, and {health:?}"))
    }

    /// Takes in a record that is on disk now.
    pub(crate) fn take(
        &mut self,
        policy: &Policy,
        record: &Record,
        world: &World,
        coverage: &mut Coverage,
    ) -> OracleResult {
        self.clocks.take(record);
        self.patience.take(record, policy)?;
        self.ladder.take(record)?;
        self.summaries.take(record, policy, world)?;
        self.keep_going.take(record, (policy, &self.clocks, &self.limits))?;
        self.limits.take(record, policy, &self.clocks)?;
        self.checks.take(record, policy)?;
        match record {
            Record::RunReopened { .. } => self.reopen(),
            Record::AttemptStarted { plan, .. } => {
                ensure(self.attempts_left(policy) > 0, Oracle::Bounds, || {
                    format!("attempt {} is beyond the limit", plan.attempt)
                })?;
                if std::mem::take(&mut self.reopened) {
                    self.sessions.check_reopened(plan)?;
                }
                self.plan = Some(plan.clone());
            }
            Record::CancelRequested { source: by, .. } => (self.cancel, self.suspending) = (Some(*by), false),
            Record::SuspendOrdered { .. } => self.suspending = true,
            Record::Suspended { .. } => {
                ensure(!world.alive(), Oracle::OneTree, || "a process outlives the suspension".to_owned())?
            }
            Record::Recovered { .. } => self.suspending = false,
            Record::ResumeStrategyChosen { strategy: rung, .. } => coverage.on_strategy(*rung),
            Record::SummaryEnded { result: outcome, .. } => coverage.on_summary(*outcome),
            Record::StopOrdered { cause: why, level, .. } => coverage.stop(*why, *level),
            Record::LimitReached { limit, threshold: reach, .. } => coverage.limit(*limit, *reach),
            Record::PromptSent { prompt: say, .. } => coverage.said(*say),
            Record::AgentStopped { claimed_done: claimed, .. } => coverage.stopped(*claimed),
            Record::RunFinished { outcome, .. } => {
                let by_attempts = outcome.limit == Some(Limit::Attempts);
                ensure(!by_attempts || self.attempts_left(policy) == 0, Oracle::Bounds, || {
                    "the limit of attempts ends a run that has some left".to_owned()
                })?;
                coverage.finished(outcome, self.fault);
            }
            Record::CheckEnded { result, .. } => coverage.checked(*result),
            Record::StallDeferred { .. } => coverage.excused(),
            Record::AttemptEnded { at, fault, next, .. } => {
                self.ended(policy, *at, *fault, next, world, coverage)?;
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
        self.stops.take(record, policy, self.cancel)
    }

    /// How many attempts the run may still make.
    fn attempts_left(&self, policy: &Policy) -> u32 {
        let made = self.plan.as_ref().map_or(0, |plan| plan.attempt);
        policy.attempts_max.saturating_sub(made - self.attempts_before)
    }

    /// A person lets the run go on: its bounds are new, its sessions and clocks are not.
    fn reopen(&mut self) {
        self.bounds = Bounds::default();
        self.attempts_before = self.plan.as_ref().map_or(0, |plan| plan.attempt);
        self.cancel = None;
        self.cancel_decided = None;
        self.suspending = false;
        self.waited = None;
        self.reopened = true;
    }

    /// An attempt is over: was it judged rightly, and is what follows allowed and timed?
    fn ended(
        &mut self,
        policy: &Policy,
        now: Moment,
        fault: Option<Fault>,
        next: &AfterAttempt,
        world: &World,
        coverage: &mut Coverage,
    ) -> OracleResult {
        (self.waited, self.fault) = (None, fault);
        let Some(plan) = self.plan.clone() else {
            return ensure(false, Oracle::Bounds, || "an attempt ended that never started".to_owned());
        };
        let never;
        let ended = match &world.finished {
            Some(ended) if ended.attempt == plan.attempt => ended,
            Some(_) | None => {
                let evidence = Evidence::of_exit(Exit::NeverSpawned);
                never = EndedAttempt { attempt: plan.attempt, truth: Some(Fault::Crashed), evidence };
                &never
            }
        };
        // A summary used the rest: nothing was started.
        let unstarted = ended.evidence.exit == Exit::NeverSpawned && self.limits.has_nothing_left();
        let stopped = if unstarted { Some(StopCause::LimitReached) } else { self.stops.why() };
        check_truth(ended, stopped, fault)?;
        self.sessions.take_end(&plan, ended);
        // What follows a stop is for those who count them.
        let kept = policy.keep_going.is_some() && policy.check.is_none();
        if ended.evidence.made_progress {
            self.bounds.progress(policy);
        }
        let decides = |watch: &OracleSet| {
            watch.limits.decides(policy, &watch.clocks, (now, fault, &ended.evidence), next)
        };
        self.cancel_decided = self.cancel;
        if matches!(next, AfterAttempt::Finish(Outcome { limit: Some(Limit::Attempts), .. })) {
            fault.into_iter().for_each(|fault| coverage.fault(fault));
            return Ok(());
        }
        if let AfterAttempt::Attempt { remedy: remedy @ Remedy::KeepGoing, plan, .. } = next {
            coverage.remedy(*remedy);
            coverage.said(plan.prompt);
            decides(self)?;
            return self.sessions.check_kept_going(plan);
        }
        let Some(fault) = fault else {
            let by_limit = decides(self)?;
            return if by_limit || kept { Ok(()) } else { check_done(next, policy) };
        };
        coverage.fault(fault);
        if self.cancel.is_some() {
            let cancelled =
                matches!(next, AfterAttempt::Finish(outcome) if outcome.kind == OutcomeKind::Cancelled);
            return ensure(cancelled, Oracle::Cancels, || format!("a cancelled run goes on with {next:?}"));
        }
        // The signal ended the attempt: it counts as no failure, and the next supervisor waits for nothing.
        if self.suspending && fault == Fault::Interrupted {
            let resumes =
                matches!(next, AfterAttempt::Attempt { at, remedy: Remedy::Resume, .. } if *at == now);
            ensure(decides(self)? || resumes, Oracle::Bounds, || format!("suspended with {next:?}"))?;
            return self.sessions.check_next(&plan, fault, ended.evidence.continuity, next);
        }
        if fault == Fault::Permission && policy.allow_denials {
            let by_limit = decides(self)?;
            return if by_limit || kept { Ok(()) } else { check_done(next, policy) };
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
            progressed: ended.evidence.made_progress,
            session_open: self.sessions.is_open(),
            plainer: self.ladder.has_plainer(),
        };
        if !decides(self)? {
            self.bounds.check(&case, next)?;
        }
        self.sessions.check_next(&plan, fault, ended.evidence.continuity, next)?;
        if let AfterAttempt::Attempt { at, remedy, .. } = next {
            coverage.remedy(*remedy);
            let spread = check_wait(&self.bounds, &case, *remedy, *at)?;
            self.waited = Some((*at, spread));
            self.bounds.count(&case);
        }
        Ok(())
    }
}

fn check_done(next: &AfterAttempt, policy: &Policy) -> OracleResult {
    let done = match next {
        AfterAttempt::Check => policy.check.is_some(),
        AfterAttempt::Finish(outcome) => outcome.kind == OutcomeKind::Done && policy.check.is_none(),
        AfterAttempt::Attempt { .. } => false,
    };
    ensure(done, Oracle::Truth, || format!("work that is done goes on with {next:?}"))
}
