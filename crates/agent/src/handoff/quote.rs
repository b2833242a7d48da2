//! Quotes text of unknown origin, so that it cannot be mistaken for the text around it.

use longhaul_core::shorten_line;

/// Returns a block between fences that are longer than any run of backticks in the text.
pub(crate) fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).saturating_add(1).max(3));
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}\n")
}

pub(crate) fn inline(text: &str, chars_max: usize) -> String {
    let line = shorten_line(text, chars_max);
    let ticks = "`".repeat(longest_run(&line) + 1);
    // Without the space, a backtick at the edge would lengthen the fence.
    let space = if line.is_empty() || line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{line}{space}{ticks}")
}

pub(super) fn first_sentence(text: &str, chars_max: usize) -> String {
    let text = text.trim_start();
    let line = text.lines().next().unwrap_or_default();
    let end = [". ", "! ", "? "].iter().filter_map(|end| line.find(end)).min();
    shorten_line(end.map_or(line, |end| &line[..=end]), chars_max)
}

pub(super) fn last_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or_default()
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{fenced, first_sentence, inline};

    #[test]
    fn fence_is_longer_than_backticks_inside() {
        assert_eq!(fenced("plain"), "```\nplain\n```\n");
        assert_eq!(fenced("ends\n"), "```\nends\n```\n");
        assert_eq!(fenced("```\ninside\n````"), "`````\n```\ninside\n````\n`````\n");
        assert_eq!(fenced(""), "```\n```\n");
    }

    #[test]
    fn shortens_to_one_line() {
        assert_eq!(inline("cargo test", 80), "`cargo test`");
        assert_eq!(inline("`x` and ``y", 80), "``` `x` and ``y ```");
        assert_eq!(inline("", 80), "`  `");
        assert_eq!(inline("a\n# b\0c", 80), "`a # b c`");
        assert_eq!(first_sentence("I look first. Then I act.", 80), "I look first.");
        assert_eq!(first_sentence("\n\nFile a.rs is wrong\nand so on", 80), "File a.rs is wrong");
    }
}
