//! Splits a transcript into parts that a model can read at once.

use super::excerpt::{ExcerptMessage, line};
use longhaul_agent::{estimated_tokens, truncate_middle};
use std::collections::VecDeque;

// Length of a message of one short word, including its JSON syntax.
const MESSAGE_TOKENS_MIN: u64 = 24;

/// Splits the messages into as few parts as possible of at most this many estimated tokens, in order. A
/// longer message is truncated in the middle.
pub(super) fn parts(messages: Vec<ExcerptMessage>, tokens_max: u64) -> Vec<Vec<ExcerptMessage>> {
    let mut parts: Vec<Vec<ExcerptMessage>> = Vec::new();
    let mut remaining = 0;
    for message in messages {
        let message = truncate_message(message, tokens_max);
        let tokens = tokens(&message);
        match parts.last_mut() {
            Some(part) if tokens <= remaining => {
                part.push(message);
                remaining -= tokens;
            }
            _ => {
                parts.push(vec![message]);
                remaining = tokens_max.saturating_sub(tokens);
            }
        }
    }
    parts
}

/// Returns the last `parts_max` parts and the number of omitted messages.
pub(super) fn newest(
    mut parts: Vec<Vec<ExcerptMessage>>,
    parts_max: usize,
) -> (VecDeque<Vec<ExcerptMessage>>, usize) {
    let newest = parts.split_off(parts.len().saturating_sub(parts_max));
    (newest.into(), parts.iter().map(Vec::len).sum())
}

pub(super) fn token_count(part: &[ExcerptMessage]) -> u64 {
    part.iter().map(tokens).sum()
}

fn tokens(message: &ExcerptMessage) -> u64 {
    // The comma and the newline after it are about a token.
    estimated_tokens(&line(message)) + 1
}

fn truncate_message(mut message: ExcerptMessage, tokens_max: u64) -> ExcerptMessage {
    let mut content_max = tokens_max;
    while tokens(&message) > tokens_max && content_max > MESSAGE_TOKENS_MIN {
        // Escaping in JSON makes the text longer.
        content_max -= content_max / 4;
        message.content = truncate_middle(&message.content, content_max).into_owned();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::{newest, parts, token_count, tokens};
    use crate::judging::{ExcerptMessage, Role};
    use proptest::prelude::*;

    fn user_message(text: &str) -> ExcerptMessage {
        ExcerptMessage { role: Role::User, content: text.to_owned() }
    }

    #[test]
    fn splits_into_minimum_of_parts() {
        let check = |lengths: &[usize], tokens_max: u64, expected: &[usize]| {
            let messages = lengths.iter().map(|length| user_message(&"x".repeat(*length))).collect();
            let lengths_of_parts: Vec<usize> = parts(messages, tokens_max).iter().map(Vec::len).collect();
            assert_eq!(lengths_of_parts, expected, "{lengths:?}");
        };
        check(&[], 100, &[]);
        check(&[10, 10, 10], 100, &[3]);
        check(&[200, 200, 10, 10], 100, &[1, 3]);
        check(&[4000], 100, &[1]);
        check(&[200, 4000, 10], 100, &[1, 2]);
    }

    #[test]
    fn truncates_long_message_in_middle() {
        let [cut] = &parts(vec![user_message(&format!("begin {} end", "\"\n".repeat(10_000)))], 200)[0][..]
        else {
            unreachable!("it is one message")
        };
        assert!(tokens(cut) <= 200);
        assert!(cut.content.starts_with("begin ") && cut.content.ends_with(" end"), "{}", cut.content);
        assert!(cut.content.contains(" bytes omitted ..."), "{}", cut.content);
    }

    #[test]
    fn keeps_newest_parts() {
        let messages = (0..7).map(|number| user_message(&format!("{number} {}", "x".repeat(300)))).collect();
        let (newest_parts, omitted) = newest(parts(messages, 100), 3);
        let first: Vec<&str> = newest_parts.iter().map(|part| &part[0].content[..1]).collect();
        assert_eq!((first, omitted), (vec!["4", "5", "6"], 4));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn parts_fit_and_keep_all_messages(
            texts in prop::collection::vec("(.|\n){0,300}", 0..20), tokens_max in 100_u64..400,
        ) {
            let messages: Vec<ExcerptMessage> = texts.iter().map(|text| user_message(text)).collect();
            let parts = parts(messages.clone(), tokens_max);
            for part in &parts {
                prop_assert!(token_count(part) <= tokens_max);
            }
            prop_assert_eq!(parts.concat().len(), messages.len());
        }
    }
}
