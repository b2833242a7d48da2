//! Extracts the words of a text that matter for its meaning.

use std::collections::BTreeSet;

#[derive(Debug, PartialEq)]
pub(super) struct Word {
    /// Lowercase stem; the whole word if it is exact.
    pub(super) stem: String,
    /// Whether the word is negated: `spaces` in `use tabs, not spaces`.
    pub(super) is_denied: bool,
    /// Whether every character matters: a number, a flag, a path or a name in code.
    pub(super) is_exact: bool,
}

#[derive(Debug)]
pub(in super::super) struct Words {
    pub(super) words: Vec<Word>,
    /// Number of negations.
    pub(super) denials: usize,
}

// Words that are common in advice and say nothing about its subject.
const STOP_WORDS: &[&str] = &[
    "a", "all", "also", "always", "an", "and", "are", "as", "at", "be", "been", "by", "can", "do", "does",
    "each", "ensure", "ever", "every", "for", "from", "has", "have", "i", "if", "in", "into", "is", "it",
    "its", "just", "make", "may", "must", "need", "needs", "of", "on", "or", "our", "please", "remember",
    "shall", "should", "so", "sure", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "to", "us", "use", "used", "uses", "using", "via", "was", "we", "when", "whenever",
    "where", "which", "while", "will", "with", "you", "your",
];

// In English, German, French, Spanish, Portuguese, Italian, Dutch, Russian, and Chinese and Japanese together.
// Words that end in `n't` count too.
const NEGATIONS: &[&[&str]] = &[
    &[
        "avoid", "avoiding", "avoids", "cannot", "cant", "doesnt", "dont", "except", "hardly", "neither",
        "never", "no", "none", "nor", "not", "nothing", "rarely", "refrain", "stop", "unless", "without",
    ],
    &["kein", "keine", "keinen", "nicht", "nie", "niemals", "ohne"],
    &["jamais", "ne", "pas", "sans"],
    &["jamás", "ni", "nunca", "sin"],
    &["não", "sem"],
    &["mai", "non", "senza"],
    &["geen", "niet", "nooit", "zonder"],
    &["без", "не", "нет", "ни", "никогда"],
    &["不", "别", "別", "勿", "无", "無", "没", "沒", "非", "未"],
];
// These words end a negation.
const NEGATION_ENDS: &[&str] = &["always", "but", "instead", "only", "otherwise", "rather"];

/// Extracts the words of a text. Returns the stop words if there are no others.
pub(in super::super) fn words(text: &str) -> Words {
    let mut found = Words { words: Vec::new(), denials: 0 };
    let mut stop_words = Vec::new();
    let mut is_denied = false;
    let text = text.replace('’', "'");
    for piece in text.split_whitespace() {
        let bare = piece.trim_matches(|c: char| ",.;:!?()[]{}<>\"'`*".contains(c));
        let is_exact = is_exact(piece, bare);
        for word in parts(bare, is_exact) {
            let lower = word.to_lowercase();
            if NEGATION_ENDS.contains(&lower.as_str()) {
                is_denied = false;
            }
            if !is_exact && is_negation(&lower) {
                found.denials += 1;
                is_denied = true;
                continue;
            }
            let stem = if is_exact { lower.clone() } else { stem(&lower) };
            let word = Word { stem, is_denied, is_exact };
            if !is_exact && STOP_WORDS.contains(&lower.as_str()) {
                stop_words.push(word);
            } else {
                found.words.push(word);
            }
        }
        if piece.ends_with([',', '.', ';', ':', '!', '?', ')']) {
            is_denied = false;
        }
    }
    if found.words.is_empty() {
        found.words = stop_words;
    }
    found
}

fn is_negation(word: &str) -> bool {
    word.ends_with("n't") || NEGATIONS.iter().any(|words| words.contains(&word))
}

/// Returns whether every character of a word matters. A hyphen or an apostrophe between letters is plain
/// English.
fn is_exact(piece: &str, bare: &str) -> bool {
    let is_plain = |c: char| c.is_alphabetic() || c == '-' || c == '\'';
    piece.contains('`') || piece.starts_with('-') && piece.len() > 1 || !bare.chars().all(is_plain)
}

/// Splits a plain word at its hyphens, and a script without spaces at each character. An exact word stays
/// whole.
fn parts(bare: &str, is_exact: bool) -> Vec<&str> {
    if is_exact {
        return if bare.is_empty() { Vec::new() } else { vec![bare] };
    }
    let mut parts = Vec::new();
    for part in bare.split('-').filter(|part| !part.is_empty()) {
        if part.chars().any(is_without_spaces) {
            parts.extend(part.char_indices().map(|(offset, c)| &part[offset..offset + c.len_utf8()]));
        } else {
            parts.push(part);
        }
    }
    parts
}

/// Returns whether the script of this character has no spaces between words: Chinese, Japanese and Thai.
fn is_without_spaces(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// Removes the ending of an English plural or verb form. The result need not be a word, because it is only
/// compared.
fn stem(word: &str) -> String {
    // `https` only looks like a plural of `http`.
    if word.len() <= 3 || !word.is_ascii() || word == "https" {
        return word.to_owned();
    }
    let has_vowel = |stem: &str| stem.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let word = word.strip_suffix("'s").unwrap_or(word);
    let word = match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") => word.to_owned(),
        None => word.strip_suffix('s').unwrap_or(word).to_owned(),
    };
    let verb = ["ing", "ed"].iter().find_map(|ending| word.strip_suffix(ending));
    let stem = match verb.filter(|stem| stem.len() >= 2 && has_vowel(stem) && !word.ends_with("eed")) {
        Some(stem) => without_doubled_end(stem),
        None => &word,
    };
    stem.strip_suffix('e').filter(|stem| stem.len() >= 2).unwrap_or(stem).to_owned()
}

/// Shortens `committ` of `committing` to `commit`, but not `pass` of `passing` and `call` of `calling`.
fn without_doubled_end(stem: &str) -> &str {
    let mut chars = stem.chars().rev();
    match (chars.next(), chars.next()) {
        (Some(last), Some(before)) if last == before && !"lsz".contains(last) => &stem[..stem.len() - 1],
        _ => stem,
    }
}

/// Returns the terms of a text: its words, and the parts of paths and names in code.
pub(in super::super) fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for word in words(text).words {
        if word.is_exact {
            let parts = word.stem.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 1);
            terms.extend(parts.map(stem));
        }
        terms.insert(word.stem);
    }
    terms
}
