//! Checks that a working agent is not stopped and a stalled agent is. The oracle judges by the agent's output
//! and its times, independently of the core.

use super::facts::Facts;
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    Event, Moment, Notice, ProcessActivity, ProcessState, Record, SessionId, Span, StopCause,
};

// Time limit of a probe.
const PROBE_TIME: Span = Span::from_secs(30);
// A silence is deferred at most to this multiple of the stall timeout.
const DEFERRED_TIMES: u64 = 9;

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
    /// Whether the agent was prompted while its shells run.
    was_prompted: bool,
    /// Number of ended exchanges at the last prompt.
    results_before: u32,
    rejections: u32,
    rejection: u32,
    /// The session that the attempt must open, and whether it opened another one.
    planned_session: Option<SessionId>,
    opened_other_session: bool,
}

impl StallWatch {
    /// Checks before an event that no decision is overdue.
    pub(crate) fn check_overdue(&self, now: Moment, event: &Event, facts: &Facts) -> OracleResult {
        // The supervisor inspects the workspace on its own, before any other decision. A replayed stream is
        // read before any decision, too.
        let is_inspected = matches!(event, Event::Noticed(Notice::WorkspaceFingerprinted(_)));
        if is_inspected || !self.is_running || self.stopping || now == self.recovered_at {
            return Ok(());
        }
        let (policy, agent) = (facts.policy, &facts.agent);
        ensure(!self.is_too_large, Oracle::Stalls, || {
            format!("the agent exceeds its memory limit and is not stopped: {self:?}")
        })?;
        let works = agent.result.is_none() || facts.waits_for_sub_agents();
        let silent = works && (agent.tools == 0 || self.is_frozen);
        let due = |stall| (self.output_at + stall).max(self.deferred_until).max(self.frozen_at) + PROBE_TIME;
        let hangs = policy.stall_timeout.is_some_and(|stall| now > due(stall));
        ensure(!silent || !hangs, Oracle::Stalls, || {
            format!("the agent is silent for {} and is not stopped", now.since(self.output_at))
        })?;
        let no_progress = policy.progress_timeout.is_some_and(|limit| now > self.last_progress_at + limit);
        ensure(!silent || agent.tools > 0 || !no_progress, Oracle::Stalls, || {
            format!("the agent completes nothing for {} and is not stopped", now.since(self.last_progress_at))
        })?;
        let outlives = match (agent.result, self.closing_since) {
            _ if facts.waits_for_sub_agents() => false,
            (Some((at, _)), None) if agent.shells > 0 => {
                now > at + policy.background_wait && !(self.was_prompted && facts.waits_for_shells())
            }
            (Some(_), None) => now > self.output_at + policy.exit_timeout,
            (Some((at, _)), Some(since)) => now > at.max(since).max(self.output_at) + policy.exit_timeout,
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
    pub(crate) fn receive(&mut self, now: Moment, event: &Event) {
        match event {
            Event::Noticed(Notice::WorkspaceFingerprinted(_)) => {}
            Event::Noticed(notice) => self.on_notice(now, notice),
            Event::Recovered { .. } => {
                *self = StallWatch {
                    is_running: self.is_running,
                    closing_since: self.closing_since,
                    stopping: self.stopping,
                    started_at: self.started_at,
                    output_at: now,
                    last_progress_at: now,
                    deferred_until: self.deferred_until,
                    results_before: self.results_before,
                    recovered_at: now,
                    planned_session: self.planned_session.take(),
                    ..StallWatch::default()
                };
            }
            Event::ProcessesProbed(activity) => self.processes = activity.map(|activity| (now, activity)),
            _ => {}
        }
    }

    fn add_downtime(&mut self, span: Span) {
        for at in [
            &mut self.started_at,
            &mut self.output_at,
            &mut self.last_progress_at,
            &mut self.deferred_until,
            &mut self.frozen_at,
        ] {
            *at = *at + span;
        }
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
        match notice {
            Notice::Activity | Notice::Idle | Notice::RateLimitChanged(_) => {}
            Notice::Retrying { attempt, status, delay } => {
                self.output_at = self.output_at.max(now + *delay);
                if *status == Some(401) && *attempt != self.rejection {
                    self.rejection = *attempt;
                    self.rejections += 1;
                }
            }
            // A tool call that starts implies that its message is complete.
            _ => self.last_progress_at = now,
        }
        match notice {
            Notice::SessionOpened(session) => {
                self.opened_other_session |=
                    self.planned_session.as_ref().is_some_and(|planned| planned != session);
            }
            Notice::BackgroundChanged { tasks, .. } => self.was_prompted &= *tasks > 0,
            _ => {}
        }
    }

    pub(crate) fn on_record(&mut self, record: &Record, facts: &Facts) -> OracleResult {
        match record {
            Record::AttemptStarted { plan } => {
                *self = StallWatch {
                    planned_session: Some(plan.session.id().clone()),
                    started_at: facts.at,
                    output_at: facts.at,
                    last_progress_at: facts.at,
                    ..StallWatch::default()
                };
            }
            Record::AttemptSpawned { .. } => {
                self.is_running = true;
                (self.started_at, self.output_at, self.last_progress_at) = (facts.at, facts.at, facts.at);
            }
            Record::StallDeferred { until, .. } => {
                let stall = facts.policy.stall_timeout.unwrap_or_default();
                let due = facts.at >= (self.output_at + stall).max(self.deferred_until)
                    && facts.at < *until
                    && *until <= self.silence_end(stall).min(facts.at + stall);
                ensure(due && self.can_be_deferred(facts.at, stall), Oracle::Stalls, || {
                    format!("the stall is deferred until {until:?} without a reason: {self:?}")
                })?;
                self.deferred_until = *until;
            }
            Record::InputClosed => {
                let finished = facts.agent.result.is_some() && facts.agent.shells == 0;
                let quiet = facts.agent.is_idle && self.has_answered(facts)
                    || facts.at >= self.output_at + facts.policy.exit_timeout;
                ensure(self.stopping || finished && quiet, Oracle::Stalls, || {
                    format!("the input is closed while the agent works: {self:?}")
                })?;
                self.closing_since = if self.stopping { self.closing_since } else { Some(facts.at) };
            }
            Record::StopOrdered { cause, .. } => {
                ensure(self.stopping || self.may_stop(facts.at, *cause, facts), Oracle::Stalls, || {
                    format!("the agent is stopped as {cause:?} without that reason: {self:?}")
                })?;
                self.stopping = true;
            }
            Record::PromptSent { .. } => {
                (self.stopping, self.results_before) = (false, facts.agent.results);
                self.was_prompted = facts.agent.shells > 0;
                (self.rejections, self.rejection) = (0, 0);
                self.output_at = self.output_at.max(facts.at);
                self.last_progress_at = self.last_progress_at.max(facts.at);
            }
            Record::AttemptEnded(_) => self.is_running = false,
            Record::AgentStopped { claimed_done, background, .. } => {
                let limits = facts.policy.limits;
                let ends_by_time = limits.time.or(limits.wall).or(facts.policy.attempt_timeout).is_some();
                let due = self.outlives_result(facts.at, facts)
                    && !(self.was_prompted && ends_by_time)
                    && !facts.waits_for_sub_agents();
                ensure(*background == 0 || *claimed_done || due, Oracle::Stalls, || {
                    format!("the agent is prompted about its shells too early or again: {self:?}")
                })?;
            }
            Record::Downtime { duration } => self.add_downtime(*duration),
            _ => {}
        }
        Ok(())
    }

    fn has_answered(&self, facts: &Facts) -> bool {
        facts.agent.results > self.results_before
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

    fn may_stop(&self, at: Moment, cause: StopCause, facts: &Facts) -> bool {
        let (policy, agent) = (facts.policy, &facts.agent);
        let works = agent.result.is_none() || facts.waits_for_sub_agents();
        match cause {
            StopCause::Stalled => {
                let hangs = |stall| {
                    at.since(self.output_at) >= stall
                        && at >= self.deferred_until
                        && !self.can_be_deferred(at, stall)
                };
                (agent.tools == 0 || self.is_frozen) && works && policy.stall_timeout.is_some_and(hangs)
            }
            StopCause::NoProgress => {
                agent.tools == 0
                    && works
                    && policy.progress_timeout.is_some_and(|limit| at >= self.last_progress_at + limit)
            }
            StopCause::TimedOut => {
                policy.attempt_timeout.is_some_and(|timeout| at >= self.started_at + timeout)
            }
            StopCause::AuthRejected => self.rejections >= 2,
            StopCause::MemoryLimit => self.memory_exceeded,
            // Another oracle decides whether the limit was reached.
            StopCause::WrapUp => agent.result.is_none(),
            StopCause::LimitReached => agent.result.is_none() || agent.sub_agents > 0,
            StopCause::WrongSession => self.opened_other_session,
            StopCause::DidNotExit => self.outlives_input(at, facts) && agent.shells == 0,
            StopCause::BackgroundStopped => {
                // Another oracle decides whether a limit ends the wait earlier.
                let limited = agent.result.is_some() && policy.limits.can_end_run();
                // An agent that never answered its last prompt cannot be prompted again.
                let is_unprompted = !self.has_answered(facts) || !facts.waits_for_shells();
                let due = limited || self.outlives_result(at, facts) && is_unprompted;
                agent.shells > 0 && (due || self.outlives_input(at, facts)) && !facts.waits_for_sub_agents()
            }
            // Another oracle checks the source.
            StopCause::Cancelled | StopCause::Suspended => true,
        }
    }

    /// Returns whether the agent's shells outlive its result for too long.
    fn outlives_result(&self, at: Moment, facts: &Facts) -> bool {
        facts.agent.result.is_some_and(|(ended_at, _)| at >= ended_at + facts.policy.background_wait)
    }

    fn outlives_input(&self, at: Moment, facts: &Facts) -> bool {
        let has_result = facts.agent.result.is_some();
        has_result && self.closing_since.is_some_and(|since| at >= since + facts.policy.exit_timeout)
    }
}
