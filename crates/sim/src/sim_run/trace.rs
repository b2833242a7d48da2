//! Writes a readable trace of one run, on request.

use super::START;
use crate::kill_point::KillPoint;
use longhaul_core::{Event, Moment, Span, Step};

/// A trace, or `None` if tracing is off.
pub(crate) struct Trace(Option<String>);

impl Trace {
    /// Returns a trace that writes nothing, at no cost.
    pub(crate) fn off() -> Trace {
        Trace(None)
    }

    pub(crate) fn on() -> Trace {
        Trace(Some(String::new()))
    }

    pub(crate) fn into_text(self) -> String {
        self.0.unwrap_or_default()
    }

    #[inline]
    pub(crate) fn line(&mut self, line: impl FnOnce() -> String) {
        if let Some(text) = &mut self.0 {
            text.push_str(&line());
            text.push('\n');
        }
    }

    /// Writes an event, after a word that says what becomes of it.
    #[inline]
    pub(crate) fn event(&mut self, at: Moment, word: &str, event: &Event) {
        self.line(|| format!("{:>9}  {word}{}", since_start(at), shortened(&format!("{event:?}"))));
    }

    pub(crate) fn killed(&mut self, point: KillPoint, down: Span) {
        self.line(|| format!("{:>9}  SUPERVISOR KILLED {point:?}, down for {down}", ""));
    }

    pub(crate) fn step(&mut self, step: &Step) {
        if self.0.is_none() {
            return;
        }
        for record in &step.records {
            self.line(|| format!("{:>11}| {}", "", shortened(&format!("{record:?}"))));
        }
        for action in &step.actions {
            self.line(|| format!("{:>11}> {}", "", shortened(&format!("{action:?}"))));
        }
    }
}

fn since_start(at: Moment) -> String {
    let millis = at.since(START).millis();
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// Removes the repetitive parts of Rust's debug output.
fn shortened(text: &str) -> String {
    text.replace("Moment(", "(")
        .replace("Span(", "(")
        .replace("SessionId(", "(")
        .replace("at: (17900", "at: (..")
        .replace(", truncated_tokens: Tokens { input: 0, output: 0, cache_read: 0, cache_write: 0 }", "")
}
