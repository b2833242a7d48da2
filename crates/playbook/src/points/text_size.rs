//! Measures texts, and limits what a session receives.

use longhaul_agent::estimated_tokens;
use std::ops::Add;

// Claude Code saves a longer `additionalContext` of a hook to a file, and the session receives only a preview of 2,000
// characters. It counts the length of a JavaScript string (read from the binary of 2.1.330).
const HOOK_UTF16_MAX: u64 = 10_000;

/// The size of a text, or the maximum size of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSize {
    /// Tokens, as [`estimated_tokens`] counts them.
    pub(super) tokens: u64,
    /// Code units of UTF-16.
    pub(super) utf16: u64,
}

impl TextSize {
    /// Returns the maximum for a text that a hook gives to a session.
    pub fn hook_limit(max_tokens: Option<u64>) -> TextSize {
        TextSize { utf16: HOOK_UTF16_MAX, ..TextSize::limit(max_tokens) }
    }

    /// Returns the maximum for a printed text.
    pub fn limit(max_tokens: Option<u64>) -> TextSize {
        TextSize { tokens: max_tokens.unwrap_or(u64::MAX), utf16: u64::MAX }
    }

    pub(super) fn measure(text: &str) -> TextSize {
        TextSize { tokens: estimated_tokens(text), utf16: text.encode_utf16().count() as u64 }
    }

    pub(super) fn fits_in(self, limit: TextSize) -> bool {
        self.tokens <= limit.tokens && self.utf16 <= limit.utf16
    }

    pub(super) fn saturating_sub(self, other: TextSize) -> TextSize {
        TextSize {
            tokens: self.tokens.saturating_sub(other.tokens),
            utf16: self.utf16.saturating_sub(other.utf16),
        }
    }

    pub(super) fn divided_by(self, number: u64) -> TextSize {
        TextSize { tokens: self.tokens / number, utf16: self.utf16 / number }
    }
}

impl Add for TextSize {
    type Output = TextSize;

    fn add(self, other: TextSize) -> TextSize {
        TextSize { tokens: self.tokens + other.tokens, utf16: self.utf16 + other.utf16 }
    }
}
