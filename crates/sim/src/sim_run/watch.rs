//! Passes the events and records of a run to the oracles that check it step by step.

use crate::coverage::Coverage;
use crate::oracles::{
    AttemptCase, Bounds, CheckWatch, Facts, KeepGoingWatch, LimitWatch, Oracle, OracleResult, ReviewWatch,
    SessionWatch, StallWatch, StopWatch, StrategyWatch, SummaryWatch, check_reaction, check_truth,
    check_wait, ensure,
};
use crate::world::{EndedAttempt, World};
use longhaul_core::{
    AfterAttempt, AttemptEnd, AttemptPlan, CancelSource, Continuity, Event, Exit, Fault, Limit, Moment,
    Outcome, OutcomeKind, Phase, Policy, Record, Remedy, ReviewResult, Span, StopCause,
};

#[derive(Debug)]
pub(crate) struct OracleSet<'a> {
    pub facts: Facts<'a>,
    bounds: Bounds,
    checks: CheckWatch,
    reviews: ReviewWatch,
    summaries: SummaryWatch,
    keep_going: KeepGoingWatch,
    pub strategies: StrategyWatch,
    pub limits: LimitWatch,
    stalls: StallWatch,
    sessions: SessionWatch,
    stops: StopWatch,
    /// End of the last sleep. Events of that moment precede its decisions.
    woke_at: Option<Moment>,
    /// Whether the run was resumed, and its next attempt has not started yet.
    reopened: bool,
    /// Number of attempts before the run was resumed.
    attempts_before: u32,
    /// Attempts since then that a suspension ended.
    attempts_suspended: u32,
    suspended_at: Option<Moment>,
    /// Whether a model has answered since the run was started or resumed.
    has_answered: bool,
    /// Source of the cancel that the decision after the last attempt used.
    cancel_decided: Option<CancelSource>,
    fault: Option<Fault>,
    /// The last decided wait, and the width of its jitter.
    pub last_wait: Option<(Moment, Span)>,
}

impl<'a> OracleSet<'a> {
    pub(crate) fn new(policy: &'a Policy) -> OracleSet<'a> {
        OracleSet {
            facts: Facts::new(policy),
            bounds: Bounds::default(),
            checks: CheckWatch::default(),
            reviews: ReviewWatch::default(),
            summaries: SummaryWatch::default(),
            keep_going: KeepGoingWatch::default(),
            strategies: StrategyWatch::default(),
            limits: LimitWatch::default(),
            stalls: StallWatch::default(),
            sessions: SessionWatch::default(),
            stops: StopWatch::default(),
            woke_at: None,
            reopened: false,
            attempts_before: 0,
            attempts_suspended: 0,
            suspended_at: None,
            has_answered: false,
            cancel_decided: None,
            fault: None,
            last_wait: None,
        }
    }

    pub(crate) fn receive(&mut self, now: Moment, event: &Event) -> OracleResult {
        if !matches!(event, Event::Ticked | Event::Downtime(_) | Event::Recovered { .. }) {
            // Events of this moment are processed next.
            let woke_now = self.woke_at == Some(now);
            let limited = !woke_now && self.limits.is_late(&self.facts, Moment(now.0 - 1));
            self.checks.check_overdue(now, &self.facts, limited)?;
            self.reviews.check_overdue(now, &self.facts, limited)?;
            self.summaries.check_overdue(now, &self.facts)?;
            self.stalls.check_overdue(now, event, &self.facts)?;
        }
        if matches!(event, Event::Downtime(_)) {
            self.woke_at = Some(now);
        }
        self.facts.receive(now, event);
        self.strategies.receive(event);
        self.reviews.receive(event);
        self.limits.receive(now, event, &self.facts);
        self.stops.receive(event);
        self.stalls.receive(now, event);
        Ok(())
    }

    /// Returns whether `source` may have cancelled the run.
    pub(crate) fn is_cancelled_by(&self, source: Option<CancelSource>) -> bool {
        source.is_some() && (source == self.facts.cancel || source == self.cancel_decided)
    }

    /// Checks after every step that a cancelled or suspended run makes no further progress.
    pub(crate) fn check_stop_obeyed(&self, phase: &Phase) -> OracleResult {
        let is_working = matches!(phase, Phase::Running | Phase::Waiting { .. });
        let is_active = is_working || matches!(phase, Phase::Closing { .. });
        let cancel = self.facts.cancel;
        ensure(cancel.is_none() || !is_active, Oracle::Cancels, || {
            format!("the run is cancelled by {cancel:?}, but is still {phase:?}")
        })?;
        ensure(self.facts.suspending_since.is_none() || !is_working, Oracle::Cancels, || {
            format!("the run is being suspended, but is still {phase:?}")
        })
    }

    pub(crate) fn check_spawn(&mut self, plan: &AttemptPlan) -> OracleResult {
        self.sessions.check_spawn(plan)?;
        self.strategies.check_spawn(plan)?;
        self.summaries.check_spawn(plan, &self.facts)?;
        self.limits.check_spawn(plan)
    }

    pub(crate) fn on_record(
        &mut self,
        at: Moment,
        record: &Record,
        world: &World,
        coverage: &mut Coverage,
    ) -> OracleResult {
        let remaining_attempts = self.remaining_attempts();
        self.facts.on_record(at, record);
        self.stalls.on_record(record, &self.facts)?;
        self.strategies.on_record(record, &self.facts)?;
        self.summaries.on_record(record, &self.facts, world.summary.ended.as_ref())?;
        self.keep_going.on_record(record, &self.facts, &self.limits)?;
        self.limits.on_record(record, &self.facts)?;
        self.checks.on_record(record, &self.facts)?;
        let is_alive = world.has_live_process();
        self.reviews.on_record(record, &self.facts, world.review.ended.as_ref(), is_alive)?;
        match record {
            Record::RunReopened { .. } => self.reopen(),
            Record::AttemptStarted { plan } => {
                ensure(remaining_attempts > 0, Oracle::Bounds, || {
                    format!("attempt {} exceeds the limit on attempts", plan.attempt)
                })?;
                if std::mem::take(&mut self.reopened) {
                    self.sessions.check_reopened(plan, self.fault)?;
                }
            }
            Record::Suspended { .. } => {
                self.suspended_at = Some(at);
                ensure(!world.has_live_process(), Oracle::OneTree, || {
                    "a process outlives the suspension".to_owned()
                })?;
            }
            Record::Recovered { .. } => {
                let suspended = self.suspended_at.take().map_or(Span::ZERO, |since| at.since(since));
                self.bounds.add_downtime(suspended);
            }
            Record::Downtime { duration } => self.bounds.add_downtime(*duration),
            Record::ResumeStrategyChosen { strategy, .. } => coverage.count("strategy", strategy.as_str()),
            Record::SummaryEnded { result, usage } => {
                self.has_answered |= usage.messages > 0;
                coverage.count("summary", result.into());
            }
            Record::StopOrdered { cause, level, .. } => {
                coverage.count("stop", cause.as_str());
                coverage.count("level", level.as_str());
            }
            Record::LimitReached { limit, threshold, .. } => {
                coverage.count_pair("limit", threshold.as_str(), limit.as_str());
            }
            Record::PromptSent { prompt, .. } => coverage.prompt(*prompt),
            Record::AgentStopped { claimed_done, .. } => {
                coverage.count("keep_going", if *claimed_done { "claim" } else { "stop" });
            }
            Record::RunFinished { outcome } => {
                let by_attempts = outcome.limit == Some(Limit::Attempts);
                ensure(!by_attempts || remaining_attempts == 0, Oracle::Bounds, || {
                    "the limit on attempts ends a run with remaining attempts".to_owned()
                })?;
                if outcome.fault == Some(Fault::Unfinished) && self.fault != outcome.fault {
                    coverage.count("keep_going", "idle_finish");
                }
            }
            Record::CheckEnded { result } => coverage.count("check", result.as_str()),
            Record::ReviewEnded { result, usage, retry_at } => {
                self.has_answered |= usage.messages > 0;
                if *result == ReviewResult::NoVerdict(Fault::UsageLimit) && retry_at.is_some() {
                    self.bounds.on_park(at);
                }
                coverage.count("review", result.into());
            }
            Record::StallDeferred { .. } => coverage.count("stall", "deferred"),
            Record::AttemptEnded(AttemptEnd { fault, next, usage, .. }) => {
                self.on_attempt_ended(at, *fault, next, world, coverage)?;
                self.has_answered |= usage.messages > 0;
            }
            _ => {}
        }
        self.stops.on_record(record, &self.facts)
    }

    fn attempts(&self) -> u32 {
        self.facts.plan.as_ref().map_or(0, |plan| plan.attempt)
    }

    fn remaining_attempts(&self) -> u32 {
        self.facts
            .policy
            .attempts_max
            .saturating_sub(self.attempts() - self.attempts_before - self.attempts_suspended)
    }

    /// Resumes a finished run: its bounds start again at zero, its sessions and clocks continue.
    fn reopen(&mut self) {
        self.bounds = Bounds::default();
        (self.attempts_before, self.attempts_suspended) = (self.attempts(), 0);
        self.has_answered = false;
        self.cancel_decided = None;
        self.last_wait = None;
        self.reopened = true;
    }

    /// Checks the end of an attempt: its fault, and whether the next decision is allowed and on time.
    fn on_attempt_ended(
        &mut self,
        now: Moment,
        fault: Option<Fault>,
        next: &AfterAttempt,
        world: &World,
        coverage: &mut Coverage,
    ) -> OracleResult {
        (self.last_wait, self.fault) = (None, fault);
        let policy = self.facts.policy;
        let Some(plan) = self.facts.plan.clone() else {
            return ensure(false, Oracle::Bounds, || "an attempt ended that was never started".to_owned());
        };
        let unspawned;
        let ended = match &world.ended_attempt {
            Some(ended) if ended.attempt == plan.attempt => ended,
            Some(_) | None => {
                unspawned = EndedAttempt::unspawned(plan.attempt, Fault::Crashed, None);
                &unspawned
            }
        };
        let evidence = &ended.evidence;
        let stopped = match evidence.exit {
            // A summary exhausted a limit, so no attempt started.
            Exit::NeverSpawned if self.facts.is_limit_exhausted() => Some(StopCause::LimitReached),
            Exit::NeverSpawned if self.facts.cancel.is_some() => Some(StopCause::Cancelled),
            Exit::NeverSpawned | Exit::Code(_) | Exit::Signal(_) | Exit::Unobserved => self.stops.cause(),
        };
        check_truth(ended, stopped, fault)?;
        self.sessions.on_attempt_ended(&plan, ended);
        if evidence.made_progress {
            self.bounds.on_progress(policy);
        }
        self.cancel_decided = self.facts.cancel;
        if let Some(fault) = fault {
            coverage.count("fault", fault.as_str());
        }
        if matches!(next, AfterAttempt::Finish(Outcome { limit: Some(Limit::Attempts), .. })) {
            return Ok(());
        }
        let is_cancelled = self.facts.cancel.is_some() && fault.is_some();
        if is_cancelled && !matches!(next, AfterAttempt::Attempt { remedy: Remedy::KeepGoing, .. }) {
            let cancelled =
                matches!(next, AfterAttempt::Finish(outcome) if outcome.kind == OutcomeKind::Cancelled);
            return ensure(cancelled, Oracle::Cancels, || format!("a cancelled run continues with {next:?}"));
        }
        let by_limit = self.limits.decides(&self.facts, now, fault, evidence, next)?;
        if let AfterAttempt::Attempt { remedy: remedy @ Remedy::KeepGoing, plan, .. } = next {
            coverage.remedy(*remedy);
            coverage.prompt(plan.prompt);
            return self.sessions.check_keep_going(plan);
        }
        let fault = match fault {
            Some(fault) if fault != Fault::Permission || !policy.allow_denials => fault,
            // The keep-going oracle checks what follows a stop.
            _ if by_limit || self.facts.keep_going().is_some() => return Ok(()),
            _ => return check_done(next, policy),
        };
        let never_spawned = (evidence.exit == Exit::NeverSpawned).then_some(Continuity::Unchanged);
        let continuity = never_spawned.or(evidence.continuity);
        // The signal ended the attempt, so it does not count as a failure, and the next supervisor does not
        // wait.
        if self.facts.suspending_since.is_some() && fault == Fault::Interrupted {
            let resumes =
                matches!(next, AfterAttempt::Attempt { at, remedy: Remedy::Resume, .. } if *at == now);
            self.attempts_suspended +=
                u32::from(matches!(next, AfterAttempt::Attempt { remedy: Remedy::Resume, .. }));
            ensure(by_limit || resumes, Oracle::Bounds, || {
                format!("the suspended run continues with {next:?}")
            })?;
            return self.sessions.check_next(&plan, fault, continuity, next);
        }
        let case = AttemptCase {
            policy,
            evidence,
            now,
            fault,
            next_at: match next {
                AfterAttempt::Attempt { at, .. } => Some(*at),
                AfterAttempt::Check => None,
                AfterAttempt::Finish(outcome) => outcome.retry_at,
            },
            attempt: plan.attempt,
            attempts_before: self.attempts_before,
            session_open: self.sessions.is_open(),
            has_history: self.strategies.has_history,
            has_answered: self.has_answered || evidence.usage.messages > 0,
            can_drop_handoff: self.strategies.can_drop_handoff(),
        };
        if !by_limit {
            self.bounds.check(&case, next)?;
        }
        self.sessions.check_next(&plan, fault, continuity, next)?;
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
