//! Removes text from user messages that no user wrote.

use crate::Section;

/// Prefixes of messages that record a slash command of the agent's program (2.1.330).
const COMMANDS: &[&str] = &[
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
];

/// Tags of text that the agent's program or a hook inserts into user messages.
const INSERTED: &[(&str, &str)] = &[
    ("<system-reminder>", "</system-reminder>"),
    ("<user-prompt-submit-hook>", "</user-prompt-submit-hook>"),
    ("<session-start-hook>", "</session-start-hook>"),
];

/// Returns the user's own text, or `None` if a program wrote the whole message.
pub(super) fn user_text(message: &str) -> Option<String> {
    if COMMANDS.iter().any(|marker| message.trim_start().starts_with(marker)) {
        return None;
    }
    let mut text = message.to_owned();
    for (open, close) in INSERTED {
        while let Some(start) = text.find(open) {
            let Some(length) = text[start..].find(close) else { break };
            text.replace_range(start..start + length + close.len(), "");
        }
    }
    let lines: Vec<&str> = text.lines().filter(|line| !is_point(line) && !is_heading(line)).collect();
    Some(lines.join("\n"))
}

/// Returns whether a line is an injected point of a playbook: `[pat-001] helpful=2 harmful=0 :: …`.
fn is_point(line: &str) -> bool {
    let line = line.trim_start();
    let point = || {
        let (_, rest) = line.strip_prefix('[')?.split_once("] helpful=")?;
        let (helpful, rest) = rest.split_once(" harmful=")?;
        let (harmful, _) = rest.split_once(" ::")?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        Some(is_number(helpful) && is_number(harmful))
    };
    point() == Some(true)
}

/// Returns whether a line is the heading of a playbook's section.
fn is_heading(line: &str) -> bool {
    line.strip_prefix("## ")
        .is_some_and(|title| Section::ALL.iter().any(|section| section.title() == title.trim()))
}
