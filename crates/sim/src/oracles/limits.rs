//! Checks that a run stays within its limits. The usage is counted, and the rule for when a limit or its
//! reserve is reached is restated from the documentation, independently of the core.

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
    ended: Usage,
    /// Reported usage of the current attempt.
    live: Usage,
    /// Whether `live` is not part of `ended` yet.
    is_counting: bool,
    /// Cost and tokens of the current attempt's responses, newest last.
    responses: Vec<(Usd, u64)>,
    tools: u32,
    /// Since when an exchange is open in a process that is neither stopped nor closed.
    works_since: Option<Moment>,
    /// Since when the agent waits for its shells after a result without a done claim.
    waits_since: Option<(Moment, AgentResult)>,
    shells: u32,
    claimed: bool,
    /// Whether the agent is being stopped or its input is closed.
    is_leaving: bool,
    /// Usage that accrued while the agent was leaving or no supervisor ran, and usage of summaries.
    late_usage: Usage,
    reached: Option<(Limit, LimitThreshold)>,
    wrap_ups: u32,
    /// Ended exchanges that the current supervisor saw.
    turns: u32,
    /// Value of `turns` when an exchange was interrupted for a wrap-up, until the next prompt.
    interrupted: Option<u32>,
    /// How the interrupted exchange ended.
    ending: Option<TerminalReason>,
    /// Whether the agent's input is closed.
    input_ended: bool,
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
            Event::Noticed(Notice::ClaimedDone) => self.claimed = true,
            Event::Noticed(Notice::BackgroundChanged(shells)) => {
                self.shells = *shells;
                self.waits_since = self.waits_since.filter(|_| *shells > 0);
            }
            Event::Noticed(Notice::ToolStarted) => self.tools += 1,
            Event::Noticed(Notice::ToolEnded) => self.tools = self.tools.saturating_sub(1),
            Event::Noticed(Notice::ExchangeEnded(result)) => self.end_turn(now, result),
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
                self.live = evidence.usage;
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
        (self.live, self.tools, self.works_since) = (Usage::default(), 0, None);
        (self.turns, self.ending) = (0, None);
        (self.waits_since, self.shells, self.claimed) = (None, 0, false);
        self.responses.clear();
    }

    fn end_turn(&mut self, now: Moment, result: &AgentResult) {
        (self.tools, self.works_since) = (0, None);
        self.waits_since = (self.shells > 0 && !self.claimed && !self.is_leaving).then_some((now, *result));
        self.turns += 1;
        if self.interrupted.is_some_and(|before| self.turns > before) {
            self.ending.get_or_insert(result.terminal_reason);
        }
    }

    fn update_usage(&mut self, usage: Usage) {
        let count = |usage: &Usage| usage.messages + usage.truncated_messages;
        if count(&usage) > count(&self.live) {
            let cost = Usd(money(&usage) - money(&self.live).min(money(&usage)));
            self.responses.push((cost, tokens(&usage).saturating_sub(tokens(&self.live))));
        }
        if self.is_leaving {
            self.add_late_usage(usage);
        }
        self.live = usage;
    }

    /// Adds usage that the supervisor could not prevent. Only the agent itself limits its cost then.
    fn add_late_usage(&mut self, usage: Usage) {
        let input = tokens(&usage).saturating_sub(tokens(&self.live));
        let (tokens, turns) = (Tokens { input, ..Tokens::default() }, usage.turns - self.live.turns);
        self.late_usage = self.late_usage.plus(Usage { tokens, turns, ..Usage::default() });
    }

    /// Returns for each limit: the amount used at `at`, the limit and its reserve.
    fn uses(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> [(Limit, u64, Option<u64>, u64); 5] {
        let Limits { budget, tokens: token_limit, time, wall, turns, memory: _ } = policy.limits;
        let recent = || self.responses.iter().rev().take(RECENT);
        let largest_cost = recent().map(|response| response.0.0).max().unwrap_or(0);
        let largest = recent().map(|response| response.1).max().unwrap_or(0);
        let answering = u64::from(self.tools > 0 && self.live.turns > 0);
        let all = self.ended.plus(self.live);
        [
            (Limit::Budget, money(&all), budget.map(|usd| usd.0), largest_cost.max(50_000)),
            (Limit::Tokens, tokens(&all), token_limit, 3 * largest),
            (Limit::Time, clocks.active(at).0, time.map(|span| span.0), time_reserve(policy.wrap_up, time)),
            (Limit::Wall, clocks.wall(at).0, wall.map(|span| span.0), time_reserve(policy.wrap_up, wall)),
            (Limit::Turns, u64::from(all.turns) - answering, turns.map(u64::from), 3),
        ]
    }

    /// Whether a limit is so near that the agent is warned: the rest is at most three times the reserve, or
    /// half the limit.
    pub(crate) fn is_near(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        let near = |used: u64, limit: u64, reserve: u64| used + (3 * reserve).min(limit / 2) >= limit;
        let uses = self.uses(policy, clocks, at);
        uses.into_iter().any(|(name, used, limit, reserve)| {
            let timed = matches!(name, Limit::Time | Limit::Wall);
            let reserve = if timed && policy.wrap_up.is_none() { 0 } else { reserve };
            limit.is_some_and(|limit| near(used, limit, reserve))
        })
    }

    /// Returns the limits that are reached at `at`, and how far.
    fn reach(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> Vec<(Limit, LimitThreshold)> {
        self.uses(policy, clocks, at)
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
        let all = self.ended.plus(self.live);
        let times = [time.map(|time| time - clocks.active(at)), wall.map(|wall| wall - clocks.wall(at))];
        Remaining {
            budget: budget.map(|budget| Usd(budget.0.saturating_sub(money(&all)))),
            turns: turns.map(|turns| turns.saturating_sub(all.turns)),
            time: times.into_iter().flatten().min(),
        }
    }

    /// Whether a limit on time is exhausted at `at`.
    pub(crate) fn is_late(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        let too_late = |reached: &(Limit, LimitThreshold)| {
            matches!(reached, (Limit::Time | Limit::Wall, LimitThreshold::Exhausted))
        };
        self.reach(policy, clocks, at).iter().any(too_late)
    }

    fn has_exhausted_limit(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        self.reach(policy, clocks, at).iter().any(|(_, threshold)| *threshold == LimitThreshold::Exhausted)
    }

    /// Receives a record and checks what it says about limits.
    pub(crate) fn take(&mut self, record: &Record, policy: &Policy, clocks: &ClockWatch) -> OracleResult {
        match record {
            Record::LimitReached { at, limit, threshold, .. } => {
                let reached = self.reach(policy, clocks, *at);
                ensure(reached.contains(&(*limit, *threshold)), Oracle::Limits, || {
                    format!("{threshold:?} of {limit}, while {reached:?} is reached: {self:?}")
                })?;
                self.reached = Some((*limit, *threshold));
            }
            Record::AttemptStarted { at, plan } => {
                self.reset();
                (self.is_leaving, self.is_counting, self.interrupted, self.input_ended) =
                    (false, true, None, false);
                self.check_start(policy, clocks, *at, plan)?;
                (self.remaining, self.is_exhausted) = (self.remaining_at(policy, clocks, *at), false);
                self.wrap_ups += u32::from(matches!(plan.prompt, PromptKind::WrapUp(_)));
            }
            Record::PromptSent { at, prompt, remaining, .. } => {
                let wraps_up = matches!(prompt, PromptKind::WrapUp(_));
                let due = match self.reached {
                    // No prompt to continue follows if a limit is reached that the run has not recorded yet.
                    None => !wraps_up && self.reach(policy, clocks, *at).is_empty(),
                    Some((due, LimitThreshold::Reserve)) => *prompt == PromptKind::WrapUp(due),
                    Some((_, LimitThreshold::Exhausted)) => false,
                };
                // With keep-going, the agent may have stopped on its own.
                let valid = due && (!wraps_up || self.must_wrap_up() || policy.keep_going.is_some());
                let expected = self.remaining_at(policy, clocks, *at);
                ensure(valid && !self.input_ended && *remaining == expected, Oracle::Limits, || {
                    format!("{prompt:?} is sent while {expected:?} remains: {self:?}")
                })?;
                self.wrap_ups += u32::from(wraps_up);
                (self.is_leaving, self.interrupted, self.ending) = (false, None, None);
            }
            Record::StopOrdered { cause, level, .. } => {
                let wraps_up = *cause == StopCause::WrapUp && *level == StopLevel::Interrupt;
                (self.interrupted, self.ending) = (wraps_up.then_some(self.turns), None);
                (self.works_since, self.waits_since, self.is_leaving) = (None, None, true);
            }
            Record::InputClosed { .. } => {
                ensure(self.is_limit_exhausted() || !self.must_wrap_up(), Oracle::Limits, || {
                    format!("interrupted to save its work, and let go: {self:?}")
                })?;
                (self.works_since, self.is_leaving, self.input_ended) = (None, true, true);
            }
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::AttemptEnded { usage, .. } => {
                self.ended = self.ended.plus(*usage);
                self.is_counting = false;
                self.reset();
            }
            // Usage found at a recovery during a summary does not belong to the attempt.
            Record::SummaryStarted { .. } => self.is_counting = false,
            Record::SummaryEnded { at, usage, .. } => {
                self.is_counting = true;
                self.ended = self.ended.plus(*usage);
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

    /// Whether an exchange was interrupted for a wrap-up, and nothing else was requested.
    fn must_wrap_up(&self) -> bool {
        self.ending == Some(TerminalReason::Aborted) && !self.cancelled
    }

    /// Checks that a process receives its remaining amounts, and that there are any.
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
        let reached = self.reach(policy, clocks, at);
        let wraps_up = matches!(plan.prompt, PromptKind::WrapUp(_));
        let exhausted = reached.iter().any(|(_, threshold)| *threshold == LimitThreshold::Exhausted);
        ensure(!exhausted && (wraps_up || reached.is_empty()), Oracle::Limits, || {
            format!("attempt {} starts to {:?} while {reached:?} is reached", plan.attempt, plan.prompt)
        })
    }

    /// Whether the run has recorded that a limit is exhausted.
    pub(crate) fn is_limit_exhausted(&self) -> bool {
        matches!(self.reached, Some((_, LimitThreshold::Exhausted)))
    }

    /// Checks that an exchange does not continue after a limit is reached.
    pub(crate) fn check(&self, policy: &Policy, clocks: &ClockWatch, now: Moment) -> OracleResult {
        let recorded = self.reached.map(|(_, threshold)| threshold);
        // Events of this very moment are processed next, and a replayed stream is read before any decision.
        let before = Moment(now.0 - 1);
        let highest = self.reach(policy, clocks, before).into_iter().map(|(_, threshold)| threshold).max();
        let waits_since = self
            .waits_since
            .filter(|(_, result)| active_keep_going(policy).is_some() && is_good(policy, result));
        let busy_since = self.works_since.or(waits_since.map(|(since, _)| since).filter(|_| !self.cancelled));
        ensure(busy_since.is_none_or(|since| since >= now) || highest <= recorded, Oracle::Limits, || {
            format!("it works on with {highest:?} reached and {recorded:?} taken in: {self:?}")
        })
    }

    /// Whether a limit decides what follows the attempt: the end of the run, or an attempt for the wrap-up.
    /// Then the policy's bounds do not apply. `fault` and `evidence` are the attempt's.
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
        let keeps_going = policy.keep_going.is_some() && policy.check.is_none();
        let done = fault.is_none() && self.wrap_ups == 0 && !self.is_limit_exhausted() && !keeps_going;
        ensure(!by_limit || !done && fault != Some(Fault::GuardLapsed), Oracle::Limits, || {
            format!("what ended by {fault:?} ends by a limit: {self:?}")
        })?;
        let exhausted = self.has_exhausted_limit(policy, clocks, now);
        match (next, self.reached) {
            (AfterAttempt::Finish(Outcome { limit: Some(limit), .. }), reached) => {
                // A wait that would exceed the wall-clock limit does not start. No schedule waits longer than
                // this.
                let reset = evidence.rate_limit.and_then(|limit| limit.resets_at);
                let reset = reset.map_or(Span::ZERO, |reset| reset.since(now) + policy.reset_jitter);
                let hint = evidence.retry_after.unwrap_or_default();
                let wait_max = Span(policy.backoff.cap.0.saturating_mul(3)) + hint + reset;
                let outlasts = policy.limits.wall.is_some_and(|wall| clocks.wall(now + wait_max) >= wall);
                let reached = exhausted || reached.is_some() || *limit == Limit::Wall && outlasts;
                ensure(reached, Oracle::Limits, || {
                    format!("it ends by {limit}, and nothing is reached: {self:?}")
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
                    format!("{remedy:?} to {:?} at {at:?} while {reached:?}: {self:?}", plan.prompt)
                })?;
                let at_own_limit = *remedy == Remedy::ResumeWithinLimit;
                ensure(!at_own_limit || evidence.made_progress, Oracle::Limits, || {
                    "resumed at a limit of its own, and nothing was done".to_owned()
                })?;
                Ok(wraps_up || at_own_limit)
            }
            (AfterAttempt::Check | AfterAttempt::Finish(_), _) => Ok(false),
        }
    }

    /// Checks at the end that limits were exceeded at most by the responses in flight.
    pub(crate) fn check_overshoot(&self, policy: &Policy, world: &World) -> OracleResult {
        let response = world.one_answer();
        let is_within = |limit: Option<u64>, used: u64, overshoot: u64| {
            limit.is_none_or(|limit| used < limit + overshoot.max(1))
        };
        let Limits { budget, tokens: token_limit, turns, .. } = policy.limits;
        let overshoot = response.plus(self.late_usage);
        let is_within = is_within(budget.map(|usd| usd.0), money(&self.ended), money(&overshoot))
            && is_within(token_limit, tokens(&self.ended), tokens(&overshoot))
            && is_within(turns.map(u64::from), self.ended.turns.into(), overshoot.turns.into());
        ensure(is_within, Oracle::Limits, || {
            format!("{:?} used of {:?}, an answer is {response:?}", self.ended, policy.limits)
        })
    }
}

fn money(usage: &Usage) -> u64 {
    usage.reported_cost.0 + usage.estimated_cost.0
}

fn tokens(usage: &Usage) -> u64 {
    usage.tokens.total() + usage.truncated_tokens.total()
}

/// A tenth of the time, from 30 s to 5 min, unless the policy sets a reserve.
fn time_reserve(wrap_up: Option<WrapUp>, limit: Option<Span>) -> u64 {
    let tenth = limit.map_or(0, |limit| limit.0 / 10).clamp(30_000, 300_000);
    wrap_up.and_then(|wrap_up| wrap_up.reserve).map_or(tenth, |time| time.0)
}
