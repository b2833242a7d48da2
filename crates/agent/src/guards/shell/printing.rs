//! What the programs that only change a text would print, and `xargs` with what it starts.

use super::Shell;
use crate::effects::wrapped::name;
use crate::guards::code::reversed;
use crate::guards::unescape::{backslashes, base32, base64, hex, text_of};
use std::collections::VecDeque;

// An `xargs` that starts another one is no command that anybody wrote.
const STARTED_MAX: usize = 4;

/// What a command would print, as far as it can be told from its words and its input.
pub(super) fn printed(shell: &mut Shell<'_>, words: &[String], input: Option<&str>) -> String {
    of_program(shell, words, input, 0)
}

fn of_program(shell: &mut Shell<'_>, words: &[String], input: Option<&str>, depth: usize) -> String {
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let has = |options: &[&str]| arguments.iter().any(|word| options.contains(&word.as_str()));
    let text = input.unwrap_or_default();
    let decoded = |bytes: Option<Vec<u8>>| bytes.and_then(text_of).unwrap_or_default();
    match name(program) {
        "echo" => echo(arguments),
        "printf" => printf(shell, arguments),
        "cat" | "tee" | "head" | "tail" | "sort" | "uniq" | "tac" | "nl" | "paste" | "fmt" | "fold"
        | "column" | "xxd" | "jq" | "grep" | "cut" | "awk" | "strings" => {
            if has(&["-r", "-rp", "-pr"]) && name(program) == "xxd" {
                decoded(hex(text))
            } else {
                text.to_owned()
            }
        }
        "base64" | "openssl" if has(&["-d", "-D", "--decode", "-di"]) => decoded(base64(text)),
        "base32" if has(&["-d", "-D", "--decode"]) => decoded(base32(text)),
        "rev" => text.lines().map(reversed).collect::<Vec<_>>().join("\n"),
        "tr" => translated(text, arguments),
        "sed" => arguments.iter().fold(text.to_owned(), |text, script| substituted(&text, script)),
        "xargs" if depth < STARTED_MAX => xargs(shell, arguments, text, depth),
        _ => String::new(),
    }
}

fn echo(arguments: &[String]) -> String {
    let is_option = |word: &String| {
        word.strip_prefix('-')
            .is_some_and(|letters| !letters.is_empty() && letters.bytes().all(|byte| b"neE".contains(&byte)))
    };
    let options = arguments.iter().take_while(|word| is_option(word)).count();
    let text = arguments[options..].join(" ");
    if arguments[..options].iter().any(|option| option.contains('e')) { backslashes(&text) } else { text }
}

fn printf(shell: &mut Shell<'_>, arguments: &[String]) -> String {
    let (variable, arguments) = match arguments {
        [option, variable, rest @ ..] if option == "-v" => (Some(variable), rest),
        arguments => (None, arguments),
    };
    let arguments = arguments.strip_prefix(&["--".to_owned()][..]).unwrap_or(arguments);
    let Some((format, values)) = arguments.split_first() else { return String::new() };
    let format = backslashes(format);
    let mut values: VecDeque<&str> = values.iter().map(String::as_str).collect();
    let mut printed = String::new();
    // The format is used again until there is nothing left.
    loop {
        let left = values.len();
        printed.push_str(&formatted(&format, &mut values));
        if values.is_empty() || values.len() == left {
            break;
        }
    }
    if let Some(variable) = variable {
        shell.set(variable, vec![printed.clone()]);
    }
    printed
}

fn formatted(format: &str, values: &mut VecDeque<&str>) -> String {
    let mut printed = String::new();
    let mut rest = format;
    while let Some((before, directive)) = rest.split_once('%') {
        printed.push_str(before);
        let end = directive
            .find(|sign: char| !(sign.is_ascii_digit() || matches!(sign, '-' | '.' | '+' | '#' | ' ')));
        let Some(end) = end else { return printed + directive };
        let kind = directive[end..].chars().next().unwrap_or_default();
        match kind {
            '%' => printed.push('%'),
            'b' => printed.push_str(&backslashes(values.pop_front().unwrap_or_default())),
            'c' => printed.extend(values.pop_front().and_then(|value| value.chars().next())),
            _ => {
                let value = values.pop_front().unwrap_or_default();
                let length = directive[..end].split_once('.').and_then(|(_, length)| length.parse().ok());
                printed.extend(value.chars().take(length.unwrap_or(usize::MAX)));
            }
        }
        rest = &directive[end + kind.len_utf8()..];
    }
    printed + rest
}

/// What `tr` makes of a text.
fn translated(text: &str, arguments: &[String]) -> String {
    let sets: Vec<Vec<char>> = arguments
        .iter()
        .filter(|word| word.len() == 1 || !word.starts_with('-'))
        .map(|word| set(word))
        .collect();
    let deletes = arguments.iter().any(|word| word == "-d");
    match sets.as_slice() {
        [gone, ..] if deletes => text.chars().filter(|sign| !gone.contains(sign)).collect(),
        [old, new, ..] => {
            let changed = |sign: char| match old.iter().rposition(|known| *known == sign) {
                Some(at) => new.get(at).or(new.last()).copied().unwrap_or(sign),
                None => sign,
            };
            text.chars().map(changed).collect()
        }
        _ => text.to_owned(),
    }
}

/// The signs of `a-z`, `[:upper:]` and the like.
fn set(text: &str) -> Vec<char> {
    let text = text.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:digit:]", "0-9");
    let signs: Vec<char> = backslashes(&text).chars().collect();
    let mut set = Vec::new();
    let mut at = 0;
    while let Some(&sign) = signs.get(at) {
        match (signs.get(at + 1), signs.get(at + 2)) {
            // As many as there are letters and digits.
            (Some('-'), Some(&last)) if sign.is_ascii() && last.is_ascii() => {
                set.extend(sign..=last);
                at += 3;
            }
            _ => {
                set.push(sign);
                at += 1;
            }
        }
    }
    set
}

/// What `s/old/new/` of `sed` makes of a text, if `old` is no more than a text itself.
fn substituted(text: &str, script: &str) -> String {
    let Some(divider) = script.strip_prefix('s').and_then(|rest| rest.chars().next()) else {
        return text.to_owned();
    };
    let mut parts = script[1..].split(divider).skip(1);
    let (Some(old), Some(new), Some(flags)) = (parts.next(), parts.next(), parts.next()) else {
        return text.to_owned();
    };
    let (old, new) = (backslashes(old), backslashes(new));
    match (old.is_empty(), flags.contains('g')) {
        (true, _) => text.to_owned(),
        (false, true) => text.replace(&old, &new),
        (false, false) => text.replacen(&old, &new, 1),
    }
}

/// What is started by `xargs` is a command like any other, with the input among its words.
fn xargs(shell: &mut Shell<'_>, arguments: &[String], input: &str, depth: usize) -> String {
    let mut place = None;
    let mut words = arguments;
    while let [option, rest @ ..] = words {
        if !option.starts_with('-') {
            break;
        }
        words = rest;
        if let Some(joined) = option.strip_prefix("-I") {
            let (taken, rest) = if joined.is_empty() {
                words.split_first().map(|(taken, rest)| (taken.as_str(), rest)).unwrap_or(("", words))
            } else {
                (joined, words)
            };
            (place, words) = (Some(taken).filter(|place| !place.is_empty()), rest);
        } else if option.starts_with("-i") || option.starts_with("--replace") {
            place = Some("{}");
        } else if matches!(option.as_str(), "-n" | "-P" | "-d" | "-L" | "-s" | "-a" | "-E") {
            words = words.get(1..).unwrap_or_default();
        }
    }
    let Some(program) = words.first() else { return input.to_owned() };
    let client = name(program).to_owned();
    let started: Vec<String> = match place {
        Some(place) => words.iter().map(|word| word.replace(place, input.trim())).collect(),
        None => words.iter().cloned().chain(input.split_whitespace().map(str::to_owned)).collect(),
    };
    for word in &started {
        shell.say(word, &client, &[], true);
    }
    of_program(shell, &started, None, depth + 1)
}
