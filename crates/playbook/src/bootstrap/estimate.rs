//! Estimates the cost of learning from a transcript. The length of the answers is unknown, so this is never
//! exact.

use crate::judging::{Excerpt, PARTS_MAX};
use longhaul_agent::Prices;
use longhaul_core::{Tokens, Usd};
use std::ops::AddAssign;

/// Lengths of the built-in prompts, used for every prompt.
const REFLECTOR_TOKENS: u64 = 900;
const CURATOR_TOKENS: u64 = 800;
/// Typical lengths of the answers that models write.
const REFLECTION_TOKENS: u64 = 900;
const OPERATIONS_TOKENS: u64 = 600;

/// The inputs of an estimate.
#[derive(Clone, Copy, Debug)]
pub struct Estimator<'a> {
    /// Prices of the models.
    pub prices: &'a Prices,
    /// Model that judges.
    pub model: &'a str,
    /// Maximum length of a prompt, in tokens.
    pub prompt_tokens_max: u64,
    /// Length of the playbook, in tokens.
    pub playbook_tokens: u64,
}

/// Estimated cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Number of questions.
    pub questions: u64,
    /// Tokens used.
    pub tokens: Tokens,
    /// Cost, or `None` if the model has no price.
    pub cost: Option<Usd>,
}

impl Estimator<'_> {
    /// Estimates the cost of learning from this excerpt.
    pub fn estimate(&self, slice: &Excerpt) -> Estimate {
        if slice.is_empty() {
            return self.priced(0, Tokens::default());
        }
        let room = self.prompt_tokens_max.saturating_sub(REFLECTOR_TOKENS + self.playbook_tokens).max(1);
        let transcript = slice.tokens();
        let parts = transcript.div_ceil(room).min(PARTS_MAX as u64);
        let reflector = transcript.min(parts * room) + parts * (REFLECTOR_TOKENS + self.playbook_tokens);
        let curator = CURATOR_TOKENS + self.playbook_tokens + parts * REFLECTION_TOKENS;
        let output = parts * REFLECTION_TOKENS + OPERATIONS_TOKENS;
        self.priced(parts + 1, Tokens { input: reflector + curator, output, ..Tokens::default() })
    }

    fn priced(&self, questions: u64, tokens: Tokens) -> Estimate {
        Estimate { questions, tokens, cost: self.prices.cost(self.model, tokens) }
    }
}

impl AddAssign for Estimate {
    fn add_assign(&mut self, other: Estimate) {
        self.questions += other.questions;
        self.tokens += other.tokens;
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(other)) => Some(one + other),
            (None, _) | (_, None) => None,
        };
    }
}
