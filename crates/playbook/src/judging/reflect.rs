//! Asks the reflector what happened in a session and whether the injected points helped.
//!
//! A transcript that is too long for the model is read in separate parts, and the reflections are merged. If
//! there are too many parts, only the newest are read, because they teach most.

use super::Excerpt;
use super::chunks::{newest, parts, token_count};
use super::excerpt::{ExcerptMessage, as_json, cited};
use super::question::{JudgeQuestion, JudgingError, ask, render_playbook, to_text};
use crate::points::{PointVerdict, Tag};
use crate::templates::{Template, Templates};
use crate::{Judge, Playbook, UserError};
use longhaul_agent::estimated_tokens;
use longhaul_core::{Fault, shorten};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum number of parts: a day of work fills a model's context about eight times.
pub(crate) const PARTS_MAX: usize = 8;
/// Maximum number of times that parts are halved because the API rejects one as too long.
const HALVINGS_MAX: u32 = 3;
/// Minimum room for a part. A smaller part would lack its context.
const PART_TOKENS_MIN: u64 = 1_000;
/// Tokens of the brackets around the messages.
const BRACKETS_TOKENS: u64 = 2;
/// Maximum length of the joined analyses. A curator reads some thousand words, plus the playbook, with care.
const ANALYSIS_CHARS_MAX: usize = 24_000;
/// Maximum length of the joined reasons for one verdict.
const RATIONALE_CHARS_MAX: usize = 600;

/// The reflector's answer about a session or a slice of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reflection {
    /// What happened and what to learn from it. The curator reads this.
    #[serde(default)]
    pub analysis: String,
    /// Verdicts about the points.
    #[serde(default, rename = "bullet_tags")]
    pub tags: Vec<Tag>,
}

impl Reflection {
    /// Returns whether there is nothing to ask the curator about.
    pub fn is_empty(&self) -> bool {
        self.analysis.trim().is_empty() && self.tags.is_empty()
    }
}

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

/// Merges several reflections into one. A point gets one verdict for the transcript: `helpful` if more parts
/// found it helpful than harmful, `harmful` if fewer, else `neutral`. Only reasons for that verdict are
/// included. Each analysis gets an equal share of the length.
fn merge(parts: Vec<Reflection>) -> Reflection {
    let mut names = Vec::new();
    for tag in parts.iter().flat_map(|part| &part.tags) {
        if !names.contains(&&tag.name) {
            names.push(&tag.name);
        }
    }
    let tags = names.iter().map(|name| {
        let tags = || parts.iter().flat_map(|part| &part.tags).filter(|tag| tag.name == **name);
        let verdict = verdict(tags().map(|tag| tag.tag));
        let mut reasons: Vec<&str> =
            tags().filter(|tag| tag.tag == verdict).map(|tag| tag.rationale.trim()).collect();
        reasons.retain(|reason| !reason.is_empty());
        reasons.dedup();
        let rationale = shorten(&reasons.join("; "), RATIONALE_CHARS_MAX);
        Tag { name: (*name).clone(), tag: verdict, rationale }
    });
    let tags = tags.collect();
    let analyses: Vec<&str> =
        parts.iter().map(|part| part.analysis.trim()).filter(|analysis| !analysis.is_empty()).collect();
    let share = ANALYSIS_CHARS_MAX / analyses.len().max(1);
    let analyses: Vec<String> = analyses.iter().map(|analysis| shorten(analysis, share)).collect();
    Reflection { analysis: analyses.join("\n\n"), tags }
}

fn verdict(verdicts: impl Iterator<Item = PointVerdict>) -> PointVerdict {
    let balance = verdicts.fold(0_i64, |balance, verdict| match verdict {
        PointVerdict::Helpful => balance + 1,
        PointVerdict::Harmful => balance - 1,
        PointVerdict::Neutral => balance,
    });
    match balance {
        1.. => PointVerdict::Helpful,
        0 => PointVerdict::Neutral,
        ..0 => PointVerdict::Harmful,
    }
}

#[cfg(test)]
mod tests {
    use super::{Reflection, merge};
    use crate::points::{PointVerdict, Tag};

    #[test]
    fn merges_verdicts_per_point() {
        use PointVerdict::{Harmful, Helpful, Neutral};
        let check = |verdicts: &[PointVerdict], expected: PointVerdict| {
            let tag =
                |tag: &PointVerdict| Tag { name: "pat-001".into(), tag: *tag, rationale: format!("{tag:?}") };
            let part = |verdict| Reflection { analysis: String::new(), tags: vec![tag(verdict)] };
            let expected = [Tag {
                name: "pat-001".into(),
                tag: expected,
                rationale: if verdicts.contains(&expected) { format!("{expected:?}") } else { String::new() },
            }];
            assert_eq!(merge(verdicts.iter().map(part).collect()).tags, expected, "{verdicts:?}");
            // Several verdicts in one answer also become one.
            let single = Reflection { analysis: String::new(), tags: verdicts.iter().map(tag).collect() };
            assert_eq!(merge(vec![single]).tags, expected, "{verdicts:?} at once");
        };
        check(&[Helpful], Helpful);
        check(&[Helpful, Helpful], Helpful);
        check(&[Helpful, Neutral], Helpful);
        check(&[Harmful, Neutral, Neutral], Harmful);
        check(&[Helpful, Harmful], Neutral);
        check(&[Harmful, Harmful, Helpful], Harmful);
        check(&[Neutral], Neutral);
    }

    #[test]
    fn analyses_share_length_limit() {
        let analysis = |text: &str| Reflection { analysis: text.to_owned(), tags: Vec::new() };
        let merged = |texts: &[&str]| merge(texts.iter().map(|text| analysis(text)).collect()).analysis;
        assert_eq!(merged(&[]), "");
        assert_eq!(merged(&[" One.\n", "", "Two."]), "One.\n\nTwo.");
        let long = "ä".repeat(100_000);
        assert_eq!(merged(&[&long]).chars().count(), 24_001);
        let shared = merged(&[&long, "short", &long]);
        assert!(shared.contains("\n\nshort\n\n") && shared.chars().count() < 24_010);
    }
}
