//! Whether a run keeps within its limits: judged by an own count of what it used, and by the rule, written anew from
//! the documentation, of when a limit or what is held back of it is reached.

use super::clocks::ClockWatch;
use super::keep_going::{is_good, kept};
use super::{Oracle, OracleResult, ensure};
use crate::world::World;
use longhaul_core::{
    AfterAttempt, AgentResult, AttemptPlan, Event, Evidence, Fault, FoundAttempt, Limit, LimitThreshold,
    Limits, Moment, Notice, Outcome, OutcomeKind, Policy, PromptKind, Record, Remaining, Remedy, SessionPlan,
    Span, StopCause, StopLevel, TerminalReason, Tokens, Usage, Usd, WrapUp,
};

// So many answers are recent.
const RECENT: usize = 8;
// Work is saved in at most so many tries.
const WRAP_UPS_MAX: u32 = 2;

/// What a run has used, and what it has taken in of that.
#[derive(Clone, Debug, Default)]
pub(crate) struct LimitWatch {
    /// What is over and done with.
    ended: Usage,
    /// What the present attempt has used, as far as it was told.
    live: Usage,
    /// Whether that is not over and done with yet.
    counts: bool,
    /// Its answers, the newest last.
    answers: Vec<(Usd, u64)>,
    tools: u32,
    /// Since when a turn is open in a process that nobody stops or lets go, as far as was heard.
    works: Option<Moment>,
    /// Since when it waits for its shells after a result without a done claim.
    waits: Option<(Moment, AgentResult)>,
    shells: u32,
    claimed: bool,
    /// Whether somebody stops it or lets it go.
    leaving: bool,
    /// What was used when the agent was being stopped or let go, or nobody was there; and by summaries.
    late: Usage,
    reached: Option<(Limit, LimitThreshold)>,
    wrap_up_sent: u32,
    /// Turns that have ended, as far as the present supervisor has heard.
    turns: u32,
    /// How many had, when one was interrupted so that the work can be saved; until something is said to that.
    interrupted: Option<u32>,
    /// How that one ended.
    ending: Option<TerminalReason>,
    /// Whether it can be told nothing more.
    input_ended: bool,
    cancelled: bool,
    /// What the attempt that is ordered may use.
    remaining: Remaining,
    /// A summary for it used the rest.
    spent: bool,
}

impl LimitWatch {
    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, now: Moment, event: &Event) {
        match event {
            Event::Noticed(Notice::UsageUpdated(usage)) => self.use_up(*usage),
            Event::Noticed(Notice::ExchangeStarted) if !self.leaving => {
                (self.works, self.waits) = (Some(now), None)
            }
            Event::Noticed(Notice::ClaimedDone) => self.claimed = true,
            Event::Noticed(Notice::BackgroundChanged(shells)) => {
                self.shells = *shells;
                self.waits = self.waits.filter(|_| *shells > 0);
            }
            Event::Noticed(Notice::ToolStarted) => self.tools += 1,
            Event::Noticed(Notice::ToolEnded) => self.tools = self.tools.saturating_sub(1),
            Event::Noticed(Notice::ExchangeEnded(result)) => self.end_turn(now, result),
            Event::Exited(evidence) | Event::Recovered { found: FoundAttempt::Ended(evidence), .. }
                if self.counts =>
            {
                (self.tools, self.works) = (0, None);
                let found = matches!(event, Event::Recovered { .. });
                if self.leaving || found {
                    self.come_late(evidence.usage);
                }
                if found {
                    // Its files tell what it used, and not in which steps.
                    self.answers.clear();
                }
                self.live = evidence.usage;
            }
            // What passed in its sleep is decided next.
            Event::Downtime(_) => {
                self.works = self.works.map(|_| now);
                self.waits = self.waits.map(|(_, result)| (now, result));
            }
            // It is told again from the beginning.
            Event::Recovered { found: FoundAttempt::Running(_), .. } => self.begin(),
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

    fn begin(&mut self) {
        (self.live, self.tools, self.works) = (Usage::default(), 0, None);
        (self.turns, self.ending) = (0, None);
        (self.waits, self.shells, self.claimed) = (None, 0, false);
        self.answers.clear();
    }

    fn end_turn(&mut self, now: Moment, result: &AgentResult) {
        (self.tools, self.works) = (0, None);
        self.waits = (self.shells > 0 && !self.claimed && !self.leaving).then_some((now, *result));
        self.turns += 1;
        if self.interrupted.is_some_and(|before| self.turns > before) {
            self.ending.get_or_insert(result.terminal_reason);
        }
    }

    fn use_up(&mut self, usage: Usage) {
        let count = |usage: &Usage| usage.messages + usage.truncated_messages;
        if count(&usage) > count(&self.live) {
            let cost = Usd(money(&usage) - money(&self.live).min(money(&usage)));
            self.answers.push((cost, tokens(&usage).saturating_sub(tokens(&self.live))));
        }
        if self.leaving {
            self.come_late(usage);
        }
        self.live = usage;
    }

    /// Nobody could hold this back but the agent itself, which counts its money.
    fn come_late(&mut self, usage: Usage) {
        let input = tokens(&usage).saturating_sub(tokens(&self.live));
        let (tokens, turns) = (Tokens { input, ..Tokens::default() }, usage.turns - self.live.turns);
        self.late = self.late.plus(Usage { tokens, turns, ..Usage::default() });
    }

    /// How much of each limit is used by then, and how much is held back of it.
    fn uses(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> [(Limit, u64, Option<u64>, u64); 5] {
        let Limits { budget, tokens: most, time, wall, turns, memory: _ } = policy.limits;
        let recent = || self.answers.iter().rev().take(RECENT);
        let largest_cost = recent().map(|answer| answer.0.0).max().unwrap_or(0);
        let largest = recent().map(|answer| answer.1).max().unwrap_or(0);
        let answering = u64::from(self.tools > 0 && self.live.turns > 0);
        let all = self.ended.plus(self.live);
        [
            (Limit::Budget, money(&all), budget.map(|usd| usd.0), largest_cost.max(50_000)),
            (Limit::Tokens, tokens(&all), most, 3 * largest),
            (Limit::Time, clocks.active(at).0, time.map(|span| span.0), held_back(policy.wrap_up, time)),
            (Limit::Wall, clocks.wall(at).0, wall.map(|span| span.0), held_back(policy.wrap_up, wall)),
            (Limit::Turns, u64::from(all.turns) - answering, turns.map(u64::from), 3),
        ]
    }

    /// Whether one is so near that the agent is warned: three times what is held back of it is left, or half of it.
    pub(crate) fn is_near(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        let near = |used: u64, limit: u64, reserve: u64| used + (3 * reserve).min(limit / 2) >= limit;
        let uses = self.uses(policy, clocks, at);
        uses.into_iter().any(|(name, used, limit, reserve)| {
            let timed = matches!(name, Limit::Time | Limit::Wall);
            let reserve = if timed && policy.wrap_up.is_none() { 0 } else { reserve };
            limit.is_some_and(|limit| near(used, limit, reserve))
        })
    }

    /// How far each limit is reached by then.
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

    /// What is left by then for an attempt, or for a turn of it.
    fn left(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> Remaining {
        let Limits { budget, time, wall, turns, .. } = policy.limits;
        let all = self.ended.plus(self.live);
        let times = [time.map(|time| time - clocks.active(at)), wall.map(|wall| wall - clocks.wall(at))];
        Remaining {
            budget: budget.map(|budget| Usd(budget.0.saturating_sub(money(&all)))),
            turns: turns.map(|turns| turns.saturating_sub(all.turns)),
            time: times.into_iter().flatten().min(),
        }
    }

    /// Whether all of a limit on time is used up by then.
    pub(crate) fn is_late(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        let late = |reached: &(Limit, LimitThreshold)| {
            matches!(reached, (Limit::Time | Limit::Wall, LimitThreshold::Exhausted))
        };
        self.reach(policy, clocks, at).iter().any(late)
    }

    fn is_over(&self, policy: &Policy, clocks: &ClockWatch, at: Moment) -> bool {
        self.reach(policy, clocks, at).iter().any(|(_, reach)| *reach == LimitThreshold::Exhausted)
    }

    /// Takes in a record: what it says of a limit is so.
    pub(crate) fn take(&mut self, record: &Record, policy: &Policy, clocks: &ClockWatch) -> OracleResult {
        match record {
            Record::LimitReached { at, limit, threshold: reach, .. } => {
                let reached = self.reach(policy, clocks, *at);
                ensure(reached.contains(&(*limit, *reach)), Oracle::Limits, || {
                    format!("{reach:?} of {limit}, while {reached:?} is reached: {self:?}")
                })?;
                self.reached = Some((*limit, *reach));
            }
            Record::AttemptStarted { at, plan } => {
                self.begin();
                (self.leaving, self.counts, self.interrupted, self.input_ended) = (false, true, None, false);
                self.check_start(policy, clocks, *at, plan)?;
                (self.remaining, self.spent) = (self.left(policy, clocks, *at), false);
                self.wrap_up_sent += u32::from(matches!(plan.prompt, PromptKind::WrapUp(_)));
            }
            Record::PromptSent { at, prompt: say, remaining: left, .. } => {
                let saves = matches!(say, PromptKind::WrapUp(_));
                let due = match self.reached {
                    // Nobody is told to go on beyond a limit that is not taken in yet.
                    None => !saves && self.reach(policy, clocks, *at).is_empty(),
                    Some((due, LimitThreshold::Reserve)) => *say == PromptKind::WrapUp(due),
                    Some((_, LimitThreshold::Exhausted)) => false,
                };
                // One that is kept going may have stopped by itself.
                let right = due && (!saves || self.is_to_save() || policy.keep_going.is_some());
                let rest = self.left(policy, clocks, *at);
                ensure(right && !self.input_ended && *left == rest, Oracle::Limits, || {
                    format!("{say:?} is said, while {rest:?} is left: {self:?}")
                })?;
                self.wrap_up_sent += u32::from(saves);
                (self.leaving, self.interrupted, self.ending) = (false, None, None);
            }
            Record::StopOrdered { cause: why, level, .. } => {
                let saves = *why == StopCause::WrapUp && *level == StopLevel::Interrupt;
                (self.interrupted, self.ending) = (saves.then_some(self.turns), None);
                (self.works, self.waits, self.leaving) = (None, None, true);
            }
            Record::InputClosed { .. } => {
                ensure(self.has_nothing_left() || !self.is_to_save(), Oracle::Limits, || {
                    format!("interrupted to save its work, and let go: {self:?}")
                })?;
                (self.works, self.leaving, self.input_ended) = (None, true, true);
            }
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::AttemptEnded { usage, .. } => {
                self.ended = self.ended.plus(*usage);
                self.counts = false;
                self.begin();
            }
            // What is found of a model at work on that is none of the attempt's.
            Record::SummaryStarted { .. } => self.counts = false,
            Record::SummaryEnded { at, usage, .. } => {
                self.counts = true;
                self.ended = self.ended.plus(*usage);
                self.late = self.late.plus(*usage);
                self.remaining.budget =
                    self.remaining.budget.map(|usd| Usd(usd.0.saturating_sub(money(usage))));
                self.spent = self.is_over(policy, clocks, *at);
            }
            Record::RunReopened { .. } => {
                (self.reached, self.wrap_up_sent, self.cancelled) = (None, 0, false)
            }
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

    /// Its turn was cut short for a wrap-up, and nobody wants anything else of it.
    fn is_to_save(&self) -> bool {
        self.ending == Some(TerminalReason::Aborted) && !self.cancelled
    }

    /// A process knows what it may use, and there is something.
    pub(crate) fn check_spawn(&self, plan: &AttemptPlan) -> OracleResult {
        ensure(!self.spent && plan.remaining == self.remaining, Oracle::Limits, || {
            format!("attempt {} is spawned with {:?}: {self:?}", plan.attempt, plan.remaining)
        })
    }

    /// Nothing is started beyond a limit; and with what was held back the work is saved.
    fn check_start(
        &self,
        policy: &Policy,
        clocks: &ClockWatch,
        at: Moment,
        plan: &AttemptPlan,
    ) -> OracleResult {
        let reached = self.reach(policy, clocks, at);
        let saves = matches!(plan.prompt, PromptKind::WrapUp(_));
        let over = reached.iter().any(|(_, reach)| *reach == LimitThreshold::Exhausted);
        ensure(!over && (saves || reached.is_empty()), Oracle::Limits, || {
            format!("attempt {} starts to {:?} while {reached:?} is reached", plan.attempt, plan.prompt)
        })
    }

    /// Whether a limit is used up, and that is taken in.
    pub(crate) fn has_nothing_left(&self) -> bool {
        matches!(self.reached, Some((_, LimitThreshold::Exhausted)))
    }

    /// A turn goes on only as far as the run may.
    pub(crate) fn check(&self, policy: &Policy, clocks: &ClockWatch, now: Moment) -> OracleResult {
        let known = self.reached.map(|(_, reach)| reach);
        // What comes at this very moment comes next; and what is told again is told before anything is decided.
        let before = Moment(now.0 - 1);
        let most = self.reach(policy, clocks, before).into_iter().map(|(_, reach)| reach).max();
        let waits = self.waits.filter(|(_, result)| kept(policy).is_some() && is_good(policy, result));
        let busy = self.works.or(waits.map(|(since, _)| since).filter(|_| !self.cancelled));
        ensure(busy.is_none_or(|since| since >= now) || most <= known, Oracle::Limits, || {
            format!("it works on with {most:?} reached and {known:?} taken in: {self:?}")
        })
    }

    /// Whether a limit ends the run after this attempt, or leaves it one to save the work: then the policy's bounds
    /// have no say in it. The fault and the evidence are the attempt's.
    pub(crate) fn decides(
        &self,
        policy: &Policy,
        clocks: &ClockWatch,
        (now, fault, evidence): (Moment, Option<Fault>, &Evidence),
        next: &AfterAttempt,
    ) -> Result<bool, super::Violation> {
        let by_limit = matches!(next, AfterAttempt::Finish(Outcome { limit: Some(_), .. }));
        let kept = policy.keep_going.is_some() && policy.check.is_none();
        let done = fault.is_none() && self.wrap_up_sent == 0 && !self.has_nothing_left() && !kept;
        ensure(!by_limit || !done && fault != Some(Fault::GuardLapsed), Oracle::Limits, || {
            format!("what ended by {fault:?} ends by a limit: {self:?}")
        })?;
        let over = self.is_over(policy, clocks, now);
        match (next, self.reached) {
            (AfterAttempt::Finish(Outcome { limit: Some(limit), .. }), reached) => {
                // A wait that would outlast the wall is not begun; no schedule waits longer than this.
                let reset = evidence.rate_limit.and_then(|limit| limit.resets_at);
                let reset = reset.map_or(Span::ZERO, |reset| reset.since(now) + policy.reset_jitter);
                let hint = evidence.retry_after.unwrap_or_default();
                let longest = Span(policy.backoff.cap.0.saturating_mul(3)) + hint + reset;
                let outlasts = policy.limits.wall.is_some_and(|wall| clocks.wall(now + longest) >= wall);
                let reached = over || reached.is_some() || *limit == Limit::Wall && outlasts;
                ensure(reached, Oracle::Limits, || {
                    format!("it ends by {limit}, and nothing is reached: {self:?}")
                })?;
                Ok(true)
            }
            // A server that is waited for beyond the wall.
            (AfterAttempt::Finish(Outcome { kind: OutcomeKind::RetryLater, retry_at: Some(at), .. }), _) => {
                Ok(policy.limits.wall.is_some_and(|wall| clocks.wall(*at) >= wall))
            }
            (AfterAttempt::Attempt { plan, at, remedy }, reached) => {
                let saves = matches!(plan.prompt, PromptKind::WrapUp(_));
                let may = match reached {
                    None => !saves,
                    Some((_, LimitThreshold::Exhausted)) => false,
                    Some((_, LimitThreshold::Reserve)) => {
                        saves
                            && self.wrap_up_sent < WRAP_UPS_MAX
                            && matches!(plan.session, SessionPlan::Resume(_))
                    }
                };
                let late = policy.limits.wall.is_some_and(|wall| clocks.wall(*at) >= wall);
                ensure(may && !over && !late, Oracle::Limits, || {
                    format!("{remedy:?} to {:?} at {at:?} while {reached:?}: {self:?}", plan.prompt)
                })?;
                let within = *remedy == Remedy::ResumeWithinLimit;
                ensure(!within || evidence.made_progress, Oracle::Limits, || {
                    "resumed at a limit of its own, and nothing was done".to_owned()
                })?;
                Ok(saves || within)
            }
            (AfterAttempt::Check | AfterAttempt::Finish(_), _) => Ok(false),
        }
    }

    /// At the end: no more was used than the limit and what was under way when it was reached.
    pub(crate) fn check_overshoot(&self, policy: &Policy, world: &World) -> OracleResult {
        let answer = world.one_answer();
        let within =
            |limit: Option<u64>, used: u64, over: u64| limit.is_none_or(|limit| used < limit + over.max(1));
        let Limits { budget, tokens: most, turns, .. } = policy.limits;
        let over = answer.plus(self.late);
        let within = within(budget.map(|usd| usd.0), money(&self.ended), money(&over))
            && within(most, tokens(&self.ended), tokens(&over))
            && within(turns.map(u64::from), self.ended.turns.into(), over.turns.into());
        ensure(within, Oracle::Limits, || {
            format!("{:?} used of {:?}, an answer is {answer:?}", self.ended, policy.limits)
        })
    }
}

fn money(usage: &Usage) -> u64 {
    usage.reported_cost.0 + usage.estimated_cost.0
}

fn tokens(usage: &Usage) -> u64 {
    usage.tokens.total() + usage.truncated_tokens.total()
}

/// A tenth of the time, from 30 s to 5 min, unless somebody wanted it otherwise.
fn held_back(wrap_up: Option<WrapUp>, limit: Option<Span>) -> u64 {
    let tenth = limit.map_or(0, |limit| limit.0 / 10).clamp(30_000, 300_000);
    wrap_up.and_then(|wrap_up| wrap_up.reserve).map_or(tenth, |time| time.0)
}
