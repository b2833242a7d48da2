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

/// Ids to try in turn, each drawn from `roll`, growing longer.
pub(crate) fn ids(roll: u64) -> impl Iterator<Item = RunId> {
    (LETTERS_MIN..=LETTERS_MAX)
        .flat_map(|length| (0..TRIES_PER_LENGTH).map(move |turn| (length, turn)))
        .map(move |(length, turn)| id(roll, length, turn))
}

/// Whether this could be the id of a run: it names a directory wherever it goes.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=LETTERS_MAX).contains(&text.len()) && text.bytes().all(|byte| LETTERS.contains(&byte))
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
        assert!(ids(7).all(|id| is_id(id.as_str())));
        for text in ["", ".", "..", "../bcd", "b/c", "bcdfghb/", "kmzxqpkmzxqpk", "Bcd", "bcdé"] {
            assert!(!is_id(text), "{text}");
        }
    }

    #[test]
    fn rolls_spread() {
        let first: BTreeSet<_> = (0..10_000).filter_map(|roll| ids(roll).next()).collect();
        // One pair in 47 million is expected to be equal among 10,000 with a chance of about 2/3.
        assert!(first.len() > 9_990, "{}", first.len());
    }
}
