//! What a shell command says once the shell has read it: quotes, escapes, variables that are set in it, braces, and
//! what `echo`, `printf`, `base64` and the like would print. Nothing is run. What only a run could tell is left
//! out, as if it were empty, and the rest is read all the same.
//!
//! A script is read twice: a variable or an argument of a function may be set behind the place where it is used.

mod expansion;
mod known;
mod printing;
mod words;

use crate::effects::wrapped::{name, unwrapped};
use crate::glance::beginning;
use known::assignment;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::rc::Rc;
use words::Alternatives;

// Deeper nesting is no command that anybody wrote.
const DEPTH_MAX: usize = 16;
// All that is made of a script, in times of its own length, and a floor for short ones.
const MADE_FACTOR: usize = 16;
const MADE_BYTES_MIN: usize = 1 << 20;
// Of a program that copies its input no more is wanted than a variable or a word can be.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

// Longer is no program that is known here, and each word of a command keeps it.
const PROGRAM_BYTES_MAX: usize = 64;
// Each word of a command keeps them all.
const PORTS_MAX: usize = 16;

/// Programs whose words are hosts and URLs.
const CLIENTS: [&str; 44] = [
    "aria2c",
    "axel",
    "curl",
    "dig",
    "docker",
    "elinks",
    "fetch",
    "ftp",
    "git",
    "go",
    "host",
    "http",
    "https",
    "lftp",
    "links",
    "lynx",
    "mosh",
    "mtr",
    "nc",
    "ncat",
    "netcat",
    "nmap",
    "npm",
    "nslookup",
    "openssl",
    "ping",
    "ping6",
    "pip",
    "pip3",
    "podman",
    "rsync",
    "scp",
    "sftp",
    "skopeo",
    "socat",
    "ssh",
    "telnet",
    "tracepath",
    "traceroute",
    "w3m",
    "wget",
    "whois",
    "xh",
    "yt-dlp",
];
/// Programs that are given a program of another language. What is in its strings may be a script again.
const INTERPRETERS: [&str; 16] = [
    "awk", "bun", "deno", "gawk", "groovy", "julia", "lua", "node", "nodejs", "perl", "php", "python",
    "python2", "python3", "Rscript", "ruby",
];
/// Words before a command that belong to the language.
const KEYWORDS: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc", "time", "function"];

/// What a script says.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Each word, output, comment and here-document.
    pub(super) said: Vec<Said>,
    /// Whether it was read to its end and as it was meant; else the script itself must be looked at, too.
    pub(super) is_whole: bool,
    /// Whether it says more than anybody could look at.
    pub(super) is_endless: bool,
    /// What its variables may be.
    pub(super) variables: Variables,
}

/// What each variable may be.
pub(super) type Variables = BTreeMap<String, Vec<String>>;

/// One text of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    /// The program that it was said to, without its folder; empty where it is for none.
    pub(super) program: String,
    /// Numbers among the words of the same command, which may be ports.
    pub(super) ports: Vec<u16>,
    /// Where the shell is by then, as it was told: relative to where it began, or absolute.
    pub(super) folders: Rc<Vec<String>>,
    /// Whether it stands where a file does: a word, an option's value, a redirection.
    pub(super) is_word: bool,
    /// Whether it is a program of another language.
    pub(super) is_code: bool,
}

impl Said {
    pub(super) fn is_for_client(&self) -> bool {
        CLIENTS.contains(&self.program.as_str())
    }
}

/// Reads a script that is called with these variables set.
pub(super) fn read(script: &str, settings: &[(&str, &str)], outer: &Variables) -> Reading {
    let mut shell = Shell {
        variables: settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]))
            .collect(),
        functions: BTreeSet::new(),
        folders: Rc::default(),
        handed: None,
        outer,
        made: 0,
        made_max: MADE_BYTES_MIN + MADE_FACTOR * script.len(),
        reading: Reading::default(),
    };
    for _ in 0..2 {
        shell.folders = Rc::new(vec![String::new()]);
        shell.reading = Reading { is_whole: true, ..Reading::default() };
        shell.made = 0;
        shell.run(script, 0);
    }
    Reading { variables: shell.variables, ..shell.reading }
}

/// What is known while a script is read.
struct Shell<'a> {
    variables: Variables,
    functions: BTreeSet<String>,
    /// Where it may be.
    folders: Rc<Vec<String>>,
    /// What the commands in brackets read that come next.
    handed: Option<String>,
    /// Variables of the script that calls this one.
    outer: &'a Variables,
    /// Bytes that were made so far.
    made: usize,
    made_max: usize,
    reading: Reading,
}

/// A script with the place where it is read.
struct Source<'a> {
    script: &'a str,
    at: usize,
    depth: usize,
    /// Where the text goes on behind the here-documents of this line.
    behind_documents: Option<usize>,
}

/// The command under way.
#[derive(Default)]
struct Command {
    words: Vec<String>,
    /// The word under way; an empty one is a word if it was quoted.
    word: Option<Alternatives>,
    is_target: bool,
    /// Whether the next word is the name of a function.
    is_function: bool,
    targets: Vec<String>,
    documents: Vec<String>,
    /// What it reads: a here-document, a word, or what was printed before it.
    input: Option<String>,
}

impl<'a> Source<'a> {
    fn rest(&self) -> &'a str {
        self.script.get(self.at..).unwrap_or_default()
    }

    fn sign(&mut self) -> Option<char> {
        let sign = self.rest().chars().next()?;
        self.at += sign.len_utf8();
        Some(sign)
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Everything before `end`, which is taken too; nothing is taken if it never comes.
    fn until(&mut self, end: &str) -> Option<&'a str> {
        let (text, _) = self.rest().split_once(end)?;
        self.at += text.len() + end.len();
        Some(text)
    }
}

impl Shell<'_> {
    /// Reads a script inside of another one, and says what it would print.
    fn run(&mut self, script: &str, depth: usize) -> String {
        let mut source = Source { script, at: 0, depth, behind_documents: None };
        let mut printed = String::new();
        while source.at < script.len() {
            // A bracket that closes nothing divides commands all the same.
            printed.push_str(&self.list(&mut source, None));
        }
        printed
    }

    /// Reads commands up to the sign that closes them, and says what they would print.
    fn list(&mut self, source: &mut Source<'_>, closing: Option<char>) -> String {
        let mut printed = String::new();
        let mut command = Command { input: self.handed.take(), ..Command::default() };
        let folders = Rc::clone(&self.folders);
        while let Some(sign) = source.sign().filter(|sign| Some(*sign) != closing) {
            if self.reading.is_endless {
                source.at = source.script.len();
                break;
            }
            match sign {
                ' ' | '\t' | '\r' => self.end_word(&mut command),
                '|' if !source.rest().starts_with('|') => {
                    source.takes("&");
                    let output = self.end_command(&mut command, "|");
                    command.input = Some(output);
                }
                '&' if source.rest().starts_with('>') => {}
                ';' | '|' | '&' => {
                    let joint = if source.takes("&") { "&&" } else { ";" };
                    source.takes("|");
                    printed.push_str(&self.end_command(&mut command, joint));
                }
                '\n' => {
                    printed.push_str(&self.end_command(&mut command, ";"));
                    source.at = source.behind_documents.take().unwrap_or(source.at);
                }
                '(' => self.opened(source, &mut command, &mut printed),
                ')' => printed.push_str(&self.end_command(&mut command, ";")),
                '#' if command.word.is_none() => {
                    let comment = source.rest().split('\n').next().unwrap_or_default();
                    source.at += comment.len();
                    self.say(comment, "", &[], false);
                }
                '<' | '>' => self.redirection(source, &mut command, sign),
                _ => self.part(source, &mut command, sign),
            }
        }
        printed.push_str(&self.end_command(&mut command, ";"));
        if closing == Some(')') {
            self.folders = folders;
        }
        printed
    }

    /// A bracket: of a function, of a list of values, or of commands in a shell of their own.
    fn opened(&mut self, source: &mut Source<'_>, command: &mut Command, printed: &mut String) {
        let before = command.word.as_ref().map(|word| word.first().to_owned());
        match before {
            Some(name) if name.ends_with('=') => {
                self.values(source, command, name.trim_end_matches(['=', '+']))
            }
            Some(name) if source.takes(")") => {
                self.functions.insert(name);
                command.word = None;
            }
            // In an option's value, or as a pattern of `case`.
            Some(_) => self.part(source, command, '('),
            None => {
                let input = command.input.take();
                printed.push_str(&self.end_command(command, ";"));
                self.handed = input;
                printed.push_str(&self.nested(source, ')'));
            }
        }
    }

    /// `name=(a b)`.
    fn values(&mut self, source: &mut Source<'_>, command: &mut Command, name: &str) {
        let mut inside = Command::default();
        while let Some(sign) = source.sign().filter(|sign| *sign != ')') {
            match sign {
                sign if sign.is_whitespace() => self.end_word(&mut inside),
                sign => self.part(source, &mut inside, sign),
            }
        }
        self.end_word(&mut inside);
        inside.words.iter().for_each(|value| self.say(value, "", &[], false));
        self.set_list(name, &inside.words);
        command.word = None;
    }

    /// Commands that stand inside of a word.
    fn nested(&mut self, source: &mut Source<'_>, closing: char) -> String {
        if source.depth >= DEPTH_MAX {
            self.reading.is_whole = false;
            source.at = source.script.len();
            return String::new();
        }
        source.depth += 1;
        let printed = self.list(source, Some(closing));
        source.depth -= 1;
        printed
    }

    fn redirection(&mut self, source: &mut Source<'_>, command: &mut Command, sign: char) {
        // The number of a stream is no word.
        if command.word.as_ref().is_some_and(|word| word.first().bytes().all(|byte| byte.is_ascii_digit())) {
            command.word = None;
        }
        self.end_word(command);
        if source.takes("(") {
            let printed = self.nested(source, ')');
            command.input.get_or_insert_default().push_str(&printed);
        } else if sign == '<' && source.takes("<<") {
            let word = self.next_word(source);
            command.documents.extend(word.with_braces());
            command.input = Some(word.first().to_owned());
        } else if sign == '<' && source.takes("<") {
            let document = self.document(source);
            command.documents.push(document.clone());
            command.input = Some(document);
        } else {
            while source.takes(">") || source.takes("&") || source.takes("|") {}
            command.is_target = true;
        }
    }

    /// The here-document that is announced.
    fn document(&mut self, source: &mut Source<'_>) -> String {
        let indented = source.takes("-");
        let quoted = source.rest().trim_start_matches([' ', '\t']).starts_with(['\'', '"', '\\']);
        let delimiter = self.next_word(source).first().to_owned();
        let next_line = || source.rest().find('\n').map_or(source.script.len(), |at| source.at + at + 1);
        let from = source.behind_documents.unwrap_or_else(next_line);
        let mut end = from;
        let mut behind = source.script.len();
        for line in source.script.get(from..).unwrap_or_default().split_inclusive('\n') {
            let bare = if indented { line.trim_start_matches('\t') } else { line };
            if bare.trim_end_matches(['\n', '\r']) == delimiter {
                behind = end + line.len();
                break;
            }
            end += line.len();
        }
        source.behind_documents = Some(behind);
        let body = &source.script[from..end];
        if quoted { body.to_owned() } else { self.expanded(body, source.depth) }
    }

    /// The word that is next, whatever ends it.
    fn next_word(&mut self, source: &mut Source<'_>) -> Alternatives {
        source.at += source.rest().len() - source.rest().trim_start_matches([' ', '\t']).len();
        let mut command = Command::default();
        while !source.rest().is_empty()
            && !source.rest().starts_with([' ', '\t', '\r', '\n', ';', '|', '&', ')', '<', '>'])
        {
            if let Some(sign) = source.sign() {
                self.part(source, &mut command, sign);
            }
        }
        command.word.unwrap_or_default()
    }

    fn end_word(&mut self, command: &mut Command) {
        let Some(word) = command.word.take() else { return };
        self.reading.is_endless |= self.made > self.made_max;
        if self.reading.is_endless {
            return;
        }
        let words = word.with_braces();
        let first = words.first().cloned().unwrap_or_default();
        self.made += words.iter().map(String::len).sum::<usize>();
        if command.is_target {
            command.is_target = false;
            command.targets.extend(words);
        } else if command.words.is_empty() && KEYWORDS.contains(&first.as_str()) {
            // The command comes behind it.
            command.is_function = first == "function";
        } else if mem::take(&mut command.is_function) {
            self.functions.insert(first);
        } else {
            if let Some((name, _)) = assignment(&first) {
                let values = words.iter().filter_map(|word| Some(assignment(word)?.1.to_owned())).collect();
                self.assign(name, values);
            }
            command.words.extend(words);
        }
    }

    /// What the complete command says, does to what is known, and would print.
    fn end_command(&mut self, command: &mut Command, joint: &str) -> String {
        self.end_word(command);
        let Command { words, targets, documents, input, .. } = mem::take(command);
        let is_code = is_for_interpreter(&words);
        for document in &documents {
            self.say(document, "", &[], false);
            self.mark_code(1, is_code);
        }
        if self.reading.is_endless || (words.is_empty() && targets.is_empty()) {
            // What is read by a loop is read by its first command.
            command.input = if joint == "|" { None } else { input };
            return String::new();
        }
        self.carry_out(&words, &targets, input, joint)
    }

    fn carry_out(
        &mut self,
        words: &[String],
        targets: &[String],
        input: Option<String>,
        joint: &str,
    ) -> String {
        let behind = unwrapped(words);
        let program = behind.first().map(|word| name(word)).unwrap_or_default();
        let program = beginning(program, PROGRAM_BYTES_MAX).to_owned();
        let ports: Vec<u16> = words.iter().filter_map(|word| word.parse().ok()).take(PORTS_MAX).collect();
        for word in words {
            self.say(word, &program, &ports, true);
        }
        self.mark_code(words.len(), is_for_interpreter(words));
        for target in targets {
            self.say(target, "", &[], true);
        }
        self.known_by(&program, behind, input.as_deref(), joint);
        let printed = printing::printed(self, words, input.as_deref());
        let printed = beginning(&printed, OUTPUT_BYTES_MAX).to_owned();
        if !printed.is_empty() && !words.contains(&printed) {
            self.say(&printed, "", &[], false);
        }
        printed
    }

    fn say(&mut self, text: &str, program: &str, ports: &[u16], is_word: bool) {
        self.made += text.len();
        self.reading.said.push(Said {
            text: text.to_owned(),
            program: program.to_owned(),
            ports: ports.to_vec(),
            folders: Rc::clone(&self.folders),
            is_word,
            is_code: false,
        });
    }

    /// Marks what was said last.
    fn mark_code(&mut self, count: usize, is_code: bool) {
        self.reading.said.iter_mut().rev().take(count).for_each(|said| said.is_code = is_code);
    }
}

/// Whether the words are for a program of another language, and not for a shell that calls one.
fn is_for_interpreter(words: &[String]) -> bool {
    let first = words.len() - unwrapped(words).len();
    words.iter().take(first + 1).any(|word| INTERPRETERS.contains(&name(word)))
}

#[cfg(test)]
mod tests;
