//! Claude Code: how it is started, spoken to and understood. Facts are those of 2.1.330.
//!
//! It speaks JSON lines both ways. Its exit code, its `subtype` and a single event prove nothing: the
//! last `result` decides, unless a new turn began after it.

mod activity;
mod background;
mod calls;
mod claim;
mod compact;
mod control;
mod decode;
mod finish;
mod guarding;
mod invocation;
mod kinds;
mod learning;
mod network;
mod prompts;
mod questions;
mod recent;
mod reminder;
mod scribe;
pub mod session;
pub mod session_file;
mod sessions;
mod spend;
mod startup;
pub mod surroundings;
mod timestamp;
mod tools;
pub mod transcript;
mod turn;
mod wire;
mod words;

use crate::{
    BackgroundTask, Claims, Decoder, Dialect, Effects, Guards, Invocation, Order, Past, Prices, Recorded,
    Scribe, Sessions, Tables, TablesError, Transcript,
};
use longhaul_core::{Left, Say, SpawnPlan};
use std::sync::Arc;

pub use control::{end_session, initialize, interrupt, user_line};
pub use finish::FINISH;
pub use invocation::RESERVED;
pub(crate) use prompts::interruption;
pub(crate) use transcript::call as called;
pub(crate) use words::is_interruption_mark;

/// The model of messages that the agent's program writes itself.
pub(crate) const SYNTHETIC: &str = "<synthetic>";

/// The dialect of Claude Code.
#[derive(Clone, Debug)]
pub struct Claude {
    prices: Prices,
    effects: Arc<Effects>,
    tables: Tables,
}

impl Claude {
    /// With the bundled tables.
    pub fn new() -> Claude {
        Claude {
            prices: Prices::bundled().clone(),
            effects: Arc::new(Effects::bundled().clone()),
            tables: Tables::default(),
        }
    }

    /// With tables of the user's own: prices for what the agent did not live to state, and patterns of
    /// calls that must not be repeated.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn with_tables(tables: Tables) -> Result<Claude, TablesError> {
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

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn needs_variable(&self, name: &str, is_set: &dyn Fn(&str) -> bool) -> bool {
        surroundings::is_needed(name, is_set)
    }

    fn invocation(&self, order: &Order, plan: &SpawnPlan, past: &Past) -> Invocation {
        invocation::invocation(order, plan, past)
    }

    fn condense(&self, order: &Order, attempt: u32, model: &str, prompt: &str) -> Invocation {
        invocation::condensing(order, attempt, model, prompt)
    }

    fn transcript(&self, attempts: &[Recorded]) -> Transcript {
        let attempts: Vec<_> = attempts
            .iter()
            .map(|recorded| transcript::Attempt {
                prompt: recorded.asked.as_deref(),
                stream: &recorded.stream,
                wraps_up_after: recorded.wraps_up_after,
            })
            .collect();
        transcript::of_attempts(&attempts, &[])
    }

    fn sessions(&self) -> Option<&dyn Sessions> {
        Some(&sessions::ClaudeSessions)
    }

    fn transcript_of_file(&self, bytes: &[u8]) -> Option<Transcript> {
        transcript::of_file(bytes)
    }

    fn decoder(&self, guards: &Guards, claims: &Claims) -> Box<dyn Decoder> {
        let (prices, effects) = (self.prices.clone(), Arc::clone(&self.effects));
        Box::new(decode::ClaudeDecoder::new(prices, effects, guards.clone(), claims.clone()))
    }

    fn words(&self, order: &Order, say: Say, left: Left, running: &[BackgroundTask]) -> String {
        prompts::words(order, say, left) + &prompts::running(say, running)
    }

    fn say(&self, words: &str) -> Vec<u8> {
        user_line(words)
    }

    fn scribe(&self, attempt: u32) -> Box<dyn Scribe> {
        Box::new(scribe::ClaudeScribe::new(self.prices.clone(), attempt))
    }

    fn interrupt(&self) -> Vec<u8> {
        interrupt()
    }

    /// Only where the input cannot be closed: that ends an idle agent as fast (65 ms either way), but lets a
    /// background shell and the turn that follows it finish; `end_session` kills them.
    fn leave(&self) -> Vec<u8> {
        end_session()
    }
}
