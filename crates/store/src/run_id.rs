//! Draws run ids: a few random consonants, which are easy to read out and spell no words. `create.rs` checks
//! whether an id is free.

use longhaul_core::{RunId, draw};

// No vowels (and no y), so that no words appear; no l, which looks like 1 and I.
const LETTERS: &[u8; 19] = b"bcdfghjkmnpqrstvwxz";

// 19^6 = 47 million ids. With a thousand stored runs, four letters already identify most of them.
const LETTERS_MIN: usize = 6;

// Number of ids of one length to try before a longer one.
const TRIES_PER_LENGTH: u64 = 4;

// 19^12 = 2·10^15: ids of this length are never all taken.
const LETTERS_MAX: usize = 12;

// Limit for ids that the user chose. An id is part of file names. A session lock contains it too, and only 64
// bytes of a lock are read.
const NAMED_BYTES_MAX: usize = 64;

/// Returns candidate ids drawn from `roll`, in order of increasing length.
pub(crate) fn ids(roll: u64) -> impl Iterator<Item = RunId> {
    (LETTERS_MIN..=LETTERS_MAX)
        .flat_map(|length| (0..TRIES_PER_LENGTH).map(move |index| (length, index)))
        .map(move |(length, index)| id(roll, length, index))
}

/// Returns whether `text` can be a run id: up to 64 ASCII letters, digits, `-`, `_` and `.`, starting with a
/// letter or digit. Such an id is safe as a directory name and as an argument.
pub fn is_run_id(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= NAMED_BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(is_allowed)
}

fn id(roll: u64, length: usize, id_index: u64) -> RunId {
    let letter = |index: usize| {
        // Each letter of each id of this roll has its own salt.
        let salt = (length as u64) << 32 | id_index << 16 | index as u64;
        char::from(LETTERS[draw(roll, salt, LETTERS.len() as u64 - 1) as usize])
    };
    RunId::from((0..length).map(letter).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_differ_and_grow() {
        let drawn: Vec<_> = ids(7).collect();
        assert_eq!(drawn.len(), 28);
        assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), 28);
        assert_eq!(drawn[3].as_str().len(), 6);
        assert_eq!(drawn[4].as_str().len(), 7);
        assert!(drawn.iter().all(|id| id.as_str().bytes().all(|byte| LETTERS.contains(&byte))));
    }

    #[test]
    fn accepts_drawn_ids_and_rejects_paths() {
        let named = ["7", "exp-2.1_b", &"x".repeat(64)];
        assert!(ids(7).all(|id| is_run_id(id.as_str())) && named.into_iter().all(is_run_id));
        for text in [
            "",
            ".",
            "..",
            ".a",
            "-a",
            "@",
            "../bcd",
            "b/c",
            "bcdfghb/",
            "a b",
            "a:b",
            &"x".repeat(65),
            "bcdé",
        ] {
            assert!(!is_run_id(text), "{text}");
        }
    }

    #[test]
    fn rolls_rarely_collide() {
        let first: BTreeSet<_> = (0..10_000).filter_map(|roll| ids(roll).next()).collect();
        // Among 10,000 ids, one equal pair in 47 million has a chance of about 2/3.
        assert!(first.len() > 9_990, "{}", first.len());
    }
}
