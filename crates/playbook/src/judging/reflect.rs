//! The reflector: what happened in a session, and what the points did that it was told.
//!
//! A transcript that is too long for its model is read in parts, each by itself, and what they teach is put together. What
//! is longer than that is not read at all: of a very long session the newest parts teach most.

use super::chunks::{newest, parts, tokens_of};
use super::excerpt::{ExcerptMessage, as_json, cited};
use super::merge_reflections::merge;
use super::question::{JudgeQuestion, JudgingError, ask, text_of};
use super::reflection::{Reflection, Tag, Verdict};
use super::templates::{Template, Templates, TemplatesError};
use super::{Excerpt, render_playbook};
use crate::{Judge, Playbook};
use longhaul_agent::estimated_tokens;
use longhaul_core::Fault;
use serde_json::{Map, Value};
use std::collections::VecDeque;

/// How many parts of one transcript are read: eight times what a model can read at once is a day of work.
pub(crate) const PARTS_MAX: usize = 8;
/// How often parts are made half as long because the API says that one is too long, whatever we estimated.
const HALVINGS_MAX: u32 = 3;
/// The least that a part must have room for: less would be read without what it is about.
const PART_TOKENS_MIN: u64 = 1_000;
/// The brackets around the messages.
const BRACKETS_TOKENS: u64 = 2;

/// What the reflector said, and what there is to know about how that came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflectionResult {
    /// What it said.
    pub reflection: Reflection,
    /// What was left out or passed over, for people.
    pub notes: Vec<String>,
}

/// Has a slice judged.
///
/// # Errors
/// [`JudgingError`]. What other parts of the slice have taught by then is lost.
pub async fn reflect(
    judge: &dyn Judge,
    slice: &Excerpt,
    playbook: &Playbook,
    templates: &Templates,
) -> Result<ReflectionResult, JudgingError> {
    let playbook = render_playbook::points(playbook);
    let prompt = |messages: &[ExcerptMessage]| prompt(templates, &playbook, messages);
    let around = estimated_tokens(&prompt(&[])?) + BRACKETS_TOKENS;
    let room = judge.prompt_tokens_max().saturating_sub(around);
    if room < PART_TOKENS_MIN {
        let (question, model, tokens_max) =
            (JudgeQuestion::Reflector, judge.model().to_owned(), judge.prompt_tokens_max());
        return Err(JudgingError::NoRoom { question, model, tokens_max });
    }
    let (mut rest, mut omitted) = split(slice.messages.clone(), room, PARTS_MAX);
    let (mut reflections, mut notes, mut halvings) = (Vec::new(), Vec::new(), 0);
    while let Some(part) = rest.front() {
        let half = tokens_of(part) / 2;
        let answer = ask(judge, JudgeQuestion::Reflector, &prompt(part)?, &["analysis", "bullet_tags"]).await;
        match answer {
            Ok(object) => {
                reflections.push(reflection_of(&object, &mut notes));
                rest.pop_front();
            }
            Err(JudgingError::Judge(error))
                if error.fault == Fault::ContextFull
                    && halvings < HALVINGS_MAX
                    && half >= PART_TOKENS_MIN =>
            {
                // That is another question, and not the same one again.
                halvings += 1;
                let messages = rest.into_iter().flatten().collect();
                let more: usize;
                (rest, more) = split(messages, half, PARTS_MAX.saturating_sub(reflections.len()));
                omitted += more;
            }
            Err(error) => return Err(error),
        }
    }
    if omitted > 0 {
        let parts = reflections.len();
        notes.push(format!(
            "the transcript is too long to be read in {parts} parts: its first {omitted} messages were left out"
        ));
    }
    Ok(ReflectionResult { reflection: merge(reflections), notes })
}

fn split(
    messages: Vec<ExcerptMessage>,
    room: u64,
    parts_max: usize,
) -> (VecDeque<Vec<ExcerptMessage>>, usize) {
    let (kept, omitted) = newest(parts(messages, room), parts_max);
    (kept.into(), omitted)
}

fn prompt(
    templates: &Templates,
    playbook: &str,
    messages: &[ExcerptMessage],
) -> Result<String, TemplatesError> {
    // A list of names is always JSON.
    let cited = serde_json::to_string(&cited(messages)).unwrap_or_default();
    let values = [("transcript", &*as_json(messages.iter())), ("playbook", playbook), ("cited_ids", &*cited)];
    templates.fill(Template::Reflector, &values)
}

/// What an answer says, and what of it says nothing.
fn reflection_of(object: &Map<String, Value>, notes: &mut Vec<String>) -> Reflection {
    let mut tags = Vec::new();
    for written in object.get("bullet_tags").and_then(Value::as_array).into_iter().flatten() {
        match tag_of(written) {
            Ok(tag) => tags.push(tag),
            Err(why) => notes.push(format!("the reflector's tag {written} was passed over: {why}")),
        }
    }
    Reflection { analysis: text_of(object.get("analysis")), tags }
}

fn tag_of(written: &Value) -> Result<Tag, String> {
    let text = |key: &str| written.get(key).and_then(Value::as_str).unwrap_or_default().trim();
    // Points are cited in brackets, and some models name them so.
    let name = text("name").trim_start_matches('[').trim_end_matches(']');
    if name.is_empty() {
        return Err("it names no point".to_owned());
    }
    let tag = match text("tag").to_ascii_lowercase().as_str() {
        "helpful" => Verdict::Helpful,
        "harmful" => Verdict::Harmful,
        "neutral" => Verdict::Neutral,
        other => return Err(format!("`{other}` is no verdict")),
    };
    Ok(Tag { name: name.into(), tag, rationale: text_of(written.get("rationale")) })
}
