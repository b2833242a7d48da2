//! Results and retries as openclawpack prints them: its six keys, its text, its line about a retry.

use super::envelope::{Envelope, EnvelopeUsage};
use super::envelope_text::grouped;
use super::pretty;
use longhaul::StepView;
use longhaul_core::{AfterAttempt, AttemptEnd, Record, Span};
use serde::Serialize;
use serde_json::Value;

/// Longer results are cut.
const RESULT_CHARS_MAX: usize = 2_000;

/// That program's envelope.
#[derive(Serialize)]
struct SixKeys<'a, R> {
    success: bool,
    result: &'a R,
    errors: &'a [String],
    session_id: &'a Option<String>,
    usage: &'a EnvelopeUsage,
    duration_ms: Span,
}

pub fn json<R: Serialize>(envelope: &Envelope<R>) -> String {
    pretty(&SixKeys {
        success: envelope.success,
        result: &envelope.result,
        errors: &envelope.errors,
        session_id: &envelope.session_id,
        usage: &envelope.usage,
        duration_ms: envelope.duration_ms,
    })
}

/// Returns that program's line about a retry. `None` if the record is no retry.
pub fn retry_line(record: &Record, view: StepView<'_>) -> Option<String> {
    let Record::AttemptEnded(AttemptEnd {
        fault: Some(fault),
        result,
        next: AfterAttempt::Attempt { at: until, .. },
        ..
    }) = record
    else {
        return None;
    };
    let delay = until.since(view.at).millis() as f64 / 1_000.0;
    let (state, retries_max) = (view.run.state(), view.policy.retries_max);
    let retry = state.failures_since_progress + state.outage_waits;
    let error = fault.describe_with(result.as_ref());
    Some(format!("Transient error attempt {retry}/{retries_max}, retrying in {delay:.1}s: {error}"))
}

pub fn text<R: Serialize>(envelope: &Envelope<R>) -> String {
    let mut parts = vec![format!("Status: {}", if envelope.success { "SUCCESS" } else { "FAILED" })];
    let result = match serde_json::to_value(&envelope.result).expect("a result has only string keys") {
        Value::Null => String::new(),
        Value::String(text) => text,
        _ => pretty(&envelope.result).trim_end().to_owned(),
    };
    if !result.is_empty() {
        parts.push(match result.char_indices().nth(RESULT_CHARS_MAX) {
            Some((end, _)) => format!("{}\n... (truncated)", &result[..end]),
            None => result,
        });
    }
    if !envelope.errors.is_empty() {
        let lines: String = envelope.errors.iter().map(|error| format!("\n  - {error}")).collect();
        parts.push(format!("Errors:{lines}"));
    }
    parts.extend(envelope.session_id.as_ref().map(|session| format!("Session: {session}")));
    let usage = &envelope.usage;
    parts.push(format!(
        "Tokens: {} input / {} output\nCost: ${:.4}\nDuration: {}ms",
        grouped(usage.tokens.input_tokens),
        grouped(usage.tokens.output_tokens),
        usage.total_cost_usd.0.as_dollars(),
        grouped(envelope.duration_ms.millis()),
    ));
    parts.join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_core::{Tokens, Usd};

    #[test]
    fn prints_six_keys() {
        let printed = json(&Envelope::<Option<String>>::default());
        let keys: Vec<&str> = printed
            .lines()
            .filter_map(|line| line.strip_prefix("  \"")?.split_once('"'))
            .map(|(key, _)| key)
            .collect();
        assert_eq!(keys, ["success", "result", "errors", "session_id", "usage", "duration_ms"]);
    }

    #[test]
    fn prints_text() {
        let usage = EnvelopeUsage {
            tokens: Tokens { input: 1_500, output: 300, ..Tokens::default() }.into(),
            total_cost_usd: Usd(12_300).into(),
            ..EnvelopeUsage::default()
        };
        let failed = Envelope {
            errors: vec!["one".to_owned(), "two".to_owned()],
            session_id: Some("s".to_owned()),
            usage,
            duration_ms: Span(12_345),
            ..Envelope::<Option<String>>::default()
        };
        let expected = "Status: FAILED\n\nErrors:\n  - one\n  - two\n\nSession: s\n\n\
                        Tokens: 1,500 input / 300 output\nCost: $0.0123\nDuration: 12,345ms\n";
        assert_eq!(text(&failed), expected);
        let long = Envelope { success: true, result: "é".repeat(2_001), ..Envelope::default() };
        let expected = format!(
            "Status: SUCCESS\n\n{}\n... (truncated)\n\nTokens: 0 input / 0 output\nCost: $0.0000\nDuration: 0ms\n",
            "é".repeat(2_000)
        );
        assert_eq!(text(&long), expected);
    }
}
