//! What stands in a person's messages and was not said by a person.

use crate::Section;

/// What a message begins with that records a command of the agent's program, typed with a slash (2.1.330).
const COMMANDS: &[&str] = &[
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
];

/// What the agent's program, or a hook, puts into messages of people.
const INSERTED: &[(&str, &str)] = &[
    ("<system-reminder>", "</system-reminder>"),
    ("<user-prompt-submit-hook>", "</user-prompt-submit-hook>"),
    ("<session-start-hook>", "</session-start-hook>"),
];

/// What the person said in a message; nothing if a program wrote all of it.
pub(super) fn without(message: &str) -> Option<String> {
    if COMMANDS.iter().any(|marker| message.trim_start().starts_with(marker)) {
        return None;
    }
    let mut text = message.to_owned();
    for (begin, end) in INSERTED {
        while let Some(from) = text.find(begin) {
            let Some(length) = text[from..].find(end) else { break };
            text.replace_range(from..from + length + end.len(), "");
        }
    }
    let said: Vec<&str> = text.lines().filter(|line| !is_point(line) && !is_heading(line)).collect();
    Some(said.join("\n"))
}

/// Whether a line is a point of a playbook, as sessions are told it: `[pat-001] helpful=2 harmful=0 :: …`.
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

/// Whether a line is the heading of a playbook's section.
fn is_heading(line: &str) -> bool {
    line.strip_prefix("## ")
        .is_some_and(|title| Section::ALL.iter().any(|section| section.title() == title.trim()))
}
