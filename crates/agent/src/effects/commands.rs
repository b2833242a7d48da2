//! Splits a shell script into its simple commands and their words. It is not a shell: it expands nothing and
//! stops at what it cannot parse. It recognizes quotes, comments, redirections, here-documents and nested
//! commands, so that `echo "git push"` is one command with two words.

use std::mem;

// No real command is nested more deeply.
const DEPTH_MAX: usize = 16;

/// Shell keywords that may precede a command.
const KEYWORDS: [&str; 10] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// Its words without quotes and redirections.
    pub(super) words: Vec<String>,
    pub(super) text: String,
    pub(super) input: Option<String>,
}

/// Returns the simple commands of a script. Nested commands come before those that contain them.
pub(super) fn commands(script: &str) -> Vec<Command> {
    let mut reader = Reader { script, offset: 0, depth: 0, heredocs: Vec::new(), commands: Vec::new() };
    reader.list(None);
    reader.commands
}

struct Reader<'a> {
    script: &'a str,
    offset: usize,
    depth: usize,
    /// Here-documents whose bodies start on the next line.
    heredocs: Vec<Heredoc>,
    commands: Vec<Command>,
}

struct Heredoc {
    delimiter: String,
    /// Whether tabs before the delimiter are ignored.
    indented: bool,
    /// Index of the command that reads it, once that command is complete.
    reader: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordRole {
    Word,
    Target,
    Delimiter { indented: bool },
}

struct PartialCommand {
    words: Vec<String>,
    /// The word that is being read. An empty word counts if it was quoted.
    word: Option<String>,
    next: WordRole,
    start_index: usize,
}

impl PartialCommand {
    fn new(start_index: usize) -> PartialCommand {
        PartialCommand { words: Vec::new(), word: None, next: WordRole::Word, start_index }
    }

    fn word_mut(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }
}

impl Reader<'_> {
    fn next_char(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.offset += c.len_utf8();
        Some(c)
    }

    fn rest(&self) -> &str {
        self.script.get(self.offset..).unwrap_or_default()
    }

    fn consume(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.offset += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Consumes everything up to and including `end` and returns the part before it. Without `end`, it
    /// consumes the rest.
    fn take_until(&mut self, end: &str) -> String {
        let rest = self.rest();
        let length = rest.find(end).unwrap_or(rest.len());
        let text = rest[..length].to_owned();
        self.offset = (self.offset + length + end.len()).min(self.script.len());
        text
    }

    /// Reads commands up to the character that closes them.
    fn list(&mut self, closing: Option<char>) {
        let mut open = PartialCommand::new(self.offset);
        loop {
            let before = self.offset;
            let Some(c) = self.next_char().filter(|c| Some(*c) != closing) else {
                self.end_command(&mut open, before);
                return;
            };
            match c {
                ' ' | '\t' | '\r' => self.end_word(&mut open),
                ';' | '|' | '(' | ')' => self.end_command(&mut open, before),
                '&' if !self.rest().starts_with('>') => self.end_command(&mut open, before),
                '&' => {}
                '\n' => {
                    self.end_command(&mut open, before);
                    self.heredocs();
                    open.start_index = self.offset;
                }
                '#' if open.word.is_none() => {
                    self.end_command(&mut open, before);
                    let comment = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.offset += comment;
                }
                '<' | '>' => self.redirection(&mut open, c),
                _ => self.part(&mut open, c),
            }
        }
    }

    fn part(&mut self, open: &mut PartialCommand, c: char) {
        match c {
            '\'' => open.word_mut().push_str(&self.take_until("'")),
            '"' => self.double_quoted(open),
            '\\' => match self.next_char() {
                // A line continuation.
                Some('\n') | None => {}
                Some(c) => open.word_mut().push(c),
            },
            '$' | '`' => self.dollar(open, c),
            _ => open.word_mut().push(c),
        }
    }

    fn double_quoted(&mut self, open: &mut PartialCommand) {
        open.word_mut();
        while let Some(c) = self.next_char() {
            match c {
                '"' => return,
                // Elsewhere in double quotes a backslash is literal.
                '\\' if self.rest().starts_with(['$', '`', '"', '\\', '\n']) => {
                    open.word_mut().extend(self.next_char().filter(|c| *c != '\n'));
                }
                '$' | '`' => self.dollar(open, c),
                _ => open.word_mut().push(c),
            }
        }
    }

    /// Reads a nested command, an arithmetic expression or the start of a variable.
    fn dollar(&mut self, open: &mut PartialCommand, c: char) {
        open.word_mut().push(c);
        if c == '`' {
            self.nested('`');
        } else if self.consume("((") {
            self.take_until("))");
        } else if self.consume("(") {
            self.nested(')');
        }
    }

    fn nested(&mut self, closing: char) {
        if self.depth == DEPTH_MAX {
            self.offset = self.script.len();
            return;
        }
        self.depth += 1;
        self.list(Some(closing));
        self.depth -= 1;
    }

    fn redirection(&mut self, open: &mut PartialCommand, c: char) {
        // The number of a stream is not a word.
        if open.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            open.word = None;
        }
        self.end_word(open);
        if self.consume("(") {
            return self.nested(')');
        }
        open.next = if c == '<' && self.consume("<<") {
            WordRole::Target
        } else if c == '<' && self.consume("<") {
            WordRole::Delimiter { indented: self.consume("-") }
        } else {
            while self.consume(">") || self.consume("&") || self.consume("|") {}
            WordRole::Target
        };
    }

    fn end_word(&mut self, open: &mut PartialCommand) {
        let Some(word) = open.word.take() else { return };
        match mem::replace(&mut open.next, WordRole::Word) {
            WordRole::Word if open.words.is_empty() && KEYWORDS.contains(&word.as_str()) => {
                open.start_index = self.offset
            }
            WordRole::Word => open.words.push(word),
            WordRole::Target => {}
            WordRole::Delimiter { indented } => {
                self.heredocs.push(Heredoc { delimiter: word, indented, reader: None });
            }
        }
    }

    fn end_command(&mut self, open: &mut PartialCommand, end: usize) {
        self.end_word(open);
        let open = mem::replace(open, PartialCommand::new(self.offset));
        for heredoc in self.heredocs.iter_mut().filter(|heredoc| heredoc.reader.is_none()) {
            heredoc.reader = Some(self.commands.len());
        }
        // Commands without words are included, because here-documents refer to commands by index.
        let text = self.script.get(open.start_index..end).unwrap_or_default().trim().to_owned();
        self.commands.push(Command { words: open.words, text, input: None });
    }

    fn heredocs(&mut self) {
        for heredoc in mem::take(&mut self.heredocs) {
            let mut body = String::new();
            while self.offset < self.script.len() {
                let line = self.take_until("\n");
                let bare = if heredoc.indented { line.trim_start_matches('\t') } else { &line };
                if bare.trim_end_matches('\r') == heredoc.delimiter {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if let Some(command) = heredoc.reader.and_then(|index| self.commands.get_mut(index)) {
                command.input = Some(body);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::commands;
    use expect_test::{Expect, expect};

    fn check(script: &str, expected: Expect) {
        let commands = commands(script);
        let lines: Vec<String> = commands
            .iter()
            .filter(|command| !command.words.is_empty())
            .map(|command| format!("{:?} from `{}`", command.words, command.text.escape_debug()))
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn splits_words() {
        check(
            "cd 'my dir' && git  push\torigin \"a b\"c; x=1|wc",
            expect![[r#"
            ["cd", "my dir"] from `cd \'my dir\'`
            ["git", "push", "origin", "a bc"] from `git  push\torigin \"a b\"c`
            ["x=1"] from `x=1`
            ["wc"] from `wc`"#]],
        );
        check(
            "echo \"git push; $(date '+%F')\" \\; '' # git push\ngit \\\n  push",
            expect![[r#"
            ["date", "+%F"] from `date \'+%F\'`
            ["echo", "git push; $", ";", ""] from `echo \"git push; $(date \'+%F\')\" \\; \'\'`
            ["git", "push"] from `git \\\n  push`"#]],
        );
    }

    #[test]
    fn skips_redirections() {
        check(
            "git push >log 2>&1 &>/dev/null <<<word && a<in>>out b 3",
            expect![[r#"
            ["git", "push"] from `git push >log 2>&1 &>/dev/null <<<word`
            ["a", "b", "3"] from `a<in>>out b 3`"#]],
        );
        check(
            "diff <(git push) $((1<<2)) & (cd x; `ls`)",
            expect![[r#"
            ["git", "push"] from `git push`
            ["diff", "$"] from `diff <(git push) $((1<<2))`
            ["cd", "x"] from `cd x`
            ["ls"] from `ls`
            ["`"] from ``ls``"#]],
        );
    }

    #[test]
    fn reads_here_documents() {
        check(
            "cat <<'EOF' >file && ls\ngit push\nEOF\n\tcat <<-E; wc\n\t\tgit push\n\tE\necho end",
            expect![[r#"
            ["cat"] from `cat <<\'EOF\' >file`
            ["ls"] from `ls`
            ["cat"] from `cat <<-E`
            ["wc"] from `wc`
            ["echo", "end"] from `echo end`"#]],
        );
        let commands = commands("bash <<EOF\ngit push\nEOF");
        assert_eq!(commands[0].input.as_deref(), Some("git push\n"));
    }

    #[test]
    fn terminates_on_any_input() {
        for open in ["'", "\"", "`", "$(", "$((", "(", "<<", "<<<", ">", "\\", "<(", "#", "é$("] {
            commands(open);
            commands(&format!("git push {}", open.repeat(1000)));
        }
    }
}
