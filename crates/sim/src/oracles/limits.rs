//! Checks that a run stays within its limits. The usage is counted independently of the core, and the rule
//! for a reached limit or reserve is restated from the documentation.

use super::clocks::ClockWatch;
use super::keep_going::{active_keep_going, is_good};
use super::{Oracle, OracleResult, ensure};
use crate::world::World;
use longhaul_core::{
    AfterAttempt, AgentResult, AttemptPlan, Event, Evidence, Fault, FoundAttempt, Limit, LimitThreshold,
    Limits, Moment, Notice, Outcome, OutcomeKind, Policy, PromptKind, Record, Remaining, Remedy, SessionPlan,
    Span, StopCause, StopLevel, TerminalReason, Tokens, Usage, Usd, WrapUp,
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
    /// Whether `attempt_usage` is not part of `ended_usage` yet.
    is_counting: bool,
    /// Cost and tokens of the current attempt's responses, newest last.
    responses: Vec<(Usd, u64)>,
    tools: u32,
    /// Start of the open exchange in a process that is neither being stopped nor closed.
    works_since: Option<Moment>,
    /// Start of the agent's wait for its shells after a result without a done claim, and that result.
    waits_since: Option<(Moment, AgentResult)>,
    shells: u32,
    claimed_done: bool,
    /// Whether the agent is being stopped or its input is closed.
    is_leaving: bool,
    /// Usage that accrued while the agent was leaving or no supervisor ran, and usage of summaries.
    late_usage: Usage,
    reached: Option<(Limit, LimitThreshold)>,
    wrap_ups: u32,
    /// Number of ended exchanges that the current supervisor read.
    results: u32,
    /// Value of `results` when an exchange was interrupted for a wrap-up, until the next prompt.
    interrupted: Option<u32>,
    /// Terminal reason of the interrupted exchange.
    interrupt_result: Option<TerminalReason>,
    /// Whether the agent's input is closed.
    input_closed: bool,
    cancelled: bool,
    /// Remaining amounts of the limits for the current attempt.
    remaining: Remaining,
    /// Whether a summary exhausted a limit.
    is_exhausted: bool,
}

impl LimitWatch {
    /// Receives an event before the run does.
    pub(crate) fn receive(&mut self, now: Moment, event: &Event) {
        match event {
            Event::Noticed(Notice::UsageUpdated(usage)) => self.update_usage(*usage),
            Event::Noticed(Notice::ExchangeStarted) if !self.is_leaving => {
                (self.works_since, self.waits_since) = (Some(now), None)
            }
            Event::Noticed(Notice::ClaimedDone) => self.claimed_done = true,
            Event::Noticed(Notice::BackgroundChanged(shells)) => {
                self.shells = *shells;
                self.waits_since = self.waits_since.filter(|_| *shells > 0);
            }
            Event::Noticed(Notice::ToolStarted) => self.tools += 1,
            Event::Noticed(Notice::ToolEnded) => self.tools = self.tools.saturating_sub(1),
            Event::Noticed(Notice::ExchangeEnded(result)) => self.end_exchange(now, result),
            Event::Exited(evidence) | Event::Recovered { found: FoundAttempt::Ended(evidence), .. }
                if self.is_counting =>
            {
                (self.tools, self.works_since) = (0, None);
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
                self.waits_since = self.waits_since.map(|(_, result)| (now, result));
            }
            // The new supervisor reads the stream again from its start.
            Event::Recovered { found: FoundAttempt::Running(_), .. } => self.reset(),
            Event::Exited(_)
            | Event::Recovered { found: FoundAttempt::Ended(_), .. }
            | Event::Noticed(_)
            | Event::Started(_)
            | Event::Reopened(..)
            | Event::SessionInspected(_)
            | Event::SummaryEnded(_)
            | Event::CheckEnded(_)
            | Event::ProcessesProbed(_)
            | Event::Spawned(_)
            | Event::SpawnFailed(_)
            | Event::Swept(_)
            | Event::Ticked
            | Event::Cancelled(_) => {}
        }
    }

    fn reset(&mut self) {
        (self.attempt_usage, self.tools, self.works_since) = (Usage::default(), 0, None);
        (self.results, self.interrupt_result) = (0, None);
        (self.waits_since, self.shells, self.claimed_done) = (None, 0, false);
        self.responses.clear();
    }

    fn end_exchange(&mut self, now: Moment, result: &AgentResult) {
        (self.tools, self.works_since) = (0, None);
        self.waits_since =
            (self.shells > 0 && !self.claimed_done && !self.is_leaving).then_some((now, *result));
        self.results += 1;
        if self.interrupted.is_some_and(|before| self.results > before) {
            self.interrupt_result.get_or_insert(result.terminal_reason);
        }
    }

    fn update_usage(&mut self, usage: Usage) {
        let count = |usage: &Usage| usage.messages + usage.truncated_messages;
        if count(&usage) > count(&self.attempt_usage) {
            let cost = Usd(money(&usage) - money(&self.attempt_usage).min(money(&usage)));
            self.responses.push((cost, tokens(&usage).saturating_sub(tokens(&self.attempt_usage))));
        }
        if self.is_leaving {
            self.add_late_usage(usage);
        }
        self.attempt_usage = usage;
    }

    /// Adds usage that the supervisor could not prevent. Only the agent itself limits its cost then.
    fn add_late_usage(&mut self, usage: Usage) {
        let input = tokens(&usage).saturating_sub(tokens(&self.attempt_usage));
        let (tokens, turns) = (Tokens { input, ..Tokens::default() }, usage.turns - self.attempt_usage.turns);
        self.late_usage = self.late_usage.plus(Usage { tokens, turns, ..Usage::default() });
    }

    /// Returns, for each limit, the amount used at `at`, the limit and its reserve.
    fn usage_by_limit(
        &self,
        policy: &Policy,
        clocks: &ClockWatch,
        at: Moment,
    ) -> [(Limit, u64, Option<u64>, u64); 5] {
        let Limits { budget, tokens: token_limit, time, wall, turns, memory: _ } = policy.limits;
        let recent = || self.responses.iter().rev().take(RECENT);
        let largest_cost = recent().map(|response| response.0.0).max().unwrap_or(0);
        let largest = recent().map(|response| response.1).max().unwrap_or(0);
        let open_turns = u64::from(self.tools > 0 && self.attempt_usage.turns > 0);
        let all = self.ended_usage.plus(self.attempt_usage);
        [
            (Limit::Budget, money(&all), budget.map(|usd| usd.0), largest_cost.max(50_000)),
            (Limit::Tokens, tokens(&all), token_limit, 3 * largest),
            (Limit::Time, clocks.active(at).0, time.map(|span| span.0), time_reserve(policy.wrap_up, time)),
            (Limit::Wall, clocks.wall(at).0, wall.map(|span| span.0), time_reserve(policy.wrap_up, wall)),
            (Limit::Turns, u64::from(all.turns) - open_turns, turns.map(u64::from), 3),
        ]
    }

    /// Returns whether a limit is so near that the agent is warned: at most three times the reserve remains,
    /// or half of the limit.
    pub(crate) fn is_near(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        let near = |used: u64, limit: u64, reserve: u64| used + (3 * reserve).min(limit / 2) >= limit;
        let usages = self.usage_by_limit(policy, clocks, at);
        usages.into_iter().any(|(name, used, limit, reserve)| {
            let timed = matches!(name, Limit::Time | Limit::Wall);
            let reserve = if timed && policy.wrap_up.is_none() { 0 } else { reserve };
            limit.is_some_and(|limit| near(used, limit, reserve))
        })
    }

    /// Returns the limits that are reached at `at`, with their thresholds.
    fn reached_limits(
        &self,
        policy: &Policy,
        clocks: &ClockWatch,
        at: Moment,
    ) -> Vec<(Limit, LimitThreshold)> {
        self.usage_by_limit(policy, clocks, at)
            .into_iter()
            .filter_map(|(name, used, limit, reserve)| {
                let limit = limit?;
                let reserve = if policy.wrap_up.is_some() { reserve.min(limit / 2) } else { 0 };
                match used {
                    _ if used >= limit => Some((name, LimitThreshold::Exhausted)),
                    _ if reserve > 0 && used + reserve >= limit => Some((name, LimitThreshold::Reserve)),
                    _ => None,
                }
            })
            .collect()
    }

    /// Returns the remaining amounts at `at`, for an attempt or an exchange.
    fn remaining_at(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> Remaining {
        let Limits { budget, time, wall, turns, .. } = policy.limits;
        let all = self.ended_usage.plus(self.attempt_usage);
        let times = [time.map(|time| time - clocks.active(at)), wall.map(|wall| wall - clocks.wall(at))];
        Remaining {
            budget: budget.map(|budget| Usd(budget.0.saturating_sub(money(&all)))),
            turns: turns.map(|turns| turns.saturating_sub(all.turns)),
            time: times.into_iter().flatten().min(),
        }
    }

    /// Returns whether a time limit is exhausted at `at`.
    pub(crate) fn is_late(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        let too_late = |reached: &(Limit, LimitThreshold)| {
            matches!(reached, (Limit::Time | Limit::Wall, LimitThreshold::Exhausted))
        };
        self.reached_limits(policy, clocks, at).iter().any(too_late)
    }

    fn has_exhausted_limit(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        self.reached_limits(policy, clocks, at)
            .iter()
            .any(|(_, threshold)| *threshold == LimitThreshold::Exhausted)
    }

    /// Receives a record and checks that it obeys the limits.
    pub(crate) fn on_record(
        &mut self,
        record: &Record,
        policy: &Policy,
        clocks: &ClockWatch,
    ) -> OracleResult {
        match record {
            Record::LimitReached { at, limit, threshold, .. } => {
                let reached = self.reached_limits(policy, clocks, *at);
                ensure(reached.contains(&(*limit, *threshold)), Oracle::Limits, || {
                    format!("{threshold:?} of {limit} is recorded, but {reached:?} is reached: {self:?}")
                })?;
                self.reached = Some((*limit, *threshold));
            }
            Record::AttemptStarted { at, plan } => {
                self.reset();
                (self.is_leaving, self.is_counting, self.interrupted, self.input_closed) =
                    (false, true, None, false);
                self.check_start(policy, clocks, *at, plan)?;
                (self.remaining, self.is_exhausted) = (self.remaining_at(policy, clocks, *at), false);
                self.wrap_ups += u32::from(matches!(plan.prompt, PromptKind::WrapUp(_)));
            }
            Record::PromptSent { at, prompt, remaining, .. } => {
                let wraps_up = matches!(prompt, PromptKind::WrapUp(_));
                let due = match self.reached {
                    // No prompt to continue follows if a limit is reached that the run has not recorded yet.
                    None => !wraps_up && self.reached_limits(policy, clocks, *at).is_empty(),
                    Some((due, LimitThreshold::Reserve)) => *prompt == PromptKind::WrapUp(due),
                    Some((_, LimitThreshold::Exhausted)) => false,
                };
                // With keep-going, the agent may have stopped on its own.
                let valid = due && (!wraps_up || self.must_wrap_up() || policy.keep_going.is_some());
                let expected = self.remaining_at(policy, clocks, *at);
                ensure(valid && !self.input_closed && *remaining == expected, Oracle::Limits, || {
                    format!("{prompt:?} is sent, but {expected:?} remains: {self:?}")
                })?;
                self.wrap_ups += u32::from(wraps_up);
                (self.is_leaving, self.interrupted, self.interrupt_result) = (false, None, None);
            }
            Record::StopOrdered { cause, level, .. } => {
                let wraps_up = *cause == StopCause::WrapUp && *level == StopLevel::Interrupt;
                (self.interrupted, self.interrupt_result) = (wraps_up.then_some(self.results), None);
                (self.works_since, self.waits_since, self.is_leaving) = (None, None, true);
            }
            Record::InputClosed { .. } => {
                ensure(self.is_limit_exhausted() || !self.must_wrap_up(), Oracle::Limits, || {
                    format!("the input is closed after an interrupt for a wrap-up: {self:?}")
                })?;
                (self.works_since, self.is_leaving, self.input_closed) = (None, true, true);
            }
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::AttemptEnded { usage, .. } => {
                self.ended_usage = self.ended_usage.plus(*usage);
                self.is_counting = false;
                self.reset();
            }
            // Usage found at a recovery during a summary does not belong to the attempt.
            Record::SummaryStarted { .. } => self.is_counting = false,
            Record::SummaryEnded { at, usage, .. } => {
                self.is_counting = true;
                self.ended_usage = self.ended_usage.plus(*usage);
                self.late_usage = self.late_usage.plus(*usage);
                self.remaining.budget =
                    self.remaining.budget.map(|usd| Usd(usd.0.saturating_sub(money(usage))));
                self.is_exhausted = self.has_exhausted_limit(policy, clocks, *at);
            }
            Record::RunReopened { .. } => (self.reached, self.wrap_ups, self.cancelled) = (None, 0, false),
            Record::RunStarted { .. }
            | Record::ResumeStrategyChosen { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::StallDeferred { .. }
            | Record::Recovered { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::AgentStopped { .. }
            | Record::CheckEnded { .. }
            | Record::Downtime { .. }
            | Record::Swept { .. }
            | Record::SuspendOrdered { .. }
            | Record::Suspended { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    /// Returns whether an exchange was interrupted for a wrap-up, and the run was not cancelled.
    fn must_wrap_up(&self) -> bool {
        self.interrupt_result == Some(TerminalReason::Aborted) && !self.cancelled
    }

    /// Checks that a process receives the remaining amounts, and that no limit is exhausted.
    pub(crate) fn check_spawn(&self, plan: &AttemptPlan) -> OracleResult {
        ensure(!self.is_exhausted && plan.remaining == self.remaining, Oracle::Limits, || {
            format!("attempt {} is spawned with {:?}: {self:?}", plan.attempt, plan.remaining)
        })
    }

    /// Checks that no attempt starts after a limit is exhausted, and that the reserve is only used for the
    /// wrap-up.
    fn check_start(
        &self,
        policy: &Policy,
        clocks: &ClockWatch,
        at: Moment,
        plan: &AttemptPlan,
    ) -> OracleResult {
        let reached = self.reached_limits(policy, clocks, at);
        let wraps_up = matches!(plan.prompt, PromptKind::WrapUp(_));
        let exhausted = reached.iter().any(|(_, threshold)| *threshold == LimitThreshold::Exhausted);
        ensure(!exhausted && (wraps_up || reached.is_empty()), Oracle::Limits, || {
            format!("attempt {} starts with {:?}, but {reached:?} is reached", plan.attempt, plan.prompt)
        })
    }

    /// Returns whether the run has recorded that a limit is exhausted.
    pub(crate) fn is_limit_exhausted(&self) -> bool {
        matches!(self.reached, Some((_, LimitThreshold::Exhausted)))
    }

    /// Checks that an exchange does not continue after a limit is reached.
    pub(crate) fn check(&self, policy: &Policy, clocks: &ClockWatch, now: Moment) -> OracleResult {
        let recorded = self.reached.map(|(_, threshold)| threshold);
        // Events of this moment are processed next, and a replayed stream is read before any decision.
        let before = Moment(now.0 - 1);
        let highest =
            self.reached_limits(policy, clocks, before).into_iter().map(|(_, threshold)| threshold).max();
        let waits_since = self
            .waits_since
            .filter(|(_, result)| active_keep_going(policy).is_some() && is_good(policy, result));
        let busy_since = self.works_since.or(waits_since.map(|(since, _)| since).filter(|_| !self.cancelled));
        ensure(busy_since.is_none_or(|since| since >= now) || highest <= recorded, Oracle::Limits, || {
            format!("the agent works, but {highest:?} is reached and {recorded:?} is recorded: {self:?}")
        })
    }

    /// Returns whether a limit decides the next step after an attempt with this fault and evidence: the end
    /// of the run, or a wrap-up. Then the policy's bounds do not apply.
    pub(crate) fn decides(
        &self,
        policy: &Policy,
        clocks: &ClockWatch,
        now: Moment,
        fault: Option<Fault>,
        evidence: &Evidence,
        next: &AfterAttempt,
    ) -> Result<bool, super::Violation> {
        let by_limit = matches!(next, AfterAttempt::Finish(Outcome { limit: Some(_), .. }));
        let keeps_going = policy.keep_going.is_some() && policy.checks.is_none();
        let done = fault.is_none() && self.wrap_ups == 0 && !self.is_limit_exhausted() && !keeps_going;
        ensure(!by_limit || !done && fault != Some(Fault::GuardLapsed), Oracle::Limits, || {
            format!("a run whose attempt ended by {fault:?} ends by a limit: {self:?}")
        })?;
        let exhausted = self.has_exhausted_limit(policy, clocks, now);
        match (next, self.reached) {
            (AfterAttempt::Finish(Outcome { limit: Some(limit), .. }), reached) => {
                // A wait that would exceed the wall-clock limit does not start. No schedule waits longer than
                // this.
                let reset = evidence.rate_limit.and_then(|limit| limit.resets_at);
                let reset = reset.map_or(Span::ZERO, |reset| reset.since(now) + policy.reset_jitter);
                let wait_max = Span(policy.backoff.cap.0.saturating_mul(3)) + reset;
                let outlasts = policy.limits.wall.is_some_and(|wall| clocks.wall(now + wait_max) >= wall);
                let reached = exhausted || reached.is_some() || *limit == Limit::Wall && outlasts;
                ensure(reached, Oracle::Limits, || {
                    format!("the run ends by {limit}, but no limit is reached: {self:?}")
                })?;
                Ok(true)
            }
            // The wait for a server would exceed the wall-clock limit.
            (AfterAttempt::Finish(Outcome { kind: OutcomeKind::RetryLater, retry_at: Some(at), .. }), _) => {
                Ok(policy.limits.wall.is_some_and(|wall| clocks.wall(*at) >= wall))
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
                let too_late = policy.limits.wall.is_some_and(|wall| clocks.wall(*at) >= wall);
                ensure(allowed && !exhausted && !too_late, Oracle::Limits, || {
                    format!(
                        "{remedy:?} with {:?} at {at:?}, but {reached:?} is reached: {self:?}",
                        plan.prompt
                    )
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
    pub(crate) fn check_overshoot(&self, policy: &Policy, world: &World) -> OracleResult {
        let response = world.max_response_usage();
        let is_within = |limit: Option<u64>, used: u64, overshoot: u64| {
            limit.is_none_or(|limit| used < limit + overshoot.max(1))
        };
        let Limits { budget, tokens: token_limit, turns, .. } = policy.limits;
        let overshoot = response.plus(self.late_usage);
        let is_within = is_within(budget.map(|usd| usd.0), money(&self.ended_usage), money(&overshoot))
            && is_within(token_limit, tokens(&self.ended_usage), tokens(&overshoot))
            && is_within(turns.map(u64::from), self.ended_usage.turns.into(), overshoot.turns.into());
        ensure(is_within, Oracle::Limits, || {
            format!("{:?} used of {:?}, a response uses {response:?}", self.ended_usage, policy.limits)
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
