//! Checks that a working agent is not stopped and a stalled agent is. The oracle judges by the agent's output
//! and its times, independently of the core.

use super::keep_going_rule::{active_keep_going, is_good};
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AgentResult, Event, Moment, Notice, Policy, ProcessActivity, ProcessState, Record, SessionId, Span,
    StopCause,
};

// Time limit of a probe.
const PROBE_TIME: Span = Span::from_secs(30);
// A silence is deferred at most to this multiple of the stall timeout.
const DEFERRED_TIMES: u64 = 9;

/// The output of the current process.
#[derive(Clone, Debug, Default)]
pub(crate) struct StallWatch {
    is_running: bool,
    closing_since: Option<Moment>,
    stopping: bool,
    started_at: Moment,
    output_at: Moment,
    /// Moment at which the last message or tool call was completed.
    last_progress_at: Moment,
    /// End of the deferral of a stall.
    deferred_until: Moment,
    /// Result of the last probe, with its time.
    processes: Option<(Moment, ProcessActivity)>,
    /// Moment at which a new supervisor started to read the stream again.
    recovered_at: Moment,
    is_frozen: bool,
    memory_exceeded: bool,
    /// Whether the processes exceeded the memory limit while the agent was not being stopped.
    is_too_large: bool,
    /// Moment at which the agent was found frozen. Before that, it may have waited for its tool.
    frozen_at: Moment,
    tools: u32,
    shells: u32,
    result_at: Option<Moment>,
    /// The last result, and whether the agent claimed to be done in its exchange.
    result: Option<AgentResult>,
    claimed_done: bool,
    /// Whether the agent was prompted while its shells run.
    was_prompted: bool,
    /// Whether a limit is reached or the run is cancelled.
    is_ending: bool,
    /// Number of ended exchanges since the stream was read from its start, and that number at the last
    /// prompt.
    results: u32,
    results_before: u32,
    idle: bool,
    rejections: u32,
    rejection: u32,
    /// The session that the attempt must open, and whether it opened another one.
    planned_session: Option<SessionId>,
    opened_other_session: bool,
}

impl StallWatch {
    /// Receives an event before the run does.
    pub(crate) fn receive(&mut self, now: Moment, event: &Event, policy: &Policy) -> OracleResult {
        match event {
            // The supervisor inspects the workspace on its own, before any other decision.
            Event::Noticed(Notice::WorkspaceFingerprinted(_)) => {}
            Event::Noticed(notice) => {
                self.check_overdue(now, policy)?;
                self.on_notice(now, notice);
            }
            Event::Recovered { .. } => self.restart_stream(now),
            // The record of the downtime has the consequences. A kill may lose that record.
            Event::Downtime(_) | Event::Ticked => {}
            Event::ProcessesProbed(activity) => {
                self.check_overdue(now, policy)?;
                self.processes = activity.map(|activity| (now, activity));
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
            | Event::Cancelled(_) => self.check_overdue(now, policy)?,
        }
        Ok(())
    }

    fn restart_stream(&mut self, now: Moment) {
        let StallWatch {
            is_running,
            closing_since,
            stopping,
            started_at,
            deferred_until,
            results_before,
            is_ending,
            ..
        } = *self;
        *self = StallWatch {
            planned_session: self.planned_session.take(),
            is_running,
            closing_since,
            stopping,
            started_at,
            output_at: now,
            last_progress_at: now,
            deferred_until,
            results_before,
            is_ending,
            recovered_at: now,
            ..StallWatch::default()
        };
    }

    fn add_downtime(&mut self, span: Span) {
        self.started_at = self.started_at + span;
        self.output_at = self.output_at + span;
        self.last_progress_at = self.last_progress_at + span;
        self.deferred_until = self.deferred_until + span;
        self.result_at = self.result_at.map(|at| at + span);
        self.closing_since = self.closing_since.map(|at| at + span);
    }

    fn on_notice(&mut self, now: Moment, notice: &Notice) {
        if *notice == Notice::MemoryExceeded {
            self.memory_exceeded = true;
            self.is_too_large |= self.is_running && !self.stopping;
            return;
        }
        self.is_frozen = *notice == Notice::ProcessFrozen;
        if self.is_frozen {
            self.frozen_at = now;
            return;
        }
        self.output_at = self.output_at.max(now);
        // A tool call that starts implies that its message is complete.
        if !matches!(
            notice,
            Notice::Activity
                | Notice::Idle
                | Notice::WorkspaceFingerprinted(_)
                | Notice::Retrying { .. }
                | Notice::RateLimitChanged(_)
        ) {
            self.last_progress_at = now;
        }
        match notice {
            Notice::SessionOpened(session) => {
                self.opened_other_session |=
                    self.planned_session.as_ref().is_some_and(|planned| planned != session);
            }
            Notice::ExchangeStarted => (self.result_at, self.idle, self.claimed_done) = (None, false, false),
            Notice::ClaimedDone => self.claimed_done = true,
            Notice::ToolStarted => {
                (self.result_at, self.idle) = (None, false);
                self.tools += 1;
            }
            Notice::ToolEnded => self.tools = self.tools.saturating_sub(1),
            Notice::WorkspaceFingerprinted(_) => {}
            Notice::ExchangeEnded(result) => {
                (self.result_at, self.tools, self.result) = (Some(now), 0, Some(*result));
                self.results += 1;
            }
            Notice::Idle => self.idle = true,
            Notice::BackgroundChanged(shells) => {
                self.shells = *shells;
                self.was_prompted &= *shells > 0;
                self.idle = false;
            }
            Notice::Retrying { attempt, status, delay } => {
                self.output_at = self.output_at.max(now + *delay);
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

    /// Checks that no decision is overdue.
    fn check_overdue(&self, now: Moment, policy: &Policy) -> OracleResult {
        // A replayed stream is read before any decision.
        if !self.is_running || self.stopping || now == self.recovered_at {
            return Ok(());
        }
        ensure(!self.is_too_large, Oracle::Stalls, || {
            format!("the agent exceeds its memory limit and is not stopped: {self:?}")
        })?;
        let silent = self.result_at.is_none() && (self.tools == 0 || self.is_frozen);
        let due = |stall| (self.output_at + stall).max(self.deferred_until).max(self.frozen_at) + PROBE_TIME;
        let hangs = policy.stall_timeout.is_some_and(|stall| now > due(stall));
        ensure(!silent || !hangs, Oracle::Stalls, || {
            format!("the agent is silent for {} and is not stopped", now.since(self.output_at))
        })?;
        let no_progress = policy.progress_timeout.is_some_and(|limit| now > self.last_progress_at + limit);
        ensure(!silent || self.tools > 0 || !no_progress, Oracle::Stalls, || {
            format!("the agent completes nothing for {} and is not stopped", now.since(self.last_progress_at))
        })?;
        let outlives = match (self.result_at, self.closing_since) {
            (Some(at), None) if self.shells > 0 => {
                now > at + policy.background_wait && !(self.was_prompted && self.waits_for_shells(policy))
            }
            (Some(_), None) => now > self.output_at + policy.exit_timeout,
            (Some(at), Some(since)) => now > at.max(since).max(self.output_at) + policy.exit_timeout,
            (None, _) => false,
        };
        ensure(!outlives, Oracle::Stalls, || {
            "the agent has its result, but does not exit and is not stopped".to_owned()
        })?;
        let late = policy.attempt_timeout.is_some_and(|timeout| now > self.started_at + timeout);
        ensure(!late || self.closing_since.is_some(), Oracle::Stalls, || {
            "the attempt outlives its timeout".to_owned()
        })?;
        ensure(self.rejections < 2, Oracle::Stalls, || {
            "the credentials are rejected twice, and the agent is not stopped".to_owned()
        })
    }

    /// Returns whether the run waits for the agent's shells until a limit.
    fn waits_for_shells(&self, policy: &Policy) -> bool {
        let usable = self.result.is_some_and(|result| is_good(policy, &result));
        let allowed = usable && !self.claimed_done && !self.is_ending;
        allowed && active_keep_going(policy).is_some() && self.shells > 0
    }

    /// Receives a record and checks that a stop has its reason.
    pub(crate) fn on_record(&mut self, record: &Record, policy: &Policy) -> OracleResult {
        match record {
            Record::AttemptStarted { at, plan } => {
                let planned_session = Some(plan.session.id().clone());
                let is_ending = self.is_ending;
                let fresh = StallWatch {
                    started_at: *at,
                    output_at: *at,
                    last_progress_at: *at,
                    ..StallWatch::default()
                };
                *self = StallWatch { planned_session, is_ending, ..fresh };
            }
            Record::AttemptSpawned { at, .. } => {
                self.is_running = true;
                (self.started_at, self.output_at, self.last_progress_at) = (*at, *at, *at);
            }
            Record::StallDeferred { at, until, .. } => {
                self.check_deferral(*at, *until, policy)?;
                self.deferred_until = *until;
            }
            Record::InputClosed { at } => {
                self.check_input_closed(*at, policy)?;
                if !self.stopping {
                    self.closing_since = Some(*at);
                }
            }
            Record::StopOrdered { at, cause, .. } => {
                if !self.stopping {
                    self.check_stop(*at, *cause, policy)?;
                }
                self.stopping = true;
            }
            Record::PromptSent { at, .. } => {
                (self.stopping, self.results_before, self.was_prompted) =
                    (false, self.results, self.shells > 0);
                (self.result_at, self.idle, self.claimed_done) = (None, false, false);
                (self.rejections, self.rejection) = (0, 0);
                self.output_at = self.output_at.max(*at);
                self.last_progress_at = self.last_progress_at.max(*at);
            }
            Record::AttemptEnded { .. } => self.is_running = false,
            Record::AgentStopped { at, claimed_done: claimed, background, .. } => {
                let due = self.result_at.is_some_and(|ended_at| *at >= ended_at + policy.background_wait);
                ensure(*background == 0 || *claimed || due && !self.was_prompted, Oracle::Stalls, || {
                    format!("the agent is prompted about its shells too early or again: {self:?}")
                })?;
            }
            Record::LimitReached { .. } | Record::CancelRequested { .. } => self.is_ending = true,
            Record::RunReopened { .. } => self.is_ending = false,
            Record::Downtime { duration: span } => self.add_downtime(*span),
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

    fn check_input_closed(&self, at: Moment, policy: &Policy) -> OracleResult {
        let finished = self.result_at.is_some() && self.shells == 0;
        let answered = self.results > self.results_before;
        let quiet = self.idle && answered || at >= self.output_at + policy.exit_timeout;
        ensure(self.stopping || finished && quiet, Oracle::Stalls, || {
            format!("the input is closed while the agent works: {self:?}")
        })
    }

    /// Returns whether a probe of this moment defers the stall, and the silence is not too long.
    fn can_be_deferred(&self, at: Moment, stall: Span) -> bool {
        let is_busy = self.processes.is_some_and(|(seen_at, activity)| {
            seen_at == at && activity.busy_children > 0 && activity.agent != ProcessState::Frozen
        });
        is_busy && !self.is_frozen && at < self.silence_end(stall)
    }

    fn silence_end(&self, stall: Span) -> Moment {
        self.output_at + Span(stall.0.saturating_mul(DEFERRED_TIMES))
    }

    fn check_deferral(&self, at: Moment, until: Moment, policy: &Policy) -> OracleResult {
        let stall = policy.stall_timeout.unwrap_or_default();
        let due = at >= (self.output_at + stall).max(self.deferred_until)
            && at < until
            && until <= self.silence_end(stall).min(at + stall);
        ensure(due && self.can_be_deferred(at, stall), Oracle::Stalls, || {
            format!("the stall is deferred until {until:?} without a reason: {self:?}")
        })
    }

    fn check_stop(&self, at: Moment, cause: StopCause, policy: &Policy) -> OracleResult {
        let silence = at.since(self.output_at);
        let allowed = match cause {
            StopCause::Stalled => {
                let hangs =
                    |stall| silence >= stall && at >= self.deferred_until && !self.can_be_deferred(at, stall);
                (self.tools == 0 || self.is_frozen)
                    && self.result_at.is_none()
                    && policy.stall_timeout.is_some_and(hangs)
            }
            StopCause::NoProgress => {
                self.tools == 0
                    && self.result_at.is_none()
                    && policy.progress_timeout.is_some_and(|limit| at >= self.last_progress_at + limit)
            }
            StopCause::TimedOut => {
                policy.attempt_timeout.is_some_and(|timeout| at >= self.started_at + timeout)
            }
            StopCause::AuthRejected => self.rejections >= 2,
            StopCause::MemoryLimit => self.memory_exceeded,
            // Another oracle decides whether the limit was reached.
            StopCause::WrapUp | StopCause::LimitReached => self.result_at.is_none(),
            StopCause::WrongSession => self.opened_other_session,
            StopCause::DidNotExit => self.outlives_input(at, policy) && self.shells == 0,
            StopCause::BackgroundStopped => {
                let due_for_shells =
                    self.result_at.is_some_and(|ended_at| at >= ended_at + policy.background_wait);
                // Another oracle decides whether a limit ends the wait earlier.
                let limited = self.result_at.is_some() && policy.limits.can_end_run();
                // An agent that never answered its last prompt cannot be prompted again.
                let unprompted = self.results <= self.results_before;
                let due = limited || due_for_shells && (unprompted || !self.waits_for_shells(policy));
                let due = due || self.outlives_input(at, policy);
                self.shells > 0 && due
            }
            // Another oracle checks the source.
            StopCause::Cancelled | StopCause::Suspended => true,
        };
        ensure(allowed, Oracle::Stalls, || {
            format!("the agent is stopped as {cause:?} without that reason: {self:?}")
        })
    }

    fn outlives_input(&self, at: Moment, policy: &Policy) -> bool {
        self.result_at.is_some() && self.closing_since.is_some_and(|since| at >= since + policy.exit_timeout)
    }
}
