//! A text as the words that matter for what it says.

use std::collections::BTreeSet;

/// One word of a text that matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Word {
    /// Without its ending and in lower case; an exact one as it is.
    pub(super) stem: String,
    /// Whether what is said of it is denied: `spaces` in `use tabs, not spaces`.
    pub(super) is_denied: bool,
    /// Whether every sign of it counts: a number, a flag, a path, a name in code.
    pub(super) is_exact: bool,
}

/// What a text says, as far as words tell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Words {
    /// In their order.
    pub(super) words: Vec<Word>,
    /// How often something is denied.
    pub(super) denials: usize,
    /// Whether it says a thing of two sides, as in `a over b`: it is another one if they change places.
    pub(super) is_directed: bool,
}

// They are in nearly every sentence of advice, and say nothing of what is advised.
const SAYING_NOTHING: &[&str] = &[
    "a", "all", "also", "always", "an", "and", "are", "as", "at", "be", "been", "by", "can", "do", "does",
    "each", "ensure", "ever", "every", "for", "from", "has", "have", "i", "if", "in", "into", "is", "it",
    "its", "just", "make", "may", "must", "need", "needs", "of", "on", "or", "our", "please", "remember",
    "shall", "should", "so", "sure", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "to", "us", "use", "used", "uses", "using", "via", "was", "we", "when", "whenever",
    "where", "which", "while", "will", "with", "you", "your",
];

// In the languages that most advice is written in.
const DENYING: &[&str] = &[
    "aren't",
    "avoid",
    "avoiding",
    "avoids",
    "can't",
    "cannot",
    "cant",
    "didn't",
    "doesn't",
    "doesnt",
    "don't",
    "dont",
    "except",
    "hardly",
    "isn't",
    "mustn't",
    "neither",
    "never",
    "no",
    "none",
    "nor",
    "not",
    "nothing",
    "rarely",
    "refrain",
    "shouldn't",
    "stop",
    "unless",
    "without",
    "won't",
    "wouldn't", // English
    "kein",
    "keine",
    "keinen",
    "nicht",
    "nie",
    "niemals",
    "ohne", // German
    "jamais",
    "ne",
    "pas",
    "sans", // French
    "jamás",
    "ni",
    "nunca",
    "sin", // Spanish
    "não",
    "sem", // Portuguese
    "mai",
    "non",
    "senza", // Italian
    "geen",
    "niet",
    "nooit",
    "zonder", // Dutch
    "без",
    "не",
    "нет",
    "ни",
    "никогда", // Russian
    "不",
    "别",
    "別",
    "勿",
    "无",
    "無",
    "没",
    "沒",
    "非",
    "未", // Chinese and Japanese
];

// Behind them something else is said.
const TURNING: &[&str] = &["always", "but", "instead", "only", "otherwise", "rather"];

const DIRECTED: &[&str] = &[
    "after", "before", "from", "instead", "into", "less", "more", "over", "rather", "than", "then", "to",
    "under", "until",
];

/// The words of a text.
pub(super) fn words(text: &str) -> Words {
    let mut found = Words { words: Vec::new(), denials: 0, is_directed: false };
    let mut nothing = Vec::new();
    let mut is_denied = false;
    let text = text.replace('’', "'");
    for piece in text.split_whitespace() {
        let bare = piece.trim_matches(|sign: char| ",.;:!?()[]{}<>\"'`*".contains(sign));
        let is_exact = is_exact(piece, bare);
        for word in parts(bare, is_exact) {
            let lower = word.to_lowercase();
            if TURNING.contains(&lower.as_str()) {
                is_denied = false;
            }
            found.is_directed |= DIRECTED.contains(&lower.as_str());
            if DENYING.contains(&lower.as_str()) && !is_exact {
                found.denials += 1;
                is_denied = true;
                continue;
            }
            let stem = if is_exact { lower.clone() } else { stem(&lower) };
            let word = Word { stem, is_denied, is_exact };
            if !is_exact && SAYING_NOTHING.contains(&lower.as_str()) {
                nothing.push(word);
            } else {
                found.words.push(word);
            }
        }
        if piece.ends_with([',', '.', ';', ':', '!', '?', ')']) {
            is_denied = false;
        }
    }
    if found.words.is_empty() {
        found.words = nothing;
    }
    found
}

/// Whether every sign of a word counts. A hyphen or an apostrophe between letters is English.
fn is_exact(piece: &str, bare: &str) -> bool {
    let is_plain = |sign: char| sign.is_alphabetic() || sign == '-' || sign == '\'';
    piece.contains('`') || piece.starts_with('-') && piece.len() > 1 || !bare.chars().all(is_plain)
}

/// A plain word at its hyphens, and one of a script without spaces at each sign; an exact one whole.
fn parts(bare: &str, is_exact: bool) -> Vec<&str> {
    if is_exact {
        return if bare.is_empty() { Vec::new() } else { vec![bare] };
    }
    let mut parts = Vec::new();
    for part in bare.split('-').filter(|part| !part.is_empty()) {
        if part.chars().any(is_without_spaces) {
            parts.extend(part.char_indices().map(|(at, sign)| &part[at..at + sign.len_utf8()]));
        } else {
            parts.push(part);
        }
    }
    parts
}

/// Chinese, Japanese and Thai have no spaces between words.
fn is_without_spaces(sign: char) -> bool {
    matches!(sign, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// An English word without the ending of its plural or its form of a verb. It need not be a word: it is compared alone.
fn stem(word: &str) -> String {
    // The one plural that is another thing.
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
        Some(stem) => undoubled(stem),
        None => &word,
    };
    stem.strip_suffix('e').filter(|stem| stem.len() >= 2).unwrap_or(stem).to_owned()
}

/// `committ` of `committing` is `commit`; `pass` of `passing` and `call` of `calling` are as they are.
fn undoubled(stem: &str) -> &str {
    let mut signs = stem.chars().rev();
    match (signs.next(), signs.next()) {
        (Some(last), Some(before)) if last == before && !"lsz".contains(last) => &stem[..stem.len() - 1],
        _ => stem,
    }
}

/// What a text is about: its words, and the parts of paths and names in code.
pub(in super::super) fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for word in words(text).words {
        if word.is_exact {
            let parts = word.stem.split(|sign: char| !sign.is_alphanumeric()).filter(|part| part.len() > 1);
            terms.extend(parts.map(stem));
        }
        terms.insert(word.stem);
    }
    terms
}
