//! Separates an agent's messages for its user from diagnostics for its developers: stack frames, source
//! excerpts, crash reports. Makes no decisions.

// A failure message for the user fits in this many lines.
const LINES_MAX: usize = 5;
const DIAGNOSTIC: &str = "[ede_diagnostic]";
/// Starts the crash report of Claude Code's runtime, which ends with a link for its own developers (2.1.330).
const PANIC: &str = "panic(";

/// Returns the last lines of `text` that are for the user, at most five, or an empty text.
pub fn for_user(text: &str) -> String {
    if text.lines().any(|line| line.starts_with(PANIC)) {
        return String::new();
    }
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !is_diagnostic(line.trim_start())).collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n").trim().to_owned()
}

fn is_diagnostic(line: &str) -> bool {
    // `at run (/app/cli.js:12:34)`, `at file:///app/cli.js:12:34`
    let is_frame = || {
        let position =
            line.strip_prefix("at ").and_then(|frame| frame.trim_end_matches(')').rsplit_once(':'));
        position
            .is_some_and(|(_, column)| !column.is_empty() && column.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // `12 | const a = b;`, and the caret below.
    let is_excerpt = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && rest.trim_start().starts_with('|') || line.bytes().all(|byte| byte == b'^')
    };
    let is_version = || ["Node.js v", "Bun v"].iter().any(|name| line.starts_with(name));
    line.contains(DIAGNOSTIC) || is_frame() || is_excerpt() || is_version()
}

#[cfg(test)]
mod tests {
    use super::for_user;

    #[test]
    fn keeps_messages_and_drops_diagnostics() {
        let check = |text: &str, expected: &str| assert_eq!(for_user(text), expected, "{text}");
        check("No conversation found with session ID: x\n", "No conversation found with session ID: x");
        check("[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use", "");
        check(
            "12 | throw new Error(m)\n              ^\nerror: cannot open the socket\n      at open (/$bunfs/root/claude:12:9)\n      \
             at file:///app/cli.js:1:2\n\nNode.js v24.1.0\n",
            "error: cannot open the socket",
        );
        check(
            "Bun v1.4.4 (6634fc3b5) Linux x64\npanic(main thread): Segmentation fault\nhttps://bun.report/1",
            "",
        );
        check("a\nb\nc\nd\ne\nf\n", "b\nc\nd\ne\nf");
        check("", "");
        check("at 12:30 the server said no", "at 12:30 the server said no");
    }
}
