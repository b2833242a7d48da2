//! A model that condenses older work, as a model of one: a process that answers once, or fails, or hangs.

use super::agent::NEVER;
use super::results::result_of;
use super::{EndedAttempt, World, WorldEvent};
use crate::Interval;
use longhaul_core::{
    AgentResult, Evidence, Exit, Fault, Moment, RateLimit, RateLimitStatus, Span, SpawnError, SummaryReport,
    Tokens, Usage, Usd,
};

/// How one answer fails.
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
const ANSWER: Interval = Interval::new(300, 60_000);
// SIGTERM is heeded in a moment, or SIGKILL follows.
const ENDING: Interval = Interval::new(1, 600);

/// The process.
#[derive(Clone, Debug)]
pub(crate) struct Summarizer {
    /// When it ends by itself, or is ended.
    pub(super) at: Moment,
    /// What it leaves then, and what is true of it.
    leaves: EndedAttempt,
}

impl World {
    /// Older work is to be condensed for attempt number `attempt`.
    pub(super) fn start_summary(&mut self, attempt: u32) {
        self.summary = None;
        if self.rng.one_in(4) {
            self.fits_at = self.now + Span(self.rng.below(100));
            return self.hurry(self.fits_at);
        }
        if self.strikes_by(self.mix.no_resources) {
            let error = self.rng.pick(&[SpawnError::NoResources, SpawnError::NotFound]);
            let startup = error.startup();
            let truth = if startup.is_some() { Fault::AgentMissing } else { Fault::Crashed };
            let evidence = Evidence { startup, ..Evidence::of_exit(Exit::NeverSpawned) };
            self.summary = Some(EndedAttempt { attempt, truth: Some(truth), evidence });
            self.fits_at = self.now + Span(self.rng.below(100));
            return;
        }
        let leaves = self.answer(attempt);
        let hangs = self.rng.odds(self.mix.summary_hangs);
        let reach = if hangs { self.mix.hang } else { ANSWER };
        let at = self.now + Span(self.rng.magnitude(reach));
        self.summarizer = Some(Summarizer { at, leaves });
        self.hurry(at.min(self.now + Span::from_secs(60)));
    }

    /// It is done so rarely that whoever wants the end wants it now, and a machine that is to sleep sleeps now.
    fn hurry(&mut self, until: Moment) {
        let meanwhile = until.since(self.now).0 + 1;
        if self.cancel_at != NEVER || self.mix.cancel > 0 && self.rng.one_in(2) {
            self.cancel_at = self.now + Span(self.rng.below(meanwhile));
        }
        if self.sleep_at != NEVER || self.mix.sleep > 0 && self.rng.one_in(2) {
            self.sleep_at = self.now + Span(self.rng.below(meanwhile));
        }
    }

    /// What the process leaves if nobody ends it.
    fn answer(&mut self, attempt: u32) -> EndedAttempt {
        let fails = self.rng.odds(self.mix.summary_fails);
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
            // A refusal costs nothing; of what was cut, what arrived is billed by estimate.
            Some(_) => Usage::default(),
            None => cut(self.rng.below(50_000)),
        };
        // A result alone does not always tell a usage limit from a rate limit.
        let rejected = RateLimit { status: RateLimitStatus::Rejected, resets_at: None };
        let rate_limit = (truth == Some(Fault::UsageLimit)).then_some(rejected);
        let evidence = Evidence { result, usage, rate_limit, ..Evidence::of_exit(exit) };
        EndedAttempt { attempt, truth, evidence }
    }

    fn message(&self) -> Usage {
        let tokens = Tokens { input: 20_000, output: 700, ..Tokens::default() };
        Usage { tokens, messages: 1, reported_cost: self.mix.request_cost, ..Usage::default() }
    }

    /// Somebody ends it: what it has not said by then, it never says.
    pub(super) fn stop_summary(&mut self) {
        let at = self.now + Span(self.rng.magnitude(ENDING));
        if self.summarizer.as_ref().is_some_and(|condenser| condenser.at > at) {
            self.stop_summarizer(at);
        }
    }

    fn stop_summarizer(&mut self, at: Moment) {
        let Some(condenser) = &mut self.summarizer else { return };
        let (exit, truth) =
            self.rng.pick(&[(Exit::Code(143), Fault::Interrupted), (Exit::Signal(9), Fault::Crashed)]);
        let evidence = Evidence { usage: cut(self.rng.below(50_000)), ..Evidence::of_exit(exit) };
        condenser.leaves.truth = Some(truth);
        condenser.leaves.evidence = evidence;
        condenser.at = at;
    }

    /// It is gone, and with it what it was doing.
    pub(super) fn on_summarizer_end(&mut self) -> Option<WorldEvent> {
        let Summarizer { leaves, .. } = self.summarizer.take()?;
        self.billed = self.billed.plus(leaves.evidence.usage);
        self.summary = Some(leaves);
        Some(WorldEvent::SummaryEnded)
    }

    /// What the world says when nothing is being condensed any more.
    pub(crate) fn summary_report(&self) -> SummaryReport {
        let ended = self.summary.as_ref().map(|ended| ended.evidence.clone());
        ended.map_or(SummaryReport::NotNeeded, SummaryReport::Ended)
    }

    /// A supervisor that comes back ends what is left of it, and reads what that leaves.
    pub(crate) fn found_summarizing(&mut self, attempt: u32) -> Evidence {
        self.fits_at = NEVER;
        if self.summarizer.is_some() {
            self.stop_summarizer(self.now);
            let _told_by_its_files = self.on_summarizer_end();
        }
        let never = || EndedAttempt {
            attempt,
            truth: Some(Fault::Crashed),
            evidence: Evidence::of_exit(Exit::NeverSpawned),
        };
        let ended = self.summary.take().filter(|ended| ended.attempt == attempt);
        let mut ended = ended.unwrap_or_else(never);
        // Nobody kept the exit, nor why nothing could be started.
        if ended.evidence.exit == Exit::NeverSpawned {
            ended = never();
        } else {
            ended.evidence.exit = Exit::Unobserved;
        }
        if ended.truth == Some(Fault::Interrupted) {
            ended.truth = Some(Fault::Crashed);
        }
        self.summary.insert(ended).evidence.clone()
    }
}

/// An answer that was cut: so many millionths of a dollar, by estimate.
fn cut(cost: u64) -> Usage {
    let truncated_tokens = Tokens { input: 20_000, output: cost / 15, ..Tokens::default() };
    Usage { truncated_tokens, truncated_messages: 1, estimated_cost: Usd(cost), ..Usage::default() }
}
