//! Recognizes a failed start. A failed start names no session in the stream; only then is stderr inspected,
//! and only at the start of lines that the agent program writes.

use longhaul_core::StartupError;

enum StderrPattern {
    /// The line starts with this text.
    Start(&'static str),
    /// The line starts and ends with these texts.
    Ends(&'static str, &'static str),
    /// The line contains this text.
    Part(&'static str),
}

/// Messages of 2.1.330, and messages with which other programs reject our flags.
const SENTENCES: [(StderrPattern, StartupError); 31] = [
    (StderrPattern::Ends("Error: Session ID ", " is already in use."), StartupError::SessionInUse),
    (StderrPattern::Start("No conversation found with session ID"), StartupError::SessionUnknown),
    (StderrPattern::Part(" does not match any session title"), StartupError::SessionUnknown),
    (StderrPattern::Start("error: option '--permission-mode"), StartupError::UnknownPermissionMode),
    (StderrPattern::Start("Error: Unknown permission mode"), StartupError::UnknownPermissionMode),
    // The argument parser: unknown option, missing argument.
    (StderrPattern::Start("error: "), StartupError::Unusable),
    (StderrPattern::Part("cannot be used with root/sudo privileges"), StartupError::BypassAsRoot),
    (StderrPattern::Start("Error: sandbox required but unavailable"), StartupError::SandboxMissing),
    (StderrPattern::Start("Error: --"), StartupError::Unusable),
    (StderrPattern::Start("Error: Append system prompt file"), StartupError::Unusable),
    (StderrPattern::Start("Error: Can't access working directory"), StartupError::Unusable),
    (StderrPattern::Start("Error: Cannot use "), StartupError::Unusable),
    (StderrPattern::Start("Error: Claude Code requires"), StartupError::Unusable),
    (StderrPattern::Start("Error: Input "), StartupError::Unusable),
    (StderrPattern::Start("Error: Invalid --agents"), StartupError::Unusable),
    (StderrPattern::Start("Error: Invalid JSON provided"), StartupError::Unusable),
    (StderrPattern::Start("Error: Invalid MCP configuration"), StartupError::Unusable),
    (StderrPattern::Start("Error: Invalid session ID"), StartupError::Unusable),
    (StderrPattern::Start("Error: MCP tool "), StartupError::Unusable),
    (StderrPattern::Start("Error: Settings file"), StartupError::Unusable),
    (StderrPattern::Start("Error: System prompt file"), StartupError::Unusable),
    (StderrPattern::Start("Error: Unknown input format"), StartupError::Unusable),
    (StderrPattern::Start("Error: When using --print"), StartupError::Unusable),
    (StderrPattern::Start("Error: Workspace not trusted"), StartupError::Unusable),
    // GNU and BSD `getopt`, Node.js, Git and Python, Go.
    (StderrPattern::Part(": unrecognized option '"), StartupError::NotAnAgent),
    (StderrPattern::Part(": invalid option -- '"), StartupError::NotAnAgent),
    (StderrPattern::Part(": illegal option -- "), StartupError::NotAnAgent),
    (StderrPattern::Part(": bad option: "), StartupError::NotAnAgent),
    (StderrPattern::Start("unknown option: -"), StartupError::NotAnAgent),
    (StderrPattern::Start("Unknown option: -"), StartupError::NotAnAgent),
    (StderrPattern::Start("flag provided but not defined: -"), StartupError::NotAnAgent),
];

/// Returns the error of the first line that matches a message.
pub(super) fn by_text(text: &str) -> Option<StartupError> {
    text.lines().find_map(|line| {
        let line = line.trim();
        SENTENCES.iter().find(|(pattern, _)| pattern.matches(line)).map(|(_, error)| *error)
    })
}

impl StderrPattern {
    fn matches(&self, line: &str) -> bool {
        match self {
            StderrPattern::Start(start) => line.starts_with(start),
            StderrPattern::Ends(start, end) => line.starts_with(start) && line.ends_with(end),
            StderrPattern::Part(part) => line.contains(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::by_text;
    use longhaul_core::StartupError;

    #[test]
    fn recognizes_messages() {
        let check = |text: &str, error| assert_eq!(by_text(text), error, "{text}");
        check("Error: Session ID 606d35e3 is already in use.\n", Some(StartupError::SessionInUse));
        check(
            "(node:1) warning\nNo conversation found with session ID: 5\n",
            Some(StartupError::SessionUnknown),
        );
        check(
            "\"x\" is not a UUID and does not match any session title.",
            Some(StartupError::SessionUnknown),
        );
        check("error: unknown option '--x'", Some(StartupError::Unusable));
        check(
            "error: option '--permission-mode <mode>' argument 'foo' is invalid. Allowed choices are acceptEdits, auto.",
            Some(StartupError::UnknownPermissionMode),
        );
        check(
            "\nError: sandbox required but unavailable: sandbox is enabled but dependencies are missing: socat not installed",
            Some(StartupError::SandboxMissing),
        );
        check("ls: unrecognized option '--input-format'\n", Some(StartupError::NotAnAgent));
        check("node: bad option: --input-format", Some(StartupError::NotAnAgent));
        check(
            "Error: --session-id with --continue or --resume also needs --fork-session.",
            Some(StartupError::Unusable),
        );
        check(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
            Some(StartupError::BypassAsRoot),
        );
        check("", None);
        check("Segmentation fault", None);
        check("said: error: unknown option", None);
    }
}
