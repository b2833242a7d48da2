//! What was observed of the present attempt: signs of life, open tools, the last result.
//!
//! Nothing here is journalled. After a recovery it is rebuilt from the attempt's stream file.

use crate::{Moment, Notice, Span, TurnResult};
use std::mem;

/// Observations of the present attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The last sign of life; or, where the agent announced a wait of its own, its end.
    pub alive_at: Moment,
    /// Tool calls under way.
    pub open_tools: u32,
    /// Background shells and sub-agents under way.
    pub background: u32,
    /// The last result, unless a new turn began after it.
    pub settled: Option<(Moment, TurnResult)>,
    /// Whether the agent said that no turn is owed.
    pub idle: bool,
    /// Whether the process stands still.
    pub halted: bool,
    /// The last inner retry that was for rejected credentials, and how many different ones there were.
    pub auth_retry: u32,
    /// How many different inner retries were for rejected credentials.
    pub auth_retries: u32,
}

impl Seen {
    /// Nothing observed yet of a process that began at `at`.
    pub(super) fn afresh(at: Moment) -> Seen {
        Seen { alive_at: at, ..Seen::default() }
    }

    /// Takes in one statement of the stream.
    pub(super) fn see(&mut self, at: Moment, notice: &Notice) {
        self.halted = *notice == Notice::Halted;
        if self.halted {
            return;
        }
        self.alive_at = self.alive_at.max(at);
        match notice {
            Notice::Stirred | Notice::SessionOpened(_) | Notice::RateLimitChanged(_) | Notice::Halted => {}
            Notice::TurnBegan => self.reopen(),
            Notice::ToolBegan => {
                self.reopen();
                self.open_tools += 1;
            }
            Notice::ToolEnded => self.open_tools = self.open_tools.saturating_sub(1),
            Notice::TurnEnded(result) => {
                self.settled = Some((at, *result));
                self.open_tools = 0;
            }
            Notice::Idled => self.idle = true,
            Notice::BackgroundChanged(count) => {
                self.background = *count;
                // The end of a shell starts a turn of its own: wait for the agent to be idle anew.
                self.idle = false;
            }
            Notice::Retrying { attempt, status, delay } => {
                self.alive_at = self.alive_at.max(at + *delay);
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
        if let Some((at, _)) = &mut self.settled {
            *at = *at + span;
        }
    }

    fn reopen(&mut self) {
        self.settled = None;
        self.idle = false;
    }
}
