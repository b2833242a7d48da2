//! The envelope for people.

use super::envelope::Envelope;
use super::paint::{Meaning, Paint};
use super::words;
use std::fmt::Write;

// As long an answer as fits a few screens; the whole is in the run's directory.
const RESULT_CHARS_MAX: usize = 2000;
// What the agent tells its makers of an end that it did not choose; people are told why by us. JSON has it.
const DIAGNOSTIC: &str = "[ede_diagnostic]";

/// The envelope as text, ending with a newline.
pub fn text(envelope: &Envelope, paint: Paint) -> String {
    let mut out = String::new();
    write_text(&mut out, envelope, paint).expect("writing to a string cannot fail");
    out
}

fn write_text(out: &mut String, envelope: &Envelope, paint: Paint) -> std::fmt::Result {
    let (status, meaning) =
        if envelope.success { ("SUCCESS", Meaning::Good) } else { ("FAILED", Meaning::Bad) };
    writeln!(out, "Status: {}", paint.as_meant(status, Some(meaning)))?;
    if let Some(result) = envelope.result.as_deref().filter(|result| !result.is_empty()) {
        match result.char_indices().nth(RESULT_CHARS_MAX) {
            Some((end, _)) => writeln!(out, "{}... (truncated)", &result[..end])?,
            None => writeln!(out, "{result}")?,
        }
    }
    let errors: Vec<&String> =
        envelope.errors.iter().filter(|error| !error.starts_with(DIAGNOSTIC)).collect();
    if !errors.is_empty() {
        writeln!(out, "Errors:")?;
        for error in &errors {
            writeln!(out, "  - {error}")?;
        }
    }
    if let Some(session) = &envelope.session_id {
        writeln!(out, "Session: {session}")?;
    }
    let usage = &envelope.usage;
    writeln!(out, "Tokens: {} input / {} output", grouped(usage.input_tokens), grouped(usage.output_tokens))?;
    let estimated = if usage.estimated_cost_usd > 0.0 { " (partly estimated)" } else { "" };
    writeln!(out, "Cost: {}{estimated}", words::dollars(usage.total_cost_usd))?;
    writeln!(out, "Duration: {}ms", grouped(envelope.duration_ms))?;
    let run = &envelope.run;
    if let Some(id) = &run.id {
        let attempts =
            if run.attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", run.attempts) };
        let because = run.fault.filter(|_| !envelope.success && errors.is_empty());
        let because = because.map(|fault| format!(" ({})", words::cause(fault))).unwrap_or_default();
        writeln!(out, "Run: {id} {}{because} after {attempts}", run.outcome)?;
    }
    if let Some(advice) = run.fault.filter(|_| !envelope.success).and_then(words::advice) {
        writeln!(out, "Hint: {advice}")?;
    }
    if let Some(at) = &run.retry_at {
        writeln!(out, "Retry at: {at}")?;
    }
    if let Some(resume) = &run.resume {
        writeln!(out, "Resume: {resume}")?;
    }
    Ok(())
}

/// Text of so many characters at most: what is cut off is a mark.
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// A number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `950`, `12.3k`, `4.5M`.
pub fn short_count(count: u64) -> String {
    let (unit, sign) = match count {
        0..10_000 => return count.to_string(),
        10_000..1_000_000 => (1_000.0, "k"),
        1_000_000..1_000_000_000 => (1_000_000.0, "M"),
        1_000_000_000.. => (1_000_000_000.0, "G"),
    };
    format!("{:.1}{sign}", count as f64 / unit)
}

#[cfg(test)]
mod tests {
    use super::{grouped, short_count};

    #[test]
    fn numbers_are_readable() {
        for (count, text, short) in [
            (0, "0", "0"),
            (9_999, "9,999", "9999"),
            (10_000, "10,000", "10.0k"),
            (1_250_000, "1,250,000", "1.2M"),
            (2_000_000_000, "2,000,000,000", "2.0G"),
        ] {
            assert_eq!((grouped(count), short_count(count)), (text.to_owned(), short.to_owned()));
        }
    }
}
