//! Claude Code: how it is started, spoken to and understood. Facts are those of 2.1.330.
//!
//! It speaks JSON lines both ways. Its exit code, its `subtype` and a single event prove nothing: the
//! last `result` decides, unless a new turn began after it.

mod activity;
mod compact;
mod control;
mod decode;
mod invocation;
mod kinds;
mod prompts;
mod recent;
pub mod session;
pub mod session_file;
mod spend;
mod startup;
mod timestamp;
mod tools;
pub mod transcript;
mod turn;
mod wire;
mod words;

use crate::{Decoder, Dialect, Invocation, Order, Prices};
use longhaul_core::SpawnPlan;

pub use control::{end_session, initialize, interrupt, user_line};
pub use invocation::RESERVED;
pub(crate) use prompts::interruption;
pub use prompts::prompt;

/// The model of messages that the agent's program writes itself.
const SYNTHETIC: &str = "<synthetic>";

/// The dialect of Claude Code.
#[derive(Clone, Debug)]
pub struct Claude {
    prices: Prices,
}

impl Claude {
    /// With the bundled prices.
    pub fn new() -> Claude {
        Claude::with_prices(Prices::bundled().clone())
    }

    /// With other prices, for what the agent did not live to state.
    pub fn with_prices(prices: Prices) -> Claude {
        Claude { prices }
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

    fn invocation(&self, order: &Order, plan: &SpawnPlan) -> Invocation {
        invocation::invocation(order, plan)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::ClaudeDecoder::new(self.prices.clone()))
    }

    fn interrupt(&self) -> Vec<u8> {
        interrupt()
    }

    /// Nothing: closing the input ends an idle agent as fast as `end_session` does (65 ms either way),
    /// but lets a background shell and the turn that follows it finish; `end_session` kills them.
    fn end_input(&self) -> Vec<u8> {
        Vec::new()
    }
}
