//! A transcript in parts, each of which a model can read at once.

use super::excerpt::{ExcerptMessage, line};
use longhaul_agent::{estimated_tokens, truncate_middle};

// A message of one short word, with what is around it in JSON.
const MESSAGE_TOKENS_MIN: u64 = 24;

/// The messages in parts of at most this many tokens by the estimate, as few as can be, in their order. A message that is
/// longer than that by itself is cut in its middle, and says so.
pub(super) fn parts(messages: Vec<ExcerptMessage>, tokens_max: u64) -> Vec<Vec<ExcerptMessage>> {
    let mut parts: Vec<Vec<ExcerptMessage>> = Vec::new();
    let mut room = 0;
    for message in messages {
        let message = fitting(message, tokens_max);
        let tokens = tokens(&message);
        match parts.last_mut() {
            Some(part) if tokens <= room => {
                part.push(message);
                room -= tokens;
            }
            _ => {
                parts.push(vec![message]);
                room = tokens_max.saturating_sub(tokens);
            }
        }
    }
    parts
}

/// The last so many parts, and how many messages were left out for that.
pub(super) fn newest(
    mut parts: Vec<Vec<ExcerptMessage>>,
    parts_max: usize,
) -> (Vec<Vec<ExcerptMessage>>, usize) {
    let kept = parts.split_off(parts.len().saturating_sub(parts_max));
    (kept, parts.iter().map(Vec::len).sum())
}

/// About how many tokens a part is.
pub(super) fn tokens_of(part: &[ExcerptMessage]) -> u64 {
    part.iter().map(tokens).sum()
}

fn tokens(message: &ExcerptMessage) -> u64 {
    // The comma and the newline behind it are about a token.
    estimated_tokens(&line(message)) + 1
}

fn fitting(message: ExcerptMessage, tokens_max: u64) -> ExcerptMessage {
    let mut content_max = tokens_max;
    let mut message = message;
    while tokens(&message) > tokens_max && content_max > MESSAGE_TOKENS_MIN {
        // What is escaped in JSON is longer than it looks.
        content_max -= content_max / 4;
        message.content = truncate_middle(&message.content, content_max).into_owned();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::{newest, parts, tokens, tokens_of};
    use crate::judging::{ExcerptMessage, Role};
    use proptest::prelude::*;

    fn said(text: &str) -> ExcerptMessage {
        ExcerptMessage { role: Role::User, content: text.to_owned() }
    }

    #[test]
    fn as_few_parts_as_can_be() {
        let check = |lengths: &[usize], tokens_max: u64, expected: &[usize]| {
            let messages = lengths.iter().map(|length| said(&"x".repeat(*length))).collect();
            let told: Vec<usize> = parts(messages, tokens_max).iter().map(Vec::len).collect();
            assert_eq!(told, expected, "{lengths:?}");
        };
        check(&[], 100, &[]);
        check(&[10, 10, 10], 100, &[3]);
        check(&[200, 200, 10, 10], 100, &[1, 3]);
        check(&[4000], 100, &[1]);
        check(&[200, 4000, 10], 100, &[1, 2]);
    }

    #[test]
    fn a_long_message_is_cut_in_its_middle() {
        let [cut] = &parts(vec![said(&format!("begin {} end", "\"\n".repeat(10_000)))], 200)[0][..] else {
            unreachable!("it is one message")
        };
        assert!(tokens(cut) <= 200);
        assert!(cut.content.starts_with("begin ") && cut.content.ends_with(" end"), "{}", cut.content);
        assert!(cut.content.contains(" bytes left out ..."), "{}", cut.content);
    }

    #[test]
    fn the_newest_parts_are_kept() {
        let messages = (0..7).map(|number| said(&format!("{number} {}", "x".repeat(300)))).collect();
        let (kept, omitted) = newest(parts(messages, 100), 3);
        let first: Vec<&str> = kept.iter().map(|part| &part[0].content[..1]).collect();
        assert_eq!((first, omitted), (vec!["4", "5", "6"], 4));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_part_fits_and_nothing_is_lost(
            texts in prop::collection::vec("(.|\n){0,300}", 0..20), tokens_max in 100_u64..400,
        ) {
            let messages: Vec<ExcerptMessage> = texts.iter().map(|text| said(text)).collect();
            let parts = parts(messages.clone(), tokens_max);
            for part in &parts {
                prop_assert!(tokens_of(part) <= tokens_max);
            }
            prop_assert_eq!(parts.concat().len(), messages.len());
        }
    }
}
