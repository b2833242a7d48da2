//! Recognizes a failed start. A failed start names no session in the stream; only then is stderr inspected,
//! and only at the start of lines that the agent program writes.

use crate::pattern::matches;
use longhaul_core::StartupError;

/// Messages of 2.1.330, and messages with which other programs reject our flags.
const SENTENCES: [(&str, StartupError); 31] = [
    ("Error: Session ID * is already in use.", StartupError::SessionInUse),
    ("No conversation found with session ID*", StartupError::SessionUnknown),
    ("* does not match any session title*", StartupError::SessionUnknown),
    ("error: option '--permission-mode*", StartupError::UnknownPermissionMode),
    ("Error: Unknown permission mode*", StartupError::UnknownPermissionMode),
    // The argument parser: unknown option, missing argument.
    ("error: *", StartupError::Unusable),
    ("*cannot be used with root/sudo privileges*", StartupError::BypassAsRoot),
    ("Error: sandbox required but unavailable*", StartupError::SandboxMissing),
    ("Error: --*", StartupError::Unusable),
    ("Error: Append system prompt file*", StartupError::Unusable),
    ("Error: Can't access working directory*", StartupError::Unusable),
    ("Error: Cannot use *", StartupError::Unusable),
    ("Error: Claude Code requires*", StartupError::Unusable),
    ("Error: Input *", StartupError::Unusable),
    ("Error: Invalid --agents*", StartupError::Unusable),
    ("Error: Invalid JSON provided*", StartupError::Unusable),
    ("Error: Invalid MCP configuration*", StartupError::Unusable),
    ("Error: Invalid session ID*", StartupError::Unusable),
    ("Error: MCP tool *", StartupError::Unusable),
    ("Error: Settings file*", StartupError::Unusable),
    ("Error: System prompt file*", StartupError::Unusable),
    ("Error: Unknown input format*", StartupError::Unusable),
    ("Error: When using --print*", StartupError::Unusable),
    ("Error: Workspace not trusted*", StartupError::Unusable),
    // GNU and BSD `getopt`, Node.js, Git and Python, Go.
    ("*: unrecognized option '*", StartupError::NotAnAgent),
    ("*: invalid option -- '*", StartupError::NotAnAgent),
    ("*: illegal option -- *", StartupError::NotAnAgent),
    ("*: bad option: *", StartupError::NotAnAgent),
    ("unknown option: -*", StartupError::NotAnAgent),
    ("Unknown option: -*", StartupError::NotAnAgent),
    ("flag provided but not defined: -*", StartupError::NotAnAgent),
];

pub(super) fn from_text(text: &str) -> Option<StartupError> {
    text.lines().find_map(|line| {
        let line = line.trim();
        SENTENCES.iter().find(|(pattern, _)| matches(pattern, line)).map(|(_, error)| *error)
    })
}

#[cfg(test)]
mod tests {
    use super::from_text;
    use longhaul_core::StartupError;

    #[test]
    fn recognizes_messages() {
        for (text, error) in [
            ("Error: Session ID 606d35e3 is already in use.\n", StartupError::SessionInUse),
            ("(node:1) warning\nNo conversation found with session ID: 5\n", StartupError::SessionUnknown),
            ("\"x\" is not a UUID and does not match any session title.", StartupError::SessionUnknown),
            ("error: unknown option '--x'", StartupError::Unusable),
            (
                "Error: --session-id with --continue or --resume also needs --fork-session.",
                StartupError::Unusable,
            ),
            (
                "error: option '--permission-mode <mode>' argument 'foo' is invalid. Allowed choices are acceptEdits, auto.",
                StartupError::UnknownPermissionMode,
            ),
            (
                "\nError: sandbox required but unavailable: sandbox is enabled but dependencies are missing: socat not installed",
                StartupError::SandboxMissing,
            ),
            ("ls: unrecognized option '--input-format'\n", StartupError::NotAnAgent),
            ("node: bad option: --input-format", StartupError::NotAnAgent),
            (
                "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
                StartupError::BypassAsRoot,
            ),
        ] {
            assert_eq!(from_text(text), Some(error), "{text}");
        }
        for text in ["", "Segmentation fault", "said: error: unknown option"] {
            assert_eq!(from_text(text), None, "{text}");
        }
    }
}
