//! The readable story of one flight, written only when somebody asked for it.

use super::START;
use super::kill::KillPoint;
use longhaul_core::{Event, Moment, Span, Step};

/// A story being written, or not.
pub(crate) struct Trace(Option<String>);

impl Trace {
    /// Writes nothing, at no cost.
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
    pub(crate) fn line(&mut self, words: impl FnOnce() -> String) {
        if let Some(text) = &mut self.0 {
            text.push_str(&words());
            text.push('\n');
        }
    }

    #[inline]
    pub(crate) fn event(&mut self, at: Moment, event: &Event) {
        self.line(|| format!("{:>9}  {}", since_start(at), short(&format!("{event:?}"))));
    }

    pub(crate) fn lost(&mut self, at: Moment, event: &Event) {
        self.line(|| format!("{:>9}  lost: {}", since_start(at), short(&format!("{event:?}"))));
    }

    pub(crate) fn killed(&mut self, point: KillPoint, down: Span) {
        self.line(|| format!("{:>9}  SUPERVISOR KILLED {point:?}, down for {down}", ""));
    }

    pub(crate) fn step(&mut self, step: &Step) {
        if self.0.is_none() {
            return;
        }
        for record in &step.records {
            self.line(|| format!("{:>11}| {}", "", short(&format!("{record:?}"))));
        }
        for action in &step.actions {
            self.line(|| format!("{:>11}> {}", "", short(&format!("{action:?}"))));
        }
    }
}

fn since_start(at: Moment) -> String {
    let millis = at.since(START).millis();
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// Rust's own words without what repeats in every line.
fn short(words: &str) -> String {
    words
        .replace("Moment(", "(")
        .replace("Span(", "(")
        .replace("SessionId(", "(")
        .replace("at: (17900", "at: (..")
        .replace(", cut_tokens: Tokens { input: 0, output: 0, cache_read: 0, cache_write: 0 }", "")
}
