//! Cuts a shell script into its simple commands, each into words. Not a shell: nothing is expanded, and
//! what cannot be read ends the reading. Quotes, comments, redirections, here-documents and nested
//! commands are told apart, so that `echo "git push"` is one command with two words.

use std::mem;

// Deeper nesting is no command that anybody wrote.
const DEPTH_MAX: usize = 16;

/// Words before a command that belong to the language.
const KEYWORDS: [&str; 10] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc"];

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// Its words without quotes; redirections are none.
    pub(super) words: Vec<String>,
    /// As it was written.
    pub(super) text: String,
    /// The here-document that it reads.
    pub(super) input: Option<String>,
}

/// The simple commands of a script, those inside of others before them.
pub(super) fn commands(script: &str) -> Vec<Command> {
    let mut reader = Reader { script, at: 0, depth: 0, heredocs: Vec::new(), found: Vec::new() };
    reader.list(None);
    reader.found
}

struct Reader<'a> {
    script: &'a str,
    at: usize,
    depth: usize,
    /// Here-documents whose bodies begin at the next line.
    heredocs: Vec<Heredoc>,
    found: Vec<Command>,
}

struct Heredoc {
    delimiter: String,
    /// Whether tabs before the delimiter are not part of it.
    indented: bool,
    /// Which command reads it, once that is complete.
    reader: Option<usize>,
}

/// What the next word will be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordRole {
    Word,
    /// Of a redirection.
    Target,
    /// Of a here-document.
    Delimiter {
        indented: bool,
    },
}

/// The command under way.
struct PartialCommand {
    words: Vec<String>,
    /// The word under way; an empty one is a word if it was quoted.
    push_word: Option<String>,
    next: WordRole,
    start_index: usize,
}

impl PartialCommand {
    fn at(began: usize) -> PartialCommand {
        PartialCommand { words: Vec::new(), push_word: None, next: WordRole::Word, start_index: began }
    }

    fn push_word(&mut self) -> &mut String {
        self.push_word.get_or_insert_default()
    }
}

impl Reader<'_> {
    fn sign(&mut self) -> Option<char> {
        let sign = self.rest().chars().next()?;
        self.at += sign.len_utf8();
        Some(sign)
    }

    fn rest(&self) -> &str {
        self.script.get(self.at..).unwrap_or_default()
    }

    /// Takes the given text, if it is next.
    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Everything before `end`, which is taken too; all that is left if it never comes.
    fn until(&mut self, end: &str) -> String {
        let rest = self.rest();
        let length = rest.find(end).unwrap_or(rest.len());
        let text = rest[..length].to_owned();
        self.at = (self.at + length + end.len()).min(self.script.len());
        text
    }

    /// Reads commands up to the sign that closes them.
    fn list(&mut self, closing: Option<char>) {
        let mut open = PartialCommand::at(self.at);
        loop {
            let before = self.at;
            let Some(sign) = self.sign().filter(|sign| Some(*sign) != closing) else {
                self.end_command(&mut open, before);
                return;
            };
            match sign {
                ' ' | '\t' | '\r' => self.end_word(&mut open),
                ';' | '|' | '(' | ')' => self.end_command(&mut open, before),
                '&' if !self.rest().starts_with('>') => self.end_command(&mut open, before),
                '&' => {}
                '\n' => {
                    self.end_command(&mut open, before);
                    self.heredocs();
                    open.start_index = self.at;
                }
                '#' if open.push_word.is_none() => {
                    self.end_command(&mut open, before);
                    let comment = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += comment;
                }
                '<' | '>' => self.redirection(&mut open, sign),
                _ => self.part(&mut open, sign),
            }
        }
    }

    /// A part of a word.
    fn part(&mut self, open: &mut PartialCommand, sign: char) {
        match sign {
            '\'' => open.push_word().push_str(&self.until("'")),
            '"' => self.double_quoted(open),
            '\\' => match self.sign() {
                // A line that goes on.
                Some('\n') | None => {}
                Some(sign) => open.push_word().push(sign),
            },
            '$' | '`' => self.dollar(open, sign),
            _ => open.push_word().push(sign),
        }
    }

    fn double_quoted(&mut self, open: &mut PartialCommand) {
        open.push_word();
        while let Some(sign) = self.sign() {
            match sign {
                '"' => return,
                // Elsewhere in double quotes a backslash is itself.
                '\\' if self.rest().starts_with(['$', '`', '"', '\\', '\n']) => {
                    open.push_word().extend(self.sign().filter(|sign| *sign != '\n'));
                }
                '$' | '`' => self.dollar(open, sign),
                _ => open.push_word().push(sign),
            }
        }
    }

    /// A nested command, a calculation, or only a variable.
    fn dollar(&mut self, open: &mut PartialCommand, sign: char) {
        open.push_word().push(sign);
        if sign == '`' {
            self.nested('`');
        } else if self.takes("((") {
            self.until("))");
        } else if self.takes("(") {
            self.nested(')');
        }
    }

    fn nested(&mut self, closing: char) {
        if self.depth == DEPTH_MAX {
            self.at = self.script.len();
            return;
        }
        self.depth += 1;
        self.list(Some(closing));
        self.depth -= 1;
    }

    fn redirection(&mut self, open: &mut PartialCommand, sign: char) {
        // The number of a stream is no word.
        if open.push_word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            open.push_word = None;
        }
        self.end_word(open);
        if self.takes("(") {
            return self.nested(')');
        }
        open.next = if sign == '<' && self.takes("<<") {
            WordRole::Target
        } else if sign == '<' && self.takes("<") {
            WordRole::Delimiter { indented: self.takes("-") }
        } else {
            while self.takes(">") || self.takes("&") || self.takes("|") {}
            WordRole::Target
        };
    }

    fn end_word(&mut self, open: &mut PartialCommand) {
        let Some(word) = open.push_word.take() else { return };
        match mem::replace(&mut open.next, WordRole::Word) {
            WordRole::Word if open.words.is_empty() && KEYWORDS.contains(&word.as_str()) => {
                open.start_index = self.at
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
        let open = mem::replace(open, PartialCommand::at(self.at));
        for heredoc in self.heredocs.iter_mut().filter(|heredoc| heredoc.reader.is_none()) {
            heredoc.reader = Some(self.found.len());
        }
        // Also without words: here-documents count commands.
        let text = self.script.get(open.start_index..end).unwrap_or_default().trim().to_owned();
        self.found.push(Command { words: open.words, text, input: None });
    }

    /// Takes the bodies of the here-documents that the last line announced.
    fn heredocs(&mut self) {
        for heredoc in mem::take(&mut self.heredocs) {
            let mut body = String::new();
            while self.at < self.script.len() {
                let line = self.until("\n");
                let bare = if heredoc.indented { line.trim_start_matches('\t') } else { &line };
                if bare.trim_end_matches('\r') == heredoc.delimiter {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if let Some(command) = heredoc.reader.and_then(|at| self.found.get_mut(at)) {
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
        let found = commands(script);
        let lines: Vec<String> = found
            .iter()
            .filter(|command| !command.words.is_empty())
            .map(|command| format!("{:?} from `{}`", command.words, command.text.escape_debug()))
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn words() {
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
    fn redirections() {
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
    fn here_documents() {
        check(
            "cat <<'EOF' >file && ls\ngit push\nEOF\n\tcat <<-E; wc\n\t\tgit push\n\tE\necho end",
            expect![[r#"
            ["cat"] from `cat <<\'EOF\' >file`
            ["ls"] from `ls`
            ["cat"] from `cat <<-E`
            ["wc"] from `wc`
            ["echo", "end"] from `echo end`"#]],
        );
        let found = commands("bash <<EOF\ngit push\nEOF");
        assert_eq!(found[0].input.as_deref(), Some("git push\n"));
    }

    #[test]
    fn whatever_it_is_it_ends() {
        for open in ["'", "\"", "`", "$(", "$((", "(", "<<", "<<<", ">", "\\", "<(", "#", "é$("] {
            commands(open);
            commands(&format!("git push {}", open.repeat(1000)));
        }
    }
}
