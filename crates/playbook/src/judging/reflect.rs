//! Asks the reflector what happened in a session and whether the injected points helped.
//!
//! A transcript that is too long for the model is read in separate parts, and the reflections are merged. If
//! there are too many parts, only the newest are read, because they teach most.

use super::Excerpt;
use super::chunks::{newest, parts, token_count};
use super::excerpt::{ExcerptMessage, as_json, cited};
use super::question::{JudgeQuestion, JudgingError, ask, render_playbook, to_text};
use super::reflection::{Reflection, merge};
use crate::points::{PointVerdict, Tag};
use crate::templates::{Template, Templates};
use crate::{Judge, Playbook, UserError};
use longhaul_agent::estimated_tokens;
use longhaul_core::Fault;
use serde_json::{Map, Value};

/// Maximum number of parts: a day of work fills a model's context about eight times.
pub(crate) const PARTS_MAX: usize = 8;
/// Maximum number of times that parts are halved because the API rejects one as too long.
const HALVINGS_MAX: u32 = 3;
/// Minimum room for a part. A smaller part would lack its context.
const PART_TOKENS_MIN: u64 = 1_000;
/// Tokens of the brackets around the messages.
const BRACKETS_TOKENS: u64 = 2;

/// The answer of the reflector, with notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflectionResult {
    /// Merged reflection.
    pub reflection: Reflection,
    /// Notes for the user about omitted or skipped parts.
    pub notes: Vec<String>,
}

/// Asks the reflector about an excerpt.
///
/// # Errors
/// Returns [`JudgingError`] if any part has no usable answer. The reflections on earlier parts are lost.
pub async fn reflect(
    judge: &dyn Judge,
    slice: &Excerpt,
    playbook: &Playbook,
    templates: &Templates,
) -> Result<ReflectionResult, JudgingError> {
    let playbook = render_playbook(playbook);
    let prompt = |messages: &[ExcerptMessage]| prompt(templates, &playbook, messages);
    let fixed_tokens = estimated_tokens(&prompt(&[])?) + BRACKETS_TOKENS;
    let room = judge.prompt_tokens_max().saturating_sub(fixed_tokens);
    if room < PART_TOKENS_MIN {
        let (question, model, tokens_max) =
            (JudgeQuestion::Reflector, judge.model(), judge.prompt_tokens_max());
        return Err(JudgingError::Never(UserError::new(
            format!(
                "cannot ask the {question}: {model} accepts {tokens_max} tokens, and the playbook leaves no room for the transcript"
            ),
            "remove points of the playbook, or set a model that accepts more tokens",
        )));
    }
    let (mut rest, mut omitted) = newest(parts(slice.messages.clone(), room), PARTS_MAX);
    let (mut reflections, mut notes, mut halvings) = (Vec::new(), Vec::new(), 0);
    while let Some(part) = rest.front() {
        let half = token_count(part) / 2;
        let answer = ask(judge, JudgeQuestion::Reflector, &prompt(part)?, &["analysis", "bullet_tags"]).await;
        match answer {
            Ok(object) => {
                reflections.push(parse_reflection(&object, &mut notes));
                rest.pop_front();
            }
            Err(JudgingError::Judge(error))
                if error.fault == Fault::ContextFull
                    && halvings < HALVINGS_MAX
                    && half >= PART_TOKENS_MIN =>
            {
                // The parts change, so this is not the same question again.
                halvings += 1;
                let messages = rest.into_iter().flatten().collect();
                let omitted_now: usize;
                (rest, omitted_now) =
                    newest(parts(messages, half), PARTS_MAX.saturating_sub(reflections.len()));
                omitted += omitted_now;
            }
            Err(error) => return Err(error),
        }
    }
    if omitted > 0 {
        let parts = reflections.len();
        notes.push(format!(
            "the transcript is too long to be read in {parts} parts: its first {omitted} messages were omitted"
        ));
    }
    Ok(ReflectionResult { reflection: merge(reflections), notes })
}

fn prompt(templates: &Templates, playbook: &str, messages: &[ExcerptMessage]) -> Result<String, UserError> {
    // Serializing a list of names never fails.
    let cited = serde_json::to_string(&cited(messages)).unwrap_or_default();
    let values = [("transcript", &*as_json(messages.iter())), ("playbook", playbook), ("cited_ids", &*cited)];
    templates.fill(Template::Reflector, &values)
}

/// Parses an answer, and notes the invalid tags.
fn parse_reflection(object: &Map<String, Value>, notes: &mut Vec<String>) -> Reflection {
    let mut tags = Vec::new();
    for value in object.get("bullet_tags").and_then(Value::as_array).into_iter().flatten() {
        match parse_tag(value) {
            Ok(tag) => tags.push(tag),
            Err(reason) => notes.push(format!("the reflector's tag {value} was skipped: {reason}")),
        }
    }
    Reflection { analysis: to_text(object.get("analysis")), tags }
}

fn parse_tag(value: &Value) -> Result<Tag, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().trim();
    // Points are cited in brackets, and some models include the brackets in the name.
    let name = text("name").trim_start_matches('[').trim_end_matches(']');
    if name.is_empty() {
        return Err("it names no point".to_owned());
    }
    let tag = match text("tag").to_ascii_lowercase().as_str() {
        "helpful" => PointVerdict::Helpful,
        "harmful" => PointVerdict::Harmful,
        "neutral" => PointVerdict::Neutral,
        other => return Err(format!("`{other}` is not a verdict")),
    };
    Ok(Tag { name: name.into(), tag, rationale: to_text(value.get("rationale")) })
}
