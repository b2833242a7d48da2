//! What was observed of the present attempt: signs of life, open tools, the last result.
//!
//! Nothing here is journalled. After a recovery it is rebuilt from the attempt's stream file.

use crate::{AgentResult, Moment, Notice, Span, Usage, Usd};
use std::mem;

// The cost of an answer changes slowly, with the length of the conversation.
const RECENT: usize = 8;
// An announced delay beyond this is a mistake of the agent, which would hide a hang.
const ANNOUNCED_MAX: Span = Span::from_mins(10);

/// Observations of the present attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// The last sign of life; or, where the agent announced a wait of its own, its end.
    pub last_activity_at: Moment,
    /// When a message or a tool call was finished last.
    pub last_progress_at: Moment,
    /// Since when somebody looks what a silent agent's processes do.
    pub probing_since: Option<Moment>,
    /// Tool calls under way.
    pub open_tools: u32,
    /// Background shells and sub-agents under way.
    pub background_tasks: u32,
    /// Whether the agent was prompted while these run.
    pub background_prompted: bool,
    /// The last result, unless a new turn began after it.
    pub result: Option<(Moment, AgentResult)>,
    /// How many turns have ended.
    pub turns: u32,
    /// Whether the agent said that no turn is owed.
    pub idle: bool,
    /// Whether it has said that the work is finished since its turn began, or since it was told something.
    pub claimed: bool,
    /// Whether the process stands still.
    pub frozen: bool,
    /// The last inner retry that was for rejected credentials, and how many different ones there were.
    pub auth_retry: u32,
    /// How many different inner retries were for rejected credentials.
    pub auth_retries: u32,
    /// What the workspace looked like at the end of its last turn.
    pub workspace: Option<u64>,
    /// What it has used so far.
    pub usage: Usage,
    /// What its last answers cost, in money and in tokens, the oldest replaced by the next.
    recent: [(Usd, u64); RECENT],
}

impl Observations {
    /// Nothing observed yet of a process that began at `at`.
    pub(super) fn new(at: Moment) -> Observations {
        Observations { last_activity_at: at, last_progress_at: at, ..Observations::default() }
    }

    /// Takes in one statement of the stream.
    pub(super) fn observe(&mut self, at: Moment, notice: &Notice) {
        if *notice == Notice::MemoryExceeded {
            return;
        }
        self.frozen = *notice == Notice::ProcessFrozen;
        if self.frozen {
            return;
        }
        self.last_activity_at = self.last_activity_at.max(at);
        self.probing_since = None;
        if finishes(notice) {
            self.last_progress_at = at;
        }
        match notice {
            Notice::Activity
            | Notice::MessageEnded
            | Notice::SessionOpened(_)
            | Notice::RateLimitChanged(_)
            | Notice::ProcessFrozen
            | Notice::MemoryExceeded => {}
            Notice::UsageUpdated(usage) => self.use_up(*usage),
            Notice::ExchangeStarted => {
                self.reopen();
                self.claimed = false;
            }
            Notice::WorkspaceFingerprinted(workspace) => self.workspace = Some(*workspace),
            Notice::ToolStarted => {
                self.reopen();
                self.open_tools += 1;
            }
            Notice::ToolEnded => self.open_tools = self.open_tools.saturating_sub(1),
            // Tools that follow in the same turn do not take it back.
            Notice::ClaimedDone => self.claimed = true,
            Notice::ExchangeEnded(result) => {
                self.result = Some((at, *result));
                self.turns += 1;
                self.open_tools = 0;
            }
            Notice::Idle => self.idle = true,
            Notice::BackgroundChanged(count) => {
                self.background_tasks = *count;
                self.background_prompted &= *count > 0;
                // The end of a shell starts a turn of its own: wait for the agent to be idle anew.
                self.idle = false;
            }
            Notice::Retrying { attempt, status, delay } => {
                // The agent announces a longer wait again and again.
                self.last_activity_at = self.last_activity_at.max(at + (*delay).min(ANNOUNCED_MAX));
                // The agent repeats an announcement while it waits: count by number.
                if *status == Some(401) && mem::replace(&mut self.auth_retry, *attempt) != *attempt {
                    self.auth_retries += 1;
                }
            }
        }
    }

    /// The machine slept: silence during sleep is no silence.
    pub(super) fn add_sleep(&mut self, span: Span) {
        self.last_activity_at = self.last_activity_at + span;
        self.last_progress_at = self.last_progress_at + span;
        self.probing_since = self.probing_since.map(|since| since + span);
        if let Some((at, _)) = &mut self.result {
            *at = *at + span;
        }
    }

    /// The agent is told something: it owes a turn.
    pub(super) fn on_prompt_sent(&mut self, at: Moment) {
        self.last_activity_at = self.last_activity_at.max(at);
        self.last_progress_at = self.last_progress_at.max(at);
        self.probing_since = None;
        (self.auth_retry, self.auth_retries) = (0, 0);
        self.background_prompted = self.background_tasks > 0;
        self.reopen();
        self.claimed = false;
    }

    /// What the most expensive of its last answers cost, and how many tokens the largest of them used.
    pub(super) fn largest_recent_turn(&self) -> (Usd, u64) {
        let larger = |a: (Usd, u64), b: &(Usd, u64)| (a.0.max(b.0), a.1.max(b.1));
        self.recent.iter().fold((Usd::ZERO, 0), larger)
    }

    fn use_up(&mut self, usage: Usage) {
        let answers = |usage: &Usage| usage.messages + usage.truncated_messages;
        let tokens = |usage: &Usage| usage.tokens.total() + usage.truncated_tokens.total();
        if answers(&usage) > answers(&self.usage) {
            let cost = usage.total_cost().saturating_sub(self.usage.total_cost());
            let place = answers(&usage) as usize % RECENT;
            self.recent[place] = (cost, tokens(&usage).saturating_sub(tokens(&self.usage)));
        }
        self.usage = usage;
    }

    fn reopen(&mut self) {
        self.result = None;
        self.workspace = None;
        self.idle = false;
    }
}

/// Whether this tells that a message or a tool call is finished, or that the work has come to another point.
fn finishes(notice: &Notice) -> bool {
    match notice {
        // A tool call begins when the message that asks for it is there.
        Notice::SessionOpened(_)
        | Notice::ExchangeStarted
        | Notice::MessageEnded
        | Notice::ToolStarted
        | Notice::ToolEnded
        | Notice::ClaimedDone
        | Notice::ExchangeEnded(_)
        | Notice::BackgroundChanged(_) => true,
        // An agent may say so for ever.
        Notice::Activity
        | Notice::Idle
        | Notice::UsageUpdated(_)
        | Notice::WorkspaceFingerprinted(_)
        | Notice::Retrying { .. }
        | Notice::RateLimitChanged(_)
        | Notice::MemoryExceeded
        | Notice::ProcessFrozen => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Observations;
    use crate::{AgentResult, Moment, Notice};

    #[test]
    fn what_was_claimed_holds_until_another_turn() {
        let check = |notices: &[Notice], expected: bool| {
            let mut seen = Observations::new(Moment(0));
            notices.iter().for_each(|notice| seen.observe(Moment(1), notice));
            assert_eq!(seen.claimed, expected, "{notices:?}");
            seen.on_prompt_sent(Moment(2));
            assert!(!seen.claimed, "it is told something after {notices:?}");
        };
        let ended = || Notice::ExchangeEnded(AgentResult::COMPLETED);
        check(&[Notice::ExchangeStarted, ended()], false);
        check(
            &[Notice::ExchangeStarted, Notice::ToolStarted, Notice::ToolEnded, Notice::ClaimedDone, ended()],
            true,
        );
        check(
            &[Notice::ExchangeStarted, Notice::ClaimedDone, Notice::ToolStarted, Notice::ToolEnded, ended()],
            true,
        );
        check(&[Notice::ExchangeStarted, Notice::ClaimedDone, ended(), Notice::Idle], true);
        check(&[Notice::ExchangeStarted, Notice::ClaimedDone, ended(), Notice::ExchangeStarted], false);
    }
}
