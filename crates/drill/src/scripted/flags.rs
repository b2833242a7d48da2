//! Parses the command line by hand: the few flags of Claude Code that a supervisor uses. Rejects an unknown
//! flag with the real agent's message.

use std::ffi::OsString;

use longhaul_core::SessionId;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Flags {
    /// `--acp`: the Agent Client Protocol instead of JSON lines.
    pub acp: bool,
    /// `--input-format stream-json`. Only the modes without an API work without it.
    pub input_lines: bool,
    pub partial_messages: bool,
    pub hook_events: bool,
    pub session_id: Option<String>,
    pub resume: Option<String>,
    /// `--resume-session-at`: the message after which the history is dropped.
    pub resume_at: Option<String>,
    pub fork_session: bool,
    pub model: Option<String>,
    pub permission_mode: Option<String>,
    /// JSON, or the path of a file with JSON.
    pub settings: Option<String>,
    pub max_turns: Option<u32>,
    pub max_budget_usd: Option<f64>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// `--permission-prompt-tool stdio`: the host answers permission prompts and questions.
    pub prompts_host: bool,
    /// `--tools`: the names of the offered tools; empty for none. `None` offers all.
    pub tools: Option<Vec<String>>,
    /// `--json-schema`: the model must return its result with the tool `StructuredOutput`.
    pub json_schema: Option<serde_json::Value>,
    /// `--mcp-config`: texts in JSON.
    pub mcp_configs: Vec<String>,
    /// `--allowedTools`: names of the tools that need no permission.
    pub allowed_tools: Vec<String>,
    /// `--no-session-persistence`: no session file is written.
    pub no_session: bool,
    /// `--safe-mode`: hooks and other customizations are off.
    pub safe_mode: bool,
    pub version: bool,
}

/// Parses the command line. The error is the text for stderr.
pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Flags, String> {
    let mut flags = Flags::default();
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned()).peekable();
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
            _ => (argument.clone(), None),
        };
        let mut value = || {
            inline
                .clone()
                .or_else(|| arguments.next())
                .ok_or_else(|| format!("error: option '{name} <value>' argument missing"))
        };
        match name.as_str() {
            "--acp" => {
                flags.acp = true;
                (flags.input_lines, flags.partial_messages, flags.prompts_host) = (true, true, true);
            }
            "-v" | "--version" => flags.version = true,
            "--include-partial-messages" => flags.partial_messages = true,
            "--include-hook-events" => flags.hook_events = true,
            "--no-session-persistence" => flags.no_session = true,
            "--safe-mode" => flags.safe_mode = true,
            "--permission-prompt-tool" => flags.prompts_host = value()? == "stdio",
            "--tools" => flags.tools = Some(names(&value()?).collect()),
            "--json-schema" => {
                let schema = value()?;
                flags.json_schema = Some(
                    serde_json::from_str(&schema)
                        .map_err(|_| "Error: Invalid JSON provided to --json-schema".to_owned())?,
                );
            }
            "--fork-session" => flags.fork_session = true,
            "--dangerously-skip-permissions" => flags.permission_mode = Some("bypassPermissions".to_owned()),
            "--input-format" => flags.input_lines = value()? == "stream-json",
            "--mcp-config" => flags.mcp_configs.push(value()?),
            "--allowedTools" | "--allowed-tools" => flags.allowed_tools.extend(names(&value()?)),
            "--session-id" => flags.session_id = Some(value()?),
            "-r" | "--resume" => flags.resume = Some(value()?),
            "--resume-session-at" => flags.resume_at = Some(value()?),
            "--model" => flags.model = Some(value()?),
            "--permission-mode" => flags.permission_mode = Some(mode(value()?)?),
            "--settings" => flags.settings = Some(value()?),
            "--system-prompt" => flags.system_prompt = Some(value()?),
            "--append-system-prompt" => flags.append_system_prompt = Some(value()?),
            "--max-turns" => flags.max_turns = Some(number(&value()?, &name)?),
            "--max-budget-usd" => flags.max_budget_usd = Some(number(&value()?, &name)?),
            // These have no effect here, but a supervisor may pass them.
            "--disallowedTools" | "--disallowed-tools" | "--add-dir" | "--fallback-model" | "--effort"
            | "--output-format" | "--setting-sources" => {
                value()?;
            }
            "-p" | "--print" | "--verbose" | "--strict-mcp-config" | "--replay-user-messages" => {}
            _ if argument.starts_with('-') && argument.len() > 1 => {
                return Err(format!("error: unknown option '{argument}'"));
            }
            _ => {}
        }
    }
    if flags.resume.is_some() && flags.session_id.is_some() && !flags.fork_session {
        return Err("Error: --session-id with --continue or --resume also needs --fork-session.".to_owned());
    }
    if let Some(id) = &flags.session_id
        && !SessionId::from(id.as_str()).is_uuid()
    {
        return Err("Error: Invalid session ID. Must be a valid UUID.".to_owned());
    }
    Ok(flags)
}

/// Returns the names of a list that commas or spaces separate.
fn names(list: &str) -> impl Iterator<Item = String> {
    list.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Parses a permission mode of 2.1.330. `default` is the old name of `manual`.
fn mode(mode: String) -> Result<String, String> {
    const MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"];
    if mode == "default" || MODES.contains(&mode.as_str()) {
        return Ok(mode);
    }
    let choices = MODES.join(", ");
    Err(format!(
        "error: option '--permission-mode <mode>' argument '{mode}' is invalid. Allowed choices are {choices}."
    ))
}

fn number<T: std::str::FromStr>(text: &str, name: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("error: option '{name} <value>' argument '{text}' is invalid."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Flags, String> {
        parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn parses_command_line_of_a_supervisor() {
        let flags = check(
            "-p --input-format stream-json --output-format=stream-json --verbose --resume abc --max-turns 3",
        );
        let expected = Flags {
            input_lines: true,
            resume: Some("abc".to_owned()),
            max_turns: Some(3),
            ..Flags::default()
        };
        assert_eq!(flags, Ok(expected));
    }

    #[test]
    fn parses_single_response_without_tools_or_session() {
        let arguments = ["-p", "--tools", "", "--no-session-persistence", "--safe-mode"];
        let flags = parse(arguments.into_iter().map(OsString::from));
        let expected =
            Flags { tools: Some(Vec::new()), no_session: true, safe_mode: true, ..Flags::default() };
        assert_eq!(flags, Ok(expected));
        let tools = Some(vec!["Bash".to_owned(), "Read".to_owned()]);
        assert_eq!(check("-p --tools Bash,Read").map(|flags| flags.tools), Ok(tools));
    }

    #[test]
    fn servers_and_allowed_tools_accumulate() {
        let flags =
            check("-p --mcp-config={} --allowedTools=Read,mcp__a__b --mcp-config b.json --allowedTools Bash");
        let expected = Flags {
            mcp_configs: vec!["{}".to_owned(), "b.json".to_owned()],
            allowed_tools: ["Read", "mcp__a__b", "Bash"].map(str::to_owned).to_vec(),
            ..Flags::default()
        };
        assert_eq!(flags, Ok(expected));
    }

    #[test]
    fn errors_match_the_real_agent() {
        assert!(
            check("-p --permission-mode never").is_err_and(|error| error.contains("Allowed choices are"))
        );
        assert_eq!(check("-p --nope"), Err("error: unknown option '--nope'".to_owned()));
        assert!(check("-p --session-id x").is_err_and(|error| error.contains("Invalid session ID")));
    }
}
