//! Recognizes a failed start. A failed start names no session in the stream; only then is stderr inspected,
//! and only at the start of lines that the agent program writes.

use longhaul_core::StartupError;

enum StderrPattern {
    /// The line starts with this text.
    Prefix(&'static str),
    /// The line starts and ends with these texts.
    PrefixAndSuffix(&'static str, &'static str),
    /// The line contains this text.
    Contains(&'static str),
}

/// Messages of 2.1.330, and messages with which other programs reject our flags.
const SENTENCES: [(StderrPattern, StartupError); 31] = [
    (StderrPattern::PrefixAndSuffix("Error: Session ID ", " is already in use."), StartupError::SessionInUse),
    (StderrPattern::Prefix("No conversation found with session ID"), StartupError::SessionUnknown),
    (StderrPattern::Contains(" does not match any session title"), StartupError::SessionUnknown),
    (StderrPattern::Prefix("error: option '--permission-mode"), StartupError::UnknownPermissionMode),
    (StderrPattern::Prefix("Error: Unknown permission mode"), StartupError::UnknownPermissionMode),
    // The argument parser: unknown option, missing argument.
    (StderrPattern::Prefix("error: "), StartupError::Unusable),
    (StderrPattern::Contains("cannot be used with root/sudo privileges"), StartupError::BypassAsRoot),
    (StderrPattern::Prefix("Error: sandbox required but unavailable"), StartupError::SandboxMissing),
    (StderrPattern::Prefix("Error: --"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Append system prompt file"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Can't access working directory"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Cannot use "), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Claude Code requires"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Input "), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Invalid --agents"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Invalid JSON provided"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Invalid MCP configuration"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Invalid session ID"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: MCP tool "), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Settings file"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: System prompt file"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Unknown input format"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: When using --print"), StartupError::Unusable),
    (StderrPattern::Prefix("Error: Workspace not trusted"), StartupError::Unusable),
    // GNU and BSD `getopt`, Node.js, Git and Python, Go.
    (StderrPattern::Contains(": unrecognized option '"), StartupError::NotAnAgent),
    (StderrPattern::Contains(": invalid option -- '"), StartupError::NotAnAgent),
    (StderrPattern::Contains(": illegal option -- "), StartupError::NotAnAgent),
    (StderrPattern::Contains(": bad option: "), StartupError::NotAnAgent),
    (StderrPattern::Prefix("unknown option: -"), StartupError::NotAnAgent),
    (StderrPattern::Prefix("Unknown option: -"), StartupError::NotAnAgent),
    (StderrPattern::Prefix("flag provided but not defined: -"), StartupError::NotAnAgent),
];

/// Returns the error of the first line that matches a message.
pub(super) fn from_text(text: &str) -> Option<StartupError> {
    text.lines().find_map(|line| {
        let line = line.trim();
        SENTENCES.iter().find(|(pattern, _)| pattern.matches(line)).map(|(_, error)| *error)
    })
}

impl StderrPattern {
    fn matches(&self, line: &str) -> bool {
        match self {
            StderrPattern::Prefix(start) => line.starts_with(start),
            StderrPattern::PrefixAndSuffix(start, end) => line.starts_with(start) && line.ends_with(end),
            StderrPattern::Contains(part) => line.contains(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::from_text;
    use longhaul_core::StartupError;

    #[test]
    fn recognizes_messages() {
        let check = |text: &str, error| assert_eq!(from_text(text), error, "{text}");
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
