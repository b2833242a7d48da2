//! A model that condenses older work, as a model of one: a process that answers once, or fails, or hangs.

use super::agent::NEVER;
use super::answers::result_of;
use super::{Ended, Happening, World};
use crate::Reach;
use longhaul_core::{
    Condensation, Evidence, Exit, Fault, Moment, RateLimit, RateLimitStatus, Span, SpawnError, Tally, Tokens,
    TurnResult, Usd,
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
const ANSWER: Reach = Reach::new(300, 60_000);
// SIGTERM is heeded in a moment, or SIGKILL follows.
const ENDING: Reach = Reach::new(1, 600);

/// The process.
#[derive(Clone, Debug)]
pub(crate) struct Condenser {
    /// When it ends by itself, or is ended.
    pub(super) at: Moment,
    /// What it leaves then, and what is true of it.
    leaves: Ended,
}

impl World {
    /// Older work is to be condensed for attempt number `attempt`.
    pub(super) fn condense(&mut self, attempt: u32) {
        self.condensed = None;
        if self.dice.one_in(4) {
            self.fits_at = self.now + Span(self.dice.below(100));
            return self.hurry(self.fits_at);
        }
        if self.strikes_by(self.mix.no_room) {
            let error = self.dice.pick(&[SpawnError::NoResources, SpawnError::NotFound]);
            let startup = error.startup();
            let truth = if startup.is_some() { Fault::AgentMissing } else { Fault::Crashed };
            let evidence = Evidence { startup, ..Evidence::of_exit(Exit::NeverSpawned) };
            self.condensed = Some(Ended { attempt, truth: Some(truth), evidence });
            self.fits_at = self.now + Span(self.dice.below(100));
            return;
        }
        let leaves = self.answer(attempt);
        let hangs = self.dice.odds(self.mix.condense_hangs);
        let reach = if hangs { self.mix.hang } else { ANSWER };
        let at = self.now + Span(self.dice.magnitude(reach));
        self.condenser = Some(Condenser { at, leaves });
        self.hurry(at.min(self.now + Span::from_secs(60)));
    }

    /// It is done so rarely that whoever wants the end wants it now, and a machine that is to sleep sleeps now.
    fn hurry(&mut self, until: Moment) {
        let meanwhile = until.since(self.now).0 + 1;
        if self.cancel_at != NEVER || self.mix.cancel > 0 && self.dice.one_in(2) {
            self.cancel_at = self.now + Span(self.dice.below(meanwhile));
        }
        if self.sleep_at != NEVER || self.mix.sleep > 0 && self.dice.one_in(2) {
            self.sleep_at = self.now + Span(self.dice.below(meanwhile));
        }
    }

    /// What the process leaves if nobody ends it.
    fn answer(&mut self, attempt: u32) -> Ended {
        let fails = self.dice.odds(self.mix.condense_fails);
        let truth = fails.then(|| self.dice.pick(FAILURES));
        let result = match truth {
            None => Some(TurnResult::COMPLETED),
            Some(fault) => result_of(fault, &mut self.dice),
        };
        let exit = match result {
            Some(result) => Exit::Code(i32::from(result.is_error)),
            None => Exit::Signal(9),
        };
        let tally = match result {
            Some(result) if !result.is_error => self.message(),
            // A refusal costs nothing; of what was cut, what arrived is billed by estimate.
            Some(_) => Tally::default(),
            None => cut(self.dice.below(50_000)),
        };
        // A result alone does not always tell a usage limit from a rate limit.
        let rejected = RateLimit { status: RateLimitStatus::Rejected, resets_at: None };
        let rate_limit = (truth == Some(Fault::UsageLimit)).then_some(rejected);
        let evidence = Evidence { result, tally, rate_limit, ..Evidence::of_exit(exit) };
        Ended { attempt, truth, evidence }
    }

    fn message(&self) -> Tally {
        let tokens = Tokens { input: 20_000, output: 700, ..Tokens::default() };
        Tally { tokens, messages: 1, cost: self.mix.request_cost, ..Tally::default() }
    }

    /// Somebody ends it: what it has not said by then, it never says.
    pub(super) fn end_condensing(&mut self) {
        let at = self.now + Span(self.dice.magnitude(ENDING));
        if self.condenser.as_ref().is_some_and(|condenser| condenser.at > at) {
            self.cut_condenser(at);
        }
    }

    fn cut_condenser(&mut self, at: Moment) {
        let Some(condenser) = &mut self.condenser else { return };
        let (exit, truth) =
            self.dice.pick(&[(Exit::Code(143), Fault::Interrupted), (Exit::Signal(9), Fault::Crashed)]);
        let evidence = Evidence { tally: cut(self.dice.below(50_000)), ..Evidence::of_exit(exit) };
        condenser.leaves.truth = Some(truth);
        condenser.leaves.evidence = evidence;
        condenser.at = at;
    }

    /// It is gone, and with it what it was doing.
    pub(super) fn condenser_ends(&mut self) -> Option<Happening> {
        let Condenser { leaves, .. } = self.condenser.take()?;
        self.billed = self.billed.plus(leaves.evidence.tally);
        self.condensed = Some(leaves);
        Some(Happening::Condensed)
    }

    /// What the world says when nothing is being condensed any more.
    pub(crate) fn condensation(&self) -> Condensation {
        let ended = self.condensed.as_ref().map(|ended| ended.evidence.clone());
        ended.map_or(Condensation::NotNeeded, Condensation::Ended)
    }

    /// A supervisor that comes back ends what is left of it, and reads what that leaves.
    pub(crate) fn found_condensing(&mut self, attempt: u32) -> Evidence {
        self.fits_at = NEVER;
        if self.condenser.is_some() {
            self.cut_condenser(self.now);
            let _told_by_its_files = self.condenser_ends();
        }
        let never = || Ended {
            attempt,
            truth: Some(Fault::Crashed),
            evidence: Evidence::of_exit(Exit::NeverSpawned),
        };
        let ended = self.condensed.take().filter(|ended| ended.attempt == attempt);
        let mut ended = ended.unwrap_or_else(never);
        // Nobody kept the exit, nor why nothing could be started.
        if ended.evidence.exit == Exit::NeverSpawned {
            ended = never();
        } else {
            ended.evidence.exit = Exit::Unseen;
        }
        if ended.truth == Some(Fault::Interrupted) {
            ended.truth = Some(Fault::Crashed);
        }
        self.condensed.insert(ended).evidence.clone()
    }
}

/// An answer that was cut: so many millionths of a dollar, by estimate.
fn cut(cost: u64) -> Tally {
    let cut_tokens = Tokens { input: 20_000, output: cost / 15, ..Tokens::default() };
    Tally { cut_tokens, cut_messages: 1, cost_estimated: Usd(cost), ..Tally::default() }
}
