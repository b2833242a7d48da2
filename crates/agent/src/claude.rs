//! Claude Code: how it is started, spoken to and understood. Facts are those of 2.1.330.
//!
//! It speaks JSON lines both ways. Its exit code, its `subtype` and a single event prove nothing: the
//! last `result` decides, unless a new turn began after it.

mod activity;
mod background;
mod compaction;
mod control;
mod decoder;
mod done_claim;
mod effect_tracker;
pub mod environment;
mod event_kind;
mod exchange;
mod finish_tool;
mod guard_hooks;
mod invocation;
mod layout;
mod learn_hooks;
mod network;
pub mod parse_conversation;
mod prompts;
mod questions;
mod recent_messages;
mod reminder;
pub mod session_file;
pub mod session_paths;
mod startup_error;
mod timestamp;
mod tool_calls;
mod transcript_decoder;
mod usage_meter;
mod vendor_terms;
mod wire;

use crate::{
    AgentSpec, BackgroundTask, Conversation, Decoder, Dialect, DoneSignals, EffectRules, Guards, Invocation,
    Prices, PriorAttempts, RecordedAttempt, SessionLayout, TranscriptDecoder, UserTables, UserTablesError,
};
use longhaul_core::{AttemptPlan, PromptKind, Remaining};
use std::sync::Arc;

pub use control::{end_session, initialize, interrupt, user_line};
pub use finish_tool::FINISH;
pub use invocation::RESERVED;
pub(crate) use parse_conversation::call as called;
pub(crate) use prompts::interruption;
pub(crate) use vendor_terms::is_interruption_mark;

/// The model of messages that the agent's program writes itself.
pub(crate) const SYNTHETIC: &str = "<synthetic>";

/// The dialect of Claude Code.
#[derive(Clone, Debug)]
pub struct Claude {
    prices: Prices,
    effects: Arc<EffectRules>,
    tables: UserTables,
}

impl Claude {
    /// With the bundled tables.
    pub fn new() -> Claude {
        Claude {
            prices: Prices::bundled().clone(),
            effects: Arc::new(EffectRules::bundled().clone()),
            tables: UserTables::default(),
        }
    }

    /// With tables of the user's own: prices for what the agent did not live to state, and patterns of
    /// calls that must not be repeated.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn with_tables(tables: UserTables) -> Result<Claude, UserTablesError> {
        Ok(Claude { prices: tables.prices()?, effects: Arc::new(tables.effects()?), tables })
    }
}

impl Default for Claude {
    fn default() -> Claude {
        Claude::new()
    }
}

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn tables(&self) -> &UserTables {
        &self.tables
    }

    fn needs_variable(&self, name: &str, is_set: &dyn Fn(&str) -> bool) -> bool {
        environment::is_needed(name, is_set)
    }

    fn invocation(&self, order: &AgentSpec, plan: &AttemptPlan, past: &PriorAttempts) -> Invocation {
        invocation::invocation(order, plan, past)
    }

    fn summary_invocation(&self, order: &AgentSpec, attempt: u32, model: &str, prompt: &str) -> Invocation {
        invocation::summary_args(order, attempt, model, prompt)
    }

    fn conversation(&self, attempts: &[RecordedAttempt]) -> Conversation {
        let attempts: Vec<_> = attempts
            .iter()
            .map(|recorded| parse_conversation::AttemptStream {
                prompt: recorded.user_prompt.as_deref(),
                stream: &recorded.stream,
                wraps_up_after: recorded.wrap_up_after_results,
            })
            .collect();
        parse_conversation::of_attempts(&attempts, &[])
    }

    fn sessions(&self) -> Option<&dyn SessionLayout> {
        Some(&layout::ClaudeSessionLayout)
    }

    fn conversation_from_file(&self, bytes: &[u8]) -> Option<Conversation> {
        parse_conversation::of_file(bytes)
    }

    fn decoder(&self, guards: &Guards, claims: &DoneSignals) -> Box<dyn Decoder> {
        let (prices, effects) = (self.prices.clone(), Arc::clone(&self.effects));
        Box::new(decoder::ClaudeDecoder::new(prices, effects, guards.clone(), claims.clone()))
    }

    fn prompt_text(
        &self,
        order: &AgentSpec,
        say: PromptKind,
        left: Remaining,
        running: &[BackgroundTask],
    ) -> String {
        prompts::words(order, say, left) + &prompts::running(say, running)
    }

    fn encode_prompt(&self, words: &str) -> Vec<u8> {
        user_line(words)
    }

    fn transcript_decoder(&self, attempt: u32) -> Box<dyn TranscriptDecoder> {
        Box::new(transcript_decoder::ClaudeTranscriptDecoder::new(self.prices.clone(), attempt))
    }

    fn encode_interrupt(&self) -> Vec<u8> {
        interrupt()
    }

    /// Only where the input cannot be closed: that ends an idle agent as fast (65 ms either way), but lets a
    /// background shell and the turn that follows it finish; `end_session` kills them.
    fn encode_exit(&self) -> Vec<u8> {
        end_session()
    }
}
