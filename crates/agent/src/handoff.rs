//! Writes the prompt that continues a run in a fresh session if the earlier session cannot be resumed.
//!
//! The task comes first, in full. A bounded record of the conversation follows: the most recent work
//! nearly in full, then older work on one line per step. The oldest work is dropped first. Messages of
//! Longhaul and of the agent program are excluded by their provenance, never by their text. A model's summary
//! may replace the older work: `summary_prompt.rs` requests it, `summary.rs` inserts it.

mod preamble;
pub(crate) mod quote;
mod render;
mod summary;
mod summary_prompt;
mod token_budget;
mod tokens;
mod work_item;
mod work_log;

use crate::Conversation;
use longhaul_core::{Fault, Remaining};
use preamble::CLOSING;
use token_budget::TokenBudget;
use tokens::weight;
use work_log::WorkLog;

pub(crate) use preamble::{AFTER_TASK, interruption};
pub use summary::WrittenSummary;
pub use summary_prompt::{SUMMARY_TOKENS_MAX, summary_prompt};
pub use tokens::{estimated_tokens, truncate_middle};

/// Limit of one item shown nearly in full: about 40 lines of output.
const WHOLE_WEIGHT_MAX: u64 = 3200;
/// A few lines; less is not informative.
const WHOLE_WEIGHT_MIN: u64 = 240;

const DROPPED: &str = "Older ones that are left out";
const SHORTENED: &str = "Older steps, abbreviated";

/// The facts in a handoff prompt that are not part of the conversation.
#[derive(Clone, Copy, Debug)]
pub struct HandoffContext<'a> {
    /// The task, in full.
    pub task: &'a str,
    /// The reason why the earlier session is not continued.
    pub reason: HandoffReason<'a>,
    /// The remaining amounts of the run's limits.
    pub remaining: Remaining,
    /// Files of the workspace that are known to be changed, in addition to those in the conversation.
    pub files_changed: &'a [String],
}

/// The reason why a session is not continued.
#[derive(Clone, Copy, Debug)]
pub enum HandoffReason<'a> {
    /// A fault.
    Fault(Fault),
    /// Free text that completes "could not be continued: ".
    Text(&'a str),
    /// The user chose a new session.
    NewSession,
}

impl<'a> HandoffContext<'a> {
    /// Creates a context without limits.
    pub fn unlimited(task: &'a str, reason: HandoffReason<'a>) -> HandoffContext<'a> {
        HandoffContext { task, reason, remaining: Remaining::default(), files_changed: &[] }
    }
}

/// Returns the prompt for a fresh session. Its length is at most `tokens_max` by [`estimated_tokens`]. If the
/// task alone exceeds that, it is the full task and a short note.
///
/// A model's summary replaces the lines of older work. An empty one is ignored; a long one is truncated at the
/// end of a line.
pub fn handoff_prompt(
    conversation: &Conversation,
    context: &HandoffContext<'_>,
    tokens_max: u64,
    summary: Option<&WrittenSummary>,
) -> String {
    let Some(draft) = HandoffDraft::new(conversation, context, tokens_max) else {
        return preamble::minimal(context.task);
    };
    let part = summary.filter(|_| draft.older_count > 0).and_then(|summary| summary.part(draft.budget));
    match part {
        Some(earlier) => draft.assemble(&earlier),
        None => draft.render_in_lines(),
    }
}

/// A handoff prompt without its older work.
struct HandoffDraft<'a> {
    steps: WorkLog<'a>,
    /// The text before the older work.
    prefix: String,
    recent: String,
    older_count: usize,
    budget: TokenBudget,
}

impl<'a> HandoffDraft<'a> {
    /// Creates a draft, or returns `None` if the task leaves no room.
    fn new(
        conversation: &'a Conversation,
        context: &HandoffContext<'_>,
        tokens_max: u64,
    ) -> Option<HandoffDraft<'a>> {
        let steps = WorkLog::new(conversation, context.task);
        // With all problems, least room is left for the recent work. A call at its edge may be named twice, but never
        // omitted.
        let all = steps.count();
        let older_count = HandoffDraft::from_steps(steps.clone(), context, tokens_max, all)?.older_count;
        HandoffDraft::from_steps(steps, context, tokens_max, older_count)
    }

    /// Creates a draft whose open problems include calls with an unknown outcome among the first `older_count`
    /// steps. The most recent work shows later ones.
    fn from_steps(
        steps: WorkLog<'a>,
        context: &HandoffContext<'_>,
        tokens_max: u64,
        older_count: usize,
    ) -> Option<HandoffDraft<'a>> {
        let opening = preamble::opening(context, !steps.is_empty());
        let mut budget = TokenBudget::from_tokens(tokens_max).minus(&opening)?.minus(CLOSING)?;
        // Each part may take a share of the budget that remains after the earlier parts. Parts are made in
        // the order of their importance, which differs from their order in the text.
        let share = budget.share(1, 4);
        let prompts = steps.prompts(bound(share, 2)).into_iter();
        let prompts = budget.part("Further messages of the user", DROPPED, prompts, share);
        let share = budget.share(1, 4);
        let problems = budget.part("Open problems", DROPPED, steps.problems(older_count).into_iter(), share);
        let share = budget.share(1, 5);
        let files = steps.files(context.files_changed).into_iter();
        let files = budget.part("Changed files, the last one last", DROPPED, files, share);
        let share = budget.share(1, 4);
        let summary = steps.summary(bound(share, 2)).into_iter();
        let summary = budget.part("The agent's summary of its earlier work", DROPPED, summary, share);
        // Older work gets a third at most, because a line contains little of its step.
        let lines_weight = steps.lines().map(|line| weight(&line)).sum::<u64>().min(budget.share(1, 3));
        let take_recent = |budget: &mut TokenBudget| {
            let share = budget.share(1, 1).saturating_sub(lines_weight);
            budget.part("The most recent work", SHORTENED, steps.whole(bound(share, 4)), share)
        };
        let older_count = steps.count() - take_recent(&mut budget.clone()).items_taken;
        // Early texts contain decisions. They are found by position, never by their wording.
        let share = if older_count > 0 { budget.share(1, 6) } else { 0 };
        let first =
            budget.first_part("How the work started", steps.first_texts(older_count, bound(share, 8)), share);
        let recent = take_recent(&mut budget);
        let older_count = steps.count() - recent.items_taken;
        let prefix = [opening, prompts.text, files.text, summary.text, problems.text, first.text].concat();
        Some(HandoffDraft { steps, prefix, recent: recent.text, older_count, budget })
    }

    fn render_in_lines(mut self) -> String {
        let lines: Vec<String> = self.steps.lines().take(self.older_count).collect();
        let share = self.budget.share(1, 1);
        let earlier = self.budget.part("Earlier work, one line per step", DROPPED, lines.into_iter(), share);
        self.assemble(&earlier.text)
    }

    fn assemble(self, earlier: &str) -> String {
        self.prefix + earlier + &self.recent + CLOSING
    }
}

/// Returns the limit of one item, so that at least `item_count` items of that length fit.
fn bound(share: u64, item_count: u64) -> u64 {
    (share / item_count).clamp(WHOLE_WEIGHT_MIN, WHOLE_WEIGHT_MAX)
}

#[cfg(test)]
mod tests;
