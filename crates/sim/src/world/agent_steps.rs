//! What an agent does next: its turns, its requests, its tools, and how each meets a fault.

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

// The agent's own schedule, measured: 0.5 s doubling to 32 s, plus up to a quarter.
const INNER_BASE: Span = Span(500);
const INNER_CAP: Span = Span(32_000);
// Above this the agent gives up at once, whatever the server asks.
const INNER_HINT_MAX: Span = Span(60_000);
// SIGTERM in mid-tool takes up to 1.6 s; a busy machine a little longer.
const HEED: Interval = Interval::new(5, 2_500);

impl World {
    /// The agent's time has come.
    pub(super) fn agent_acts(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        let now = self.now;
        if agent.stop_at <= now {
            agent.stop_at = NEVER;
            let level = agent.stop;
            return self.stopped(agent, level);
        }
        if agent.death_at <= now {
            let fault = agent.death.unwrap_or(Fault::Crashed);
            return self.dies(agent, fault);
        }
        match agent.stage {
            Stage::Boot => self.boots(agent),
            Stage::Ask => {
                agent.turn_open = true;
                agent.evidence.claimed_done = false;
                agent.evidence.exchange_open = agent.evidence.result.is_some();
                let at = self.think_half();
                agent.go(Stage::Think, at);
                self.says(agent, Notice::ExchangeStarted)
            }
            Stage::Think => {
                let at = self.think_half();
                agent.go(Stage::Answer, at);
                // A part of the message may be finished; no roll for that, so that a seed means what it meant.
                let ended = now.0 & 1 == 1;
                self.says(agent, if ended { Notice::MessageEnded } else { Notice::Activity })
            }
            Stage::Answer => self.answers(agent),
            Stage::Act => self.acts(agent),
            Stage::Wait => self.keeps(agent),
            Stage::Tell => {
                let tool_until = agent.tool_until;
                agent.go(Stage::Tool, tool_until);
                self.tells(agent)
            }
            Stage::Tool if self.rng.odds(self.mix.frozen) => self.freezes(agent),
            Stage::Tool => {
                match &mut agent.saving {
                    Some(calls) => *calls = calls.saturating_sub(1),
                    None => self.work_left = self.work_left.saturating_sub(1),
                }
                self.changes();
                agent.tool_open = false;
                agent.evidence.made_progress = true;
                let at = self.think_half();
                agent.go(Stage::Think, at);
                self.says(agent, Notice::ToolEnded)
            }
            Stage::Finish => self.finishes(agent),
            Stage::Settle if agent.brief => self.exits(agent, Fault::Crashed),
            Stage::Settle if std::mem::take(&mut agent.prompted) => {
                agent.go(Stage::Ask, now);
                // It may say that it is idle, and find the line then.
                if self.rng.one_in(2) { self.keeps(agent) } else { self.says(agent, Notice::Idle) }
            }
            Stage::Settle => {
                self.rests(&mut agent);
                if agent.mute { self.keeps(agent) } else { self.says(agent, Notice::Idle) }
            }
            Stage::Rest => {
                agent.shells = 0;
                agent.shells_until = NEVER;
                self.changes();
                if self.rng.odds(self.mix.notified) {
                    let at = self.soon();
                    agent.go(Stage::Wake, at);
                } else if agent.mute {
                    agent.go(Stage::Rest, NEVER);
                } else {
                    let at = self.soon();
                    agent.go(Stage::Settle, at);
                }
                self.says(agent, Notice::BackgroundChanged(0))
            }
            Stage::Wake => {
                agent.go(Stage::Ask, now);
                self.keeps(agent)
            }
            Stage::Leave => self.exits(agent, Fault::Crashed),
            // Somebody ends it at last.
            Stage::Hang => self.dies(agent, Fault::Crashed),
            Stage::NoProgress => self.babbles(agent),
        }
    }

    fn think_half(&mut self) -> Moment {
        self.now + Span(self.rng.magnitude(self.mix.think) / 2)
    }

    fn soon(&mut self) -> Moment {
        self.now + Span(self.rng.below(400))
    }

    /// Puts the agent back; it said nothing.
    fn keeps(&mut self, agent: Box<Agent>) -> Option<WorldEvent> {
        self.agent = Some(agent);
        None
    }

    pub(super) fn says(&mut self, agent: Box<Agent>, notice: Notice) -> Option<WorldEvent> {
        self.agent = Some(agent);
        self.stream.push(notice.clone());
        Some(WorldEvent::Noticed(notice))
    }

    /// Somebody stops its process while its tool runs, and nobody lets it go on; its supervisor sees that.
    fn freezes(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        agent.obeys = RespondsTo::From(StopLevel::Kill);
        agent.frozen = true;
        let at = self.now + Span(self.rng.magnitude(self.mix.hang));
        agent.go(Stage::Hang, at);
        self.says(agent, Notice::ProcessFrozen)
    }

    fn boots(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        if let Some((error, fault)) = agent.refusal {
            agent.evidence.startup = Some(error);
            agent.evidence.exit = Exit::Code(1);
            return self.ends(agent, fault);
        }
        // The prompt is mostly written down before the first request.
        let written = !self.rng.one_in(4);
        self.sessions.open(agent.session()).spoken |= written;
        let session = if agent.strays { draw_uuid(self.rng.bits(), 0) } else { agent.session().clone() };
        agent.evidence.session = Some(session.clone());
        agent.go(Stage::Ask, self.now);
        self.says(agent, Notice::SessionOpened(session))
    }

    /// The second fence: the agent's own limit, which it was given by us. Once it is reached, every further exchange ends at
    /// once, without a request (2.1.330).
    fn ends_by_its_budget(&mut self, agent: &mut Agent) -> bool {
        let spent =
            agent.plan.remaining.budget.is_some_and(|money| agent.evidence.usage.reported_cost >= money);
        let result = spent.then(|| result_of(Fault::AgentBudget, &mut self.rng)).flatten();
        if let Some(result) = result {
            agent.closing = (result, Some(Fault::AgentBudget));
        }
        result.is_some()
    }

    /// The API answers one request, or does not.
    fn answers(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        if self.ends_by_its_budget(&mut agent) {
            return self.finishes(agent);
        }
        self.server.refresh(self.now);
        if self.failed_requests >= self.mix.failed_requests_max {
            self.server = Server::default();
        }
        let rejected = agent.stated_limit().is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
        if rejected && self.server.limit.is_none() {
            let limit = RateLimit { status: RateLimitStatus::Allowed, resets_at: None };
            agent.evidence.rate_limit = Some(limit);
            return self.says(agent, Notice::RateLimitChanged(limit));
        }
        self.requests += 1;
        self.strikes(&mut agent);
        if matches!(agent.stage, Stage::Hang | Stage::NoProgress) {
            return self.keeps(agent);
        }
        if let Some(ban) = self.server.ban {
            return self.refuses(agent, ban.fault, ban.result, None);
        }
        if let Some(limit) = self.server.limit {
            return self.limits(agent, limit);
        }
        if let Some(wall) = self.server.outage {
            return self.refuses(agent, wall.fault, wall.result, wall.hint);
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
            return self.refuses(agent, fault, result, None);
        }
        if let Some((result, fault)) = self.once.take() {
            agent.closing = (result, Some(fault));
            return self.finishes(agent);
        }
        self.serves(agent)
    }

    /// A new fault of the mix may strike at this request.
    fn strikes(&mut self, agent: &mut Agent) {
        let Some(fault) = self.struck(FaultPoint::Request) else { return };
        let now = self.now;
        match fault {
            Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => {
                let Some(result) = result_of(fault, &mut self.rng) else { return };
                let portal = fault == Fault::Network && self.rng.odds(self.mix.portal);
                let result = if portal { PORTAL } else { result };
                let hinted = fault == Fault::RateLimited && self.rng.odds(self.mix.hinted);
                let until = now + Span(self.rng.magnitude(self.mix.outage));
                self.server.outage =
                    Some(Outage { fault, until, result, hint: hinted.then(|| until.since(now)) });
            }
            Fault::UsageLimit => {
                let Some(result) = result_of(fault, &mut self.rng) else { return };
                let until = now + Span(self.rng.magnitude(self.mix.reset));
                let named = result.api_error.is_none() || self.rng.odds(self.mix.reset_named);
                // Sometimes the server is late to notice its own reset.
                let reported = Moment(until.0.saturating_sub(if self.rng.one_in(8) { 2_000 } else { 0 }));
                let reported = RateLimit {
                    status: RateLimitStatus::Rejected,
                    resets_at: (named && !self.rng.one_in(16)).then_some(reported),
                };
                self.server.limit = Some(Limit { until, result, reported });
            }
            Fault::Auth | Fault::Billing | Fault::ModelUnknown => self.bans(fault),
            Fault::BadRequest if self.rng.one_in(3) => self.bans(fault),
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
                    let deaf = [RespondsTo::From(StopLevel::Term), RespondsTo::From(StopLevel::Kill)];
                    agent.obeys = self.rng.pick(&deaf);
                }
                if self.rng.odds(self.mix.unkillable) {
                    agent.obeys = RespondsTo::Nothing;
                    self.undying = true;
                }
                let at = now + Span(self.rng.magnitude(self.mix.hang));
                agent.go(Stage::Hang, at);
                if self.rng.odds(self.mix.no_progress) {
                    self.begins_to_babble(agent, at);
                } else if self.rng.odds(self.mix.frozen) {
                    // Nobody has noticed.
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

    fn bans(&mut self, fault: Fault) {
        self.server.ban = result_of(fault, &mut self.rng).map(|result| PermanentFailure { fault, result });
    }

    /// A request failed: the agent repeats it by itself, or its turn ends.
    fn refuses(
        &mut self,
        mut agent: Box<Agent>,
        fault: Fault,
        result: AgentResult,
        hint: Option<Span>,
    ) -> Option<WorldEvent> {
        self.failed_requests += 1;
        let transient =
            matches!(fault, Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network);
        let patient =
            transient && result.api_error != Some(ApiError::Malformed) || result.api_status == Some(401);
        let patient = patient && hint.is_none_or(|hint| hint <= INNER_HINT_MAX);
        if patient && agent.inner < self.inner_retries {
            let own = INNER_BASE.doubled(agent.inner).at_most(INNER_CAP);
            let delay = own.max(hint.unwrap_or(own));
            let delay = delay + Span(self.rng.below(delay.0 / 4 + 1));
            agent.inner += 1;
            agent.go(Stage::Answer, self.now + delay);
            let notice = Notice::Retrying { attempt: agent.inner, status: result.api_status, delay };
            return self.says(agent, notice);
        }
        agent.evidence.retry_after = hint;
        agent.closing = (result, Some(fault));
        self.finishes(agent)
    }

    /// The account has no quota: the agent says so, then its turn ends.
    fn limits(&mut self, mut agent: Box<Agent>, limit: Limit) -> Option<WorldEvent> {
        self.failed_requests += 1;
        agent.closing = (limit.result, Some(Fault::UsageLimit));
        let names = limit.reported.resets_at.is_some() || limit.result.api_error.is_none();
        if !names {
            return self.finishes(agent);
        }
        agent.evidence.rate_limit = Some(limit.reported);
        agent.go(Stage::Finish, self.now);
        self.says(agent, Notice::RateLimitChanged(limit.reported))
    }

    /// A request is answered: the agent runs a tool, or has its last answer.
    fn serves(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        let now = self.now;
        self.sessions.open(agent.session()).spoken = true;
        agent.inner = 0;
        self.served_at.get_or_insert(now);
        agent.evidence.usage = agent.evidence.usage.plus(self.next_answer());
        agent.go(Stage::Act, now);
        // What an answer used may be told after the call that it asks for; no roll for that, either.
        agent.unprompted = now.0 & 2 == 2;
        if agent.unprompted { self.keeps(agent) } else { self.tells(agent) }
    }

    /// Says what it has used so far.
    fn tells(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        agent.unprompted = false;
        let used = agent.evidence.usage;
        self.says(agent, Notice::UsageUpdated(used))
    }

    /// What an answer is for.
    fn acts(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        let now = self.now;
        if self.ends_by_its_budget(&mut agent) {
            return self.finishes(agent);
        }
        if self.claims(&agent) {
            agent.evidence.claimed_done = true;
            return self.says(agent, Notice::ClaimedDone);
        }
        if agent.saving.unwrap_or(self.work_left) > 0 && !self.stops_early(&agent) {
            if self.attended && self.alone {
                agent.go(Stage::Wait, NEVER);
                return self.keeps(agent);
            }
            if self.memory_limited && self.strikes_by(self.mix.exceeds_memory) {
                let at = self.soon();
                agent.go(Stage::Act, at);
                return self.says(agent, Notice::MemoryExceeded);
            }
            let struck = self.struck(FaultPoint::Tool);
            agent.evidence.guard_lapsed |= struck == Some(Fault::GuardLapsed);
            let reach =
                if struck == Some(Fault::AttemptTimeout) { self.mix.slow_tool } else { self.mix.tool };
            let lasts = Span(self.rng.magnitude(reach));
            agent.tool_open = true;
            agent.tool_until = now + lasts;
            let (stage, at) = if agent.unprompted { (Stage::Tell, now) } else { (Stage::Tool, now + lasts) };
            agent.go(stage, at);
            return self.says(agent, Notice::ToolStarted);
        }
        let fault = self.struck(FaultPoint::Answer);
        let result = fault.and_then(|fault| result_of(fault, &mut self.rng));
        agent.closing = (result.unwrap_or(AgentResult::COMPLETED), fault);
        if agent.shells == 0 && self.strikes_by(self.mix.shell) {
            agent.shells = 1 + self.rng.below(2) as u32;
            agent.shells_until = now + Span(self.rng.magnitude(self.mix.shell_lasts));
            agent.go(Stage::Finish, now);
            let shells = agent.shells;
            return self.says(agent, Notice::BackgroundChanged(shells));
        }
        self.finishes(agent)
    }

    /// The turn ends with a result.
    fn finishes(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        if agent.unprompted {
            let now = self.now;
            agent.go(Stage::Finish, now);
            return self.tells(agent);
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
        self.says(agent, Notice::ExchangeEnded(result))
    }

    /// No turn is owed: what happens next depends on background shells and on the input.
    pub(super) fn rests(&mut self, agent: &mut Agent) {
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

    /// A stop takes effect, if the agent heeds it.
    fn stopped(&mut self, mut agent: Box<Agent>, level: StopLevel) -> Option<WorldEvent> {
        if !agent.obeys.obeys(level) {
            return self.keeps(agent);
        }
        match level {
            StopLevel::Interrupt if agent.turn_open => {
                agent.closing = (ABORTED, Some(Fault::Interrupted));
                if agent.stage != Stage::Think || self.rng.one_in(2) {
                    return self.finishes(agent);
                }
                // What the model has written until then is billed.
                let cut =
                    Usage { truncated_messages: 1, reported_cost: self.mix.request_cost, ..Usage::default() };
                agent.evidence.usage = agent.evidence.usage.plus(cut);
                self.sessions.open(agent.session()).spoken = true;
                let (used, now) = (agent.evidence.usage, self.now);
                agent.go(Stage::Finish, now);
                self.says(agent, Notice::UsageUpdated(used))
            }
            // Starting up or idle, it has nothing to interrupt.
            StopLevel::Interrupt => self.keeps(agent),
            StopLevel::Term => {
                agent.evidence.exit = Exit::Code(143);
                self.ends(agent, Fault::Interrupted)
            }
            StopLevel::Kill => {
                agent.evidence.exit = Exit::Signal(9);
                self.ends(agent, Fault::Crashed)
            }
        }
    }

    /// Something other than us ends the agent.
    pub(super) fn dies(&mut self, mut agent: Box<Agent>, fault: Fault) -> Option<WorldEvent> {
        let exits: &[Exit] = if fault == Fault::Interrupted {
            &[Exit::Code(143), Exit::Code(129), Exit::Code(0), Exit::Signal(15), Exit::Signal(1)]
        } else {
            &[Exit::Signal(9), Exit::Signal(11), Exit::Code(1), Exit::Code(134)]
        };
        agent.evidence.exit = self.rng.pick(exits);
        agent.evidence.oom_killed = fault == Fault::OutOfMemory;
        self.ends(agent, fault)
    }

    /// The agent exits by itself after a result.
    fn exits(&mut self, mut agent: Box<Agent>, cause: Fault) -> Option<WorldEvent> {
        let failed = agent.evidence.result.is_some_and(|result| result.is_error);
        agent.evidence.exit = Exit::Code(i32::from(failed));
        self.ends(agent, cause)
    }

    /// The process is gone. Its tools and shells may not be.
    fn ends(&mut self, mut agent: Box<Agent>, cause: Fault) -> Option<WorldEvent> {
        self.orphans += agent.shells + u32::from(agent.tool_open && self.rng.one_in(2));
        agent.evidence.continuity = self.continuity(&agent);
        agent.evidence.workspace_fingerprint = self.kept.then_some(self.workspace);
        let truth = agent.truth(cause);
        self.billed = self.billed.plus(agent.evidence.usage);
        self.finished = Some(EndedAttempt { attempt: agent.plan.attempt, truth, evidence: agent.evidence });
        Some(WorldEvent::Exited)
    }

    /// What its session's file tells of the history that the agent was to go on with.
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

    /// When a stop of this level, ordered now, takes effect.
    pub(super) fn obeyed_at(&mut self, level: StopLevel) -> Moment {
        self.now
            + Span(match level {
                StopLevel::Interrupt | StopLevel::Term => self.rng.magnitude(HEED),
                StopLevel::Kill => 1 + self.rng.below(20),
            })
    }
}
