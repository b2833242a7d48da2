//! Applies records to a run; nothing else changes it. Every record applies to every state, so journals of
//! older versions load forever.

use super::{AfterWait, LimitState, Observations, Phase, Run, State, WrapUpStage};
use crate::{
    AfterAttempt, ApiError, AttemptEnd, AttemptPlan, CheckResult, CheckStage, Continuity, Fault,
    KeepGoingPrompt, LimitThreshold, Moment, Nudge, PromptKind, Record, Remedy, ResumeRequest, ReviewResult,
    Span, StopCause, StopLevel, SummaryResult, remedy,
};

impl Run {
    /// Applies one record of a step that was decided at `at`.
    pub fn apply(&mut self, at: Moment, record: &Record) {
        // From the end of an attempt on, its usage is part of the run's total.
        if let Record::AttemptStarted { .. } | Record::AttemptSpawned { .. } | Record::AttemptEnded(_) =
            record
        {
            self.observations = Observations::new(at);
        }
        if let Record::Downtime { duration } = record {
            self.observations.add_downtime(*duration);
        }
        if let Record::PromptSent { .. } = record {
            self.observations.on_prompt_sent(at);
        }
        self.state.apply(at, record);
    }
}

impl State {
    fn apply(&mut self, at: Moment, record: &Record) {
        match record {
            Record::RunStarted => self.clocks.started = at,
            Record::RunReopened { request, .. } => self.reset_for_reopen(at, request),
            Record::AttemptStarted { plan } => {
                self.end_wait(at);
                self.phase = Phase::Starting;
                self.started_with_history |= plan.attempt == 1 && plan.session.source().is_some();
                self.plan = Some(plan.clone());
                self.apply_prompt(plan.prompt);
                self.results_before = 0;
                self.attempt_started_at = at;
                self.process = None;
                self.made_progress = false;
                self.stall_deferred_until = None;
                self.input_closed = false;
                self.kills = 0;
                self.result = None;
                self.check_passed = false;
            }
            Record::ResumeStrategyChosen { strategy, .. } => {
                self.strategies_tried.insert(*strategy);
                if let Some(plan) = &mut self.plan {
                    plan.strategy = Some(*strategy);
                }
            }
            Record::SummaryStarted => self.phase = Phase::Summarizing { since: at, stop_cause: None },
            Record::SummaryStopOrdered { cause } => {
                if let Phase::Summarizing { stop_cause, .. } = &mut self.phase {
                    *stop_cause = Some(*cause);
                }
            }
            Record::SummaryEnded { result, usage } => {
                self.usage = self.usage.plus(*usage);
                self.phase = Phase::Starting;
                if let Some(plan) = &mut self.plan {
                    plan.remaining.budget =
                        plan.remaining.budget.map(|money| money.saturating_sub(usage.total_cost()));
                    plan.with_summary = *result == SummaryResult::Written;
                }
            }
            Record::AttemptSpawned { process } => {
                // No supervisor may have run for hours between the plan and the start.
                self.attempt_started_at = at;
                self.process = Some(*process);
                if self.phase == Phase::Starting {
                    self.phase = Phase::Running;
                }
            }
            Record::SessionOpened { session } => self.session = Some(session.clone()),
            Record::ProgressMade { resets_retries } => {
                self.made_progress = true;
                self.parked_since = None;
                if *resets_retries {
                    self.reset_progress_counts();
                }
            }
            Record::LimitReached { limit, threshold, results } => {
                self.results_before = *results;
                let stage = match threshold {
                    LimitThreshold::Reserve => WrapUpStage::Due,
                    LimitThreshold::Exhausted => WrapUpStage::Exhausted,
                };
                self.limit_state = Some(LimitState { limit: *limit, stage });
            }
            Record::AgentStopped { claimed_done, workspace_fingerprint, results, background } => {
                self.results_before = *results;
                self.apply_agent_stop(*claimed_done, *workspace_fingerprint);
                if *background > 0 {
                    // Background work continues, wherever it writes its files.
                    self.idle_stops = 0;
                }
            }
            Record::PromptSent { prompt, results, .. } => {
                self.results_before = *results;
                self.apply_prompt(*prompt);
                self.phase = Phase::Running;
            }
            Record::InputClosed => {
                self.input_closed = true;
                if self.phase == Phase::Running {
                    self.phase = Phase::Closing { since: at };
                }
            }
            Record::StallDeferred { until, .. } => self.stall_deferred_until = Some(*until),
            Record::Recovered { .. } => self.recover(at),
            Record::StopOrdered { cause, level, .. } => {
                self.phase = Phase::Stopping { since: at, cause: *cause, level: *level };
                self.kills += u32::from(*level == StopLevel::Kill);
            }
            Record::Downtime { duration: span } => {
                self.attempt_started_at = self.attempt_started_at + *span;
                self.stall_deferred_until = self.stall_deferred_until.map(|until| until + *span);
                self.delay_outage(*span);
                // Downtime during a wait counts as part of the wait.
                if !matches!(self.phase, Phase::Waiting { .. }) {
                    self.clocks.downtime = self.clocks.downtime + *span;
                }
                if let Phase::Closing { since }
                | Phase::Stopping { since, .. }
                | Phase::Checking { since, .. }
                | Phase::Summarizing { since, .. } = &mut self.phase
                {
                    *since = *since + *span;
                }
            }
            Record::AttemptEnded(end) => self.end_attempt(at, end),
            Record::Swept { .. } => {
                if let Phase::Sweeping { next: AfterAttempt::Attempt { at: until, plan, .. } } = &self.phase {
                    let next = AfterWait::Attempt(plan.clone());
                    self.phase = Phase::Waiting { since: at, until: *until, next };
                }
            }
            Record::CheckStarted => {
                self.checks += 1;
                self.check_has_commands = true;
                self.review_started_at = None;
                (self.review_outages, self.review_failures, self.no_verdict) = (0, 0, None);
                self.phase = Phase::Checking { since: at, stage: CheckStage::Commands, stop_cause: None };
            }
            Record::ReviewStarted { after_commands } => {
                self.end_wait(at);
                self.reviews += 1;
                self.check_has_commands = *after_commands;
                self.review_started_at.get_or_insert(at);
                self.phase = Phase::Checking { since: at, stage: CheckStage::Review, stop_cause: None };
            }
            Record::ReviewEnded { result, usage, retry_at } => {
                self.usage = self.usage.plus(*usage);
                match (*result, *retry_at) {
                    (ReviewResult::NoVerdict(fault), Some(until)) => {
                        // The suspension or the takeover stopped the reviewer: it did not fail.
                        if self.suspended_by.is_none() && !self.is_review_suspended(fault) {
                            self.count_review_retry(fault, at);
                        }
                        let next = AfterWait::Review(fault);
                        self.phase = Phase::Waiting { since: at, until, next };
                    }
                    (ReviewResult::NoVerdict(fault), None) => self.no_verdict = Some(fault),
                    (ReviewResult::Passed | ReviewResult::Failed(_), _) => {}
                }
            }
            Record::CheckStopOrdered { cause } => {
                if let Phase::Checking { stop_cause, .. } = &mut self.phase {
                    *stop_cause = Some(*cause);
                }
            }
            Record::CheckEnded { result } => {
                self.check_passed = *result == CheckResult::Passed;
                self.checks_failed += u32::from(!self.check_passed);
            }
            Record::CancelRequested { source } => self.cancelled_by = Some(*source),
            Record::SuspendOrdered { source } => self.suspended_by = Some(*source),
            Record::Suspended { source } => {
                self.end_wait(at);
                let then = Box::new(std::mem::take(&mut self.phase));
                self.phase = Phase::Suspended { since: at, source: *source, then };
            }
            Record::RunFinished { outcome } => {
                self.end_wait(at);
                self.finished_at = at;
                self.phase = Phase::Finished { outcome: *outcome };
            }
        }
    }

    fn end_attempt(&mut self, at: Moment, end: &AttemptEnd) {
        self.process = None;
        self.prompt_lost = end.continuity == Some(Continuity::Unchanged);
        self.denied_calls = self.denied_calls.saturating_add(end.denied_calls);
        self.questions = self.questions.plus(end.questions);
        self.fault = end.fault;
        self.startup = end.evidence.as_ref().and_then(|evidence| evidence.startup);
        self.result = end.result;
        self.usage = self.usage.plus(end.usage);
        // Without an agent, the strategy was not tried.
        if matches!(end.fault, Some(Fault::AgentMissing | Fault::AgentUnusable)) {
            let strategy = self.plan.as_ref().and_then(|plan| plan.strategy);
            self.strategies_tried.retain(|tried| Some(*tried) != strategy);
        }
        if let (Some(fault), AfterAttempt::Attempt { remedy, plan, .. }) = (end.fault, &end.next) {
            self.count_retry(fault, *remedy, plan, at);
        }
        self.phase = Phase::Sweeping { next: end.next.clone() };
    }

    /// Continues the run under a new supervisor. A suspended run returns to its previous phase, and the time
    /// since the suspension counts as downtime.
    fn recover(&mut self, at: Moment) {
        self.suspended_by = None;
        if let Phase::Suspended { since, then, .. } = &mut self.phase {
            let suspended = at.since(*since);
            self.clocks.downtime = self.clocks.downtime + suspended;
            self.phase = std::mem::take(&mut **then);
            if let Phase::Waiting { since, .. } = &mut self.phase {
                *since = at;
            }
            self.delay_outage(suspended);
        }
        if let Phase::Checking { since, stop_cause, stage, .. } = &mut self.phase {
            match (*stop_cause, *stage) {
                // The commands of a check run again from the start, with their whole timeout.
                (None | Some(StopCause::Suspended), CheckStage::Commands) => {
                    (*since, *stop_cause) = (at, None)
                }
                // The takeover stops a reviewer, as a suspension does.
                (None, CheckStage::Review) => *stop_cause = Some(StopCause::Suspended),
                (Some(_), _) => {}
            }
        }
    }

    fn apply_agent_stop(&mut self, claimed_done: bool, workspace: Option<u64>) {
        let unchanged = workspace.is_some() && workspace == self.workspace;
        self.voluntary_stops += 1;
        self.done_claims = if claimed_done { self.done_claims + 1 } else { 0 };
        self.idle_stops = if unchanged { self.idle_stops + 1 } else { 0 };
        self.workspace = workspace;
    }

    fn apply_prompt(&mut self, prompt: PromptKind) {
        self.limit_warning_sent |=
            matches!(prompt, PromptKind::KeepGoing(KeepGoingPrompt { limit_near: true, .. }));
        if let (PromptKind::WrapUp(_), Some(reached)) = (prompt, &mut self.limit_state) {
            reached.stage = WrapUpStage::Requested;
            self.wrap_ups += 1;
        }
    }

    /// Resets the counters that limit a run, because the user decided to continue the run.
    fn reset_for_reopen(&mut self, at: Moment, request: &ResumeRequest) {
        self.reopen_count = self.reopen_count.saturating_add(1);
        self.is_reopened_by_user = true;
        if let ResumeRequest::Workflow(resumes) = request {
            (self.is_reopened_by_user, self.workflow_resumes) = (false, *resumes);
        }
        self.usage_before_reopen = self.usage;
        (self.attempts_before, self.attempts_suspended) = (self.attempts(), 0);
        self.clocks.finished = self.clocks.finished + at.since(self.finished_at);
        self.cancelled_by = None;
        self.suspended_by = None;
        self.limit_state = None;
        self.parked_since = None;
        self.no_verdict = None;
        self.wrap_ups = 0;
        self.checks_failed = 0;
        self.done_claims = 0;
        self.idle_stops = 0;
        self.limit_warning_sent = false;
        self.reset_progress_counts();
        self.answer_nudges = 0;
        self.faults_retried_once.clear();
    }

    fn reset_progress_counts(&mut self) {
        self.failures_since_progress = 0;
        self.outage_started_at = None;
        self.outage_waits = 0;
        self.malformed_responses = 0;
        self.parks = 0;
        self.smaller_steps_nudges = 0;
        self.faults_with_new_session.clear();
        self.strategies_tried.clear();
    }

    /// Moves the start of an outage forward by a time in which no request was sent.
    fn delay_outage(&mut self, span: Span) {
        for started_at in [&mut self.outage_started_at, &mut self.review_started_at] {
            *started_at = started_at.map(|started_at| started_at + span);
        }
    }

    /// Counts a park. A usage limit is an answer of the servers, so it ends an outage.
    fn count_park(&mut self, at: Moment) {
        self.parks += 1;
        self.parked_since.get_or_insert(at);
        self.outage_started_at = None;
        self.malformed_responses = 0;
    }

    fn end_wait(&mut self, at: Moment) {
        if let Phase::Waiting { since, .. } = self.phase {
            self.clocks.waiting = self.clocks.waiting + at.since(since);
        }
    }

    /// Returns whether a suspension or a takeover stopped the reviewer, which ended with this fault.
    pub(super) fn is_review_suspended(&self, fault: Fault) -> bool {
        let is_stopped = matches!(self.phase, Phase::Checking { stop_cause: Some(StopCause::Suspended), .. });
        is_stopped && fault == Fault::Interrupted
    }

    /// Counts a reviewer without a verdict against the bound for its fault.
    fn count_review_retry(&mut self, fault: Fault, at: Moment) {
        match remedy(fault) {
            Remedy::WaitOut => self.review_outages += 1,
            Remedy::Park => {
                self.count_park(at);
                (self.review_outages, self.review_started_at) = (0, None);
            }
            _ => self.review_failures += 1,
        }
    }

    /// Counts a retry against the bound for its kind.
    fn count_retry(&mut self, fault: Fault, remedy: Remedy, plan: &AttemptPlan, at: Moment) {
        match remedy {
            Remedy::WaitOut => {
                self.outage_started_at.get_or_insert(at);
                self.outage_waits += 1;
                // Each agent may die in the outage before its session has a message. The outage has its own bound.
                self.faults_with_new_session.remove(&Fault::SessionLost);
                if self.result.is_some_and(|result| result.api_error == Some(ApiError::Malformed)) {
                    self.malformed_responses += 1;
                }
            }
            Remedy::Park => self.count_park(at),
            // The signal of the suspension ended this attempt; it did not fail.
            Remedy::Resume if fault == Fault::Interrupted && self.suspended_by.is_some() => {
                self.attempts_suspended += 1;
            }
            Remedy::Resume | Remedy::ResumeWhileProgressing | Remedy::ResumeWithinLimit => {
                self.failures_since_progress += 1
            }
            Remedy::KeepGoing => {}
            Remedy::ResumeOnce | Remedy::RetryOnce | Remedy::ResumeExisting => {
                self.failures_since_progress += 1;
                self.faults_retried_once.insert(fault);
            }
            Remedy::TryFork => {
                self.failures_since_progress += 1;
                self.faults_with_new_session.insert(fault);
            }
            Remedy::ReplaceLostSession | Remedy::ReplaceFullSession => {
                self.faults_with_new_session.insert(fault);
            }
            Remedy::Nudge(Nudge::Answer) => self.answer_nudges += 1,
            Remedy::Nudge(Nudge::SmallerSteps) => self.smaller_steps_nudges += 1,
            Remedy::End | Remedy::EndUnlessAllowed => {}
        }
        // A replaced session is never resumed again.
        if self.session.as_ref().is_some_and(|session| session != plan.session.id()) {
            self.session = None;
        }
    }
}
