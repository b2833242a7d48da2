//! The parts of a word: quotes, escapes, variables, and commands whose output stands in their place.

use super::words::Alternatives;
use super::{Command, DEPTH_MAX, Shell, Source};
use crate::guards::unescape::{backslashes, escaped};

impl Shell<'_> {
    /// Reads the part of a word that begins with this sign.
    pub(super) fn part(&mut self, source: &mut Source<'_>, command: &mut Command, sign: char) {
        let mut word = command.word.take().unwrap_or_default();
        match sign {
            '\'' => word.push_str(self.single_quoted(source)),
            '"' => self.double_quoted(source, &mut word),
            '\\' => match source.sign() {
                // A line that goes on.
                Some('\n') | None => {}
                Some(sign) => word.push(sign),
            },
            '$' if source.takes("'") => ansi_quoted(source, &mut word),
            // Quotes of a locale.
            '$' if source.rest().starts_with('"') => {}
            '$' | '`' => self.dollar(source, &mut word, sign),
            _ => word.push(sign),
        }
        command.word = Some(word);
    }

    /// A text in which variables and commands stand, but no quotes, as in a here-document.
    pub(super) fn expanded(&mut self, text: &str, depth: usize) -> String {
        let mut source = Source { script: text, at: 0, depth, behind_documents: None };
        let mut word = Alternatives::default();
        while let Some(sign) = source.sign() {
            match sign {
                '\\' if source.rest().starts_with(['$', '`', '\\', '\n']) => {
                    source.sign().filter(|sign| *sign != '\n').into_iter().for_each(|sign| word.push(sign));
                }
                '$' | '`' => self.dollar(&mut source, &mut word, sign),
                sign => word.push(sign),
            }
        }
        word.joined()
    }

    fn single_quoted<'a>(&mut self, source: &mut Source<'a>) -> &'a str {
        match source.until("'") {
            Some(text) => text,
            None => {
                self.reading.is_whole = false;
                let rest = source.rest();
                source.at = source.script.len();
                rest
            }
        }
    }

    fn double_quoted(&mut self, source: &mut Source<'_>, word: &mut Alternatives) {
        while let Some(sign) = source.sign() {
            match sign {
                '"' => return,
                // Elsewhere in double quotes a backslash is itself.
                '\\' if source.rest().starts_with(['$', '`', '"', '\\', '\n']) => {
                    source.sign().filter(|sign| *sign != '\n').into_iter().for_each(|sign| word.push(sign));
                }
                '$' | '`' => self.dollar(source, word, sign),
                sign => word.push(sign),
            }
        }
        self.reading.is_whole = false;
    }

    /// A variable, a calculation or a nested command.
    fn dollar(&mut self, source: &mut Source<'_>, word: &mut Alternatives, sign: char) {
        if sign == '`' {
            let script = backquoted(source);
            if source.depth >= DEPTH_MAX {
                self.reading.is_whole = false;
                return;
            }
            let printed = self.run(&script, source.depth + 1);
            word.push_str(printed.trim_end_matches('\n'));
        } else if source.takes("((") {
            // What it comes to is not worked out; that it is no command nobody knows.
            let printed = self.nested(source, ')');
            source.takes(")");
            self.say(&printed, "", &[], false);
        } else if source.takes("(") {
            let printed = self.nested(source, ')');
            word.push_str(printed.trim_end_matches('\n'));
        } else if source.takes("{") {
            let inside = braced(source);
            let values = self.parameter(inside, source.depth);
            word.push_any(&values);
        } else {
            let length = source
                .rest()
                .bytes()
                .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                .count();
            let rest = source.rest();
            let name = match rest.chars().next() {
                // Of a number only one digit, and of signs one.
                Some('0'..='9' | '@' | '*' | '#' | '?' | '!' | '-' | '$') => &rest[..1],
                _ if length == 0 => return word.push('$'),
                Some(_) | None => &rest[..length],
            };
            source.at += name.len();
            word.push_any(&self.values_of(name));
        }
    }

    fn values_of(&self, name: &str) -> Vec<String> {
        // Whatever is not set in the script is as good as empty.
        let values = self.variables.get(name).or_else(|| self.outer.get(name));
        values.filter(|values| !values.is_empty()).cloned().unwrap_or_else(|| vec![String::new()])
    }

    /// What `${…}` may be.
    fn parameter(&mut self, inside: &str, depth: usize) -> Vec<String> {
        if depth >= DEPTH_MAX {
            self.reading.is_whole = false;
            return vec![String::new()];
        }
        let (indirect, inside) = match inside.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, inside.strip_prefix('#').unwrap_or(inside)),
        };
        let is_of_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        let end = inside.find(|sign| !is_of_name(sign)).unwrap_or(inside.len());
        let end = if end == 0 { inside.len().min(1) } else { end };
        let Some((name, mut rest)) = inside.split_at_checked(end) else { return vec![String::new()] };
        let mut name = name.to_owned();
        if let Some((index, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            if !matches!(index, "@" | "*") {
                let index = self.expanded(index, depth + 1);
                name = format!("{name}[{index}]");
            }
            rest = behind;
        }
        if indirect {
            let names = self.values_of(&name);
            return names.iter().flat_map(|name| self.values_of(name)).collect();
        }
        let values = self.values_of(&name);
        let is_set = self.variables.contains_key(&name);
        self.operated(values, is_set, rest, depth)
    }

    /// Values with what is done to them: defaults, replacements, cuts.
    fn operated(&mut self, values: Vec<String>, is_set: bool, operation: &str, depth: usize) -> Vec<String> {
        let each = |change: &dyn Fn(&str) -> String| values.iter().map(|value| change(value)).collect();
        let mut operand = |text: &str| self.operand(text, depth + 1);
        let Some(first) = operation.chars().next() else { return values };
        match first {
            ',' => each(&|value| value.to_lowercase()),
            '^' => each(&|value| value.to_uppercase()),
            '/' => {
                let (all, rest) = match operation[1..].strip_prefix('/') {
                    Some(rest) => (true, rest),
                    None => (false, &operation[1..]),
                };
                let (old, new) = rest.split_once('/').unwrap_or((rest, ""));
                let (old, new) = (operand(old), operand(new));
                match (old.is_empty(), all) {
                    (true, _) => values,
                    (false, true) => each(&|value| value.replace(&old, &new)),
                    (false, false) => each(&|value| value.replacen(&old, &new, 1)),
                }
            }
            '#' | '%' => {
                let pattern = operand(operation.trim_start_matches(first));
                let longest = operation.starts_with("##") || operation.starts_with("%%");
                each(&|value| cut(value, &pattern, first == '#', longest).to_owned())
            }
            ':' | '-' | '=' | '+' | '?' => {
                let rest = operation.trim_start_matches(':');
                match rest.chars().next() {
                    Some('-' | '=' | '?') if operation != rest || first != ':' => {
                        let default = operand(&rest[1..]);
                        let known = values.into_iter().filter(|_| is_set);
                        known.chain([default]).collect()
                    }
                    Some('+') => vec![String::new(), operand(&rest[1..])],
                    _ => {
                        let (from, length) = rest.split_once(':').unwrap_or((rest, ""));
                        let (from, length) = (operand(from), operand(length));
                        each(&|value| part_of(value, &from, &length))
                    }
                }
            }
            _ => values,
        }
    }

    /// The word of an operation, which may have quotes and variables in it.
    fn operand(&mut self, text: &str, depth: usize) -> String {
        let mut source = Source { script: text, at: 0, depth, behind_documents: None };
        let mut command = Command::default();
        while let Some(sign) = source.sign() {
            self.part(&mut source, &mut command, sign);
        }
        command.word.unwrap_or_default().first().to_owned()
    }
}

/// `$'…'`.
fn ansi_quoted(source: &mut Source<'_>, word: &mut Alternatives) {
    let rest = source.rest();
    let mut length = 0;
    while let Some(sign) = rest[length..].chars().next().filter(|sign| *sign != '\'') {
        length += if sign == '\\' { 1 + escaped(&rest[length + 1..]).1 } else { sign.len_utf8() };
    }
    word.push_str(&backslashes(&rest[..length]));
    source.at = (source.at + length + 1).min(source.script.len());
}

/// The script between backquotes.
fn backquoted(source: &mut Source<'_>) -> String {
    let mut script = String::new();
    while let Some(sign) = source.sign().filter(|sign| *sign != '`') {
        match sign {
            '\\' if source.rest().starts_with(['`', '\\', '$']) => script.extend(source.sign()),
            sign => script.push(sign),
        }
    }
    script
}

/// What is between braces, which is taken.
fn braced<'a>(source: &mut Source<'a>) -> &'a str {
    let rest = source.rest();
    let mut depth = 1;
    for (at, sign) in rest.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            source.at += at + 1;
            return &rest[..at];
        }
    }
    source.at = source.script.len();
    rest
}

/// A value without what fits a pattern at its beginning or its end.
fn cut<'a>(value: &'a str, pattern: &str, at_start: bool, longest: bool) -> &'a str {
    let rest = match (at_start, pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (true, Some(text), _) if longest => value.rsplit_once(text).map(|(_, rest)| rest),
        (true, Some(text), _) => value.split_once(text).map(|(_, rest)| rest),
        (true, None, _) => value.strip_prefix(pattern),
        (false, _, Some(text)) if longest => value.split_once(text).map(|(rest, _)| rest),
        (false, _, Some(text)) => value.rsplit_once(text).map(|(rest, _)| rest),
        (false, _, None) => value.strip_suffix(pattern),
    };
    rest.unwrap_or(value)
}

/// `${name:from:length}`.
fn part_of(value: &str, from: &str, length: &str) -> String {
    let count = value.chars().count();
    let place = |text: &str, whole: usize| match text.trim().parse::<isize>() {
        Ok(number) if number < 0 => whole.saturating_sub(number.unsigned_abs()),
        Ok(number) => number.unsigned_abs(),
        Err(_) => whole,
    };
    let from = place(from, count);
    let length = place(length, count);
    value.chars().skip(from).take(length).collect()
}
