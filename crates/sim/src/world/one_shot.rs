//! Models the processes of a model that answers once, fails or hangs: the one that summarizes older work, and the
//! reviewer of a check.

use super::agent::NEVER;
use super::results::result_of;
use super::{EndedAttempt, Timer, World};
use crate::Interval;
use longhaul_core::{
    AgentResult, Event, Evidence, Exit, Fault, Moment, RateLimit, RateLimitStatus, ReviewVerdict, Span,
    SpawnError, SummaryReport, Tokens, Usage, Usd,
};

/// Faults with which such a process may fail.
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
const SUMMARY_TIME: Interval = Interval::new(300, 60_000);
// From a glance at one file to many files with a slow model.
const REVIEW_TIME: Interval = Interval::new(300, 600_000);
// SIGTERM takes effect within a moment, or SIGKILL follows.
const STOP_DELAY: Interval = Interval::new(1, 600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OneShot {
    Summary,
    Review,
}

/// The process, as far as the world knows it. Its `attempt` is that of the summary, or the number of the reviewer.
#[derive(Debug, Default)]
pub(crate) struct OneShotProcess {
    /// The future end of the running process.
    pub running: Option<EndedAttempt>,
    /// The last process that ended or failed to start. A summary forgets it at the next request.
    pub ended: Option<EndedAttempt>,
}

impl OneShot {
    pub(super) const ALL: [OneShot; 2] = [OneShot::Summary, OneShot::Review];

    pub(super) fn timer(self) -> Timer {
        match self {
            OneShot::Summary => Timer::Summary,
            OneShot::Review => Timer::Review,
        }
    }
}

impl World {
    pub(super) fn one_shot(&mut self, kind: OneShot) -> &mut OneShotProcess {
        match kind {
            OneShot::Summary => &mut self.summary,
            OneShot::Review => &mut self.review,
        }
    }

    /// Starts the summary for attempt number `attempt`, unless there is nothing to summarize.
    pub(super) fn start_summary(&mut self, attempt: u32) {
        self.summary.ended = None;
        if self.rng.one_in(4) {
            let at = self.now + Span(self.rng.below(100));
            self.set_timer(Timer::Summary, at);
            return self.hurry(at);
        }
        self.start_one_shot(OneShot::Summary, attempt);
    }

    pub(super) fn start_one_shot(&mut self, kind: OneShot, number: u32) {
        if self.draw_extra_fault(self.mix.no_resources) {
            let error = self.rng.pick(&[SpawnError::NoResources, SpawnError::NotFound]);
            let startup = error.startup();
            let truth = if startup.is_some() { Fault::AgentMissing } else { Fault::Crashed };
            self.one_shot(kind).ended = Some(EndedAttempt::unspawned(number, truth, startup));
            let at = self.now + Span(self.rng.below(100));
            return self.set_timer(kind.timer(), at);
        }
        let process = match kind {
            OneShot::Summary => self.answer(number, self.mix.summary_fails),
            OneShot::Review => self.reviewer(number),
        };
        self.one_shot(kind).running = Some(process);
        let (hangs, time) = match kind {
            OneShot::Summary => (self.mix.summary_hangs, SUMMARY_TIME),
            OneShot::Review => (self.mix.review_hangs, REVIEW_TIME),
        };
        let duration = if self.rng.chance(hangs) { self.mix.hang } else { time };
        let at = self.now + Span(self.rng.log_uniform(duration));
        self.set_timer(kind.timer(), at);
        self.hurry(at.min(self.now + Span::from_secs(60)));
    }

    /// Moves a cancel or a sleep into this period, because these processes are too rare to be hit by chance.
    fn hurry(&mut self, until: Moment) {
        let moments = until.since(self.now).0 + 1;
        for (timer, odds) in [(Timer::Cancel, self.mix.cancel), (Timer::Sleep, self.mix.sleep)] {
            if self.timer(timer) != NEVER || odds > 0 && self.rng.one_in(2) {
                let at = self.now + Span(self.rng.below(moments));
                self.set_timer(timer, at);
            }
        }
    }

    /// Returns the future end of a reviewer, with or without a verdict.
    fn reviewer(&mut self, review: u32) -> EndedAttempt {
        // Every run of a bounded world must finish.
        let fails = if self.remaining_faults > 0 { self.mix.review_fails } else { 0 };
        let mut reviewer = self.answer(review, fails);
        self.remaining_faults -= u32::from(reviewer.truth.is_some());
        if reviewer.truth.is_none() {
            reviewer.evidence.review = self.verdict();
        }
        reviewer
    }

    /// Draws a verdict. `None` if the answer has none. Work with findings is continued.
    fn verdict(&mut self) -> Option<ReviewVerdict> {
        if self.draw_extra_fault(self.mix.review_fails / 8) {
            return None;
        }
        let finds = self.rng.chance(self.mix.review_finds);
        let missing = if finds { self.rng.below(4) as u32 } else { 0 };
        self.remaining_work += missing;
        // An answer may contradict itself.
        Some(ReviewVerdict { complete: !finds || missing > 0 && self.rng.one_in(4), missing })
    }

    /// Returns the future end of a process. `fails` is the chance that it fails.
    fn answer(&mut self, number: u32, fails: u32) -> EndedAttempt {
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
            Some(result) if !result.is_error => {
                let tokens = Tokens { input: 20_000, output: 700, ..Tokens::default() };
                Usage { tokens, messages: 1, reported_cost: self.mix.request_cost, ..Usage::default() }
            }
            // A refusal is free. The received part of a truncated answer is billed by estimate.
            Some(_) => Usage::default(),
            None => truncated_usage(self.rng.below(50_000)),
        };
        // A result alone does not always distinguish a usage limit from a rate limit.
        let rejected = RateLimit { status: RateLimitStatus::Rejected, resets_at: None };
        let rate_limit = (truth == Some(Fault::UsageLimit)).then_some(rejected);
        let evidence = Evidence { result, usage, rate_limit, ..Evidence::from_exit(exit) };
        EndedAttempt { attempt: number, truth, evidence }
    }

    /// Stops the process. Output after that is lost.
    pub(super) fn stop_one_shot(&mut self, kind: OneShot) {
        let at = self.now + Span(self.rng.log_uniform(STOP_DELAY));
        if self.timer(kind.timer()) > at && self.cut_answer(kind) {
            self.set_timer(kind.timer(), at);
        }
    }

    /// Stops the running process before its answer. Returns whether one is running.
    fn cut_answer(&mut self, kind: OneShot) -> bool {
        let Some(mut process) = self.one_shot(kind).running.take() else { return false };
        let exits = [(Exit::Code(143), Fault::Interrupted), (Exit::Signal(9), Fault::Crashed)];
        let (exit, truth) = self.rng.pick(&exits);
        let usage = truncated_usage(self.rng.below(50_000));
        process.truth = Some(truth);
        process.evidence = Evidence { usage, ..Evidence::from_exit(exit) };
        self.one_shot(kind).running = Some(process);
        true
    }

    /// Ends the process if one runs. Returns the event that reports the last process.
    pub(super) fn end_one_shot(&mut self, kind: OneShot) -> Event {
        self.set_timer(kind.timer(), NEVER);
        if let Some(ended) = self.one_shot(kind).running.take() {
            self.billed_usage = self.billed_usage.plus(ended.evidence.usage);
            self.one_shot(kind).ended = Some(ended);
        }
        let evidence = self.one_shot(kind).ended.as_ref().map(|ended| ended.evidence.clone());
        match kind {
            OneShot::Summary => {
                Event::SummaryEnded(evidence.map_or(SummaryReport::NotNeeded, SummaryReport::Ended))
            }
            OneShot::Review => Event::ReviewEnded(evidence.unwrap_or_default()),
        }
    }

    /// Stops the process and returns the evidence that a new supervisor finds of process number `number`.
    pub(crate) fn find_one_shot(&mut self, kind: OneShot, number: u32) -> Evidence {
        self.set_timer(kind.timer(), NEVER);
        if self.cut_answer(kind) {
            let _event = self.end_one_shot(kind);
        }
        let unspawned = || EndedAttempt::unspawned(number, Fault::Crashed, None);
        let last = self.one_shot(kind).ended.take().filter(|ended| ended.attempt == number);
        let mut ended = last.unwrap_or_else(unspawned);
        // Neither the exit nor the reason of a failed start is known.
        if ended.evidence.exit == Exit::NeverSpawned {
            ended = unspawned();
        } else {
            ended.evidence.exit = Exit::Unobserved;
        }
        if ended.truth == Some(Fault::Interrupted) {
            ended.truth = Some(Fault::Crashed);
        }
        self.one_shot(kind).ended.insert(ended).evidence.clone()
    }
}

/// Returns the usage of a truncated answer. `cost` is in microdollars, by estimate.
fn truncated_usage(cost: u64) -> Usage {
    let truncated_tokens = Tokens { input: 20_000, output: cost / 15, ..Tokens::default() };
    Usage { truncated_tokens, truncated_messages: 1, estimated_cost: Usd(cost), ..Usage::default() }
}
