//! Renders a patch on a terminal: with git's colors, and with the control characters of the files as visible
//! text.

use crate::output::color::{Colors, Style};
use crate::output::envelope_text::is_control_like;

pub fn colored(text: &[u8], colors: Colors) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut hunk = Hunk::default();
    for line in String::from_utf8_lossy(text).split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let style = hunk.style(line);
        out += &colors.styled(&visible(line), style);
        out += end;
    }
    out
}

/// Number of remaining lines of a hunk. Content of a file is never mistaken for a header.
#[derive(Default)]
struct Hunk {
    start_line: bool,
    old: u64,
    new: u64,
}

impl Hunk {
    fn style(&mut self, line: &str) -> Option<Style> {
        if self.old > 0 || self.new > 0 {
            let (old, new, style) = match line.as_bytes().first() {
                Some(b'+') => (0, 1, Some(Style::Good)),
                Some(b'-') => (1, 0, Some(Style::Bad)),
                // `\ No newline at end of file` counts as neither an old nor a new line.
                Some(b'\\') => (0, 0, None),
                Some(_) | None => (1, 1, None),
            };
            (self.old, self.new) = (self.old.saturating_sub(old), self.new.saturating_sub(new));
            return style;
        }
        if let Some((old, new)) = line.strip_prefix("@@ -").and_then(counts) {
            (self.old, self.new) = (old, new);
            return Some(Style::Hint);
        }
        self.start_line |= line.starts_with("diff --git ");
        (self.start_line && !line.starts_with('\\')).then_some(Style::Heading)
    }
}

/// Parses `1,4 +1,6 @@`: the numbers of old and new lines, 1 if omitted.
fn counts(range: &str) -> Option<(u64, u64)> {
    let (old, rest) = range.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

/// Shows control characters as git's pager does. None are dropped, because every change must be visible.
fn visible(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => out.push(c),
            '\0'..='\x1f' => out.extend(['^', char::from(c as u8 + b'@')]),
            _ if is_control_like(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::colored;
    use crate::output::color::Colors;
    use crate::output::out::sanitize;
    use expect_test::{Expect, expect};

    fn check(text: &str, colors: Colors, expected: Expect) {
        expected.assert_eq(&sanitize(&colored(text.as_bytes(), colors)).replace('\x1b', "ESC"));
    }

    const PATCH: &str = "run a: 1 file changed\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n\
                         @@ -1,3 +1,3 @@ fn\n-- old\n+++ new\n same\n\n\\ No newline at end of file\n";

    #[test]
    fn file_content_is_not_a_heading() {
        check(
            PATCH,
            Colors::colored(),
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
    fn file_content_cannot_control_terminal() {
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
