//! Strings of a program, whatever its language, as they are once they are put together: `"exam" + "ple.com"`,
//! `f"{host}.com"`, `chr(101)`. Not a parser: what it does not know ends a string, and it only ever adds texts to
//! those that are looked at.

use std::collections::BTreeMap;

// A variable's value that is longer is no part of a URL.
const VALUE_BYTES_MAX: usize = 4096;
// What variables add to one string.
const ADDED_BYTES_MAX: usize = 4096;

// Shorter lists of numbers spell no host.
const SPELLED_BYTES_MIN: usize = 8;

/// Functions that make text of numbers.
const OF_NUMBERS: [&str; 7] =
    ["chr", "unichr", "fromCharCode", "fromCodePoint", "bytes", "bytearray", "char"];

/// The strings of a program, each with what is added to it.
pub(super) fn strings(code: &str) -> Vec<String> {
    if !code.contains(['"', '\'', '`', '(']) {
        return Vec::new();
    }
    let mut found = read(code, None);
    if code.contains(['#', '/']) {
        // Which of them begins a comment depends on the language, and an odd quote in one turns all strings inside out.
        found.extend(read(&without_comments(code), None));
    }
    if OF_NUMBERS.iter().any(|name| code.contains(name)) {
        found.extend(spelled(code));
    }
    if code.contains("join(") || code.contains("concat(") {
        // Lists are put together, too, with one of the signs that hold a URL together.
        ["", ".", "/"].iter().for_each(|sign| found.extend(read(code, Some(sign))));
    }
    let filled = filled(&found);
    found.extend(filled);
    if ["rot13", "rot_13"].iter().any(|name| code.contains(name)) {
        found.push(code.chars().map(rotated).collect());
    }
    if code.contains("reverse") {
        found.push(reversed(code));
    }
    found
}

/// A text from its end to its beginning.
pub(super) fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

/// A program without what looks like a comment.
fn without_comments(code: &str) -> String {
    let comment = |line: &str| {
        let is_first = |at: usize| line[..at].ends_with(char::is_whitespace) || at == 0;
        let marks = line.match_indices('#').chain(line.match_indices("//"));
        marks.map(|(at, _)| at).filter(|at| is_first(*at)).min().unwrap_or(line.len())
    };
    code.lines().flat_map(|line| [&line[..comment(line)], "\n"]).collect()
}

/// Texts that stand there as lists of numbers, wherever they are taken from.
fn spelled(code: &str) -> Vec<String> {
    let is_of_list = |sign: char| sign.is_ascii_digit() || matches!(sign, ',' | ' ' | '\n');
    let text = |list: &str| -> Option<String> {
        let numbers = list.split([',', ' ', '\n']).filter(|number| !number.is_empty());
        numbers
            .map(|number| number.parse::<u8>().ok().filter(|byte| (32..127).contains(byte)).map(char::from))
            .collect()
    };
    code.split(|sign| !is_of_list(sign))
        .filter(|list| list.len() >= SPELLED_BYTES_MIN)
        .filter_map(text)
        .collect()
}

fn rotated(sign: char) -> char {
    let turned = |first: u8| char::from(first + (sign as u8 - first + 13) % 26);
    match sign {
        'a'..='z' => turned(b'a'),
        'A'..='Z' => turned(b'A'),
        sign => sign,
    }
}

/// `"%s.com" % "example"` and `"{}.com".format("example")`: places are filled with the strings that follow.
fn filled(strings: &[String]) -> Vec<String> {
    let place = |text: &str| {
        ["{}", "{0}", "{1}", "%s"].iter().filter_map(|place| Some((text.find(place)?, place.len()))).min()
    };
    let fill = |(at, text): (usize, &String)| {
        let mut rest = text.as_str();
        let mut filled = String::new();
        let mut values = strings[at + 1..].iter();
        while let Some((start, length)) = place(rest) {
            filled.push_str(&rest[..start]);
            filled.push_str(crate::glance::beginning(values.next()?, ADDED_BYTES_MAX));
            rest = &rest[start + length..];
        }
        (!filled.is_empty() || rest.len() < text.len()).then(|| filled + rest)
    };
    strings.iter().enumerate().filter_map(fill).collect()
}

/// Reads strings, with `between` in the place of the comma if lists are put together.
fn read(code: &str, between: Option<&str>) -> Vec<String> {
    let mut reader = Reader {
        code,
        at: 0,
        between,
        variables: BTreeMap::new(),
        target: None,
        name: None,
        open: None,
        added: 0,
        found: Vec::new(),
    };
    reader.read();
    reader.found
}

struct Reader<'a> {
    code: &'a str,
    at: usize,
    between: Option<&'a str>,
    variables: BTreeMap<&'a str, String>,
    /// The variable that is being set.
    target: Option<&'a str>,
    /// The last name, which may become one.
    name: Option<&'a str>,
    /// The string under way.
    open: Option<String>,
    /// How much variables added to it.
    added: usize,
    found: Vec<String>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.code[self.at..]
    }

    fn read(&mut self) {
        while let Some(sign) = self.rest().chars().next() {
            match sign {
                '"' | '\'' | '`' => self.literal(sign),
                sign if sign.is_alphabetic() || matches!(sign, '_' | '$') => self.named(),
                '[' if self.rest().starts_with("[::-1]") => {
                    self.open = self.open.take().map(|text| reversed(&text));
                    self.at += "[::-1]".len();
                }
                '=' if self.rest().starts_with("==") => self.ended("==".len()),
                '=' => {
                    let name = self.name.take();
                    let is_added = self.code[..self.at].ends_with('+');
                    self.ended(1);
                    self.target = name;
                    self.open = name.filter(|_| is_added).and_then(|name| self.variables.get(name).cloned());
                }
                ',' if self.between.is_some() => {
                    if let (Some(open), Some(between)) = (&mut self.open, self.between) {
                        open.push_str(between);
                    }
                    self.at += 1;
                }
                '[' | ']' | '(' | ')' if self.between.is_some() => self.at += 1,
                // Brackets around a string are no end of it.
                '(' | ')' => self.at += 1,
                '+' | '.' | '&' | '~' | '\\' => self.at += 1,
                '\n' if self.target.is_some() || self.open.is_none() => self.line(),
                sign if sign.is_whitespace() => self.at += sign.len_utf8(),
                sign => self.ended(sign.len_utf8()),
            }
        }
        self.ended(0);
    }

    /// The end of a line ends a string, unless it goes on there.
    fn line(&mut self) {
        let before = self.code[..self.at].trim_end().chars().next_back();
        let after = self.rest().trim_start().chars().next();
        let goes_on =
            matches!(before, Some('+' | '\\' | '(' | ',' | '.')) || matches!(after, Some('+' | '.'));
        if goes_on { self.at += 1 } else { self.ended(1) }
    }

    /// A string between quotes.
    fn literal(&mut self, quote: char) {
        let rest = self.rest();
        let triple: String = [quote; 3].iter().collect();
        let length = if rest.starts_with(&triple) { 3 } else { 1 };
        let inside = &rest[length..];
        let end = end_of(inside, &rest[..length]);
        self.at += (length + end + length).min(rest.len());
        let text = self.with_variables(&inside[..end]);
        self.add(&text);
    }

    /// A string whose places in braces are filled with the variables of these names.
    fn with_variables(&mut self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            filled.push_str(before.strip_suffix(['$', '#']).unwrap_or(before));
            let value = behind.split_once('}').and_then(|(name, after)| {
                let quotes = ["\"", "'", "`"];
                let literal = quotes.iter().find_map(|quote| name.strip_prefix(quote)?.strip_suffix(quote));
                Some((literal.or_else(|| self.variables.get(name).map(String::as_str))?, after))
            });
            rest = match value.filter(|(value, _)| self.added + value.len() <= ADDED_BYTES_MAX) {
                Some((value, after)) => {
                    self.added += value.len();
                    filled.push_str(value);
                    after
                }
                None => {
                    filled.push('{');
                    behind
                }
            };
        }
        filled + rest
    }

    fn add(&mut self, text: &str) {
        self.open.get_or_insert_default().push_str(text);
        self.name = None;
    }

    /// A name: a variable, a function that makes text, or anything else.
    fn named(&mut self) {
        let rest = self.rest();
        let is_of_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '$');
        let length = rest.find(|sign| !is_of_name(sign)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(length);
        let is_of_text = self.code[..self.at].ends_with('.') && self.open.is_some();
        // Letters that say how the string behind them is written.
        let is_prefix = length <= 2 && behind.starts_with(['"', '\'']);
        self.at += length;
        if is_prefix || (self.between.is_some() && matches!(name, "join" | "concat")) {
            return;
        }
        let sign = name.strip_prefix('$').unwrap_or(name);
        if OF_NUMBERS.contains(&name)
            && let Some((text, length)) = of_numbers(behind)
        {
            self.at += length;
            self.add(&text);
        } else if is_of_text && matches!(name, "replace" | "replaceAll" | "gsub" | "sub") {
            self.replaced(behind);
        } else if is_of_text && behind.starts_with("()") {
            // Something is done to the string: what it says stays.
            self.at += 2;
        } else if let Some(value) = self.variables.get(sign).cloned() {
            let is_set = behind.trim_start().starts_with('=') && !behind.trim_start().starts_with("==");
            if is_set || self.added + value.len() > ADDED_BYTES_MAX {
                self.ended(0);
            } else {
                self.added += value.len();
                self.add(&value);
            }
            self.name = Some(sign);
        } else {
            self.ended(0);
            self.name = Some(sign);
        }
    }

    /// `.replace("a", "b")`, with strings for both.
    fn replaced(&mut self, behind: &'a str) {
        let between_quotes = |text: &'a str| {
            let quote = text.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
            text[1..].split_once(quote)
        };
        let read = || {
            let (old, rest) = between_quotes(behind.strip_prefix('(')?.trim_start())?;
            let (new, rest) = between_quotes(rest.trim_start().strip_prefix(',')?.trim_start())?;
            Some((old, new, behind.len() - rest.len()))
        };
        if let Some((old, new, length)) =
            read().filter(|(old, new, _)| !old.is_empty() && new.len() <= old.len())
        {
            self.open = self.open.take().map(|text| text.replace(old, new));
            self.at += length;
        }
    }

    /// The string under way is complete.
    fn ended(&mut self, length: usize) {
        self.at += length;
        self.name = None;
        self.added = 0;
        let target = self.target.take();
        let Some(text) = self.open.take() else { return };
        if let Some(target) = target.filter(|_| text.len() <= VALUE_BYTES_MAX) {
            self.variables.insert(target, text.clone());
        }
        self.found.push(text);
    }
}

/// Where a string ends that was begun with these quotes.
fn end_of(inside: &str, quotes: &str) -> usize {
    let mut from = 0;
    while let Some(at) = inside[from..].find(quotes).map(|at| from + at) {
        let slashes = inside[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        if slashes % 2 == 0 {
            return at;
        }
        from = at + quotes.len();
    }
    inside.len()
}

/// The text of numbers in brackets: `([101, 0x78])`.
fn of_numbers(behind: &str) -> Option<(String, usize)> {
    let inside = behind.trim_start_matches(['(', '[', ' ']);
    let is_of_list = |sign: char| sign.is_ascii_hexdigit() || matches!(sign, 'x' | ',' | ' ' | '\n');
    let length = inside.find(|sign| !is_of_list(sign))?;
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let numbers = inside[..length].split([',', ' ', '\n']).filter(|text| !text.is_empty());
    let text = numbers.map(|text| char::from_u32(number(text)?)).collect::<Option<String>>()?;
    let rest = inside[length..].trim_start_matches([']', ')']);
    (!text.is_empty()).then(|| (text, behind.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::strings;

    #[test]
    fn strings_are_put_together() {
        let check = |code: &str, expected: &[&str]| {
            let found = strings(code);
            for text in expected {
                assert!(found.iter().any(|found| found == text), "{code}: {found:?}");
            }
        };
        check(r#"get("a" + 'b')"#, &["ab"]);
        check(r#"x = "a" "b""#, &["ab"]);
        check("h = 'a' \\\n  + 'b'\nget('x' + h + '.c')", &["ab", "xab.c"]);
        check("h='a'; get(f'{h}.c')", &["a.c"]);
        check("const h = `a`; f(`x${h}.c`)", &["xa.c"]);
        check("'{}.c'.format('a')", &["a.c"]);
        check("'%s.%s' % ('a', 'c')", &["a.c"]);
        check("'.'.join(['a', 'c'])", &[".a.c"]);
        check("'a'.concat('b', 'c')", &["abc"]);
        check("chr(97)+chr(0x62)+'.c'", &["ab.c"]);
        check("bytes([97, 98]).decode()", &["ab"]);
        check("'c.ba'[::-1]", &["ab.c"]);
        check("'aZc'.replace('Z', 'b')", &["abc"]);
        check(r#"get("a\"b")"#, &[r#"a\"b"#]);
        check("$h = 'a'; echo $h . 'b';", &["ab"]);
        check("# don't\nget('a' + 'b')", &["ab"]);
        check("u = 'a'\nu += 'b'\nget(u)", &["ab"]);
        check("f(`a${'b'}c`)", &["abc"]);
        check("''.join(map(chr, [97, 98, 99]))", &["abc"]);
    }

    #[test]
    fn strings_that_are_apart_stay_apart() {
        let check = |code: &str, never: &str| {
            let found = strings(code);
            assert!(found.iter().all(|found| found != never), "{code}: {found:?}");
        };
        check("['a', 'b']", "ab");
        check("print('a')\nprint('b')", "ab");
        check("f('a') - g('b')", "ab");
    }

    #[test]
    fn whatever_it_is_it_ends() {
        for code in
            ["'", "\"\"\"", "chr(", "x='", "é='é'", "[::-1]", "''.replace('", "{", "'{'", "'a'.join(("]
        {
            strings(code);
            strings(&code.repeat(100));
        }
    }
}
