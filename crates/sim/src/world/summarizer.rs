//! Models the model that summarizes older work: a process that answers once, fails or hangs.

use super::agent::NEVER;
use super::results::result_of;
use super::{EndedAttempt, Timer, World};
use crate::Interval;
use crate::rng::Rng;
use longhaul_core::{
    AgentResult, Event, Evidence, Exit, Fault, Moment, RateLimit, RateLimitStatus, Span, SpawnError,
    SummaryReport, Tokens, Usage, Usd,
};

/// Faults with which a summary may fail.
const FAILURES: &[Fault] = &[
    Fault::RateLimited,
    Fault::Overloaded,
    Fault::ServerError,
    Fault::Network,
    Fault::UsageLimit,
    Fault::ContextFull,
    Fault::OutputLimit,
    Fault::Unfinished,
    Fault::Auth,
    Fault::ModelUnknown,
    Fault::Refused,
    Fault::BadRequest,
    Fault::TurnLimit,
    Fault::Unknown,
    Fault::Crashed,
];
// A few thousand tokens, from an instant refusal to a slow model.
const ANSWER_TIME: Interval = Interval::new(300, 60_000);
// SIGTERM takes effect within a moment, or SIGKILL follows.
pub(super) const STOP_DELAY: Interval = Interval::new(1, 600);

impl World {
    /// Starts the summary for attempt number `attempt`.
    pub(super) fn start_summary(&mut self, attempt: u32) {
        self.summary = None;
        if self.rng.one_in(4) {
            let at = self.now + Span(self.rng.below(100));
            self.set_timer(Timer::NoSummary, at);
            return self.hurry(at);
        }
        if self.draw_extra_fault(self.mix.no_resources) {
            let error = self.rng.pick(&[SpawnError::NoResources, SpawnError::NotFound]);
            let startup = error.startup();
            let truth = if startup.is_some() { Fault::AgentMissing } else { Fault::Crashed };
            self.summary = Some(EndedAttempt::unspawned(attempt, truth, startup));
            let at = self.now + Span(self.rng.below(100));
            return self.set_timer(Timer::NoSummary, at);
        }
        self.summarizer = Some(self.answer(attempt, self.mix.summary_fails));
        let hangs = self.rng.chance(self.mix.summary_hangs);
        let duration = if hangs { self.mix.hang } else { ANSWER_TIME };
        let at = self.now + Span(self.rng.log_uniform(duration));
        self.set_timer(Timer::Summary, at);
        self.hurry(at.min(self.now + Span::from_secs(60)));
    }

    /// Moves a cancel or a sleep into this period, because summaries are too rare to be hit by chance.
    pub(super) fn hurry(&mut self, until: Moment) {
        let moments = until.since(self.now).0 + 1;
        for (timer, odds) in [(Timer::Cancel, self.mix.cancel), (Timer::Sleep, self.mix.sleep)] {
            if self.timer(timer) != NEVER || odds > 0 && self.rng.one_in(2) {
                let at = self.now + Span(self.rng.below(moments));
                self.set_timer(timer, at);
            }
        }
    }

    /// Returns the future end of a model's process that answers once. `fails` is the chance that it fails.
    pub(super) fn answer(&mut self, attempt: u32, fails: u32) -> EndedAttempt {
        let fails = self.rng.chance(fails);
        let truth = fails.then(|| self.rng.pick(FAILURES));
        let result = match truth {
            None => Some(AgentResult::COMPLETED),
            Some(fault) => result_of(fault, &mut self.rng),
        };
        let exit = match result {
            Some(result) => Exit::Code(i32::from(result.is_error)),
            None => Exit::Signal(9),
        };
        let usage = match result {
            Some(result) if !result.is_error => self.message(),
            // A refusal is free. The received part of a truncated answer is billed_usage by estimate.
            Some(_) => Usage::default(),
            None => truncated_usage(self.rng.below(50_000)),
        };
        // A result alone does not always distinguish a usage limit from a rate limit.
        let rejected = RateLimit { status: RateLimitStatus::Rejected, resets_at: None };
        let rate_limit = (truth == Some(Fault::UsageLimit)).then_some(rejected);
        let evidence = Evidence { result, usage, rate_limit, ..Evidence::from_exit(exit) };
        EndedAttempt { attempt, truth, evidence }
    }

    fn message(&self) -> Usage {
        let tokens = Tokens { input: 20_000, output: 700, ..Tokens::default() };
        Usage { tokens, messages: 1, reported_cost: self.mix.request_cost, ..Usage::default() }
    }

    /// Stops the summary. Output after that is lost.
    pub(super) fn stop_summary(&mut self) {
        let at = self.now + Span(self.rng.log_uniform(STOP_DELAY));
        if self.timer(Timer::Summary) > at {
            self.stop_summarizer(at);
        }
    }

    fn stop_summarizer(&mut self, at: Moment) {
        let Some(summarizer) = &mut self.summarizer else { return };
        stop_answer(summarizer, &mut self.rng);
        self.set_timer(Timer::Summary, at);
    }

    pub(super) fn end_summary(&mut self) -> Event {
        self.set_timer(Timer::Summary, NEVER);
        self.summary = self.summarizer.take();
        let usage = self.summary.as_ref().map(|ended| ended.evidence.usage);
        self.billed_usage = self.billed_usage.plus(usage.unwrap_or_default());
        Event::SummaryEnded(self.summary_report())
    }

    pub(crate) fn summary_report(&self) -> SummaryReport {
        let ended = self.summary.as_ref().map(|ended| ended.evidence.clone());
        ended.map_or(SummaryReport::NotNeeded, SummaryReport::Ended)
    }

    /// Stops the summary and returns the evidence that a new supervisor finds.
    pub(crate) fn find_summary(&mut self, attempt: u32) -> Evidence {
        self.set_timer(Timer::NoSummary, NEVER);
        if self.summarizer.is_some() {
            self.stop_summarizer(self.now);
            let _event = self.end_summary();
        }
        let ended = find_answer(self.summary.take(), attempt);
        self.summary.insert(ended).evidence.clone()
    }
}

/// Stops a model's process before its answer.
pub(super) fn stop_answer(process: &mut EndedAttempt, rng: &mut Rng) {
    let (exit, truth) = rng.pick(&[(Exit::Code(143), Fault::Interrupted), (Exit::Signal(9), Fault::Crashed)]);
    process.truth = Some(truth);
    process.evidence = Evidence { usage: truncated_usage(rng.below(50_000)), ..Evidence::from_exit(exit) };
}

/// Returns the end of process number `number` as a new supervisor finds it. `last` is the last process.
pub(super) fn find_answer(last: Option<EndedAttempt>, number: u32) -> EndedAttempt {
    let unspawned = || EndedAttempt::unspawned(number, Fault::Crashed, None);
    let ended = last.filter(|ended| ended.attempt == number);
    let mut ended = ended.unwrap_or_else(unspawned);
    // Neither the exit nor the reason of a failed start is known.
    if ended.evidence.exit == Exit::NeverSpawned {
        ended = unspawned();
    } else {
        ended.evidence.exit = Exit::Unobserved;
    }
    if ended.truth == Some(Fault::Interrupted) {
        ended.truth = Some(Fault::Crashed);
    }
    ended
}

/// Returns the usage of a truncated answer. `cost` is in microdollars, by estimate.
fn truncated_usage(cost: u64) -> Usage {
    let truncated_tokens = Tokens { input: 20_000, output: cost / 15, ..Tokens::default() };
    Usage { truncated_tokens, truncated_messages: 1, estimated_cost: Usd(cost), ..Usage::default() }
}
