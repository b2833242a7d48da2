//! Models the behavior of an agent: its exchanges, requests and tools, and how each fault affects them.

use super::agent::{Agent, NEVER, Stage};
use super::results::{ABORTED, PORTAL, result_of};
use super::server::{Outage, Server, UsageLimit};
use super::sessions::Session;
use super::{EndedAttempt, World};
use crate::Interval;
use crate::fault_mix::FaultPoint;
use longhaul_core::{
    AgentResult, ApiError, Continuity, Event, Exit, Fault, Moment, Notice, RateLimit, RateLimitStatus,
    SessionPlan, Span, StopLevel, Usage, draw_uuid,
};

// The agent's own schedule of retries, as measured: 0.5 s doubling to 32 s, plus up to 25 percent.
const INNER_BASE: Span = Span(500);
const INNER_CAP: Span = Span(32_000);
// Above this hint the agent gives up immediately.
const INNER_HINT_MAX: Span = Span(60_000);
// SIGTERM during a tool takes up to 1.6 s, and slightly longer on a busy machine.
const STOP_DELAY: Interval = Interval::new(5, 2_500);

impl World {
    pub(super) fn step_agent(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        let now = self.now;
        if let Some(level) = agent.stop
            && agent.stop_at <= now
        {
            agent.stop_at = NEVER;
            return self.apply_stop(agent, level);
        }
        if agent.death_at <= now {
            let fault = agent.death.unwrap_or(Fault::Crashed);
            return self.die(agent, fault);
        }
        match agent.stage {
            Stage::Boot => self.boot(agent),
            Stage::StartExchange => {
                agent.has_open_exchange = true;
                agent.evidence.claimed_done = false;
                agent.evidence.exchange_open = agent.evidence.result.is_some();
                agent.enter(Stage::Think, self.think_half());
                self.emit(agent, Notice::ExchangeStarted)
            }
            Stage::Think => {
                agent.enter(Stage::Answer, self.think_half());
                // A part of the message may be complete. This is no random draw, so that older seeds give the
                // same runs.
                let ended = now.0 & 1 == 1;
                self.emit(agent, if ended { Notice::MessageEnded } else { Notice::Activity })
            }
            Stage::Answer => self.answer_request(agent),
            Stage::Evaluate => self.act(agent),
            Stage::WaitForSupervisor => self.keep_silent(agent),
            Stage::ReportUsage => {
                agent.enter(Stage::Tool, agent.tool_ends_at);
                self.report_usage(agent)
            }
            Stage::Tool if self.rng.chance(self.mix.frozen) => self.freeze(agent),
            Stage::Tool => {
                match &mut agent.wrap_up_calls {
                    Some(calls) => *calls = calls.saturating_sub(1),
                    None => self.remaining_work = self.remaining_work.saturating_sub(1),
                }
                self.change_workspace();
                agent.tool_open = false;
                agent.evidence.made_progress = true;
                agent.enter(Stage::Think, self.think_half());
                self.emit(agent, Notice::ToolEnded)
            }
            Stage::Finish => self.finish_exchange(agent),
            Stage::ReportIdle if agent.exits_after_result => self.exit(agent),
            Stage::ReportIdle if std::mem::take(&mut agent.prompted) => {
                agent.enter(Stage::StartExchange, now);
                // The agent may report idle first and read the prompt afterwards.
                if self.rng.one_in(2) { self.keep_silent(agent) } else { self.emit(agent, Notice::Idle) }
            }
            Stage::ReportIdle => {
                self.become_idle(&mut agent);
                if agent.never_idle { self.keep_silent(agent) } else { self.emit(agent, Notice::Idle) }
            }
            Stage::Delegate if agent.has_unreported_usage => {
                self.wait_for_shells(&mut agent);
                self.report_usage(agent)
            }
            // An agent that is being stopped sends no further request, and neither does one without its supervisor.
            Stage::Delegate if agent.stop.is_some() || self.needs_supervisor && self.is_unsupervised => {
                agent.enter(Stage::Idle, agent.shells_end_at);
                self.keep_silent(agent)
            }
            Stage::Delegate => {
                agent.evidence.usage = agent.evidence.usage.plus(self.next_response_usage());
                agent.has_unreported_usage = true;
                agent.enter(Stage::Delegate, now);
                self.emit(agent, Notice::MessageEnded)
            }
            Stage::Idle => {
                (agent.shells, agent.sub_agents) = (0, 0);
                agent.shells_end_at = NEVER;
                self.change_workspace();
                if self.rng.chance(self.mix.shell_starts_exchange) {
                    agent.enter(Stage::Wake, self.soon());
                } else if agent.never_idle {
                    agent.enter(Stage::Idle, NEVER);
                } else {
                    agent.enter(Stage::ReportIdle, self.soon());
                }
                self.emit(agent, Notice::BackgroundChanged { tasks: 0, sub_agents: 0 })
            }
            Stage::Wake => {
                agent.enter(Stage::StartExchange, now);
                self.keep_silent(agent)
            }
            Stage::Exit => self.exit(agent),
            // The hang is over: the process dies.
            Stage::Hang => self.die(agent, Fault::Crashed),
            Stage::NoProgress => self.emit_without_progress(agent),
        }
    }

    fn think_half(&mut self) -> Moment {
        self.now + Span(self.rng.log_uniform(self.mix.think) / 2)
    }

    fn session_of(&mut self, agent: &Agent) -> &mut Session {
        self.sessions.entry(agent.session().clone()).or_default()
    }

    fn soon(&mut self) -> Moment {
        self.now + Span(self.rng.below(400))
    }

    fn keep_silent(&mut self, agent: Box<Agent>) -> Option<Event> {
        self.agent = Some(agent);
        None
    }

    pub(super) fn emit(&mut self, agent: Box<Agent>, notice: Notice) -> Option<Event> {
        self.agent = Some(agent);
        self.stream.push(notice.clone());
        Some(Event::Noticed(notice))
    }

    /// Freezes the agent's process during a tool call. The supervisor notices it.
    fn freeze(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        agent.obeys_from = Some(StopLevel::Kill);
        agent.frozen = true;
        agent.enter(Stage::Hang, self.now + Span(self.rng.log_uniform(self.mix.hang)));
        self.emit(agent, Notice::ProcessFrozen)
    }

    fn boot(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        if let Some((error, fault)) = agent.refusal {
            agent.evidence.startup = Some(error);
            agent.evidence.exit = Exit::Code(1);
            return self.end(agent, fault);
        }
        // The prompt is usually in the session file before the first request.
        let written = !self.rng.one_in(4);
        self.session_of(&agent).has_content |= written;
        let session =
            if agent.opens_other_session { draw_uuid(self.rng.bits(), 0) } else { agent.session().clone() };
        agent.evidence.session = Some(session.clone());
        agent.enter(Stage::StartExchange, self.now);
        self.emit(agent, Notice::SessionOpened(session))
    }

    /// Returns whether the agent's own budget ends the exchange. Once it is exhausted, every later exchange
    /// ends immediately without a request (Claude Code 2.1.330).
    fn ends_by_its_budget(&mut self, agent: &mut Agent) -> bool {
        let is_exhausted =
            agent.plan.remaining.budget.is_some_and(|budget| agent.evidence.usage.reported_cost >= budget);
        let result = is_exhausted.then(|| result_of(Fault::AgentBudget, &mut self.rng)).flatten();
        if let Some(result) = result {
            agent.next_result = (result, Some(Fault::AgentBudget));
        }
        result.is_some()
    }

    fn answer_request(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        if self.ends_by_its_budget(&mut agent) {
            return self.finish_exchange(agent);
        }
        self.server.refresh(self.now);
        if self.failed_requests >= self.mix.failed_requests_max {
            self.server = Server::default();
        }
        let rejected =
            agent.evidence.rate_limit.is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
        if rejected && self.server.limit.is_none() {
            let limit = RateLimit { status: RateLimitStatus::Allowed, resets_at: None };
            agent.evidence.rate_limit = Some(limit);
            return self.emit(agent, Notice::RateLimitChanged(limit));
        }
        self.requests += 1;
        self.draw_request_fault(&mut agent);
        if matches!(agent.stage, Stage::Hang | Stage::NoProgress) {
            return self.keep_silent(agent);
        }
        if let Some((result, fault)) = self.server.permanent_failure {
            return self.refuse(agent, fault, result, None);
        }
        if let Some(limit) = self.server.limit {
            return self.hit_limit(agent, limit);
        }
        if let Some(outage) = self.server.outage {
            return self.refuse(agent, outage.fault, outage.result, outage.hint);
        }
        let session = self.session_of(&agent);
        let session_fault = match (session.full, session.rejected) {
            (true, _) => Some(Fault::ContextFull),
            (false, true) => Some(Fault::BadRequest),
            (false, false) => None,
        };
        if let Some((fault, result)) =
            session_fault.and_then(|fault| Some((fault, result_of(fault, &mut self.rng)?)))
        {
            return self.refuse(agent, fault, result, None);
        }
        if let Some((result, fault)) = self.next_response.take() {
            agent.next_result = (result, Some(fault));
            return self.finish_exchange(agent);
        }
        self.serve(agent)
    }

    fn draw_request_fault(&mut self, agent: &mut Agent) {
        let Some(fault) = self.draw_fault(FaultPoint::Request) else { return };
        let now = self.now;
        match fault {
            Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => {
                let Some(result) = result_of(fault, &mut self.rng) else { return };
                let is_portal = fault == Fault::Network && self.rng.chance(self.mix.portal);
                let result = if is_portal { PORTAL } else { result };
                let has_hint = fault == Fault::RateLimited && self.rng.chance(self.mix.hint);
                let until = now + Span(self.rng.log_uniform(self.mix.outage));
                self.server.outage =
                    Some(Outage { fault, until, result, hint: has_hint.then(|| until.since(now)) });
            }
            Fault::UsageLimit => {
                let Some(result) = result_of(fault, &mut self.rng) else { return };
                let until = now + Span(self.rng.log_uniform(self.mix.reset));
                let names_reset = result.api_error.is_none() || self.rng.chance(self.mix.reset_named);
                // The server sometimes serves requests only some time after the reset that it reported.
                let reported = Moment(until.0.saturating_sub(if self.rng.one_in(8) { 2_000 } else { 0 }));
                let reported = RateLimit {
                    status: RateLimitStatus::Rejected,
                    resets_at: (names_reset && !self.rng.one_in(16)).then_some(reported),
                };
                self.server.limit = Some(UsageLimit { until, result, reported });
            }
            Fault::Auth | Fault::Billing | Fault::ModelUnknown => self.fail_permanently(fault),
            Fault::BadRequest if self.rng.one_in(3) => self.fail_permanently(fault),
            Fault::BadRequest => self.session_of(agent).rejected = true,
            Fault::ContextFull => self.session_of(agent).full = true,
            Fault::Crashed | Fault::OutOfMemory => {
                agent.death = Some(fault);
                agent.death_at = now + Span(self.rng.log_uniform(self.mix.think));
            }
            Fault::Interrupted if self.rng.one_in(2) => {
                agent.death = Some(fault);
                agent.death_at = now + Span(self.rng.log_uniform(self.mix.think));
            }
            Fault::Stalled => {
                if self.rng.chance(self.mix.ignores_stops) {
                    agent.obeys_from = Some(self.rng.pick(&[StopLevel::Term, StopLevel::Kill]));
                }
                if self.rng.chance(self.mix.unkillable) {
                    agent.obeys_from = None;
                    self.has_unkillable = true;
                }
                let at = now + Span(self.rng.log_uniform(self.mix.hang));
                agent.enter(Stage::Hang, at);
                if self.rng.chance(self.mix.no_progress) {
                    self.start_no_progress(agent, at);
                } else if self.rng.chance(self.mix.frozen) {
                    // The supervisor does not notice.
                    agent.obeys_from = Some(StopLevel::Kill);
                    agent.frozen = true;
                }
            }
            Fault::Interrupted
            | Fault::OutputLimit
            | Fault::InvalidResult
            | Fault::Refused
            | Fault::TurnLimit
            | Fault::AgentBudget
            | Fault::Unknown => {
                self.next_response = result_of(fault, &mut self.rng).map(|result| (result, fault));
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

    fn fail_permanently(&mut self, fault: Fault) {
        self.server.permanent_failure = result_of(fault, &mut self.rng).map(|result| (result, fault));
    }

    /// Fails a request: the agent retries it, or the exchange ends.
    fn refuse(
        &mut self,
        mut agent: Box<Agent>,
        fault: Fault,
        result: AgentResult,
        hint: Option<Span>,
    ) -> Option<Event> {
        self.failed_requests += 1;
        let transient =
            matches!(fault, Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network);
        let is_retried =
            transient && result.api_error != Some(ApiError::Malformed) || result.api_status == Some(401);
        let is_retried = is_retried && hint.is_none_or(|hint| hint <= INNER_HINT_MAX);
        if is_retried && agent.inner_retries < self.inner_retries {
            let backoff = INNER_BASE.doubled(agent.inner_retries).at_most(INNER_CAP);
            let delay = backoff.max(hint.unwrap_or(backoff));
            let delay = delay + Span(self.rng.below(delay.0 / 4 + 1));
            agent.inner_retries += 1;
            agent.enter(Stage::Answer, self.now + delay);
            let notice = Notice::Retrying { attempt: agent.inner_retries, status: result.api_status, delay };
            return self.emit(agent, notice);
        }
        agent.next_result = (result, Some(fault));
        self.finish_exchange(agent)
    }

    /// Rejects a request for lack of quota. The agent reports it, then the exchange ends.
    fn hit_limit(&mut self, mut agent: Box<Agent>, limit: UsageLimit) -> Option<Event> {
        self.failed_requests += 1;
        agent.next_result = (limit.result, Some(Fault::UsageLimit));
        let names_reset = limit.reported.resets_at.is_some() || limit.result.api_error.is_none();
        if !names_reset {
            return self.finish_exchange(agent);
        }
        agent.evidence.rate_limit = Some(limit.reported);
        agent.enter(Stage::Finish, self.now);
        self.emit(agent, Notice::RateLimitChanged(limit.reported))
    }

    fn serve(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        let now = self.now;
        self.session_of(&agent).has_content = true;
        agent.inner_retries = 0;
        self.first_served_at.get_or_insert(now);
        agent.evidence.usage = agent.evidence.usage.plus(self.next_response_usage());
        agent.enter(Stage::Evaluate, now);
        // The usage may be reported after the tool call of the response. This is no random draw either.
        agent.has_unreported_usage = now.0 & 2 == 2;
        if agent.has_unreported_usage { self.keep_silent(agent) } else { self.report_usage(agent) }
    }

    fn report_usage(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        agent.has_unreported_usage = false;
        let usage = agent.evidence.usage;
        self.emit(agent, Notice::UsageUpdated(usage))
    }

    /// Evaluates a response: a done claim, a tool call, or the last answer.
    fn act(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        let now = self.now;
        if self.ends_by_its_budget(&mut agent) {
            return self.finish_exchange(agent);
        }
        if self.claims_done(&agent) {
            agent.evidence.claimed_done = true;
            return self.emit(agent, Notice::ClaimedDone);
        }
        if agent.wrap_up_calls.unwrap_or(self.remaining_work) > 0 && !self.stops_early(&agent) {
            if self.needs_supervisor && self.is_unsupervised {
                agent.enter(Stage::WaitForSupervisor, NEVER);
                return self.keep_silent(agent);
            }
            if self.memory_limited && self.draw_extra_fault(self.mix.exceeds_memory) {
                agent.enter(Stage::Evaluate, self.soon());
                return self.emit(agent, Notice::MemoryExceeded);
            }
            let struck = self.draw_fault(FaultPoint::Tool);
            agent.evidence.guard_lapsed |= struck == Some(Fault::GuardLapsed);
            let interval =
                if struck == Some(Fault::AttemptTimeout) { self.mix.slow_tool } else { self.mix.tool };
            let duration = Span(self.rng.log_uniform(interval));
            agent.tool_open = true;
            agent.tool_ends_at = now + duration;
            let (stage, at) = if agent.has_unreported_usage {
                (Stage::ReportUsage, now)
            } else {
                (Stage::Tool, now + duration)
            };
            agent.enter(stage, at);
            return self.emit(agent, Notice::ToolStarted);
        }
        let fault = self.draw_fault(FaultPoint::Answer);
        let result = fault.and_then(|fault| result_of(fault, &mut self.rng));
        agent.next_result = (result.unwrap_or(AgentResult::COMPLETED), fault);
        if agent.shells == 0 && self.draw_extra_fault(self.mix.leaves_shell) {
            agent.shells = 1 + self.rng.below(2) as u32;
            agent.shells_end_at = now + Span(self.rng.log_uniform(self.mix.shell_duration));
            agent.sub_agents = if self.rng.one_in(3) { agent.shells } else { 0 };
            agent.enter(Stage::Finish, now);
            let (tasks, sub_agents) = (agent.shells, agent.sub_agents);
            return self.emit(agent, Notice::BackgroundChanged { tasks, sub_agents });
        }
        self.finish_exchange(agent)
    }

    fn finish_exchange(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        if agent.has_unreported_usage {
            agent.enter(Stage::Finish, self.now);
            return self.report_usage(agent);
        }
        let (result, meaning) = agent.next_result;
        agent.result_truth = meaning;
        agent.inner_retries = 0;
        agent.has_open_exchange = false;
        agent.tool_open = false;
        agent.evidence.result = Some(result);
        agent.evidence.exchange_open = false;
        agent.evidence.made_progress |= result.is_progress();
        agent.evidence.results += 1;
        agent.enter(Stage::ReportIdle, self.now + Span(1));
        self.emit(agent, Notice::ExchangeEnded(result))
    }

    /// Makes the agent idle. The next stage depends on its background shells and its input.
    pub(super) fn become_idle(&mut self, agent: &mut Agent) {
        match (agent.input_closed, agent.shells > 0) {
            (true, _) if agent.lingers => agent.enter(Stage::Idle, agent.shells_end_at),
            (true, true) => agent.enter(Stage::Exit, agent.shells_end_at.max(self.now)),
            (true, false) => {
                agent.enter(Stage::Exit, self.now + Span(self.rng.uniform(Interval::new(5, 1_500))));
            }
            (false, _) => self.wait_for_shells(agent),
        }
    }

    /// Waits for the shells. Sub-agents get responses meanwhile, unless they hang.
    fn wait_for_shells(&mut self, agent: &mut Agent) {
        let next = self.now + Span(self.rng.log_uniform(self.mix.think));
        if agent.sub_agents > 0 && next < agent.shells_end_at && !self.rng.chance(self.mix.frozen) {
            agent.enter(Stage::Delegate, next);
        } else {
            agent.enter(Stage::Idle, agent.shells_end_at);
        }
    }

    fn apply_stop(&mut self, mut agent: Box<Agent>, level: StopLevel) -> Option<Event> {
        if agent.obeys_from.is_none_or(|least| level < least) {
            return self.keep_silent(agent);
        }
        if level != StopLevel::Interrupt && agent.sub_agents > 0 {
            agent.evidence.background = agent.shells;
        }
        match level {
            StopLevel::Interrupt if agent.has_open_exchange => {
                agent.next_result = (ABORTED, Some(Fault::Interrupted));
                if agent.stage != Stage::Think || self.rng.one_in(2) {
                    return self.finish_exchange(agent);
                }
                // The output of the model so far is billed_usage.
                let truncated =
                    Usage { truncated_messages: 1, reported_cost: self.mix.request_cost, ..Usage::default() };
                agent.evidence.usage = agent.evidence.usage.plus(truncated);
                self.session_of(&agent).has_content = true;
                let (usage, now) = (agent.evidence.usage, self.now);
                agent.enter(Stage::Finish, now);
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

    /// Ends the agent's process by a cause other than the supervisor.
    pub(super) fn die(&mut self, mut agent: Box<Agent>, fault: Fault) -> Option<Event> {
        let exits: &[Exit] = if fault == Fault::Interrupted {
            &[Exit::Code(143), Exit::Code(129), Exit::Code(0), Exit::Signal(15), Exit::Signal(1)]
        } else {
            &[Exit::Signal(9), Exit::Signal(11), Exit::Code(1), Exit::Code(134)]
        };
        agent.evidence.exit = self.rng.pick(exits);
        agent.evidence.oom_killed = fault == Fault::OutOfMemory;
        // After the order to stop, nothing tells whether the order ended the shells. An agent that exits with 0
        // did so itself.
        if agent.stop.is_none() && agent.evidence.exit != Exit::Code(0) {
            agent.evidence.background = agent.shells;
        }
        self.end(agent, fault)
    }

    fn exit(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        let failed = agent.evidence.result.is_some_and(|result| result.is_error);
        agent.evidence.exit = Exit::Code(i32::from(failed));
        self.end(agent, Fault::Crashed)
    }

    /// Ends the process. Its tools and shells may survive.
    fn end(&mut self, mut agent: Box<Agent>, cause: Fault) -> Option<Event> {
        self.leftover_processes += agent.shells + u32::from(agent.tool_open && self.rng.one_in(2));
        agent.evidence.continuity = self.continuity(&agent);
        agent.evidence.workspace_fingerprint = self.keeps_going.then_some(self.workspace);
        let truth = agent.truth(cause);
        self.billed_usage = self.billed_usage.plus(agent.evidence.usage);
        let evidence = agent.evidence.clone();
        self.ended_attempt =
            Some(EndedAttempt { attempt: agent.plan.attempt, truth, evidence: agent.evidence });
        Some(Event::Exited(evidence))
    }

    /// Returns how the session file relates to the history of the resumed session. `None` if that is unknown.
    fn continuity(&mut self, agent: &Agent) -> Option<Continuity> {
        if matches!(agent.plan.session, SessionPlan::New(_)) {
            return None;
        }
        match agent.evidence.usage.is_empty() {
            _ if agent.starts_over => Some(Continuity::Unrelated),
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
                StopLevel::Interrupt | StopLevel::Term => self.rng.log_uniform(STOP_DELAY),
                StopLevel::Kill => 1 + self.rng.below(20),
            })
    }
}
