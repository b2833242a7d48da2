//! Observations of the current attempt: activity, open tools, the last result.
//!
//! They are never journaled. After a recovery, the attempt's stream file rebuilds them.

use crate::limits::TurnSize;
use crate::{AgentResult, Moment, Notice, Span, Usage};
use std::mem;

// The cost of a turn changes slowly, with the length of the conversation.
const RECENT_TURNS: usize = 8;
// A longer announced delay is an error of the agent and would hide a hang.
const ANNOUNCED_MAX: Span = Span::from_mins(10);

/// Observations of the current attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// Last activity. If the agent announced a wait of its own, the end of that wait.
    pub last_activity_at: Moment,
    /// Time of the last completed message or tool call.
    pub last_progress_at: Moment,
    /// Start of the probe of a silent agent's processes, if one is running.
    pub probing_since: Option<Moment>,
    /// Number of running tool calls.
    pub open_tools: u32,
    /// Whether the last turn is open: its tools have not ended, or it has none and the exchange has not ended. The turn
    /// counts toward the limits when it is over, so that its answer is not cut off.
    pub turn_is_open: bool,
    /// Number of running background commands and sub-agents.
    pub background_tasks: u32,
    /// Number of sub-agents among them.
    pub sub_agents: u32,
    /// Whether the agent was prompted while they were running.
    pub background_prompted: bool,
    /// Last result, unless a new exchange started after it.
    pub result: Option<(Moment, AgentResult)>,
    /// Number of ended exchanges.
    pub results: u32,
    /// Whether the agent reported that no exchange is open.
    pub idle: bool,
    /// Whether the agent claimed to be done since its exchange started or its last prompt.
    pub claimed_done: bool,
    /// Whether the process is frozen.
    pub frozen: bool,
    /// Number of the last inner retry that followed rejected credentials.
    pub last_auth_retry: u32,
    /// Count of distinct inner retries that followed rejected credentials.
    pub auth_retries: u32,
    /// Fingerprint of the workspace at the end of the last exchange.
    pub workspace: Option<u64>,
    /// Usage so far.
    pub usage: Usage,
    /// Sizes of the last turns, in a ring.
    recent_turns: [TurnSize; RECENT_TURNS],
}

impl Observations {
    pub(super) fn new(at: Moment) -> Observations {
        Observations { last_activity_at: at, last_progress_at: at, ..Observations::default() }
    }

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
        if is_progress(notice) {
            self.last_progress_at = at;
        }
        match notice {
            Notice::Activity
            | Notice::MessageEnded
            | Notice::SessionOpened(_)
            | Notice::RateLimitChanged(_)
            | Notice::ProcessFrozen
            | Notice::MemoryExceeded => {}
            Notice::UsageUpdated(usage) => self.update_usage(*usage),
            Notice::ExchangeStarted => {
                self.open_exchange();
                self.claimed_done = false;
            }
            Notice::WorkspaceFingerprinted(workspace) => self.workspace = Some(*workspace),
            Notice::ToolStarted => {
                self.open_exchange();
                self.open_tools += 1;
                self.turn_is_open = true;
            }
            Notice::ToolEnded => {
                self.open_tools = self.open_tools.saturating_sub(1);
                self.turn_is_open &= self.open_tools > 0;
            }
            // Later tool calls in the same exchange do not retract the claim.
            Notice::ClaimedDone => self.claimed_done = true,
            Notice::ExchangeEnded(result) => {
                self.result = Some((at, *result));
                self.results += 1;
                self.open_tools = 0;
                self.turn_is_open = false;
            }
            Notice::Idle => self.idle = true,
            Notice::BackgroundChanged { tasks, sub_agents } => {
                (self.background_tasks, self.sub_agents) = (*tasks, *sub_agents);
                self.background_prompted &= *tasks > 0;
                // The end of a shell starts an exchange of its own, so the agent must report idle again.
                self.idle = false;
            }
            Notice::Retrying { attempt, status, delay } => {
                // Silence during an announced wait is expected.
                self.last_activity_at = self.last_activity_at.max(at + (*delay).min(ANNOUNCED_MAX));
                // The agent repeats the announcement while it waits, so count distinct numbers.
                if *status == Some(401) && mem::replace(&mut self.last_auth_retry, *attempt) != *attempt {
                    self.auth_retries += 1;
                }
            }
        }
    }

    /// Moves all times forward by the downtime, which does not count as silence.
    pub(super) fn add_downtime(&mut self, span: Span) {
        self.last_activity_at = self.last_activity_at + span;
        self.last_progress_at = self.last_progress_at + span;
        self.probing_since = self.probing_since.map(|since| since + span);
        if let Some((at, _)) = &mut self.result {
            *at = *at + span;
        }
    }

    /// Resets the observations for a prompt, which opens an exchange.
    pub(super) fn on_prompt_sent(&mut self, at: Moment) {
        self.last_activity_at = self.last_activity_at.max(at);
        self.last_progress_at = self.last_progress_at.max(at);
        self.probing_since = None;
        (self.last_auth_retry, self.auth_retries) = (0, 0);
        self.background_prompted = self.background_tasks > 0;
        self.open_exchange();
        self.claimed_done = false;
    }

    /// Returns the largest cost and the largest token count of the recent turns.
    pub(super) fn largest_recent_turn(&self) -> TurnSize {
        self.recent_turns.iter().fold(TurnSize::default(), |largest, turn| TurnSize {
            cost: largest.cost.max(turn.cost),
            tokens: largest.tokens.max(turn.tokens),
        })
    }

    fn update_usage(&mut self, usage: Usage) {
        if usage.responses() > self.usage.responses() {
            self.recent_turns[usage.responses() as usize % RECENT_TURNS] = TurnSize {
                cost: usage.total_cost().saturating_sub(self.usage.total_cost()),
                tokens: usage.total_tokens().saturating_sub(self.usage.total_tokens()),
            };
        }
        // Usage that arrives after the exchange belongs to turns that are over.
        self.turn_is_open |= usage.turns > self.usage.turns && self.result.is_none();
        self.usage = usage;
    }

    fn open_exchange(&mut self) {
        self.result = None;
        self.workspace = None;
        self.idle = false;
    }
}

/// Returns whether the notice reports a completed message or tool call, or a change in the state of the work.
fn is_progress(notice: &Notice) -> bool {
    match notice {
        // A tool call starts once the message that requests it is complete.
        Notice::SessionOpened(_)
        | Notice::ExchangeStarted
        | Notice::MessageEnded
        | Notice::ToolStarted
        | Notice::ToolEnded
        | Notice::ClaimedDone
        | Notice::ExchangeEnded(_)
        | Notice::BackgroundChanged { .. } => true,
        // An agent may send these forever.
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
    fn done_claim_holds_until_next_exchange() {
        let check = |notices: &[Notice], expected: bool| {
            let mut observations = Observations::new(Moment(0));
            notices.iter().for_each(|notice| observations.observe(Moment(1), notice));
            assert_eq!(observations.claimed_done, expected, "{notices:?}");
            observations.on_prompt_sent(Moment(2));
            assert!(!observations.claimed_done, "a prompt resets the claim of {notices:?}");
        };
        let exchange_ended = || Notice::ExchangeEnded(AgentResult::COMPLETED);
        check(&[Notice::ExchangeStarted, exchange_ended()], false);
        check(
            &[
                Notice::ExchangeStarted,
                Notice::ToolStarted,
                Notice::ToolEnded,
                Notice::ClaimedDone,
                exchange_ended(),
            ],
            true,
        );
        check(
            &[
                Notice::ExchangeStarted,
                Notice::ClaimedDone,
                Notice::ToolStarted,
                Notice::ToolEnded,
                exchange_ended(),
            ],
            true,
        );
        check(&[Notice::ExchangeStarted, Notice::ClaimedDone, exchange_ended(), Notice::Idle], true);
        check(
            &[Notice::ExchangeStarted, Notice::ClaimedDone, exchange_ended(), Notice::ExchangeStarted],
            false,
        );
    }
}
