use super::{Told, about, summary};
use crate::conversation::{
    Conversation, ConversationEntry, EntryKind, Provenance, ToolArgument, ToolCall, ToolResult,
    ToolResultKind,
};
use crate::handoff::{
    CLOSING, HandoffDraft, estimated_tokens, handoff_prompt, handoff_prompt_with_summary, preamble,
    summary_prompt,
};
use longhaul_core::Moment;
use proptest::prelude::*;

/// Text as hostile as a tool's may be: fences, headings, words that look like faults, other scripts.
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

fn what() -> impl Strategy<Value = EntryKind> {
    // Few ids, so that calls and answers meet, and meet twice.
    let id = || (0_u8..6).prop_map(|id| id.to_string());
    let argument = prop_oneof![
        Just(None),
        text().prop_map(|text| Some(ToolArgument::Command(text))),
        text().prop_map(|text| Some(ToolArgument::ChangedFile(text))),
        text().prop_map(|text| Some(ToolArgument::Other(text))),
    ];
    let kind =
        prop_oneof![Just(ToolResultKind::Ok), Just(ToolResultKind::Error), Just(ToolResultKind::Unknown)];
    prop_oneof![
        text().prop_map(EntryKind::Prompt),
        text().prop_map(EntryKind::ModelText),
        text().prop_map(EntryKind::Compaction),
        text().prop_map(EntryKind::AgentNote),
        (id(), text(), text(), argument).prop_map(|(id, name, input, argument)| EntryKind::ToolCall(
            ToolCall { id, name, input, argument }
        )),
        (id(), kind, text()).prop_map(|(call, kind, text)| EntryKind::ToolResult(ToolResult {
            call,
            kind,
            text
        })),
    ]
}

fn transcript() -> impl Strategy<Value = Conversation> {
    let provenance = prop_oneof![
        4 => Just(Provenance::Work),
        1 => Just(Provenance::Longhaul),
        1 => Just(Provenance::Synthetic)
    ];
    let entry = (what(), provenance).prop_map(|(what, provenance)| ConversationEntry {
        kind: what,
        provenance,
        at: Some(Moment(0)),
    });
    prop::collection::vec(entry, 0..25).prop_map(|entries| Conversation { entries })
}

/// Every text of a transcript.
fn texts(transcript: &mut Conversation) -> Vec<&mut String> {
    let mut texts = Vec::new();
    for entry in &mut transcript.entries {
        match &mut entry.kind {
            EntryKind::Prompt(text)
            | EntryKind::ModelText(text)
            | EntryKind::Compaction(text)
            | EntryKind::AgentNote(text) => texts.push(text),
            EntryKind::ToolResult(answer) => texts.push(&mut answer.text),
            EntryKind::ToolCall(call) => {
                texts.push(&mut call.name);
                texts.push(&mut call.input);
                texts.extend(call.argument.as_mut().map(|argument| match argument {
                    ToolArgument::Command(text)
                    | ToolArgument::ChangedFile(text)
                    | ToolArgument::Other(text) => text,
                }));
            }
        }
    }
    texts
}

/// The same with words that say nothing of faults, of equal length.
fn neutral(text: &str) -> String {
    [("500", "abc"), ("429", "abd"), ("timeout", "flowers"), ("continue", "hydrogen")]
        .iter()
        .fold(text.to_owned(), |text, (word, neutral)| text.replace(word, neutral))
}

/// A text without what its words are: a cut may go through one.
fn shape(text: &str) -> String {
    text.chars().map(|sign| if sign.is_ascii_alphanumeric() { 'x' } else { sign }).collect()
}

/// The lines that a reader of Markdown does not take for quoted; nothing if a quote is left open.
fn unquoted(seed: &str) -> Option<Vec<&str>> {
    let mut open = None;
    let mut lines = Vec::new();
    for line in seed.split('\n') {
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
    fn bounded_and_the_task_whole(transcript in transcript(), task in text(), tokens_max in 0_u64..4_000) {
        let seed = handoff_prompt(&transcript, &about(&task), tokens_max);
        prop_assert!(seed.starts_with(&task));
        let least = estimated_tokens(&preamble::minimal(&task));
        prop_assert!(estimated_tokens(&seed) <= tokens_max.max(least));
    }

    #[test]
    fn nothing_breaks_out_of_its_quote(transcript in transcript(), tokens_max in 0_u64..4_000) {
        let seed = handoff_prompt(&transcript, &about("Do it."), tokens_max);
        let lines = unquoted(&seed);
        prop_assert!(lines.as_ref().is_some_and(|lines| !lines.contains(&"## Injected")), "{seed}");
    }

    #[test]
    fn any_summary_is_bounded_and_quoted(
        transcript in transcript(), task in text(), summarised in text(), tokens_max in 0_u64..4_000,
    ) {
        let told = handoff_prompt_with_summary(&transcript, &about(&task), tokens_max, &summary(&summarised));
        prop_assert!(told.starts_with(&task));
        let least = estimated_tokens(&preamble::minimal(&task));
        prop_assert!(estimated_tokens(&told) <= tokens_max.max(least));

        let told = handoff_prompt_with_summary(&transcript, &about("Do it."), tokens_max, &summary(&summarised));
        let lines = unquoted(&told);
        prop_assert!(lines.as_ref().is_some_and(|lines| !lines.contains(&"## Injected")), "{told}");
    }

    #[test]
    fn a_summary_changes_the_older_part_alone(
        transcript in transcript(), summarised in text(), tokens_max in 0_u64..4_000,
    ) {
        let about = about("Do it.");
        let told = handoff_prompt_with_summary(&transcript, &about, tokens_max, &summary(&summarised));
        let plain = handoff_prompt(&transcript, &about, tokens_max);
        prop_assert!(!summarised.trim().is_empty() || told == plain);
        if let Some(draft) = HandoffDraft::new(&transcript, &about, tokens_max) {
            prop_assert!(draft.older > 0 || told == plain);
            let (before, behind) = (draft.before.clone(), format!("{}{CLOSING}", draft.recent));
            for seed in [&told, &plain] {
                prop_assert!(seed.starts_with(&before) && seed.ends_with(&behind), "{seed}");
            }
        }
    }

    #[test]
    fn the_prompt_is_bounded_and_only_of_older_work(
        transcript in transcript(), task in text(), seed_tokens in 0_u64..4_000, tokens_max in 0_u64..4_000,
    ) {
        prop_assert_eq!(summary_prompt(&transcript, &about(&task), u64::MAX / 8, tokens_max), None);
        let Some(prompt) = summary_prompt(&transcript, &about(&task), seed_tokens, tokens_max) else {
            return Ok(());
        };
        prop_assert!(estimated_tokens(&prompt) <= tokens_max, "{}", estimated_tokens(&prompt));
        let lines = unquoted(&prompt);
        prop_assert!(lines.as_ref().is_some_and(|lines| !lines.contains(&"## Injected")), "{prompt}");
    }

    #[test]
    fn words_drop_nothing(mut transcript in transcript(), tokens_max in 0_u64..4_000) {
        let told = handoff_prompt(&transcript, &about("Do it."), tokens_max);
        for text in texts(&mut transcript) {
            *text = neutral(text);
        }
        let neutral_told = handoff_prompt(&transcript, &about("Do it."), tokens_max);
        prop_assert_eq!(shape(&told), shape(&neutral_told));
    }

    #[test]
    fn only_work_is_told(transcript in transcript(), tokens_max in 0_u64..4_000) {
        let mut work = transcript.clone();
        work.entries.retain(|entry| entry.provenance == Provenance::Work);
        let about = about("Do it.");
        prop_assert_eq!(handoff_prompt(&transcript, &about, tokens_max), handoff_prompt(&work, &about, tokens_max));
    }

    #[test]
    fn the_newer_is_preferred(lengths in prop::collection::vec(0_usize..600, 1..60), tokens_max in 0_u64..4_000) {
        let mut told = Told::default();
        for (number, length) in lengths.iter().enumerate() {
            told = told.said(&format!("<{number}> {} <{number} to its end>", "words. ".repeat(*length / 7)));
        }
        let seed = handoff_prompt(&told.transcript, &about("Do it."), tokens_max);
        let mentioned: Vec<bool> = (0..lengths.len()).map(|at| seed.contains(&format!("<{at}>"))).collect();
        let whole: Vec<bool> =
            (0..lengths.len()).map(|at| seed.contains(&format!("<{at} to its end>"))).collect();
        // What is short is told in its line as a whole: there every one counts that is longer.
        let long = |at: &usize| lengths[*at] >= 14;
        // The first statements stay; of the others the newer are preferred.
        let others = |is_there: Vec<bool>| is_there.into_iter().skip_while(|is_there| *is_there).is_sorted();
        prop_assert!(others(mentioned.clone()), "{mentioned:?}");
        let whole: Vec<bool> = (0..lengths.len()).filter(long).map(|at| whole[at]).collect();
        prop_assert!(others(whole.clone()), "{whole:?}");
    }
}

#[test]
fn long_history_keeps_its_start_and_its_end() {
    let mut told = Told::default().said("I use low ranks, because the memory is small.");
    for number in 0..5_000 {
        let id = number.to_string();
        told = told.said(&format!("Step {number} is next.")).command(&id, &format!("make step-{number}"));
        told = told.answered(&id, ToolResultKind::Ok, &"output\n".repeat(500)).write(&format!("w{id}"), &id);
    }
    let told = handoff_prompt(&told.transcript, &about("Do it."), 12_000);
    assert!(told.contains("make step-4999") && told.contains("bytes left out"));
    assert!(told.contains("- Said: Step 4950 is next.") && !told.contains("Step 2500 is next."));
    assert!(told.contains("I use low ranks, because the memory is small."));
    assert!(estimated_tokens(&told) > 9_000, "the room is used: {}", estimated_tokens(&told));
}
