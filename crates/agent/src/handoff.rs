//! Writes the text with which a fresh session goes on where another one could not be continued.
//!
//! The task comes first and whole. What follows is bounded, and made of the transcript alone: the most
//! recent work nearly as it was, older work in a line each, the oldest dropped. What Longhaul or the
//! agent's program said of themselves is left out by where it comes from, never by what it says. Older work may
//! be told by a model's summary instead: `condense.rs` asks for one, `summary.rs` puts it in.

mod preamble;
pub(crate) mod quote;
mod render;
mod summary;
mod summary_prompt;
mod token_budget;
mod tokens;
mod work_log;

use crate::conversation::Conversation;
use longhaul_core::{Fault, Span, Usd};
use preamble::CLOSING;
use token_budget::TokenBudget;
use tokens::weight;
use work_log::WorkLog;

pub(crate) use preamble::AFTER_TASK;
pub use summary::Summary;
pub use summary_prompt::{SUMMARY_TOKENS_MAX, summary_prompt};
pub use tokens::{estimated_tokens, truncate_middle};

/// How long a seed may be, in tokens, where nothing else is wanted: a few percent of the smallest context
/// window, and more than enough for the end of any work.
pub const HANDOFF_TOKENS_MAX: u64 = 12_000;

/// Of one thing that is told nearly whole: some 40 lines of output.
const WHOLE_WEIGHT_MAX: u64 = 3200;
/// A few lines; what is cut to less says nothing.
const WHOLE_WEIGHT_MIN: u64 = 240;

/// What is said of things that found no room.
const DROPPED: &str = "Older ones that are left out";
/// The same of steps of which there is at least a line, if there is room for it.
const SHORTENED: &str = "Older steps that are not told here as a whole";

/// What a seed must say besides what was said and done.
#[derive(Clone, Copy, Debug)]
pub struct HandoffContext<'a> {
    /// The task, in full.
    pub task: &'a str,
    /// Why the earlier session could not be continued.
    pub reason: HandoffReason<'a>,
    /// The money that is left, if it is limited.
    pub money_left: Option<Usd>,
    /// The time that is left, if it is limited.
    pub time_left: Option<Span>,
    /// Files of the workspace that are known to be changed, besides those that the transcript tells of.
    pub files_changed: &'a [String],
}

/// Why a session could not be continued.
#[derive(Clone, Copy, Debug)]
pub enum HandoffReason<'a> {
    /// By our table.
    Fault(Fault),
    /// In other words, to follow "could not be continued: ".
    Text(&'a str),
}

impl<'a> HandoffContext<'a> {
    /// What must be said where nothing is limited.
    pub fn unlimited(task: &'a str, reason: HandoffReason<'a>) -> HandoffContext<'a> {
        HandoffContext { task, reason, money_left: None, time_left: None, files_changed: &[] }
    }
}

/// The text that begins a fresh session. It is at most `tokens_max` long by [`estimated_tokens`]; if the
/// task alone leaves no room, it is the task in full and a short note.
pub fn handoff_prompt(transcript: &Conversation, about: &HandoffContext<'_>, tokens_max: u64) -> String {
    let draft = HandoffDraft::new(transcript, about, tokens_max);
    draft.map_or_else(|| preamble::minimal(about.task), HandoffDraft::render_in_lines)
}

/// The same with a model's summary in the place of the older work that is told a line each. All else is as it
/// would be without. A summary that says nothing is not used; one that is too long is cut at the end of a line.
pub fn handoff_prompt_with_summary(
    transcript: &Conversation,
    about: &HandoffContext<'_>,
    tokens_max: u64,
    summary: &Summary,
) -> String {
    let draft = HandoffDraft::new(transcript, about, tokens_max);
    draft.map_or_else(|| preamble::minimal(about.task), |draft| draft.render_with(summary))
}

/// A seed but for its older work.
struct HandoffDraft<'a> {
    steps: WorkLog<'a>,
    /// What comes before the older work.
    before: String,
    /// The most recent work.
    recent: String,
    /// How many steps are older than that.
    older: usize,
    /// What is left for them.
    room: TokenBudget,
}

impl<'a> HandoffDraft<'a> {
    /// Nothing if the task leaves no room.
    fn new(
        transcript: &'a Conversation,
        about: &HandoffContext<'_>,
        tokens_max: u64,
    ) -> Option<HandoffDraft<'a>> {
        let steps = WorkLog::new(transcript, about.task);
        let opening = preamble::opening(about, !steps.is_empty());
        let mut room = TokenBudget::of_tokens(tokens_max).beside(&opening)?.beside(CLOSING)?;
        // Each part may take a share of what the parts before it left. They are made in the order of their
        // worth, which is not that of the text.
        let share = room.share(1, 4);
        let asked = steps.asked(bound(share, 2));
        let asked = room.part("What the person said besides the task", DROPPED, asked, share);
        let share = room.share(1, 4);
        let problems = room.part("Open problems", DROPPED, steps.problems().into_iter(), share);
        let share = room.share(1, 5);
        let files = steps.files(about.files_changed).into_iter();
        let files = room.part("Files that were changed, the last one last", DROPPED, files, share);
        let share = room.share(1, 4);
        let summary = steps.summary(bound(share, 2));
        let summary = room.part("The agent's summary of its earlier work", DROPPED, summary, share);
        // Older work gets a third at the most: a line says little of what it stands for.
        let for_lines = steps.lines().map(|line| weight(&line)).sum::<u64>().min(room.share(1, 3));
        let recent_in = |room: &mut TokenBudget| {
            let share = room.share(1, 1).saturating_sub(for_lines);
            room.part("The most recent work", SHORTENED, steps.whole(bound(share, 4)), share)
        };
        let older = steps.count() - recent_in(&mut room.clone()).items_taken;
        // Decisions are made early. They are found by their position: words decide nothing here.
        let share = if older > 0 { room.share(1, 6) } else { 0 };
        let first = room.first_part("How the work started", steps.first_said(older, bound(share, 8)), share);
        let recent = recent_in(&mut room);
        let older = steps.count() - recent.items_taken;
        let before = [opening, asked.text, files.text, summary.text, problems.text, first.text].concat();
        Some(HandoffDraft { steps, before, recent: recent.text, older, room })
    }

    fn render_in_lines(mut self) -> String {
        let lines: Vec<String> = self.steps.lines().take(self.older).collect();
        let share = self.room.share(1, 1);
        let earlier = self.room.part("Earlier work, a line each", DROPPED, lines.into_iter(), share);
        self.rendered(&earlier.text)
    }

    fn render_with(self, summary: &Summary) -> String {
        match summary.part(self.room).filter(|_| self.older > 0) {
            Some(earlier) => self.rendered(&earlier),
            None => self.render_in_lines(),
        }
    }

    fn rendered(self, earlier: &str) -> String {
        self.before + earlier + &self.recent + CLOSING
    }
}

/// How much one of some things may take: at least as many of that length shall have room.
fn bound(share: u64, at_least: u64) -> u64 {
    (share / at_least).clamp(WHOLE_WEIGHT_MIN, WHOLE_WEIGHT_MAX)
}

#[cfg(test)]
mod tests;
