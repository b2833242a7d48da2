//! A patch on a terminal: colored as git does it, with the control characters that are in its files shown as text.

use crate::output::color::{Colors, Style};
use crate::output::envelope_text::is_control_like;

/// The text as a terminal shows it.
pub fn painted(text: &[u8], paint: Colors) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut hunk = Hunk::default();
    for line in String::from_utf8_lossy(text).split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let meaning = hunk.meaning(line);
        out += &paint.styled(&visible(line), meaning);
        out += end;
    }
    out
}

/// How many lines of a file are still to come: what is in a file is never taken for what git says of it.
#[derive(Default)]
struct Hunk {
    start_line: bool,
    old: u64,
    new: u64,
}

impl Hunk {
    fn meaning(&mut self, line: &str) -> Option<Style> {
        if self.old > 0 || self.new > 0 {
            let (old, new, meaning) = match line.as_bytes().first() {
                Some(b'+') => (0, 1, Some(Style::Good)),
                Some(b'-') => (1, 0, Some(Style::Bad)),
                // That a line has no end is told between the lines.
                Some(b'\\') => (0, 0, None),
                Some(_) | None => (1, 1, None),
            };
            (self.old, self.new) = (self.old.saturating_sub(old), self.new.saturating_sub(new));
            return meaning;
        }
        if let Some((old, new)) = line.strip_prefix("@@ -").and_then(counts) {
            (self.old, self.new) = (old, new);
            return Some(Style::Hint);
        }
        self.start_line |= line.starts_with("diff --git ");
        (self.start_line && !line.starts_with('\\')).then_some(Style::Heading)
    }
}

/// Of `1,4 +1,6 @@`: a hunk has so many old and so many new lines, one where that is not said.
fn counts(range: &str) -> Option<(u64, u64)> {
    let (old, rest) = range.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

/// A change must be seen: control characters are shown as git's pager does, and dropped nowhere.
fn visible(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for sign in line.chars() {
        match sign {
            '\t' => out.push(sign),
            '\0'..='\x1f' => out.extend(['^', char::from(sign as u8 + b'@')]),
            _ if is_control_like(sign) => out.extend(sign.escape_unicode()),
            _ => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::painted;
    use crate::output::color::Colors;
    use crate::output::out::shown;
    use expect_test::{Expect, expect};

    fn check(text: &str, paint: Colors, expected: Expect) {
        expected.assert_eq(&shown(&painted(text.as_bytes(), paint)).replace('\x1b', "ESC"));
    }

    const PATCH: &str = "run a: 1 file changed\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n\
                         @@ -1,3 +1,3 @@ fn\n-- old\n+++ new\n same\n\n\\ No newline at end of file\n";

    #[test]
    fn what_is_in_a_file_is_not_taken_for_a_heading() {
        check(
            PATCH,
            Colors::coloured(),
            expect![[r#"
            run a: 1 file changed

            ESC[1mdiff --git a/f b/fESC[0m
            ESC[1mindex 1..2 100644ESC[0m
            ESC[1m--- a/fESC[0m
            ESC[1m+++ b/fESC[0m
            ESC[36m@@ -1,3 +1,3 @@ fnESC[0m
            ESC[1;31m-- oldESC[0m
            ESC[32m+++ newESC[0m
             same

            \ No newline at end of file
        "#]],
        );
    }

    #[test]
    fn a_file_does_not_command_the_terminal() {
        let text = "diff --git a/f b/f\n@@ -0,0 +1 @@\n+\x1b[2Jgone\x07\u{9b}1A\u{202e}\r\tend\n";
        check(
            text,
            Colors::plain(),
            expect![[r#"
            diff --git a/f b/f
            @@ -0,0 +1 @@
            +^[[2Jgone^G\u{9b}1A\u{202e}^M	end
        "#]],
        );
    }
}
