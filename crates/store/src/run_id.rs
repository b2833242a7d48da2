//! Drawing a run's id: a few letters that are easy to read out and spell no words.
//! Whether an id is free is for `create.rs` to find out.

use longhaul_core::{RunId, draw};

// No vowels (and no y), so that no words appear; no l, which looks like 1 and I.
const LETTERS: &[u8; 19] = b"bcdfghjkmnpqrstvwxz";

// 19^6 = 47 million ids. With a thousand runs kept, four letters are already unique for most.
const LETTERS_MIN: usize = 6;

// How many ids of one length are tried before a longer one is.
const TRIES_PER_LENGTH: u64 = 4;

// 19^12 = 2·10^15: that many letters are never all taken.
const LETTERS_MAX: usize = 12;

// Of an id that a person chose. It stands in the names of files beside others, and in the locks of sessions, of which so
// much is read.
const NAMED_BYTES_MAX: usize = 64;

/// Ids to try in turn, each drawn from `roll`, growing longer.
pub(crate) fn ids(roll: u64) -> impl Iterator<Item = RunId> {
    (LETTERS_MIN..=LETTERS_MAX)
        .flat_map(|length| (0..TRIES_PER_LENGTH).map(move |turn| (length, turn)))
        .map(move |(length, turn)| id(roll, length, turn))
}

/// Whether this can be the id of a run: up to 64 letters and digits of ASCII, `-`, `_` and `.`, the first one a letter
/// or a digit. It names a directory wherever it goes, and stands in arguments.
pub fn is_run_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= NAMED_BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(is_plain)
}

fn id(roll: u64, length: usize, turn: u64) -> RunId {
    let letter = |place: usize| {
        // A salt of its own for every letter of every id of this roll.
        let salt = (length as u64) << 32 | turn << 16 | place as u64;
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
    fn what_is_drawn_is_an_id_and_no_path_is() {
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
    fn rolls_spread() {
        let first: BTreeSet<_> = (0..10_000).filter_map(|roll| ids(roll).next()).collect();
        // One pair in 47 million is expected to be equal among 10,000 with a chance of about 2/3.
        assert!(first.len() > 9_990, "{}", first.len());
    }
}
