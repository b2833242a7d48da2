//! A word with all that it may be: a variable may have had several values, and braces stand for many words.

use std::ops::Range;

// What one word may be. Of more the first is kept alone, and of braces the word as it was written, where
// everything that is in them can be seen.
const ALTERNATIVES_MAX: usize = 64;
const ALTERNATIVES_BYTES_MAX: usize = 64 << 10;
// Longer is a text, not a word that stands for many.
const BRACED_BYTES_MAX: usize = 1024;
// Brackets that stand for nothing: behind so many of them no more are tried.
const BRACKETS_MAX: usize = 32;

/// What a word may be; one thing at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alternatives(Vec<String>);

impl Default for Alternatives {
    fn default() -> Alternatives {
        Alternatives(vec![String::new()])
    }
}

impl Alternatives {
    pub(super) fn first(&self) -> &str {
        self.0.first().map(String::as_str).unwrap_or_default()
    }

    pub(super) fn push(&mut self, sign: char) {
        self.0.iter_mut().for_each(|word| word.push(sign));
    }

    pub(super) fn push_str(&mut self, text: &str) {
        self.0.iter_mut().for_each(|word| word.push_str(text));
    }

    /// Adds what may be one of several.
    pub(super) fn push_any(&mut self, values: &[String]) {
        let [first, others @ ..] = values else { return };
        let bytes = self.0.iter().map(String::len).sum::<usize>() * values.len();
        if others.is_empty()
            || self.0.len() * values.len() > ALTERNATIVES_MAX
            || bytes > ALTERNATIVES_BYTES_MAX
        {
            self.push_str(first);
            return;
        }
        let with = |word: &String| values.iter().map(|value| format!("{word}{value}")).collect::<Vec<_>>();
        self.0 = self.0.iter().flat_map(with).collect();
    }

    /// All that it may be, one below the other.
    pub(super) fn joined(&self) -> String {
        self.0.join("\n")
    }

    /// The words that it stands for.
    pub(super) fn with_braces(&self) -> Vec<String> {
        self.0.iter().flat_map(|word| without_braces(word)).collect()
    }
}

/// The words that one with braces stands for; itself if there are none, or too many.
fn without_braces(word: &str) -> Vec<String> {
    let mut words = vec![word.to_owned()];
    if word.len() > BRACED_BYTES_MAX || !word.contains(['{', '[']) {
        return words;
    }
    let mut done = 0;
    while let Some(next) = words.get(done) {
        let Some((at, choices)) = first_choice(next) else {
            done += 1;
            continue;
        };
        if words.len() + choices.len() > ALTERNATIVES_MAX {
            return vec![word.to_owned()];
        }
        let (before, after) = (next[..at.start].to_owned(), next[at.end..].to_owned());
        words.splice(done..=done, choices.iter().map(|choice| format!("{before}{choice}{after}")));
    }
    words
}

/// The first part of a word that stands for several.
fn first_choice(word: &str) -> Option<(Range<usize>, Vec<String>)> {
    word.match_indices(['{', '[']).take(BRACKETS_MAX).find_map(|(at, bracket)| {
        let inside = &word[at + 1..];
        let (length, choices) = if bracket == "{" { braced(inside)? } else { ranged(inside)? };
        Some((at..at + length + 2, choices))
    })
}

/// `a,b}` or `a..c}`, and how long it is without its bracket.
fn braced(inside: &str) -> Option<(usize, Vec<String>)> {
    let (mut depth, mut begun, mut choices) = (0, 0, Vec::new());
    for (at, sign) in inside.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' if depth == 0 => {
                choices.push(inside[begun..at].to_owned());
                begun = at + 1;
            }
            '}' if choices.is_empty() => return Some((at, sequence(inside[..at].split_once("..")?)?)),
            '}' => {
                choices.push(inside[begun..at].to_owned());
                return Some((at, choices));
            }
            _ => {}
        }
    }
    None
}

/// `a-c]`, as `curl` reads it.
fn ranged(inside: &str) -> Option<(usize, Vec<String>)> {
    let (range, _) = inside.split_once(']')?;
    Some((range.len(), sequence(range.split_once('-')?)?))
}

fn sequence((first, last): (&str, &str)) -> Option<Vec<String>> {
    let letter = |text: &str| {
        let mut signs = text.chars();
        signs.next().filter(|sign| sign.is_ascii_alphabetic() && signs.next().is_none())
    };
    if let (Some(first), Some(last)) = (letter(first), letter(last)) {
        let (least, most) = (first.min(last), first.max(last));
        return Some((least..=most).map(String::from).collect());
    }
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    let (least, most) = (first.min(last), first.max(last));
    (usize::from(most - least) < ALTERNATIVES_MAX)
        .then(|| (least..=most).map(|number| number.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::without_braces;

    #[test]
    fn braces_stand_for_words() {
        let check = |word: &str, expected: &[&str]| assert_eq!(without_braces(word), expected, "{word}");
        check("a{b,c}d", &["abd", "acd"]);
        check("{a,b}{1..3}", &["a1", "a2", "a3", "b1", "b2", "b3"]);
        check("a{b,{c,d}e}", &["ab", "ace", "ade"]);
        check("{c..a}[0-1]", &["a0", "a1", "b0", "b1", "c0", "c1"]);
        check("{}", &["{}"]);
        check("{a}[b]{c,", &["{a}[b]{c,"]);
        check("{1..1000}", &["{1..1000}"]);
        check("{a..z}{a..z}", &["{a..z}{a..z}"]);
        check("[._-]é{é,x}", &["[._-]éé", "[._-]éx"]);
    }
}
