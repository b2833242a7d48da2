//! About what it costs to learn from a transcript. An estimate: how long answers are is known only when they are there.

use crate::judging::{Excerpt, PARTS_MAX};
use longhaul_agent::Prices;
use longhaul_core::{Tokens, Usd};
use std::ops::AddAssign;

/// How long our own prompts are, by which others are estimated.
const REFLECTOR_TOKENS: u64 = 900;
const CURATOR_TOKENS: u64 = 800;
/// How long answers are, of what models write.
const REFLECTION_TOKENS: u64 = 900;
const OPERATIONS_TOKENS: u64 = 600;

/// By what it is estimated.
#[derive(Clone, Copy, Debug)]
pub struct Estimator<'a> {
    /// What models cost.
    pub prices: &'a Prices,
    /// The model.
    pub model: &'a str,
    /// How long a prompt may be.
    pub prompt_tokens_max: u64,
    /// How long the playbook is.
    pub playbook_tokens: u64,
}

/// About what it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// How many questions.
    pub questions: u64,
    /// What they use.
    pub tokens: Tokens,
    /// What that costs; nothing for a model without a price.
    pub cost: Option<Usd>,
}

impl Estimator<'_> {
    /// About what it costs to learn from this.
    pub fn new(&self, slice: &Excerpt) -> Estimate {
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
