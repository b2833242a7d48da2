//! What was observed of the present attempt: signs of life, open tools, the last result.
//!
//! Nothing here is journalled. After a recovery it is rebuilt from the attempt's stream file.

use crate::{Moment, Notice, Span, Tally, TurnResult, Usd};
use std::mem;

// The cost of an answer changes slowly, with the length of the conversation.
const RECENT: usize = 8;
// An announced delay beyond this is a mistake of the agent, which would hide a hang.
const ANNOUNCED_MAX: Span = Span::from_mins(10);

/// Observations of the present attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The last sign of life; or, where the agent announced a wait of its own, its end.
    pub alive_at: Moment,
    /// When a message or a tool call was finished last.
    pub finished_at: Moment,
    /// Since when somebody looks what a silent agent's processes do.
    pub examining: Option<Moment>,
    /// Tool calls under way.
    pub open_tools: u32,
    /// Background shells and sub-agents under way.
    pub background: u32,
    /// Whether the agent was prompted while these run.
    pub asked: bool,
    /// The last result, unless a new turn began after it.
    pub settled: Option<(Moment, TurnResult)>,
    /// How many turns have ended.
    pub turns: u32,
    /// Whether the agent said that no turn is owed.
    pub idle: bool,
    /// Whether it has said that the work is finished since its turn began, or since it was told something.
    pub claimed: bool,
    /// Whether the process stands still.
    pub halted: bool,
    /// The last inner retry that was for rejected credentials, and how many different ones there were.
    pub auth_retry: u32,
    /// How many different inner retries were for rejected credentials.
    pub auth_retries: u32,
    /// What the workspace looked like at the end of its last turn.
    pub workspace: Option<u64>,
    /// What it has used so far.
    pub used: Tally,
    /// What its last answers cost, in money and in tokens, the oldest replaced by the next.
    recent: [(Usd, u64); RECENT],
}

impl Seen {
    /// Nothing observed yet of a process that began at `at`.
    pub(super) fn afresh(at: Moment) -> Seen {
        Seen { alive_at: at, finished_at: at, ..Seen::default() }
    }

    /// Takes in one statement of the stream.
    pub(super) fn see(&mut self, at: Moment, notice: &Notice) {
        if *notice == Notice::Swollen {
            return;
        }
        self.halted = *notice == Notice::Halted;
        if self.halted {
            return;
        }
        self.alive_at = self.alive_at.max(at);
        self.examining = None;
        if finishes(notice) {
            self.finished_at = at;
        }
        match notice {
            Notice::Stirred
            | Notice::MessageEnded
            | Notice::SessionOpened(_)
            | Notice::RateLimitChanged(_)
            | Notice::Halted
            | Notice::Swollen => {}
            Notice::Used(tally) => self.use_up(*tally),
            Notice::TurnBegan => {
                self.reopen();
                self.claimed = false;
            }
            Notice::Surveyed(workspace) => self.workspace = Some(*workspace),
            Notice::ToolBegan => {
                self.reopen();
                self.open_tools += 1;
            }
            Notice::ToolEnded => self.open_tools = self.open_tools.saturating_sub(1),
            // Tools that follow in the same turn do not take it back.
            Notice::Claimed => self.claimed = true,
            Notice::TurnEnded(result) => {
                self.settled = Some((at, *result));
                self.turns += 1;
                self.open_tools = 0;
            }
            Notice::Idled => self.idle = true,
            Notice::BackgroundChanged(count) => {
                self.background = *count;
                self.asked &= *count > 0;
                // The end of a shell starts a turn of its own: wait for the agent to be idle anew.
                self.idle = false;
            }
            Notice::Retrying { attempt, status, delay } => {
                // The agent announces a longer wait again and again.
                self.alive_at = self.alive_at.max(at + (*delay).min(ANNOUNCED_MAX));
                // The agent repeats an announcement while it waits: count by number.
                if *status == Some(401) && mem::replace(&mut self.auth_retry, *attempt) != *attempt {
                    self.auth_retries += 1;
                }
            }
        }
    }

    /// The machine slept: silence during sleep is no silence.
    pub(super) fn slept(&mut self, span: Span) {
        self.alive_at = self.alive_at + span;
        self.finished_at = self.finished_at + span;
        self.examining = self.examining.map(|since| since + span);
        if let Some((at, _)) = &mut self.settled {
            *at = *at + span;
        }
    }

    /// The agent is told something: it owes a turn.
    pub(super) fn spoken_to(&mut self, at: Moment) {
        self.alive_at = self.alive_at.max(at);
        self.finished_at = self.finished_at.max(at);
        self.examining = None;
        (self.auth_retry, self.auth_retries) = (0, 0);
        self.asked = self.background > 0;
        self.reopen();
        self.claimed = false;
    }

    /// What the most expensive of its last answers cost, and how many tokens the largest of them used.
    pub(super) fn largest(&self) -> (Usd, u64) {
        let larger = |a: (Usd, u64), b: &(Usd, u64)| (a.0.max(b.0), a.1.max(b.1));
        self.recent.iter().fold((Usd::ZERO, 0), larger)
    }

    fn use_up(&mut self, tally: Tally) {
        let answers = |tally: &Tally| tally.messages + tally.cut_messages;
        let tokens = |tally: &Tally| tally.tokens.total() + tally.cut_tokens.total();
        if answers(&tally) > answers(&self.used) {
            let cost = tally.money().less(self.used.money());
            let place = answers(&tally) as usize % RECENT;
            self.recent[place] = (cost, tokens(&tally).saturating_sub(tokens(&self.used)));
        }
        self.used = tally;
    }

    fn reopen(&mut self) {
        self.settled = None;
        self.workspace = None;
        self.idle = false;
    }
}

/// Whether this tells that a message or a tool call is finished, or that the work has come to another point.
fn finishes(notice: &Notice) -> bool {
    match notice {
        // A tool call begins when the message that asks for it is there.
        Notice::SessionOpened(_)
        | Notice::TurnBegan
        | Notice::MessageEnded
        | Notice::ToolBegan
        | Notice::ToolEnded
        | Notice::Claimed
        | Notice::TurnEnded(_)
        | Notice::BackgroundChanged(_) => true,
        // An agent may say so for ever.
        Notice::Stirred
        | Notice::Idled
        | Notice::Used(_)
        | Notice::Surveyed(_)
        | Notice::Retrying { .. }
        | Notice::RateLimitChanged(_)
        | Notice::Swollen
        | Notice::Halted => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Seen;
    use crate::{Moment, Notice, TurnResult};

    #[test]
    fn what_was_claimed_holds_until_another_turn() {
        let check = |notices: &[Notice], expected: bool| {
            let mut seen = Seen::afresh(Moment(0));
            notices.iter().for_each(|notice| seen.see(Moment(1), notice));
            assert_eq!(seen.claimed, expected, "{notices:?}");
            seen.spoken_to(Moment(2));
            assert!(!seen.claimed, "it is told something after {notices:?}");
        };
        let ended = || Notice::TurnEnded(TurnResult::COMPLETED);
        check(&[Notice::TurnBegan, ended()], false);
        check(&[Notice::TurnBegan, Notice::ToolBegan, Notice::ToolEnded, Notice::Claimed, ended()], true);
        check(&[Notice::TurnBegan, Notice::Claimed, Notice::ToolBegan, Notice::ToolEnded, ended()], true);
        check(&[Notice::TurnBegan, Notice::Claimed, ended(), Notice::Idled], true);
        check(&[Notice::TurnBegan, Notice::Claimed, ended(), Notice::TurnBegan], false);
    }
}
