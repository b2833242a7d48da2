//! The run's transition table: decides for each event what follows in each phase.

use super::decide;
use super::recovery::finding;
use super::{AfterWait, DeadlineKind, Observations, Phase, Run};
use crate::resume_strategy;
use crate::summary::summary_result;
use crate::{
    Action, AfterAttempt, AttemptEnd, AttemptPlan, CancelSource, CheckResult, CheckStage, Continuity, Event,
    Evidence, Exit, Fault, FoundAttempt, Limit, Moment, Notice, Now, Outcome, OutcomeKind, Policy, ProcessId,
    PromptKind, Record, ResumeRequest, ResumeStrategy, SessionFileState, SessionId, SessionPlan,
    SettingChange, Span, StartupError, Step, StopCause, StopLevel, StrategyReason, SummaryReport, classify,
};

// The agent retries a rejected key for three minutes. The second rejection is sufficient proof.
const AUTH_RETRIES_MAX: u32 = 2;
// A process that survives SIGKILLs for a minute cannot be stopped (a dead disk, a debugger).
const KILL_TIMEOUT: Span = Span::from_mins(1);
const KILLS_MIN: u64 = 3;
// Each SIGKILL is a record: with the shortest grace period, a minute of them would be thousands.
const KILLS_MAX: u64 = 30;

impl Run {
    /// Decides what follows an event. The records are already applied; the caller writes them to disk and
    /// then performs the actions.
    pub fn step(&mut self, policy: &Policy, now: Now, event: Event) -> Step {
        match event {
            Event::Started(session) => self.on_started(policy, now.at, session),
            Event::Reopened(request, changes) => self.on_reopened(policy, now, request, changes),
            Event::SessionInspected(file_state) => self.on_session_inspected(policy, now, file_state),
            Event::SummaryEnded(summary_report) => self.on_summary_ended(policy, now, summary_report),
            Event::CheckEnded(result) => self.on_check_ended(policy, now, result),
            Event::ReviewEnded(evidence) => self.on_review_ended(policy, now, evidence),
            Event::Spawned(process) => self.on_spawned(now.at, process),
            Event::SpawnFailed(error) => {
                let startup = error.startup();
                let evidence = Evidence { startup, ..Evidence::from_exit(Exit::NeverSpawned) };
                self.on_exited(policy, now, evidence);
            }
            Event::Noticed(notice) => self.on_notice(policy, now.at, &notice),
            Event::Exited(evidence) => self.on_exited(policy, now, evidence),
            Event::ProcessesProbed(processes) => self.on_processes_probed(policy, now.at, processes),
            Event::Swept(stopped_processes) => self.on_swept(policy, now, stopped_processes),
            Event::Ticked => self.on_ticked(policy, now),
            Event::Downtime(span) => self.on_downtime(now.at, span),
            Event::Cancelled(source) => self.on_stop_requested(policy, now.at, source),
            Event::Recovered { found, stop, last_record_at, changes } => {
                if let Some(finding) = finding(&self.state.phase, &found) {
                    self.record(now.at, Record::Recovered { finding, last_record_at, changes });
                }
                self.on_recovered(policy, now, found, stop);
            }
        }
        std::mem::take(&mut self.step)
    }

    pub(super) fn record(&mut self, at: Moment, record: Record) {
        self.apply(at, &record);
        self.step.records.push(record);
    }

    fn on_started(&mut self, policy: &Policy, at: Moment, session: SessionPlan) {
        if self.state.phase != Phase::New {
            return;
        }
        self.record(at, Record::RunStarted);
        let plan = AttemptPlan::new(1, session, PromptKind::Task);
        self.start_attempt(policy, at, plan);
    }

    fn on_reopened(
        &mut self,
        policy: &Policy,
        now: Now,
        request: ResumeRequest,
        changes: Vec<SettingChange>,
    ) {
        if self.state.outcome().is_none() {
            return;
        }
        let plan = decide::plan_reopened(&self.state, now, &request);
        self.record(now.at, Record::RunReopened { request, changes });
        self.start_attempt(policy, now.at, plan);
    }

    pub(super) fn start_attempt(&mut self, policy: &Policy, at: Moment, plan: AttemptPlan) {
        let Some(plan) = self.apply_limits_to_plan(policy, at, plan) else { return };
        self.record(at, Record::AttemptStarted { plan: plan.clone() });
        if plan.session.source().is_none() && plan.attempt > 1 {
            let (strategy, reason) = resume_strategy::strategy_for_new_session(
                &plan,
                &self.state.strategies_tried,
                !self.state.usage.is_empty(),
            );
            self.record(at, Record::ResumeStrategyChosen { strategy, reason });
            // Once per handoff. Without progress, the strategy is repeated only if no agent started.
            if strategy == ResumeStrategy::Handoff && policy.handoff_summary.is_some() {
                self.record(at, Record::SummaryStarted);
            }
        }
        self.launch_next(at);
    }

    /// Continues with the planned attempt. If the run is being suspended, the next supervisor continues with
    /// it.
    fn launch_next(&mut self, at: Moment) {
        if self.is_suspending() {
            self.finish_suspend(at);
        } else {
            self.step.actions.extend(self.launch_action());
        }
    }

    /// Returns the next action for the planned attempt: inspect its session, summarize older work, or start
    /// it.
    fn launch_action(&self) -> Option<Action> {
        let plan = self.state.plan.as_ref()?;
        if matches!(self.state.phase, Phase::Summarizing { .. }) {
            return Some(Action::StartSummary(plan.clone()));
        }
        Some(match plan.session.source().filter(|_| plan.strategy.is_none()) {
            Some(session) => Action::InspectSession(session.clone()),
            None => Action::Spawn(plan.clone()),
        })
    }

    fn on_session_inspected(&mut self, policy: &Policy, now: Now, file_state: SessionFileState) {
        let Some(plan) = self.state.plan.as_ref().filter(|_| self.state.phase == Phase::Starting) else {
            return;
        };
        let strategy = resume_strategy::strategy_for(&plan.session, file_state, &self.state.strategies_tried);
        match strategy.filter(|_| self.state.cancelled_by.is_none()) {
            Some(strategy) => {
                self.record(
                    now.at,
                    Record::ResumeStrategyChosen {
                        strategy,
                        reason: StrategyReason::SessionFile(file_state),
                    },
                );
                self.launch_next(now.at);
            }
            // This case is handled like an agent that started and did not find the session.
            None => {
                let startup = strategy.is_none().then_some(StartupError::SessionUnknown);
                let evidence = Evidence { startup, ..Evidence::from_exit(Exit::NeverSpawned) };
                self.on_exited(policy, now, evidence);
            }
        }
    }

    /// Starts the attempt, with or without a summary. No second summary is requested.
    fn on_summary_ended(&mut self, policy: &Policy, now: Now, mut summary_report: SummaryReport) {
        let Phase::Summarizing { stop_cause, .. } = self.state.phase else { return };
        if let SummaryReport::Ended(evidence) = &mut summary_report {
            evidence.stop_cause = stop_cause;
        }
        let (result, usage) = summary_result(&summary_report);
        self.record(now.at, Record::SummaryEnded { result, usage });
        self.record_exhausted_limit(policy, now.at);
        if self.state.cancelled_by.is_some() || self.is_exhausted() {
            self.on_exited(policy, now, Evidence::from_exit(Exit::NeverSpawned));
        } else {
            self.launch_next(now.at);
        }
    }

    pub(super) fn stop_summary(&mut self, at: Moment, cause: StopCause) {
        self.record(at, Record::SummaryStopOrdered { cause });
        self.step.actions.push(Action::StopSummary);
    }

    fn on_spawned(&mut self, at: Moment, process: ProcessId) {
        if self.state.phase != Phase::Starting {
            return;
        }
        self.record(at, Record::AttemptSpawned { process });
        match (self.state.cancelled_by, self.state.suspended_by) {
            (Some(source), _) => self.stop(at, StopCause::Cancelled, first_stop_level(source)),
            (None, Some(_)) => self.stop(at, StopCause::Suspended, StopLevel::Interrupt),
            (None, None) => {}
        }
    }

    fn on_notice(&mut self, policy: &Policy, at: Moment, notice: &Notice) {
        self.observations.observe(at, notice);
        if let Phase::Stopping { level: StopLevel::Interrupt, cause, .. } = self.state.phase {
            // The agent answers an interrupt with a result.
            return match notice {
                Notice::ExchangeEnded(result) if self.has_new_result() => {
                    self.on_interrupted_exchange_ended(policy, at, cause, *result);
                }
                _ => self.enforce_usage_limits(policy, at),
            };
        }
        // An exchange may start just as the input closes. It counts like any other.
        if !self.is_agent_working() {
            return;
        }
        match notice {
            Notice::SessionOpened(session) => self.on_session_opened(at, session),
            Notice::ToolEnded => self.on_progress(policy, at),
            Notice::ExchangeEnded(result) if result.is_progress() => self.on_progress(policy, at),
            Notice::Retrying { .. } if self.observations.auth_retries >= AUTH_RETRIES_MAX => {
                self.stop(at, StopCause::AuthRejected, StopLevel::Term);
            }
            Notice::MemoryExceeded => self.stop(at, StopCause::MemoryLimit, StopLevel::Term),
            Notice::Activity
            | Notice::MessageEnded
            | Notice::ExchangeStarted
            | Notice::ToolStarted
            | Notice::ClaimedDone
            | Notice::UsageUpdated(_)
            | Notice::WorkspaceFingerprinted(_)
            | Notice::ExchangeEnded(_)
            | Notice::Idle
            | Notice::BackgroundChanged { .. }
            | Notice::Retrying { .. }
            | Notice::RateLimitChanged(_)
            | Notice::ProcessFrozen => {}
        }
        if self.is_agent_working() {
            self.enforce_usage_limits(policy, at);
        }
        if self.state.phase == Phase::Running && self.agent_is_idle() {
            let has_background_work = self.observations.background_tasks > 0;
            // If the agent claims to be done, ask at once whether its background work is still needed.
            let continues =
                (!has_background_work || self.observations.claimed_done) && self.keep_going(policy, at);
            if !continues && !has_background_work {
                self.close_input(at);
            }
        }
    }

    pub(super) fn is_agent_working(&self) -> bool {
        matches!(self.state.phase, Phase::Running | Phase::Closing { .. })
    }

    /// Returns whether the agent has a result and reported that no exchange is open. Background work may be
    /// running.
    fn agent_is_idle(&self) -> bool {
        self.observations.idle && self.observations.result.is_some() && self.has_new_result()
    }

    /// Returns whether no exchange is open, but background work is running. Such an agent does not answer an
    /// interrupt.
    pub(super) fn only_background_works(&self) -> bool {
        self.observations.result.is_some() && self.observations.background_tasks > 0
    }

    /// Returns whether an exchange has ended since the last prompt, interrupt or voluntary stop. After a
    /// takeover, the stream of the agent is read again from its start.
    pub(super) fn has_new_result(&self) -> bool {
        self.observations.results > self.state.results_before
    }

    fn on_session_opened(&mut self, at: Moment, session: &SessionId) {
        if self.is_wrong_session(session) {
            // An agent that is already closing or stopping needs no further stop.
            if self.state.phase == Phase::Running {
                self.stop(at, StopCause::WrongSession, StopLevel::Term);
            }
        } else if self.state.session.as_ref() != Some(session) {
            self.record(at, Record::SessionOpened { session: session.clone() });
        }
    }

    /// Returns whether this is not the session that the attempt resumed. The id of a session resumed by its
    /// title is known only to the agent.
    fn is_wrong_session(&self, session: &SessionId) -> bool {
        self.state.plan.as_ref().is_some_and(|AttemptPlan { session: planned, .. }| {
            matches!(planned, SessionPlan::Resume(_)) && is_other_uuid(planned.id(), session)
        })
    }

    /// Returns whether this is not the new session that the attempt planned, and only a result named it. An
    /// agent reports a session that it opens before its result.
    fn is_foreign(&self, session: &SessionId) -> bool {
        self.state.plan.as_ref().is_some_and(|AttemptPlan { session: planned, .. }| {
            matches!(planned, SessionPlan::New(_) | SessionPlan::Fork { .. })
                && self.state.session.is_none()
                && is_other_uuid(planned.id(), session)
        })
    }

    fn on_progress(&mut self, policy: &Policy, at: Moment) {
        // One record per attempt is sufficient.
        if !self.state.made_progress {
            self.record(at, Record::ProgressMade { resets_retries: policy.progress_resets_retries });
        }
    }

    pub(super) fn close_input(&mut self, at: Moment) {
        self.record(at, Record::InputClosed);
        self.step.actions.push(Action::CloseInput);
    }

    pub(super) fn stop(&mut self, at: Moment, cause: StopCause, level: StopLevel) {
        self.record(at, Record::StopOrdered { cause, level, stall: None });
        self.step.actions.push(Action::Stop(level));
    }

    fn on_exited(&mut self, policy: &Policy, now: Now, mut evidence: Evidence) {
        evidence.stop_cause = match &self.state.phase {
            Phase::Stopping { cause, .. } => Some(*cause),
            // The summary may have used the rest of the limit.
            Phase::Starting if self.is_exhausted() => Some(StopCause::LimitReached),
            Phase::Starting if self.state.cancelled_by.is_some() && evidence.exit == Exit::NeverSpawned => {
                Some(StopCause::Cancelled)
            }
            Phase::Starting | Phase::Running | Phase::Closing { .. } => None,
            Phase::New
            | Phase::Summarizing { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Waiting { .. }
            | Phase::Suspended { .. }
            | Phase::Finished { .. } => return,
        };
        if evidence.exit == Exit::NeverSpawned {
            evidence.continuity = Some(Continuity::Unchanged);
        }
        // A program that opened a session in this run is an agent that died early. One that was stopped may be an
        // agent.
        let may_be_agent = self.state.session.is_some() || evidence.stop_cause.is_some();
        if evidence.startup == Some(StartupError::NotAnAgent) && may_be_agent {
            evidence.startup = None;
        }
        // Work done without a supervisor, or during a stop, counts too.
        match &evidence.session {
            Some(session)
                if self.is_wrong_session(session)
                    || !evidence.session_named_by_agent && self.is_foreign(session) =>
            {
                evidence.stop_cause = Some(StopCause::WrongSession)
            }
            Some(session) => self.on_session_opened(now.at, session),
            None => {}
        }
        if evidence.made_progress {
            self.on_progress(policy, now.at);
        }
        let fault = classify(&evidence);
        let after_stop = self.after_agent_stop(policy, now, &evidence, fault);
        let next =
            after_stop.unwrap_or_else(|| decide::next_step(&self.state, policy, now, &evidence, fault));
        // Only its budget makes an agent stop its sub-agents without a further exchange. It knows all their usage, but
        // reports it with the next exchange.
        let is_stopped_by_agent =
            evidence.lost_sub_agents && evidence.stop_cause.is_none() && evidence.exit == Exit::Code(0);
        let next = match policy.limits.budget {
            Some(_) if fault == Some(Fault::Interrupted) && is_stopped_by_agent => {
                AfterAttempt::Finish(Outcome::from_limit(Limit::Budget, None))
            }
            _ => next,
        };
        // The signal of the suspension ended it: it did not fail.
        let is_suspended = fault == Some(Fault::Interrupted) && self.is_suspending();
        let next = match next {
            AfterAttempt::Attempt { .. } if self.is_last_attempt(policy) && !is_suspended => {
                AfterAttempt::Finish(Outcome::from_limit(Limit::Attempts, fault))
            }
            next => next,
        };
        let Evidence { usage, result, continuity, denied_calls, questions, background, .. } = evidence;
        // Users need the evidence: no other record describes the observations.
        let is_kept = matches!(fault, Some(Fault::Unknown | Fault::AgentUnusable));
        let evidence = is_kept.then(|| Box::new(evidence));
        let end = AttemptEnd {
            fault,
            usage,
            result,
            denied_calls,
            questions,
            background,
            continuity,
            evidence,
            next,
        };
        self.record(now.at, Record::AttemptEnded(end));
        self.step.actions.push(Action::Sweep);
    }

    pub(super) fn is_last_attempt(&self, policy: &Policy) -> bool {
        let counted = self.state.attempts() - self.state.attempts_before - self.state.attempts_suspended;
        counted >= policy.attempts_max
    }

    fn on_swept(&mut self, policy: &Policy, now: Now, stopped_processes: u32) {
        let Phase::Sweeping { next } = &self.state.phase else { return };
        let (next, at) = (next.clone(), now.at);
        self.record(at, Record::Swept { stopped_processes });
        match (next, self.state.cancelled_by) {
            (AfterAttempt::Finish(outcome), _) => self.finish(at, outcome),
            (AfterAttempt::Attempt { .. } | AfterAttempt::Check, None) if self.is_suspending() => {
                self.finish_suspend(at)
            }
            (AfterAttempt::Check, None) => self.start_check(policy, now),
            (AfterAttempt::Attempt { .. } | AfterAttempt::Check, Some(source)) => {
                self.finish(at, Outcome::cancelled(source))
            }
            (AfterAttempt::Attempt { at: until, plan, .. }, None) if until <= at => {
                self.start_attempt(policy, at, plan)
            }
            // The deadline starts the attempt.
            (AfterAttempt::Attempt { .. }, None) => {}
        }
    }

    pub(super) fn finish(&mut self, at: Moment, outcome: Outcome) {
        self.record(at, Record::RunFinished { outcome });
        self.step.actions.extend(self.unfinished_actions());
    }

    fn on_ticked(&mut self, policy: &Policy, now: Now) {
        let Some(deadline) = self.deadline(policy).filter(|deadline| deadline.at <= now.at) else { return };
        match (deadline.kind, &self.state.phase) {
            (DeadlineKind::NextAttempt, Phase::Waiting { next: AfterWait::Attempt(plan), .. }) => {
                let plan = plan.clone();
                self.start_attempt(policy, now.at, plan);
            }
            (DeadlineKind::NextReview, _) => self.start_review(policy, now),
            (DeadlineKind::CheckTimeout | DeadlineKind::ReviewTimeout, _) => {
                self.stop_checking(now.at, StopCause::TimedOut)
            }
            (DeadlineKind::Limit, Phase::Checking { .. }) => {
                self.record_limit(policy, now.at);
                self.stop_checking(now.at, StopCause::LimitReached);
            }
            (DeadlineKind::SummaryTimeout, _) => self.stop_summary(now.at, StopCause::TimedOut),
            (DeadlineKind::Stall, _) => self.on_silence(now.at),
            (DeadlineKind::NoProgress, _) => self.stop_stalled_agent(now.at, StopCause::NoProgress, None),
            (DeadlineKind::AttemptTimeout, _) => self.stop(now.at, StopCause::TimedOut, StopLevel::Term),
            (DeadlineKind::BackgroundTimeout, _) => {
                if !self.has_new_result() || !self.keep_going(policy, now.at) {
                    self.stop(now.at, StopCause::BackgroundStopped, StopLevel::Term);
                }
            }
            (DeadlineKind::ExitTimeout, _) if self.observations.background_tasks > 0 => {
                self.stop(now.at, StopCause::BackgroundStopped, StopLevel::Term);
            }
            (DeadlineKind::ExitTimeout, _) => self.stop(now.at, StopCause::DidNotExit, StopLevel::Term),
            (DeadlineKind::Limit, _) => self.enforce_limits(policy, now.at),
            (DeadlineKind::IdleAfterResult, _) => {
                // An agent without a result since the last prompt did not receive it.
                if !self.has_new_result() || !self.keep_going(policy, now.at) {
                    self.close_input(now.at);
                }
            }
            (DeadlineKind::EscalateStop, Phase::Stopping { cause, level, .. }) => {
                let (cause, level) = (*cause, *level);
                self.escalate_stop(policy, now.at, cause, level);
            }
            (DeadlineKind::NextAttempt | DeadlineKind::EscalateStop, _) => {}
        }
    }

    fn escalate_stop(&mut self, policy: &Policy, at: Moment, cause: StopCause, level: StopLevel) {
        let kills_max = (KILL_TIMEOUT.0 / self.stop_grace(policy).0.max(1)).clamp(KILLS_MIN, KILLS_MAX);
        match level {
            StopLevel::Interrupt => self.stop(at, cause, StopLevel::Term),
            StopLevel::Term => self.stop(at, cause, StopLevel::Kill),
            StopLevel::Kill if u64::from(self.state.kills) < kills_max => {
                self.stop(at, cause, StopLevel::Kill)
            }
            // The agent cannot be stopped, and no other process may run next to it.
            StopLevel::Kill => self.finish(at, Outcome { kind: OutcomeKind::Bug, ..Outcome::DONE }),
        }
    }

    fn on_downtime(&mut self, at: Moment, span: Span) {
        if !self.is_idle() && span > Span::ZERO {
            self.record(at, Record::Downtime { duration: span });
        }
    }

    fn on_stop_requested(&mut self, policy: &Policy, at: Moment, source: CancelSource) {
        if self.suspends(policy, source) {
            self.suspend(at, source);
        } else {
            self.cancel(at, source);
        }
    }

    fn cancel(&mut self, at: Moment, source: CancelSource) {
        if self.is_idle() || self.state.cancelled_by == Some(source) {
            return;
        }
        self.record(at, Record::CancelRequested { source });
        if let Phase::Waiting { next, .. } = &self.state.phase {
            if let AfterWait::Review(_) = next {
                self.record(at, Record::CheckEnded { result: CheckResult::Stopped });
            }
            self.finish(at, Outcome::cancelled(source));
        } else {
            self.stop_running(at, StopCause::Cancelled, first_stop_level(source));
        }
    }

    /// Stops the process that is running: the agent at this level or harder.
    pub(super) fn stop_running(&mut self, at: Moment, cause: StopCause, level: StopLevel) {
        match &self.state.phase {
            Phase::Running if self.only_background_works() => self.stop(at, cause, StopLevel::Term),
            Phase::Running | Phase::Closing { .. } => self.stop(at, cause, level),
            Phase::Stopping { level: ordered, .. } if *ordered < level => self.stop(at, cause, level),
            Phase::Summarizing { stop_cause: None, .. } => self.stop_summary(at, cause),
            Phase::Checking { stop_cause: None, .. } => self.stop_checking(at, cause),
            // The next event from the supervisor finds the order in the state.
            Phase::Summarizing { stop_cause: Some(_), .. }
            | Phase::Checking { stop_cause: Some(_), .. }
            | Phase::Stopping { .. }
            | Phase::Starting
            | Phase::Sweeping { .. }
            | Phase::Waiting { .. }
            | Phase::New
            | Phase::Suspended { .. }
            | Phase::Finished { .. } => {}
        }
    }

    fn on_recovered(&mut self, policy: &Policy, now: Now, found: FoundAttempt, stop: Option<CancelSource>) {
        // Comes first, because a cancelled run must not start an agent.
        if let Some(source) = stop {
            self.on_stop_requested(policy, now.at, source);
            // No process is left to stop.
            self.step.actions.retain(|action| matches!(action, Action::Finish(_)));
            if !self.step.actions.is_empty() {
                return;
            }
        }
        match (&self.state.phase, found) {
            // The attempt was planned but never started. It still starts, unless the run was cancelled.
            (Phase::Starting, FoundAttempt::Ended(evidence))
                if evidence.exit == Exit::NeverSpawned && self.state.cancelled_by.is_none() =>
            {
                self.launch_next(now.at);
            }
            (Phase::Starting, FoundAttempt::Running(process)) => self.on_spawned(now.at, process),
            // A summary written before the supervisor died is used. It is not requested again.
            (Phase::Summarizing { .. }, FoundAttempt::Ended(evidence)) => {
                self.on_summary_ended(policy, now, SummaryReport::Ended(evidence));
            }
            // A verdict from the time without a supervisor counts.
            (Phase::Checking { stage: CheckStage::Review, .. }, FoundAttempt::Ended(evidence)) => {
                self.on_review_ended(policy, now, evidence);
            }
            // No process of the check is left: it runs again, or was being stopped anyway.
            (Phase::Checking { stop_cause: Some(_), .. }, FoundAttempt::Ended(_)) => {
                self.on_check_ended(policy, now, CheckResult::Stopped);
            }
            (_, FoundAttempt::Running(_)) => {
                self.observations = Observations::new(now.at);
                self.step.actions.extend(self.unfinished_actions());
            }
            (
                Phase::Starting | Phase::Running | Phase::Closing { .. } | Phase::Stopping { .. },
                FoundAttempt::Ended(evidence),
            ) => {
                self.on_exited(policy, now, evidence);
            }
            (
                Phase::New
                | Phase::Sweeping { .. }
                | Phase::Checking { .. }
                | Phase::Waiting { .. }
                | Phase::Suspended { .. }
                | Phase::Finished { .. },
                FoundAttempt::Ended(_),
            ) => {
                self.step.actions.extend(self.unfinished_actions());
            }
        }
    }
}

fn is_other_uuid(planned: &SessionId, session: &SessionId) -> bool {
    planned.is_uuid() && !planned.as_str().eq_ignore_ascii_case(session.as_str())
}

fn first_stop_level(source: CancelSource) -> StopLevel {
    match source {
        CancelSource::Person => StopLevel::Interrupt,
        CancelSource::PersonNow | CancelSource::Sigterm | CancelSource::Sighup => StopLevel::Term,
    }
}
