//! Models the reviewer of a check: a process that gives a verdict, fails or hangs.

use super::agent::NEVER;
use super::summarizer::{STOP_DELAY, find_answer, stop_answer};
use super::{EndedAttempt, Timer, World};
use crate::Interval;
use longhaul_core::{Event, Evidence, Fault, ReviewVerdict, Span, SpawnError};

// From a glance at one file to many files with a slow model.
const REVIEW_TIME: Interval = Interval::new(300, 600_000);

impl World {
    /// Starts reviewer number `review`.
    pub(super) fn start_review(&mut self, review: u32) {
        if self.draw_extra_fault(self.mix.no_resources) {
            let error = self.rng.pick(&[SpawnError::NoResources, SpawnError::NotFound]);
            let startup = error.startup();
            let truth = if startup.is_some() { Fault::AgentMissing } else { Fault::Crashed };
            self.reviewed = Some(EndedAttempt::unspawned(review, truth, startup));
            let at = self.now + Span(self.rng.below(100));
            return self.set_timer(Timer::NoReview, at);
        }
        // Every run of a bounded world must finish.
        let fails = if self.remaining_faults > 0 { self.mix.review_fails } else { 0 };
        let mut reviewer = self.answer(review, fails);
        self.remaining_faults -= u32::from(reviewer.truth.is_some());
        if reviewer.truth.is_none() {
            reviewer.evidence.review = self.verdict();
        }
        self.reviewer = Some(reviewer);
        let hangs = self.rng.chance(self.mix.review_hangs);
        let duration = if hangs { self.mix.hang } else { REVIEW_TIME };
        let at = self.now + Span(self.rng.log_uniform(duration));
        self.set_timer(Timer::Review, at);
        self.hurry(at.min(self.now + Span::from_secs(60)));
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

    /// Stops the reviewer. Output after that is lost.
    pub(super) fn stop_review(&mut self) {
        let at = self.now + Span(self.rng.log_uniform(STOP_DELAY));
        if self.timer(Timer::Review) > at
            && let Some(reviewer) = &mut self.reviewer
        {
            stop_answer(reviewer, &mut self.rng);
            self.set_timer(Timer::Review, at);
        }
    }

    pub(super) fn end_review(&mut self) -> Event {
        self.set_timer(Timer::Review, NEVER);
        self.reviewed = self.reviewer.take();
        let evidence = self.reviewed.as_ref().map(|ended| ended.evidence.clone()).unwrap_or_default();
        self.billed_usage = self.billed_usage.plus(evidence.usage);
        Event::ReviewEnded(evidence)
    }

    /// Stops the reviewer and returns the evidence that a new supervisor finds.
    pub(crate) fn find_review(&mut self, review: u32) -> Evidence {
        self.set_timer(Timer::NoReview, NEVER);
        if let Some(reviewer) = &mut self.reviewer {
            stop_answer(reviewer, &mut self.rng);
            let _event = self.end_review();
        }
        let ended = find_answer(self.reviewed.take(), review);
        self.reviewed.insert(ended).evidence.clone()
    }
}
