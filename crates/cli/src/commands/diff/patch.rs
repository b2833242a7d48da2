//! A patch on a terminal: coloured as git does it, and without what would command the terminal. Whoever pipes it gets it
//! byte by byte.

use crate::output::paint::is_wanted;
use std::fmt::Write;
use std::io::{self, IsTerminal};

const BOLD: &str = "\x1b[1m";
const CYAN: &str = "\x1b[36m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[m";

/// Whether a person sees what is printed.
pub fn is_for_a_screen() -> bool {
    io::stdout().is_terminal()
}

/// The text as a terminal may have it.
pub fn for_a_screen(text: &[u8]) -> String {
    rendered(text, is_wanted())
}

fn rendered(text: &[u8], coloured: bool) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut hunk = Hunk::default();
    for line in String::from_utf8_lossy(text).split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let colour = hunk.colour(line);
        match colour.filter(|_| coloured && !line.is_empty()) {
            Some(colour) => write!(out, "{colour}{}{PLAIN}{end}", harmless(line)),
            None => write!(out, "{}{end}", harmless(line)),
        }
        .expect("a string takes all");
    }
    out
}

/// How many lines of a file are still to come: what is in a file is never taken for what git says of it.
#[derive(Default)]
struct Hunk {
    began: bool,
    old: u64,
    new: u64,
}

impl Hunk {
    fn colour(&mut self, line: &str) -> Option<&'static str> {
        if self.old > 0 || self.new > 0 {
            let (old, new, colour) = match line.as_bytes().first() {
                Some(b'+') => (0, 1, Some(GREEN)),
                Some(b'-') => (1, 0, Some(RED)),
                // That a line has no end is told between the lines.
                Some(b'\\') => (0, 0, None),
                Some(_) | None => (1, 1, None),
            };
            (self.old, self.new) = (self.old.saturating_sub(old), self.new.saturating_sub(new));
            return colour;
        }
        if let Some((old, new)) = line.strip_prefix("@@ -").and_then(counts) {
            (self.old, self.new) = (old, new);
            return Some(CYAN);
        }
        self.began |= line.starts_with("diff --git ");
        (self.began && !line.starts_with('\\')).then_some(BOLD)
    }
}

/// Of `1,4 +1,6 @@`: a hunk has so many old and so many new lines, one where that is not said.
fn counts(range: &str) -> Option<(u64, u64)> {
    let (old, rest) = range.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

/// Nothing that an agent wrote into a file moves the cursor: control characters are shown as git's pager does.
fn harmless(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for sign in line.chars() {
        match sign {
            '\t' => out.push(sign),
            '\0'..='\x1f' => out.extend(['^', char::from(sign as u8 + b'@')]),
            _ if sign.is_control() => out.extend(sign.escape_unicode()),
            _ => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::rendered;
    use expect_test::{Expect, expect};

    fn check(text: &str, coloured: bool, expected: Expect) {
        expected.assert_eq(&rendered(text.as_bytes(), coloured).replace('\x1b', "ESC"));
    }

    const PATCH: &str = "run a: 1 file changed\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n\
                         @@ -1,3 +1,3 @@ fn\n-- old\n+++ new\n same\n\n\\ No newline at end of file\n";

    #[test]
    fn what_is_in_a_file_is_not_taken_for_a_heading() {
        check(
            PATCH,
            true,
            expect![[r#"
            run a: 1 file changed

            ESC[1mdiff --git a/f b/fESC[m
            ESC[1mindex 1..2 100644ESC[m
            ESC[1m--- a/fESC[m
            ESC[1m+++ b/fESC[m
            ESC[36m@@ -1,3 +1,3 @@ fnESC[m
            ESC[31m-- oldESC[m
            ESC[32m+++ newESC[m
             same

            \ No newline at end of file
        "#]],
        );
    }

    #[test]
    fn a_file_does_not_command_the_terminal() {
        let text = "diff --git a/f b/f\n@@ -0,0 +1 @@\n+\x1b[2Jgone\x07\u{9b}1A\r\tend\n";
        check(
            text,
            false,
            expect![[r#"
            diff --git a/f b/f
            @@ -0,0 +1 @@
            +^[[2Jgone^G\u{9b}1A^M	end
        "#]],
        );
    }
}
