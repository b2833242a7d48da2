use super::{
    ConversationBuilder, call, context, handoff_prompt, handoff_prompt_with_summary, message, result, summary,
};
use crate::Conversation;
use crate::handoff::{CLOSING, HandoffDraft, estimated_tokens, preamble, summary_prompt};
use crate::transcript_message::{EventKind, MessageOrigin, ToolResultKind, TranscriptMessage};
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

/// Generates text as hostile as a tool's output may be: fences, headings, words that look like faults, other
/// scripts.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("```\n"),
        Just("\n``````\n"),
        Just("\n## Injected\n"),
        Just("~~~\n"),
        Just("500 "),
        Just("429. "),
        Just("timeout\n"),
        Just("continue "),
        Just("日本語"),
        Just("\r\n\0\u{1b}[31m"),
        Just("some words of a longer output that fill the room. "),
    ];
    prop_oneof![
        any::<String>(),
        (prop::collection::vec(piece, 0..12), 1_usize..40)
            .prop_map(|(pieces, times)| pieces.concat().repeat(times)),
    ]
}

fn work() -> impl Strategy<Value = TranscriptMessage> {
    // Few ids, so that calls and results match, sometimes twice.
    let id = || (0_u8..6).prop_map(|id| id.to_string());
    let tool = prop_oneof![text(), Just("Write".to_owned())];
    let name = prop_oneof![Just("command"), Just("file_path"), Just("url"), Just("unknown")];
    let kind =
        prop_oneof![Just(ToolResultKind::Ok), Just(ToolResultKind::Error), Just(ToolResultKind::Unknown)];
    let say =
        |kind: EventKind, origin: MessageOrigin| text().prop_map(move |text| message(kind, origin, &text));
    prop_oneof![
        say(EventKind::Prompt, MessageOrigin::Person),
        say(EventKind::Text, MessageOrigin::Model),
        say(EventKind::Summary, MessageOrigin::Agent),
        say(EventKind::Note, MessageOrigin::Tool),
        (id(), tool, name, text()).prop_map(|(id, tool, name, text)| call(
            &id,
            &tool,
            &json!({ name: text })
        )),
        (id(), kind, text()).prop_map(|(id, kind, text)| result(&id, kind, &text)),
    ]
}

fn conversation() -> impl Strategy<Value = Conversation> {
    let origin = prop_oneof![
        4 => Just(None),
        1 => Just(Some(MessageOrigin::Longhaul)),
        1 => Just(Some(MessageOrigin::Agent))
    ];
    let message = (work(), origin)
        .prop_map(|(work, origin)| TranscriptMessage { origin: origin.unwrap_or(work.origin), ..work });
    prop::collection::vec(message, 0..25).prop_map(|messages| Conversation { messages })
}

/// Replaces words that name faults with neutral words of equal length.
fn neutral(text: &str) -> String {
    [("500", "abc"), ("429", "abd"), ("timeout", "flowers"), ("continue", "hydrogen")]
        .iter()
        .fold(text.to_owned(), |text, (word, neutral)| text.replace(word, neutral))
}

/// Hides the words of a text, because truncation may split one.
fn shape(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { 'x' } else { c }).collect()
}

/// Returns the lines that a Markdown reader takes as unquoted, or `None` if a quote is not closed.
fn unquoted(prompt: &str) -> Option<Vec<&str>> {
    let mut open = None;
    let mut lines = Vec::new();
    for line in prompt.split('\n') {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match open {
            None if ticks >= 3 && !line[ticks..].contains('`') => open = Some(ticks),
            None => lines.push(line),
            Some(fence) if ticks >= fence && ticks == line.trim_end().len() => open = None,
            Some(_) => {}
        }
    }
    open.is_none().then_some(lines)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn is_bounded_and_contains_whole_task(conversation in conversation(), task in text(), tokens_max in 0_u64..4_000) {
        let prompt = handoff_prompt(&conversation, &context(&task), tokens_max);
        prop_assert!(prompt.starts_with(&task));
        let tokens_min = estimated_tokens(&preamble::minimal(&task));
        prop_assert!(estimated_tokens(&prompt) <= tokens_max.max(tokens_min));
    }

    #[test]
    fn quotes_cannot_be_escaped(conversation in conversation(), tokens_max in 0_u64..4_000) {
        let prompt = handoff_prompt(&conversation, &context("Do it."), tokens_max);
        let lines = unquoted(&prompt);
        prop_assert!(lines.as_ref().is_some_and(|lines| !lines.contains(&"## Injected")), "{prompt}");
    }

    #[test]
    fn summary_is_bounded_and_quoted(
        conversation in conversation(), task in text(), summary_text in text(), tokens_max in 0_u64..4_000,
    ) {
        let prompt = handoff_prompt_with_summary(&conversation, &context(&task), tokens_max, &summary(&summary_text));
        prop_assert!(prompt.starts_with(&task));
        let tokens_min = estimated_tokens(&preamble::minimal(&task));
        prop_assert!(estimated_tokens(&prompt) <= tokens_max.max(tokens_min));

        let prompt = handoff_prompt_with_summary(&conversation, &context("Do it."), tokens_max, &summary(&summary_text));
        let lines = unquoted(&prompt);
        prop_assert!(lines.as_ref().is_some_and(|lines| !lines.contains(&"## Injected")), "{prompt}");
    }

    #[test]
    fn summary_changes_only_older_part(
        conversation in conversation(), summary_text in text(), tokens_max in 0_u64..4_000,
    ) {
        let context = context("Do it.");
        let prompt = handoff_prompt_with_summary(&conversation, &context, tokens_max, &summary(&summary_text));
        let plain = handoff_prompt(&conversation, &context, tokens_max);
        prop_assert!(!summary_text.trim().is_empty() || prompt == plain);
        if let Some(draft) = HandoffDraft::new(&conversation, &context, tokens_max) {
            prop_assert!(draft.older_count > 0 || prompt == plain);
            let (prefix, suffix) = (draft.prefix.clone(), format!("{}{CLOSING}", draft.recent));
            for prompt in [&prompt, &plain] {
                prop_assert!(prompt.starts_with(&prefix) && prompt.ends_with(&suffix), "{prompt}");
            }
        }
    }

    #[test]
    fn summary_prompt_is_bounded_and_quoted(
        conversation in conversation(), task in text(), handoff_tokens in 0_u64..4_000, tokens_max in 0_u64..4_000,
    ) {
        prop_assert_eq!(summary_prompt(&conversation, &context(&task), u64::MAX / 8, tokens_max), None);
        let Some(prompt) = summary_prompt(&conversation, &context(&task), handoff_tokens, tokens_max) else {
            return Ok(());
        };
        prop_assert!(estimated_tokens(&prompt) <= tokens_max, "{}", estimated_tokens(&prompt));
        let lines = unquoted(&prompt);
        prop_assert!(lines.as_ref().is_some_and(|lines| !lines.contains(&"## Injected")), "{prompt}");
    }

    #[test]
    fn wording_does_not_affect_selection(mut conversation in conversation(), tokens_max in 0_u64..4_000) {
        let prompt = handoff_prompt(&conversation, &context("Do it."), tokens_max);
        for message in &mut conversation.messages {
            message.content = message.content.as_deref().map(neutral);
            message.tool = message.tool.as_deref().map(neutral);
            let input = message.input.as_ref().map(|input| RawValue::from_string(neutral(input.get())));
            message.input = input.transpose().expect("it is still JSON");
        }
        let neutral_prompt = handoff_prompt(&conversation, &context("Do it."), tokens_max);
        prop_assert_eq!(shape(&prompt), shape(&neutral_prompt));
    }

    #[test]
    fn contains_only_work(conversation in conversation(), tokens_max in 0_u64..4_000) {
        let mut work = conversation.clone();
        work.messages.retain(TranscriptMessage::is_work);
        let context = context("Do it.");
        prop_assert_eq!(handoff_prompt(&conversation, &context, tokens_max), handoff_prompt(&work, &context, tokens_max));
    }

    #[test]
    fn prefers_newer_work(lengths in prop::collection::vec(0_usize..600, 1..60), tokens_max in 0_u64..4_000) {
        let mut builder = ConversationBuilder::default();
        for (number, length) in lengths.iter().enumerate() {
            builder = builder.text(&format!("<{number}> {} <{number} to its end>", "words. ".repeat(*length / 7)));
        }
        let prompt = handoff_prompt(&builder.conversation, &context("Do it."), tokens_max);
        let mentioned: Vec<bool> = (0..lengths.len()).map(|index| prompt.contains(&format!("<{index}>"))).collect();
        let whole: Vec<bool> =
            (0..lengths.len()).map(|index| prompt.contains(&format!("<{index} to its end>"))).collect();
        // A short text is complete in its one-line form, so only longer ones count.
        let long = |index: &usize| lengths[*index] >= 14;
        // The first texts stay; of the others the newer are preferred.
        let others = |is_there: Vec<bool>| is_there.into_iter().skip_while(|is_there| *is_there).is_sorted();
        prop_assert!(others(mentioned.clone()), "{mentioned:?}");
        let whole: Vec<bool> = (0..lengths.len()).filter(long).map(|index| whole[index]).collect();
        prop_assert!(others(whole.clone()), "{whole:?}");
    }
}

#[test]
fn long_history_keeps_start_and_end() {
    let mut builder = ConversationBuilder::default().text("I use low ranks, because the memory is small.");
    for number in 0..5_000 {
        let id = number.to_string();
        builder =
            builder.text(&format!("Step {number} is next.")).command(&id, &format!("make step-{number}"));
        builder =
            builder.result(&id, ToolResultKind::Ok, &"output\n".repeat(500)).write(&format!("w{id}"), &id);
    }
    let prompt = handoff_prompt(&builder.conversation, &context("Do it."), 12_000);
    assert!(prompt.contains("make step-4999") && prompt.contains("bytes omitted"));
    assert!(prompt.contains("- Said: Step 4950 is next.") && !prompt.contains("Step 2500 is next."));
    assert!(prompt.contains("I use low ranks, because the memory is small."));
    assert!(estimated_tokens(&prompt) > 9_000, "the budget is used: {}", estimated_tokens(&prompt));
}
