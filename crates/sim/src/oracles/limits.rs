//! Checks that a run stays within its limits. The usage is counted independently of the core, and the rule
//! for a reached limit or reserve is restated from the documentation.

use super::facts::Facts;
use super::{Oracle, OracleResult, Violation, ensure};
use longhaul_core::{
    AfterAttempt, AgentResult, AttemptEnd, AttemptPlan, Event, Evidence, Fault, FoundAttempt, Limit,
    LimitThreshold, Moment, Notice, Outcome, OutcomeKind, PromptKind, Record, Remaining, Remedy, ReviewPlan,
    SessionPlan, Span, StopCause, StopLevel, TerminalReason, Tokens, Usage, Usd, WrapUp,
};

// Number of recent responses that determine the reserve.
const RECENT: usize = 8;
// Number of attempts at a wrap-up.
const WRAP_UPS_MAX: u32 = 2;

/// The usage of a run, and the part of it that the run has recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct LimitWatch {
    /// Usage of ended attempts and summaries.
    ended_usage: Usage,
    /// Reported usage of the current attempt.
    attempt_usage: Usage,
    /// Whether the current turn has tools that run, or no tools and no result yet.
    turn_is_open: bool,
    /// Whether `attempt_usage` is not part of `ended_usage` yet.
    is_counting: bool,
    /// Cost and tokens of the current attempt's responses, newest last.
    responses: Vec<(Usd, u64)>,
    /// Start of the open exchange in a process that is neither being stopped nor closed.
    works_since: Option<Moment>,
    /// Start of the agent's wait for its shells after an exchange without a done claim.
    waits_since: Option<Moment>,
    /// Whether the agent is being stopped or its input is closed.
    is_leaving: bool,
    /// Usage that accrued while the agent was leaving or no supervisor ran, and usage of summaries.
    late_usage: Usage,
    wrap_ups: u32,
    /// Number of ended exchanges when one was interrupted for a wrap-up, until the next prompt.
    interrupted: Option<u32>,
    /// Terminal reason of the interrupted exchange.
    interrupt_result: Option<TerminalReason>,
    input_closed: bool,
    /// Remaining amounts of the limits for the current attempt.
    remaining: Remaining,
    /// Whether a summary exhausted a limit.
    is_exhausted: bool,
}

/// The use of one limit that is set.
struct LimitUse {
    limit: Limit,
    used: u64,
    max: u64,
    /// Reserve, before it is capped at half of the limit.
    reserve: u64,
}

impl LimitWatch {
    /// Receives an event before the run does, and after `facts` did.
    pub(crate) fn receive(&mut self, now: Moment, event: &Event, facts: &Facts) {
        match event {
            Event::Noticed(Notice::UsageUpdated(usage)) => self.update_usage(*usage, facts),
            Event::Noticed(Notice::ExchangeStarted) if !self.is_leaving => {
                (self.works_since, self.waits_since) = (Some(now), None)
            }
            Event::Noticed(Notice::ToolStarted) => self.turn_is_open = true,
            Event::Noticed(Notice::ToolEnded) => self.turn_is_open &= facts.agent.tools > 0,
            Event::Noticed(Notice::BackgroundChanged { tasks, .. }) => {
                self.waits_since = self.waits_since.filter(|_| *tasks > 0);
            }
            Event::Noticed(Notice::ExchangeEnded(result)) => self.end_exchange(now, result, facts),
            Event::Exited(evidence) | Event::Recovered { found: FoundAttempt::Ended(evidence), .. }
                if self.is_counting =>
            {
                (self.works_since, self.turn_is_open) = (None, false);
                let found = matches!(event, Event::Recovered { .. });
                if self.is_leaving || found {
                    self.add_late_usage(evidence.usage);
                }
                if found {
                    // The files contain the total usage, but not its steps.
                    self.responses.clear();
                }
                self.attempt_usage = evidence.usage;
            }
            // The run decides about the downtime next.
            Event::Downtime(_) => {
                self.works_since = self.works_since.map(|_| now);
                self.waits_since = self.waits_since.map(|_| now);
            }
            Event::Recovered { found: FoundAttempt::Running(_), .. } => self.reset(),
            _ => {}
        }
    }

    fn reset(&mut self) {
        (self.attempt_usage, self.works_since, self.waits_since) = (Usage::default(), None, None);
        self.turn_is_open = false;
        self.interrupt_result = None;
        self.responses.clear();
    }

    fn end_exchange(&mut self, now: Moment, result: &AgentResult, facts: &Facts) {
        let waits = facts.agent.shells > 0 && !facts.agent.claimed_done && !self.is_leaving;
        (self.works_since, self.waits_since) = (None, waits.then_some(now));
        self.turn_is_open = false;
        if self.interrupted.is_some_and(|before| facts.agent.results > before) {
            self.interrupt_result.get_or_insert(result.terminal_reason);
        }
    }

    fn update_usage(&mut self, usage: Usage, facts: &Facts) {
        let count = |usage: &Usage| usage.messages + usage.truncated_messages;
        if count(&usage) > count(&self.attempt_usage) {
            let cost = Usd(money(&usage) - money(&self.attempt_usage).min(money(&usage)));
            self.responses.push((cost, tokens(&usage).saturating_sub(tokens(&self.attempt_usage))));
        }
        if self.is_leaving {
            self.add_late_usage(usage);
        }
        self.turn_is_open |= usage.turns > self.attempt_usage.turns && facts.agent.result.is_none();
        self.attempt_usage = usage;
    }

    /// Adds usage that the supervisor could not prevent. Only the agent itself limits its cost then.
    fn add_late_usage(&mut self, usage: Usage) {
        let input = tokens(&usage).saturating_sub(tokens(&self.attempt_usage));
        let (tokens, turns) = (Tokens { input, ..Tokens::default() }, usage.turns - self.attempt_usage.turns);
        self.late_usage = self.late_usage.plus(Usage { tokens, turns, ..Usage::default() });
    }

    fn usage(&self) -> Usage {
        self.ended_usage.plus(self.attempt_usage)
    }

    fn uses(&self, facts: &Facts, at: Moment) -> impl Iterator<Item = LimitUse> {
        let (limits, wrap_up) = (facts.policy.limits, facts.policy.wrap_up);
        let recent = || self.responses.iter().rev().take(RECENT);
        let largest_cost = recent().map(|response| response.0.0).max().unwrap_or(0);
        let largest = recent().map(|response| response.1).max().unwrap_or(0);
        let open_turns = u64::from(self.turn_is_open && self.attempt_usage.turns > 0);
        let all = self.usage();
        let limit =
            |limit, used, max: Option<u64>, reserve| Some(LimitUse { limit, used, max: max?, reserve });
        let time = |name, used: Span, max: Option<Span>| {
            limit(name, used.0, max.map(|span| span.0), time_reserve(wrap_up, max))
        };
        let uses = [
            limit(Limit::Budget, money(&all), limits.budget.map(|usd| usd.0), largest_cost.max(50_000)),
            limit(Limit::Tokens, tokens(&all), limits.tokens, 3 * largest),
            time(Limit::Time, facts.clocks.active(at), limits.time),
            time(Limit::Wall, facts.clocks.wall(at), limits.wall),
            limit(Limit::Turns, u64::from(all.turns) - open_turns, limits.turns.map(u64::from), 3),
        ];
        uses.into_iter().flatten()
    }

    /// Returns whether a limit is so near that the agent is warned: at most three times the reserve remains,
    /// or half of the limit.
    pub(crate) fn is_near(&self, facts: &Facts, at: Moment) -> bool {
        self.uses(facts, at).any(|LimitUse { limit, used, max, reserve }| {
            let is_timed = matches!(limit, Limit::Time | Limit::Wall);
            let reserve = if is_timed && facts.policy.wrap_up.is_none() { 0 } else { reserve };
            used + (3 * reserve).min(max / 2) >= max
        })
    }

    fn reached(&self, facts: &Facts, at: Moment) -> Vec<(Limit, LimitThreshold)> {
        let threshold = |LimitUse { limit, used, max, reserve }| {
            let reserve = if facts.policy.wrap_up.is_some() { reserve.min(max / 2) } else { 0 };
            match used {
                _ if used >= max => Some((limit, LimitThreshold::Exhausted)),
                _ if reserve > 0 && used + reserve >= max => Some((limit, LimitThreshold::Reserve)),
                _ => None,
            }
        };
        self.uses(facts, at).filter_map(threshold).collect()
    }

    fn remaining_at(&self, facts: &Facts, at: Moment) -> Remaining {
        let (limits, all) = (facts.policy.limits, self.usage());
        let time = limits.time.map(|time| time - facts.clocks.active(at));
        let wall = limits.wall.map(|wall| wall - facts.clocks.wall(at));
        Remaining {
            budget: limits.budget.map(|budget| Usd(budget.0.saturating_sub(money(&all)))),
            turns: limits.turns.map(|turns| turns.saturating_sub(all.turns)),
            time: time.into_iter().chain(wall).min(),
        }
    }

    /// Returns whether a time limit is exhausted at `at`.
    pub(crate) fn is_late(&self, facts: &Facts, at: Moment) -> bool {
        self.uses(facts, at)
            .any(|limit| matches!(limit.limit, Limit::Time | Limit::Wall) && limit.used >= limit.max)
    }

    fn has_exhausted_limit(&self, facts: &Facts, at: Moment) -> bool {
        self.uses(facts, at).any(|limit| limit.used >= limit.max)
    }

    pub(crate) fn on_record(&mut self, record: &Record, facts: &Facts) -> OracleResult {
        match record {
            Record::LimitReached { limit, threshold, .. } => {
                let reached = self.reached(facts, facts.at);
                ensure(reached.contains(&(*limit, *threshold)), Oracle::Limits, || {
                    format!("{threshold:?} of {limit} is recorded, but {reached:?} is reached: {self:?}")
                })?;
            }
            Record::AttemptStarted { plan } => {
                self.reset();
                (self.is_leaving, self.is_counting, self.interrupted, self.input_closed) =
                    (false, true, None, false);
                // The reserve is only used for the wrap-up.
                let wraps_up = matches!(plan.prompt, PromptKind::WrapUp(_));
                let reached = self.reached(facts, facts.at);
                let exhausted = self.has_exhausted_limit(facts, facts.at);
                ensure(!exhausted && (wraps_up || reached.is_empty()), Oracle::Limits, || {
                    format!("{plan:?} starts, but {reached:?} is reached")
                })?;
                (self.remaining, self.is_exhausted) = (self.remaining_at(facts, facts.at), false);
                self.wrap_ups += u32::from(wraps_up);
            }
            Record::PromptSent { prompt, remaining, .. } => {
                let wraps_up = matches!(prompt, PromptKind::WrapUp(_));
                let due = match facts.reached {
                    // No prompt to continue follows if a limit is reached that the run has not recorded yet.
                    None => !wraps_up && self.reached(facts, facts.at).is_empty(),
                    Some((due, LimitThreshold::Reserve)) => *prompt == PromptKind::WrapUp(due),
                    Some((_, LimitThreshold::Exhausted)) => false,
                };
                // With keep-going, the agent may have stopped on its own. With sub-agents, its exchange is over.
                let is_asked = self.must_wrap_up(facts)
                    || facts.policy.keep_going.is_some()
                    || facts.agent.sub_agents > 0;
                let valid = due && (!wraps_up || is_asked);
                let expected = self.remaining_at(facts, facts.at);
                ensure(valid && !self.input_closed && *remaining == expected, Oracle::Limits, || {
                    format!("{prompt:?} is sent, but {expected:?} remains: {self:?}")
                })?;
                self.wrap_ups += u32::from(wraps_up);
                (self.is_leaving, self.interrupted, self.interrupt_result) = (false, None, None);
            }
            Record::StopOrdered { cause, level, .. } => {
                let wraps_up = *cause == StopCause::WrapUp && *level == StopLevel::Interrupt;
                (self.interrupted, self.interrupt_result) = (wraps_up.then_some(facts.agent.results), None);
                (self.works_since, self.waits_since, self.is_leaving) = (None, None, true);
            }
            Record::InputClosed => {
                ensure(facts.is_limit_exhausted() || !self.must_wrap_up(facts), Oracle::Limits, || {
                    format!("the input is closed after an interrupt for a wrap-up: {self:?}")
                })?;
                (self.works_since, self.is_leaving, self.input_closed) = (None, true, true);
            }
            Record::AttemptEnded(AttemptEnd { usage, .. }) => {
                self.ended_usage = self.ended_usage.plus(*usage);
                self.is_counting = false;
                self.reset();
            }
            // Usage found at a recovery during a summary does not belong to the attempt.
            Record::SummaryStarted => self.is_counting = false,
            Record::SummaryEnded { usage, .. } => {
                self.is_counting = true;
                self.ended_usage = self.ended_usage.plus(*usage);
                self.late_usage = self.late_usage.plus(*usage);
                self.remaining.budget =
                    self.remaining.budget.map(|usd| Usd(usd.0.saturating_sub(money(usage))));
                self.is_exhausted = self.has_exhausted_limit(facts, facts.at);
            }
            Record::ReviewEnded { usage, .. } => {
                self.ended_usage = self.ended_usage.plus(*usage);
                self.late_usage = self.late_usage.plus(*usage);
            }
            Record::RunReopened { .. } => self.wrap_ups = 0,
            _ => {}
        }
        Ok(())
    }

    /// Returns whether an exchange was interrupted for a wrap-up, and the run was neither cancelled nor suspended.
    fn must_wrap_up(&self, facts: &Facts) -> bool {
        self.interrupt_result == Some(TerminalReason::Aborted)
            && facts.cancel.is_none()
            && facts.suspending_since.is_none()
    }

    /// Checks that a process receives the remaining amounts, and that no limit is exhausted.
    pub(crate) fn check_spawn(&self, plan: &AttemptPlan) -> OracleResult {
        ensure(!self.is_exhausted && plan.remaining == self.remaining, Oracle::Limits, || {
            format!("attempt {} is spawned with {:?}: {self:?}", plan.attempt, plan.remaining)
        })
    }

    /// Checks that a reviewer receives the remaining amounts, and that no limit is exhausted.
    pub(crate) fn check_review(&self, plan: &ReviewPlan, facts: &Facts, at: Moment) -> OracleResult {
        let remaining = self.remaining_at(facts, at);
        let exhausted = self.has_exhausted_limit(facts, at);
        ensure(!exhausted && plan.remaining == remaining, Oracle::Limits, || {
            format!("{plan:?} is started, but {remaining:?} remains: {self:?}")
        })
    }

    /// Checks that an exchange does not continue after a limit is reached.
    pub(crate) fn check(&self, facts: &Facts, now: Moment) -> OracleResult {
        let keeps_going = facts.keep_going().is_some() && facts.ended_well() && facts.cancel.is_none();
        let may_wait = keeps_going || facts.waits_for_sub_agents();
        let waits_since = self.waits_since.filter(|_| may_wait);
        let busy_since = self.works_since.or(waits_since).filter(|since| *since < now);
        if busy_since.is_none() {
            return Ok(());
        }
        let recorded = facts.reached.map(|(_, threshold)| threshold);
        // Events of this moment are processed next, and a replayed stream is read before any decision.
        let reached = self.reached(facts, Moment(now.0 - 1));
        let highest = reached.into_iter().map(|(_, threshold)| threshold).max();
        ensure(highest <= recorded, Oracle::Limits, || {
            format!("the agent works, but {highest:?} is reached and {recorded:?} is recorded: {self:?}")
        })
    }

    /// Returns whether a limit decides the next step after an attempt with this fault and evidence: the end
    /// of the run, or a wrap-up. Then the policy's bounds do not apply.
    pub(crate) fn decides(
        &self,
        facts: &Facts,
        now: Moment,
        fault: Option<Fault>,
        evidence: &Evidence,
        next: &AfterAttempt,
    ) -> Result<bool, Violation> {
        let policy = facts.policy;
        let exceeds_wall = |at| policy.limits.wall.is_some_and(|wall| facts.clocks.wall(at) >= wall);
        let by_limit = matches!(next, AfterAttempt::Finish(Outcome { limit: Some(_), .. }));
        let keeps_going = facts.keep_going().is_some();
        let done = fault.is_none() && self.wrap_ups == 0 && !facts.is_limit_exhausted() && !keeps_going;
        ensure(!by_limit || !done && fault != Some(Fault::GuardLapsed), Oracle::Limits, || {
            format!("a run whose attempt ended by {fault:?} ends by a limit: {self:?}")
        })?;
        let exhausted = self.has_exhausted_limit(facts, now);
        match (next, facts.reached) {
            (AfterAttempt::Finish(Outcome { limit: Some(limit), .. }), reached) => {
                // A wait that would exceed the wall-clock limit does not start. No schedule waits longer than
                // this.
                let reset = evidence.rate_limit.and_then(|limit| limit.resets_at);
                let reset = reset.map_or(Span::ZERO, |reset| reset.since(now) + policy.reset_jitter);
                let wait_max = Span(policy.backoff.cap.0.saturating_mul(3)) + reset;
                let outlasts = exceeds_wall(now + wait_max);
                let reached = exhausted || reached.is_some() || *limit == Limit::Wall && outlasts;
                ensure(reached, Oracle::Limits, || {
                    format!("the run ends by {limit}, but no limit is reached: {self:?}")
                })?;
                Ok(true)
            }
            // The wait for a server would exceed the wall-clock limit.
            (AfterAttempt::Finish(Outcome { kind: OutcomeKind::RetryLater, retry_at: Some(at), .. }), _) => {
                Ok(exceeds_wall(*at))
            }
            (AfterAttempt::Attempt { plan, at, remedy }, reached) => {
                let wraps_up = matches!(plan.prompt, PromptKind::WrapUp(_));
                let allowed = match reached {
                    None => !wraps_up,
                    Some((_, LimitThreshold::Exhausted)) => false,
                    Some((_, LimitThreshold::Reserve)) => {
                        wraps_up
                            && self.wrap_ups < WRAP_UPS_MAX
                            && matches!(plan.session, SessionPlan::Resume(_))
                    }
                };
                ensure(allowed && !exhausted && !exceeds_wall(*at), Oracle::Limits, || {
                    format!("{remedy:?} with {plan:?} at {at:?}, but {reached:?} is reached: {self:?}")
                })?;
                let at_agent_limit = *remedy == Remedy::ResumeWithinLimit;
                ensure(!at_agent_limit || evidence.made_progress, Oracle::Limits, || {
                    "resumed at the agent's own limit without progress".to_owned()
                })?;
                Ok(wraps_up || at_agent_limit)
            }
            (AfterAttempt::Check | AfterAttempt::Finish(_), _) => Ok(false),
        }
    }

    /// Checks at the end that limits were exceeded at most by the responses in flight.
    pub(crate) fn check_overshoot(&self, facts: &Facts, response: Usage) -> OracleResult {
        let overshoot = response.plus(self.late_usage);
        let is_within = |max: Option<u64>, amount: fn(&Usage) -> u64| {
            max.is_none_or(|max| amount(&self.ended_usage) < max + amount(&overshoot).max(1))
        };
        let limits = facts.policy.limits;
        let is_within = is_within(limits.budget.map(|usd| usd.0), money)
            && is_within(limits.tokens, tokens)
            && is_within(limits.turns.map(u64::from), |usage| usage.turns.into());
        ensure(is_within, Oracle::Limits, || {
            format!("{:?} used of {limits:?}, a response uses {response:?}", self.ended_usage)
        })
    }
}

fn money(usage: &Usage) -> u64 {
    usage.reported_cost.0 + usage.estimated_cost.0
}

fn tokens(usage: &Usage) -> u64 {
    usage.tokens.total() + usage.truncated_tokens.total()
}

/// Returns the reserve of a time limit: a tenth of it, from 30 s to 5 min, unless the policy sets a reserve.
fn time_reserve(wrap_up: Option<WrapUp>, limit: Option<Span>) -> u64 {
    let tenth = limit.map_or(0, |limit| limit.0 / 10).clamp(30_000, 300_000);
    wrap_up.and_then(|wrap_up| wrap_up.reserve).map_or(tenth, |time| time.0)
}
