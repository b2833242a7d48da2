//! What each event means in each phase: the run's transition table.

use super::decide;
use super::{DeadlineKind, Observations, Phase, Run};
use crate::recovery::finding;
use crate::resume_strategy::{self, source_session};
use crate::summary::summary_result;
use crate::{
    Action, AfterAttempt, AttemptPlan, CancelSource, CheckResult, Event, Evidence, Exit, Fault, FoundAttempt,
    Limit, Moment, Notice, Now, Outcome, OutcomeKind, Policy, ProcessId, PromptKind, Record, ResumeRequest,
    ResumeStrategy, SessionFileState, SessionId, SessionPlan, SettingChange, Span, SpawnError, StartupError,
    Step, StopCause, StopLevel, StrategyReason, SummaryReport, classify,
};

// The agent retries a rejected key for three minutes; the second rejection already proves it.
const AUTH_RETRIES_MAX: u32 = 2;
// A process that outlives this many SIGKILLs cannot be ended by us (a dead disk, a debugger).
const KILLS_MAX: u32 = 3;

impl Run {
    /// Decides what one event means. The records are applied already; the caller writes them down
    /// and then performs the actions.
    pub fn step(&mut self, policy: &Policy, now: Now, event: Event) -> Step {
        let mut step = Step::default();
        self.step_into(policy, now, event, &mut step);
        step
    }

    /// The same as [`Run::step`], added to a step whose buffers are used again: for those who take
    /// millions of steps.
    pub fn step_into(&mut self, policy: &Policy, now: Now, event: Event, step: &mut Step) {
        match event {
            Event::Started(session) => self.on_started(policy, now.at, session, step),
            Event::Reopened(ask, changes) => self.on_reopened(policy, now, (ask, changes), step),
            Event::SessionInspected(found) => self.on_session_inspected(policy, now, found, step),
            Event::SummaryEnded(summary_report) => self.on_summary_ended(policy, now, summary_report, step),
            Event::CheckEnded(result) => self.checked(policy, now, result, step),
            Event::Spawned(process) => self.on_spawned(now.at, process, step),
            Event::SpawnFailed(error) => self.on_spawn_failed(policy, now, error, step),
            Event::Noticed(notice) => self.on_notice(policy, now.at, &notice, step),
            Event::Exited(evidence) => self.on_exited(policy, now, evidence, step),
            Event::ProcessesProbed(signs) => self.examined(policy, now.at, signs, step),
            Event::Swept(ended) => self.on_swept(policy, now.at, ended, step),
            Event::Ticked => self.on_ticked(policy, now, step),
            Event::Downtime(span) => self.on_downtime(span, step),
            Event::Cancelled(by) if self.suspends(policy, by) => self.suspend(now.at, by, step),
            Event::Cancelled(by) => self.on_cancelled(now.at, by, step),
            Event::Recovered { found, last_record_at: last_at, changes } => {
                self.on_recovered(policy, now, (found, last_at, changes), step);
            }
        }
    }

    pub(super) fn record(&mut self, step: &mut Step, record: Record) {
        self.apply(&record);
        step.records.push(record);
    }

    fn on_started(&mut self, policy: &Policy, at: Moment, session: SessionPlan, step: &mut Step) {
        if self.state.phase != Phase::New {
            return;
        }
        self.record(step, Record::RunStarted { at });
        let plan = AttemptPlan::new(1, session, PromptKind::Task);
        self.start_attempt(policy, at, plan, step);
    }

    fn on_reopened(
        &mut self,
        policy: &Policy,
        now: Now,
        (ask, changes): (ResumeRequest, Vec<SettingChange>),
        step: &mut Step,
    ) {
        if self.state.outcome().is_none() {
            return;
        }
        let plan = decide::reopened(&self.state, now, &ask);
        self.record(step, Record::RunReopened { at: now.at, request: ask, changes });
        self.start_attempt(policy, now.at, plan, step);
    }

    pub(super) fn start_attempt(&mut self, policy: &Policy, at: Moment, plan: AttemptPlan, step: &mut Step) {
        let Some(plan) = self.apply_limits_to_plan(policy, at, plan, step) else { return };
        self.record(step, Record::AttemptStarted { at, plan: plan.clone() });
        if source_session(&plan.session).is_none() && plan.attempt > 1 {
            let (strategy, reason) = resume_strategy::strategy_for_new_session(
                &plan,
                self.state.strategies_tried,
                !self.state.usage.is_empty(),
            );
            self.record(step, Record::ResumeStrategyChosen { at, strategy, reason });
            // Once for each seed: that rung is not taken again without progress.
            if strategy == ResumeStrategy::Handoff && policy.summarize {
                self.record(step, Record::SummaryStarted { at });
            }
        }
        self.launch_next(at, step);
    }

    /// Continues with the attempt that was ordered, unless the run is being suspended: then the next supervisor does.
    fn launch_next(&mut self, at: Moment, step: &mut Step) {
        if self.is_suspending() {
            self.suspended(at, step);
        } else {
            step.actions.extend(self.launch_action());
        }
    }

    /// What is to be done next for the attempt that was ordered: to look for its session, to have older work
    /// condensed, or to start it.
    fn launch_action(&self) -> Option<Action> {
        let plan = self.state.plan.as_ref()?;
        if matches!(self.state.phase, Phase::Summarizing { .. }) {
            return Some(Action::StartSummary(plan.clone()));
        }
        let history = source_session(&plan.session).filter(|_| plan.strategy.is_none());
        Some(
            history.map_or_else(
                || Action::Spawn(plan.clone()),
                |session| Action::InspectSession(session.clone()),
            ),
        )
    }

    fn on_session_inspected(&mut self, policy: &Policy, now: Now, found: SessionFileState, step: &mut Step) {
        let Some(plan) = self.state.plan.as_ref().filter(|_| self.state.phase == Phase::Starting) else {
            return;
        };
        let strategy = resume_strategy::strategy_for(&plan.session, found, self.state.strategies_tried);
        match strategy.filter(|_| self.state.cancelled_by.is_none()) {
            Some(strategy) => {
                self.record(
                    step,
                    Record::ResumeStrategyChosen {
                        at: now.at,
                        strategy,
                        reason: StrategyReason::SessionFile(found),
                    },
                );
                self.launch_next(now.at, step);
            }
            // As if the agent had been started, had looked, and had found nothing.
            None => {
                let startup = strategy.is_none().then_some(StartupError::SessionUnknown);
                let evidence = Evidence { startup, ..Evidence::of_exit(Exit::NeverSpawned) };
                self.on_exited(policy, now, evidence, step);
            }
        }
    }

    /// The attempt starts, with a summary or without: no model is asked a second time.
    fn on_summary_ended(
        &mut self,
        policy: &Policy,
        now: Now,
        mut summary_report: SummaryReport,
        step: &mut Step,
    ) {
        let Phase::Summarizing { stop_cause: stopped, .. } = self.state.phase else { return };
        if let SummaryReport::Ended(evidence) = &mut summary_report {
            evidence.stop_cause = stopped;
        }
        let (outcome, usage) = summary_result(&summary_report);
        self.record(step, Record::SummaryEnded { at: now.at, result: outcome, usage });
        self.record_exhausted_limit(policy, now.at, step);
        if self.state.cancelled_by.is_some() || self.is_exhausted() {
            self.on_exited(policy, now, Evidence::of_exit(Exit::NeverSpawned), step);
        } else {
            self.launch_next(now.at, step);
        }
    }

    pub(super) fn stop_summary(&mut self, at: Moment, why: StopCause, step: &mut Step) {
        self.record(step, Record::SummaryStopOrdered { at, cause: why });
        step.actions.push(Action::StopSummary);
    }

    fn on_spawned(&mut self, at: Moment, process: ProcessId, step: &mut Step) {
        if self.state.phase != Phase::Starting {
            return;
        }
        self.record(step, Record::AttemptSpawned { at, process });
        match (self.state.cancelled_by, self.state.suspend) {
            (Some(by), _) => self.stop(at, StopCause::Cancelled, first_stop_level(by), step),
            (None, Some(_)) => self.stop(at, StopCause::Suspended, StopLevel::Interrupt, step),
            (None, None) => {}
        }
    }

    fn on_spawn_failed(&mut self, policy: &Policy, now: Now, error: SpawnError, step: &mut Step) {
        let evidence = Evidence { startup: error.startup(), ..Evidence::of_exit(Exit::NeverSpawned) };
        self.on_exited(policy, now, evidence, step);
    }

    fn on_notice(&mut self, policy: &Policy, at: Moment, notice: &Notice, step: &mut Step) {
        self.seen.observe(at, notice);
        match &self.state.phase {
            // A turn may begin just as the input ends: it counts like any other.
            Phase::Running | Phase::Closing { .. } => {}
            // An interrupt is answered with a result.
            Phase::Stopping { level: StopLevel::Interrupt, cause: why, .. } => {
                let why = *why;
                match notice {
                    Notice::ExchangeEnded(result) if self.has_new_result() => {
                        self.on_interrupted_exchange_ended(policy, at, (why, *result), step);
                    }
                    _ => self.enforce_limits(policy, at, step),
                }
                return;
            }
            Phase::New
            | Phase::Starting
            | Phase::Summarizing { .. }
            | Phase::Stopping { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Waiting { .. }
            | Phase::Suspended { .. }
            | Phase::Finished { .. } => return,
        }
        match notice {
            Notice::SessionOpened(session) => self.on_session_opened(at, session, step),
            Notice::ToolEnded => self.on_progress(policy, at, step),
            Notice::ExchangeEnded(result) if result.is_progress() => self.on_progress(policy, at, step),
            Notice::Retrying { .. } if self.seen.auth_retries >= AUTH_RETRIES_MAX => {
                self.stop(at, StopCause::AuthRejected, StopLevel::Term, step);
            }
            Notice::MemoryExceeded => self.stop(at, StopCause::MemoryLimit, StopLevel::Term, step),
            Notice::Activity
            | Notice::MessageEnded
            | Notice::ExchangeStarted
            | Notice::ToolStarted
            | Notice::ClaimedDone
            | Notice::UsageUpdated(_)
            | Notice::WorkspaceFingerprinted(_)
            | Notice::ExchangeEnded(_)
            | Notice::Idle
            | Notice::BackgroundChanged(_)
            | Notice::Retrying { .. }
            | Notice::RateLimitChanged(_)
            | Notice::ProcessFrozen => {}
        }
        if matches!(self.state.phase, Phase::Running | Phase::Closing { .. }) {
            self.enforce_limits(policy, at, step);
        }
        if self.state.phase == Phase::Running && self.agent_is_idle() {
            let works_on = self.seen.background_tasks > 0;
            // One that claims to be done is asked at once whether what it left running is still needed.
            let continues = (!works_on || self.seen.claimed) && self.keep_going(policy, at, step);
            if !continues && !works_on {
                self.close_input(at, step);
            }
        }
    }

    /// The agent has a result and said that no turn is owed. Background work may be running.
    fn agent_is_idle(&self) -> bool {
        self.seen.idle && self.seen.result.is_some() && self.has_new_result()
    }

    /// Whether a turn has ended since the agent was last told something, or interrupted, or stopped by itself: the stream
    /// of an adopted one is read again from its beginning.
    fn has_new_result(&self) -> bool {
        self.seen.turns > self.state.results_before
    }

    fn on_session_opened(&mut self, at: Moment, session: &SessionId, step: &mut Step) {
        if self.is_wrong_session(session) {
            // It is said once.
            if self.state.phase == Phase::Running {
                self.stop(at, StopCause::WrongSession, StopLevel::Term, step);
            }
        } else if self.state.session.as_ref() != Some(session) {
            self.record(step, Record::SessionOpened { at, session: session.clone() });
        }
    }

    /// Whether this is not the session that the attempt was to continue. One that was named by its title has
    /// an id that only the agent knows.
    fn is_wrong_session(&self, session: &SessionId) -> bool {
        match self.state.plan.as_ref().map(|plan| &plan.session) {
            Some(SessionPlan::Resume(ordered)) if ordered.is_uuid() => {
                !ordered.as_str().eq_ignore_ascii_case(session.as_str())
            }
            Some(SessionPlan::Resume(_) | SessionPlan::New(_) | SessionPlan::Fork { .. }) | None => false,
        }
    }

    /// Whether only a result named this session, and the attempt was to start another one. A session that the agent opened is
    /// announced before its result.
    fn is_foreign(&self, session: &SessionId) -> bool {
        match self.state.plan.as_ref().map(|plan| &plan.session) {
            Some(SessionPlan::New(ordered) | SessionPlan::Fork { to: ordered, .. }) => {
                self.state.session.is_none()
                    && ordered.is_uuid()
                    && !ordered.as_str().eq_ignore_ascii_case(session.as_str())
            }
            Some(SessionPlan::Resume(_)) | None => false,
        }
    }

    fn on_progress(&mut self, policy: &Policy, at: Moment, step: &mut Step) {
        // Once in an attempt says it all.
        if !self.state.made_progress {
            self.record(step, Record::ProgressMade { at, resets_retries: policy.progress_resets_retries });
        }
    }

    pub(super) fn close_input(&mut self, at: Moment, step: &mut Step) {
        self.record(step, Record::InputClosed { at });
        step.actions.push(Action::CloseInput);
    }

    pub(super) fn stop(&mut self, at: Moment, why: StopCause, level: StopLevel, step: &mut Step) {
        self.record(step, Record::StopOrdered { at, cause: why, level, stall: None });
        step.actions.push(Action::Stop(level));
    }

    fn on_exited(&mut self, policy: &Policy, now: Now, mut evidence: Evidence, step: &mut Step) {
        evidence.stop_cause = match &self.state.phase {
            Phase::Stopping { cause: why, .. } => Some(*why),
            // A summary may have used the rest.
            Phase::Starting if self.is_exhausted() => Some(StopCause::LimitReached),
            Phase::Starting | Phase::Running | Phase::Closing { .. } => None,
            Phase::New
            | Phase::Summarizing { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Waiting { .. }
            | Phase::Suspended { .. }
            | Phase::Finished { .. } => return,
        };
        // A program that opened a session of this run is an agent: it died early.
        if evidence.startup == Some(StartupError::NotAnAgent) && self.state.session.is_some() {
            evidence.startup = None;
        }
        // What the agent did while nobody listened, or while it was being stopped, was done too.
        match &evidence.session {
            Some(session) if self.is_wrong_session(session) || self.is_foreign(session) => {
                evidence.stop_cause = Some(StopCause::WrongSession)
            }
            Some(session) => self.on_session_opened(now.at, session, step),
            None => {}
        }
        if evidence.made_progress {
            self.on_progress(policy, now.at, step);
        }
        let fault = classify(&evidence);
        let stop = self.after_agent_stop(policy, now, (&evidence, fault), step);
        let next = stop.unwrap_or_else(|| decide::next_step(&self.state, policy, now, &evidence, fault));
        let next = match next {
            AfterAttempt::Attempt { .. } if self.is_last_attempt(policy) => {
                AfterAttempt::Finish(Outcome::from_limit(Limit::Attempts, fault))
            }
            next => next,
        };
        let Evidence {
            usage: tally, result, continuity, denied_calls: denied, questions, background, ..
        } = evidence;
        // People need it: no other record says what was seen.
        let is_kept = matches!(fault, Some(Fault::Unknown | Fault::AgentUnusable));
        let evidence = is_kept.then(|| Box::new(evidence));
        self.record(
            step,
            Record::AttemptEnded {
                at: now.at,
                fault,
                usage: tally,
                result,
                denied_calls: denied,
                questions,
                background,
                continuity,
                evidence,
                next,
            },
        );
        step.actions.push(Action::Sweep);
    }

    /// Whether the run may make no attempt after this one.
    pub(super) fn is_last_attempt(&self, policy: &Policy) -> bool {
        self.state.attempts() - self.state.attempts_before >= policy.attempts_max
    }

    fn on_swept(&mut self, policy: &Policy, at: Moment, ended: u32, step: &mut Step) {
        let Phase::Sweeping { next } = &self.state.phase else { return };
        let next = next.clone();
        self.record(step, Record::Swept { at, stopped_processes: ended });
        match (next, self.state.cancelled_by) {
            (AfterAttempt::Finish(outcome), _) => self.finish(at, outcome, step),
            (AfterAttempt::Attempt { .. } | AfterAttempt::Check, None) if self.is_suspending() => {
                self.suspended(at, step)
            }
            (AfterAttempt::Check, None) => {
                self.record(step, Record::CheckStarted { at });
                step.actions.push(Action::StartCheck(self.state.checks));
            }
            (AfterAttempt::Attempt { .. } | AfterAttempt::Check, Some(by)) => {
                self.finish(at, Outcome::cancelled(by), step)
            }
            (AfterAttempt::Attempt { at: until, plan, .. }, None) if until <= at => {
                self.start_attempt(policy, at, plan, step)
            }
            // The deadline starts it.
            (AfterAttempt::Attempt { .. }, None) => {}
        }
    }

    pub(super) fn finish(&mut self, at: Moment, outcome: Outcome, step: &mut Step) {
        self.record(step, Record::RunFinished { at, outcome });
        step.actions.push(Action::Finish(outcome));
    }

    fn on_ticked(&mut self, policy: &Policy, now: Now, step: &mut Step) {
        let Some(deadline) = self.deadline(policy).filter(|deadline| deadline.at <= now.at) else { return };
        match (deadline.kind, &self.state.phase) {
            (DeadlineKind::NextAttempt, Phase::Waiting { plan, .. }) => {
                let plan = plan.clone();
                self.start_attempt(policy, now.at, plan, step);
            }
            (DeadlineKind::CheckTimeout, _) => self.stop_checking(now.at, StopCause::TimedOut, step),
            (DeadlineKind::Limit, Phase::Checking { .. }) => {
                self.record_limit(policy, now.at, step);
                self.stop_checking(now.at, StopCause::LimitReached, step);
            }
            (DeadlineKind::SummaryTimeout, _) => self.stop_summary(now.at, StopCause::TimedOut, step),
            (DeadlineKind::Stall, _) => self.on_silence(now.at, step),
            (DeadlineKind::NoProgress, _) => {
                self.stop_stalled_agent(now.at, StopCause::NoProgress, None, step)
            }
            (DeadlineKind::AttemptTimeout, _) => {
                self.stop(now.at, StopCause::TimedOut, StopLevel::Term, step)
            }
            (DeadlineKind::BackgroundTimeout, _) => {
                if !self.has_new_result() || !self.keep_going(policy, now.at, step) {
                    self.stop(now.at, StopCause::BackgroundStopped, StopLevel::Term, step);
                }
            }
            (DeadlineKind::ExitTimeout, _) if self.seen.background_tasks > 0 => {
                self.stop(now.at, StopCause::BackgroundStopped, StopLevel::Term, step);
            }
            (DeadlineKind::ExitTimeout, _) => self.stop(now.at, StopCause::DidNotExit, StopLevel::Term, step),
            (DeadlineKind::Limit, _) => self.enforce_limits(policy, now.at, step),
            (DeadlineKind::IdleAfterResult, _) => {
                // One that has not answered to what it was told last did not hear it.
                if !self.has_new_result() || !self.keep_going(policy, now.at, step) {
                    self.close_input(now.at, step);
                }
            }
            (DeadlineKind::EscalateStop, Phase::Stopping { cause: why, level, .. }) => {
                let (why, level) = (*why, *level);
                self.escalate_stop(now.at, why, level, step);
            }
            (DeadlineKind::NextAttempt | DeadlineKind::EscalateStop, _) => {}
        }
    }

    fn escalate_stop(&mut self, at: Moment, why: StopCause, level: StopLevel, step: &mut Step) {
        match level {
            StopLevel::Interrupt => self.stop(at, why, StopLevel::Term, step),
            StopLevel::Term => self.stop(at, why, StopLevel::Kill, step),
            StopLevel::Kill if self.state.kills < KILLS_MAX => self.stop(at, why, StopLevel::Kill, step),
            // It cannot be ended, and nothing may run beside it.
            StopLevel::Kill => {
                let outcome =
                    Outcome { fault: None, ..Outcome::from_fault(OutcomeKind::Bug, Fault::Unknown) };
                self.finish(at, outcome, step);
            }
        }
    }

    fn on_downtime(&mut self, span: Span, step: &mut Step) {
        if !self.agent_is_idle() && span > Span::ZERO {
            self.record(step, Record::Downtime { duration: span });
        }
    }

    fn on_cancelled(&mut self, at: Moment, by: CancelSource, step: &mut Step) {
        if self.agent_is_idle() || self.state.cancelled_by == Some(by) {
            return;
        }
        self.record(step, Record::CancelRequested { at, source: by });
        match &self.state.phase {
            Phase::Running | Phase::Closing { .. } => {
                self.stop(at, StopCause::Cancelled, first_stop_level(by), step)
            }
            Phase::Stopping { level, .. } if *level < first_stop_level(by) => {
                self.stop(at, StopCause::Cancelled, first_stop_level(by), step);
            }
            Phase::Waiting { .. } => self.finish(at, Outcome::cancelled(by), step),
            Phase::Summarizing { stop_cause: None, .. } => self.stop_summary(at, StopCause::Cancelled, step),
            Phase::Checking { stop_cause: None, .. } => self.stop_checking(at, StopCause::Cancelled, step),
            // The next event of the world finds the cancel in the state.
            Phase::Summarizing { stop_cause: Some(_), .. }
            | Phase::Checking { stop_cause: Some(_), .. }
            | Phase::Stopping { .. }
            | Phase::Starting
            | Phase::Sweeping { .. }
            | Phase::New
            | Phase::Suspended { .. }
            | Phase::Finished { .. } => {}
        }
    }

    fn on_recovered(
        &mut self,
        policy: &Policy,
        now: Now,
        (found, last_at, changes): (FoundAttempt, Option<Moment>, Vec<SettingChange>),
        step: &mut Step,
    ) {
        if let Some(remains) = finding(&self.state.phase, &found) {
            self.record(
                step,
                Record::Recovered { at: now.at, finding: remains, last_record_at: last_at, changes },
            );
        }
        match (&self.state.phase, found) {
            // Ordered and never started: the order stands, unless somebody cancelled it.
            (Phase::Starting, FoundAttempt::Ended(evidence))
                if evidence.exit == Exit::NeverSpawned && self.state.cancelled_by.is_none() =>
            {
                step.actions.extend(self.launch_action());
            }
            (Phase::Starting, FoundAttempt::Running(process)) => self.on_spawned(now.at, process, step),
            // What it had written when its supervisor died is used; it is not ordered again.
            (Phase::Summarizing { .. }, FoundAttempt::Ended(evidence)) => {
                self.on_summary_ended(policy, now, SummaryReport::Ended(evidence), step);
            }
            // Nothing of it is left: it is done again, or was to be ended anyway.
            (Phase::Checking { stop_cause: Some(_), .. }, FoundAttempt::Ended(_)) => {
                self.checked(policy, now, CheckResult::Stopped, step);
            }
            (_, FoundAttempt::Running(_)) => {
                self.seen = Observations::new(now.at);
                step.actions.extend(self.unfinished_actions());
            }
            (
                Phase::Starting | Phase::Running | Phase::Closing { .. } | Phase::Stopping { .. },
                FoundAttempt::Ended(evidence),
            ) => {
                self.on_exited(policy, now, evidence, step);
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
                step.actions.extend(self.unfinished_actions());
            }
        }
    }
}

fn first_stop_level(by: CancelSource) -> StopLevel {
    match by {
        CancelSource::Person => StopLevel::Interrupt,
        CancelSource::PersonNow | CancelSource::Sigterm | CancelSource::Sighup => StopLevel::Term,
    }
}
