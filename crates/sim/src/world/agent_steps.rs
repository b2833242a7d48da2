//! Models the behavior of an agent: its exchanges, requests and tools, and how each fault affects them.

use super::agent::{Agent, NEVER, RespondsTo, Stage};
use super::results::{ABORTED, PORTAL, result_of};
use super::server::{Limit, Outage, PermanentFailure, Server};
use super::{EndedAttempt, World, WorldEvent};
use crate::Interval;
use crate::fault_mix::FaultPoint;
use longhaul_core::{
    AgentResult, ApiError, Continuity, Exit, Fault, Moment, Notice, RateLimit, RateLimitStatus, SessionPlan,
    Span, StopLevel, Usage, draw_uuid,
};

// The agent's own schedule, measured: 0.5 s doubling to 32 s, plus up to 25 percent.
const INNER_BASE: Span = Span(500);
const INNER_CAP: Span = Span(32_000);
// Above this hint the agent gives up immediately.
const INNER_HINT_MAX: Span = Span(60_000);
// SIGTERM during a tool takes up to 1.6 s, and slightly longer on a busy machine.
const STOP_DELAY: Interval = Interval::new(5, 2_500);

impl World {
    /// Performs the agent's next step.
    pub(super) fn step_agent(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        let now = self.now;
        if agent.stop_at <= now {
            agent.stop_at = NEVER;
            let level = agent.stop;
            return self.apply_stop(agent, level);
        }
        if agent.death_at <= now {
            let fault = agent.death.unwrap_or(Fault::Crashed);
            return self.die(agent, fault);
        }
        match agent.stage {
            Stage::Boot => self.boot(agent),
            Stage::Ask => {
                agent.turn_open = true;
                agent.evidence.claimed_done = false;
                agent.evidence.exchange_open = agent.evidence.result.is_some();
                let at = self.think_half();
                agent.go(Stage::Think, at);
                self.emit(agent, Notice::ExchangeStarted)
            }
            Stage::Think => {
                let at = self.think_half();
                agent.go(Stage::Answer, at);
                // A part of the message may be complete. No random draw, so that seeds keep their meaning.
                let ended = now.0 & 1 == 1;
                self.emit(agent, if ended { Notice::MessageEnded } else { Notice::Activity })
            }
            Stage::Answer => self.answer_request(agent),
            Stage::Act => self.act(agent),
            Stage::Wait => self.keep_silent(agent),
            Stage::ReportUsage => {
                let tool_until = agent.tool_until;
                agent.go(Stage::Tool, tool_until);
                self.report_usage(agent)
            }
            Stage::Tool if self.rng.odds(self.mix.frozen) => self.freeze(agent),
            Stage::Tool => {
                match &mut agent.saving {
                    Some(calls) => *calls = calls.saturating_sub(1),
                    None => self.remaining_work = self.remaining_work.saturating_sub(1),
                }
                self.change_workspace();
                agent.tool_open = false;
                agent.evidence.made_progress = true;
                let at = self.think_half();
                agent.go(Stage::Think, at);
                self.emit(agent, Notice::ToolEnded)
            }
            Stage::Finish => self.finish_exchange(agent),
            Stage::Settle if agent.brief => self.exit(agent, Fault::Crashed),
            Stage::Settle if std::mem::take(&mut agent.prompted) => {
                agent.go(Stage::Ask, now);
                // It may report idle first and find the line afterwards.
                if self.rng.one_in(2) { self.keep_silent(agent) } else { self.emit(agent, Notice::Idle) }
            }
            Stage::Settle => {
                self.become_idle(&mut agent);
                if agent.mute { self.keep_silent(agent) } else { self.emit(agent, Notice::Idle) }
            }
            Stage::Rest => {
                agent.shells = 0;
                agent.shells_until = NEVER;
                self.change_workspace();
                if self.rng.odds(self.mix.notified) {
                    let at = self.soon();
                    agent.go(Stage::Wake, at);
                } else if agent.mute {
                    agent.go(Stage::Rest, NEVER);
                } else {
                    let at = self.soon();
                    agent.go(Stage::Settle, at);
                }
                self.emit(agent, Notice::BackgroundChanged(0))
            }
            Stage::Wake => {
                agent.go(Stage::Ask, now);
                self.keep_silent(agent)
            }
            Stage::Leave => self.exit(agent, Fault::Crashed),
            // It is killed at last.
            Stage::Hang => self.die(agent, Fault::Crashed),
            Stage::NoProgress => self.emit_without_progress(agent),
        }
    }

    fn think_half(&mut self) -> Moment {
        self.now + Span(self.rng.magnitude(self.mix.think) / 2)
    }

    fn soon(&mut self) -> Moment {
        self.now + Span(self.rng.below(400))
    }

    /// Puts the agent back without output.
    fn keep_silent(&mut self, agent: Box<Agent>) -> Option<WorldEvent> {
        self.agent = Some(agent);
        None
    }

    pub(super) fn emit(&mut self, agent: Box<Agent>, notice: Notice) -> Option<WorldEvent> {
        self.agent = Some(agent);
        self.stream.push(notice.clone());
        Some(WorldEvent::Noticed(notice))
    }

    /// Freezes the agent's process during a tool call. Its supervisor notices.
    fn freeze(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        agent.obeys = RespondsTo::From(StopLevel::Kill);
        agent.frozen = true;
        let at = self.now + Span(self.rng.magnitude(self.mix.hang));
        agent.go(Stage::Hang, at);
        self.emit(agent, Notice::ProcessFrozen)
    }

    fn boot(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        if let Some((error, fault)) = agent.refusal {
            agent.evidence.startup = Some(error);
            agent.evidence.exit = Exit::Code(1);
            return self.end(agent, fault);
        }
        // The prompt is usually in the session file before the first request.
        let written = !self.rng.one_in(4);
        self.sessions.open(agent.session()).spoken |= written;
        let session = if agent.strays { draw_uuid(self.rng.bits(), 0) } else { agent.session().clone() };
        agent.evidence.session = Some(session.clone());
        agent.go(Stage::Ask, self.now);
        self.emit(agent, Notice::SessionOpened(session))
    }

    /// Whether the agent's own budget ends the exchange. Once it is reached, every later exchange ends
    /// immediately without a request (2.1.330).
    fn ends_by_its_budget(&mut self, agent: &mut Agent) -> bool {
        let is_exhausted =
            agent.plan.remaining.budget.is_some_and(|budget| agent.evidence.usage.reported_cost >= budget);
        let result = is_exhausted.then(|| result_of(Fault::AgentBudget, &mut self.rng)).flatten();
        if let Some(result) = result {
            agent.closing = (result, Some(Fault::AgentBudget));
        }
        result.is_some()
    }

    /// Processes one request at the API.
    fn answer_request(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        if self.ends_by_its_budget(&mut agent) {
            return self.finish_exchange(agent);
        }
        self.server.refresh(self.now);
        if self.failed_requests >= self.mix.failed_requests_max {
            self.server = Server::default();
        }
        let rejected = agent.stated_limit().is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
        if rejected && self.server.limit.is_none() {
            let limit = RateLimit { status: RateLimitStatus::Allowed, resets_at: None };
            agent.evidence.rate_limit = Some(limit);
            return self.emit(agent, Notice::RateLimitChanged(limit));
        }
        self.requests += 1;
        self.strike(&mut agent);
        if matches!(agent.stage, Stage::Hang | Stage::NoProgress) {
            return self.keep_silent(agent);
        }
        if let Some(ban) = self.server.ban {
            return self.refuse(agent, ban.fault, ban.result, None);
        }
        if let Some(limit) = self.server.limit {
            return self.hit_limit(agent, limit);
        }
        if let Some(outage) = self.server.outage {
            return self.refuse(agent, outage.fault, outage.result, outage.hint);
        }
        let session = self.sessions.open(agent.session());
        let session_fault = match (session.full, session.poisoned) {
            (true, _) => Some(Fault::ContextFull),
            (false, true) => Some(Fault::BadRequest),
            (false, false) => None,
        };
        if let Some((fault, result)) =
            session_fault.and_then(|fault| Some((fault, result_of(fault, &mut self.rng)?)))
        {
            return self.refuse(agent, fault, result, None);
        }
        if let Some((result, fault)) = self.once.take() {
            agent.closing = (result, Some(fault));
            return self.finish_exchange(agent);
        }
        self.serve(agent)
    }

    /// Draws whether a new fault of the mix strikes this request.
    fn strike(&mut self, agent: &mut Agent) {
        let Some(fault) = self.struck(FaultPoint::Request) else { return };
        let now = self.now;
        match fault {
            Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => {
                let Some(result) = result_of(fault, &mut self.rng) else { return };
                let is_portal = fault == Fault::Network && self.rng.odds(self.mix.portal);
                let result = if is_portal { PORTAL } else { result };
                let has_hint = fault == Fault::RateLimited && self.rng.odds(self.mix.hinted);
                let until = now + Span(self.rng.magnitude(self.mix.outage));
                self.server.outage =
                    Some(Outage { fault, until, result, hint: has_hint.then(|| until.since(now)) });
            }
            Fault::UsageLimit => {
                let Some(result) = result_of(fault, &mut self.rng) else { return };
                let until = now + Span(self.rng.magnitude(self.mix.reset));
                let names_reset = result.api_error.is_none() || self.rng.odds(self.mix.reset_named);
                // Sometimes the server recognizes its own reset late.
                let reported = Moment(until.0.saturating_sub(if self.rng.one_in(8) { 2_000 } else { 0 }));
                let reported = RateLimit {
                    status: RateLimitStatus::Rejected,
                    resets_at: (names_reset && !self.rng.one_in(16)).then_some(reported),
                };
                self.server.limit = Some(Limit { until, result, reported });
            }
            Fault::Auth | Fault::Billing | Fault::ModelUnknown => self.ban(fault),
            Fault::BadRequest if self.rng.one_in(3) => self.ban(fault),
            Fault::BadRequest => self.sessions.open(agent.session()).poisoned = true,
            Fault::ContextFull => self.sessions.open(agent.session()).full = true,
            Fault::Crashed | Fault::OutOfMemory => {
                agent.death = Some(fault);
                agent.death_at = now + Span(self.rng.magnitude(self.mix.think));
            }
            Fault::Interrupted if self.rng.one_in(2) => {
                agent.death = Some(fault);
                agent.death_at = now + Span(self.rng.magnitude(self.mix.think));
            }
            Fault::Stalled => {
                if self.rng.odds(self.mix.ignores_stops) {
                    let levels = [RespondsTo::From(StopLevel::Term), RespondsTo::From(StopLevel::Kill)];
                    agent.obeys = self.rng.pick(&levels);
                }
                if self.rng.odds(self.mix.unkillable) {
                    agent.obeys = RespondsTo::Nothing;
                    self.undying = true;
                }
                let at = now + Span(self.rng.magnitude(self.mix.hang));
                agent.go(Stage::Hang, at);
                if self.rng.odds(self.mix.no_progress) {
                    self.start_no_progress(agent, at);
                } else if self.rng.odds(self.mix.frozen) {
                    // The supervisor does not notice.
                    agent.obeys = RespondsTo::From(StopLevel::Kill);
                    agent.frozen = true;
                }
            }
            Fault::Interrupted
            | Fault::OutputLimit
            | Fault::Refused
            | Fault::TurnLimit
            | Fault::AgentBudget
            | Fault::Unknown => {
                self.once = result_of(fault, &mut self.rng).map(|result| (result, fault));
            }
            Fault::AttemptTimeout
            | Fault::SessionLost
            | Fault::SessionExists
            | Fault::SessionBusy
            | Fault::Unfinished
            | Fault::GuardLapsed
            | Fault::Permission
            | Fault::AgentMissing
            | Fault::AgentUnusable => {}
        }
    }

    fn ban(&mut self, fault: Fault) {
        self.server.ban = result_of(fault, &mut self.rng).map(|result| PermanentFailure { fault, result });
    }

    /// Fails a request: the agent retries it, or the exchange ends.
    fn refuse(
        &mut self,
        mut agent: Box<Agent>,
        fault: Fault,
        result: AgentResult,
        hint: Option<Span>,
    ) -> Option<WorldEvent> {
        self.failed_requests += 1;
        let transient =
            matches!(fault, Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network);
        let is_retried =
            transient && result.api_error != Some(ApiError::Malformed) || result.api_status == Some(401);
        let is_retried = is_retried && hint.is_none_or(|hint| hint <= INNER_HINT_MAX);
        if is_retried && agent.inner < self.inner_retries {
            let backoff = INNER_BASE.doubled(agent.inner).at_most(INNER_CAP);
            let delay = backoff.max(hint.unwrap_or(backoff));
            let delay = delay + Span(self.rng.below(delay.0 / 4 + 1));
            agent.inner += 1;
            agent.go(Stage::Answer, self.now + delay);
            let notice = Notice::Retrying { attempt: agent.inner, status: result.api_status, delay };
            return self.emit(agent, notice);
        }
        agent.evidence.retry_after = hint;
        agent.closing = (result, Some(fault));
        self.finish_exchange(agent)
    }

    /// Rejects a request for lack of quota. The agent reports it, then the exchange ends.
    fn hit_limit(&mut self, mut agent: Box<Agent>, limit: Limit) -> Option<WorldEvent> {
        self.failed_requests += 1;
        agent.closing = (limit.result, Some(Fault::UsageLimit));
        let names_reset = limit.reported.resets_at.is_some() || limit.result.api_error.is_none();
        if !names_reset {
            return self.finish_exchange(agent);
        }
        agent.evidence.rate_limit = Some(limit.reported);
        agent.go(Stage::Finish, self.now);
        self.emit(agent, Notice::RateLimitChanged(limit.reported))
    }

    /// Serves a request.
    fn serve(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        let now = self.now;
        self.sessions.open(agent.session()).spoken = true;
        agent.inner = 0;
        self.served_at.get_or_insert(now);
        agent.evidence.usage = agent.evidence.usage.plus(self.next_answer());
        agent.go(Stage::Act, now);
        // The usage may be reported after the tool call of the response. No random draw here either.
        agent.has_unreported_usage = now.0 & 2 == 2;
        if agent.has_unreported_usage { self.keep_silent(agent) } else { self.report_usage(agent) }
    }

    /// Reports the usage so far.
    fn report_usage(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        agent.has_unreported_usage = false;
        let usage = agent.evidence.usage;
        self.emit(agent, Notice::UsageUpdated(usage))
    }

    /// Evaluates a response: a done claim, a tool call, or the last answer.
    fn act(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        let now = self.now;
        if self.ends_by_its_budget(&mut agent) {
            return self.finish_exchange(agent);
        }
        if self.claims_done(&agent) {
            agent.evidence.claimed_done = true;
            return self.emit(agent, Notice::ClaimedDone);
        }
        if agent.saving.unwrap_or(self.remaining_work) > 0 && !self.stops_early(&agent) {
            if self.attended && self.is_unsupervised {
                agent.go(Stage::Wait, NEVER);
                return self.keep_silent(agent);
            }
            if self.memory_limited && self.strikes_by(self.mix.exceeds_memory) {
                let at = self.soon();
                agent.go(Stage::Act, at);
                return self.emit(agent, Notice::MemoryExceeded);
            }
            let struck = self.struck(FaultPoint::Tool);
            agent.evidence.guard_lapsed |= struck == Some(Fault::GuardLapsed);
            let interval =
                if struck == Some(Fault::AttemptTimeout) { self.mix.slow_tool } else { self.mix.tool };
            let duration = Span(self.rng.magnitude(interval));
            agent.tool_open = true;
            agent.tool_until = now + duration;
            let (stage, at) = if agent.has_unreported_usage {
                (Stage::ReportUsage, now)
            } else {
                (Stage::Tool, now + duration)
            };
            agent.go(stage, at);
            return self.emit(agent, Notice::ToolStarted);
        }
        let fault = self.struck(FaultPoint::Answer);
        let result = fault.and_then(|fault| result_of(fault, &mut self.rng));
        agent.closing = (result.unwrap_or(AgentResult::COMPLETED), fault);
        if agent.shells == 0 && self.strikes_by(self.mix.shell) {
            agent.shells = 1 + self.rng.below(2) as u32;
            agent.shells_until = now + Span(self.rng.magnitude(self.mix.shell_lasts));
            agent.go(Stage::Finish, now);
            let shells = agent.shells;
            return self.emit(agent, Notice::BackgroundChanged(shells));
        }
        self.finish_exchange(agent)
    }

    /// Ends the exchange with a result.
    fn finish_exchange(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        if agent.has_unreported_usage {
            let now = self.now;
            agent.go(Stage::Finish, now);
            return self.report_usage(agent);
        }
        let (result, meaning) = agent.closing;
        agent.meaning = meaning;
        agent.inner = 0;
        agent.turn_open = false;
        agent.tool_open = false;
        agent.evidence.result = Some(result);
        agent.evidence.exchange_open = false;
        agent.evidence.made_progress |= result.is_progress();
        agent.evidence.results += 1;
        let at = self.now + Span(1);
        agent.go(Stage::Settle, at);
        self.emit(agent, Notice::ExchangeEnded(result))
    }

    /// Makes the agent idle. The next stage depends on its background shells and its input.
    pub(super) fn become_idle(&mut self, agent: &mut Agent) {
        match (agent.input_ended, agent.shells > 0) {
            (true, _) if agent.lingers => agent.go(Stage::Rest, agent.shells_until),
            (true, true) => agent.go(Stage::Leave, agent.shells_until.max(self.now)),
            (true, false) => {
                let at = self.now + Span(self.rng.within(Interval::new(5, 1_500)));
                agent.go(Stage::Leave, at);
            }
            (false, _) => agent.go(Stage::Rest, agent.shells_until),
        }
    }

    /// Applies a stop, if the agent obeys it.
    fn apply_stop(&mut self, mut agent: Box<Agent>, level: StopLevel) -> Option<WorldEvent> {
        if !agent.obeys.obeys(level) {
            return self.keep_silent(agent);
        }
        match level {
            StopLevel::Interrupt if agent.turn_open => {
                agent.closing = (ABORTED, Some(Fault::Interrupted));
                if agent.stage != Stage::Think || self.rng.one_in(2) {
                    return self.finish_exchange(agent);
                }
                // The output of the model so far is billed.
                let truncated =
                    Usage { truncated_messages: 1, reported_cost: self.mix.request_cost, ..Usage::default() };
                agent.evidence.usage = agent.evidence.usage.plus(truncated);
                self.sessions.open(agent.session()).spoken = true;
                let (usage, now) = (agent.evidence.usage, self.now);
                agent.go(Stage::Finish, now);
                self.emit(agent, Notice::UsageUpdated(usage))
            }
            // During startup or idle, there is nothing to interrupt.
            StopLevel::Interrupt => self.keep_silent(agent),
            StopLevel::Term => {
                agent.evidence.exit = Exit::Code(143);
                self.end(agent, Fault::Interrupted)
            }
            StopLevel::Kill => {
                agent.evidence.exit = Exit::Signal(9);
                self.end(agent, Fault::Crashed)
            }
        }
    }

    /// Kills the agent by a cause other than the supervisor.
    pub(super) fn die(&mut self, mut agent: Box<Agent>, fault: Fault) -> Option<WorldEvent> {
        let exits: &[Exit] = if fault == Fault::Interrupted {
            &[Exit::Code(143), Exit::Code(129), Exit::Code(0), Exit::Signal(15), Exit::Signal(1)]
        } else {
            &[Exit::Signal(9), Exit::Signal(11), Exit::Code(1), Exit::Code(134)]
        };
        agent.evidence.exit = self.rng.pick(exits);
        agent.evidence.oom_killed = fault == Fault::OutOfMemory;
        self.end(agent, fault)
    }

    /// Lets the agent exit on its own after a result.
    fn exit(&mut self, mut agent: Box<Agent>, cause: Fault) -> Option<WorldEvent> {
        let failed = agent.evidence.result.is_some_and(|result| result.is_error);
        agent.evidence.exit = Exit::Code(i32::from(failed));
        self.end(agent, cause)
    }

    /// Ends the process. Its tools and shells may survive.
    fn end(&mut self, mut agent: Box<Agent>, cause: Fault) -> Option<WorldEvent> {
        self.orphans += agent.shells + u32::from(agent.tool_open && self.rng.one_in(2));
        agent.evidence.continuity = self.continuity(&agent);
        agent.evidence.workspace_fingerprint = self.keeps_going.then_some(self.workspace);
        let truth = agent.truth(cause);
        self.billed = self.billed.plus(agent.evidence.usage);
        self.finished = Some(EndedAttempt { attempt: agent.plan.attempt, truth, evidence: agent.evidence });
        Some(WorldEvent::Exited)
    }

    /// Returns what the session file reveals about the history of the resumed session.
    fn continuity(&mut self, agent: &Agent) -> Option<Continuity> {
        if matches!(agent.plan.session, SessionPlan::New(_)) {
            return None;
        }
        match agent.evidence.usage.is_empty() {
            _ if agent.forgets => Some(Continuity::Unrelated),
            false => {
                Some(self.rng.pick(&[Continuity::Continued, Continuity::Continued, Continuity::Branched]))
            }
            true => self.rng.one_in(2).then_some(Continuity::Unchanged),
        }
    }

    /// Returns when a stop of this level, ordered now, takes effect.
    pub(super) fn obeyed_at(&mut self, level: StopLevel) -> Moment {
        self.now
            + Span(match level {
                StopLevel::Interrupt | StopLevel::Term => self.rng.magnitude(STOP_DELAY),
                StopLevel::Kill => 1 + self.rng.below(20),
            })
    }
}
