//! Runs command hooks from settings: before a tool, and at session events. Each hook is a real process with
//! the hook's JSON on stdin. As with the real agent, unclear output lets the tool run.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;
use std::{fs, io};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The hook events that are supported, out of those of the real agent.
pub(super) const PRE_TOOL_USE: &str = "PreToolUse";
pub(super) const USER_PROMPT_SUBMIT: &str = "UserPromptSubmit";
pub(super) const SESSION_END: &str = "SessionEnd";
const EVENTS: [&str; 3] = [PRE_TOOL_USE, USER_PROMPT_SUBMIT, SESSION_END];

#[derive(Debug, Clone, Default)]
pub(super) struct Hooks(Vec<Hook>);

#[derive(Debug, Clone)]
struct Hook {
    event: &'static str,
    matcher: String,
    command: String,
    timeout: Duration,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HookResult {
    pub stdout: String,
    pub stderr: String,
    pub exit_code: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Run,
    Deny(String),
    /// The tool runs with this input, whatever the permission mode.
    Modify(Value),
    /// The tool runs, then the exchange ends.
    StopAfter,
}

impl Hooks {
    /// Reads the hooks of the user's and the project's settings, skipping unreadable files, and of
    /// `--settings`: JSON, or the path of a file with JSON. The error is the text for stderr.
    pub(super) fn read(files: &[PathBuf], settings: Option<&str>) -> Result<Self, String> {
        let settings_of = |file: &PathBuf| serde_json::from_slice::<Value>(&fs::read(file).ok()?).ok();
        let mut all: Vec<Value> = files.iter().filter_map(settings_of).collect();
        all.extend(settings.map(read_settings).transpose()?);
        Ok(Self(
            all.iter()
                .flat_map(|settings| EVENTS.into_iter().flat_map(|event| parse(settings, event)))
                .collect(),
        ))
    }

    /// Runs every hook that matches `tool`, with `input` on stdin.
    pub(super) fn run(&self, tool: &str, input: &Value) -> Vec<HookResult> {
        let tool_hooks = self.0.iter().filter(|hook| hook.event == PRE_TOOL_USE);
        tool_hooks.filter(|hook| matches_tool(&hook.matcher, tool)).map(|hook| hook.run(input, &[])).collect()
    }

    /// Runs every hook of a session event with these additional variables. Returns the contexts that the
    /// hooks add for the model.
    pub(super) fn run_session_event(
        &self,
        event: &str,
        input: &Value,
        variables: &[(&str, &Path)],
    ) -> Vec<String> {
        let matching = self.0.iter().filter(|hook| hook.event == event);
        matching.filter_map(|hook| hook.run(input, variables).additional_context()).collect()
    }
}

fn read_settings(settings: &str) -> Result<Value, String> {
    let text = if settings.trim_start().starts_with('{') {
        settings.to_owned()
    } else {
        fs::read_to_string(settings).map_err(|_| format!("Error: Settings file not found: {settings}"))?
    };
    serde_json::from_str(&text).map_err(|_| "Error: Invalid JSON provided to --settings".to_owned())
}

fn parse(settings: &Value, event: &'static str) -> Vec<Hook> {
    let groups = settings["hooks"][event].as_array().cloned().unwrap_or_default();
    let hooks = groups.iter().flat_map(|group| {
        let matcher = group["matcher"].as_str().unwrap_or_default().to_owned();
        let commands = group["hooks"].as_array().cloned().unwrap_or_default();
        commands.into_iter().filter_map(move |hook| {
            let timeout = hook["timeout"].as_u64().map_or(TIMEOUT, Duration::from_secs);
            let command = hook["command"].as_str()?.to_owned();
            Some(Hook { event, matcher: matcher.clone(), command, timeout })
        })
    });
    hooks.collect()
}

pub(super) fn matches_tool(matcher: &str, tool: &str) -> bool {
    matches!(matcher, "" | "*" | ".*") || matcher.split('|').any(|name| name == tool)
}

impl Hook {
    fn run(&self, input: &Value, variables: &[(&str, &Path)]) -> HookResult {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match self.output(input, variables) {
            Ok(Some(output)) => HookResult {
                stdout: text(output.stdout),
                stderr: text(output.stderr),
                exit_code: output.status.code().unwrap_or(1),
            },
            Ok(None) => HookResult { exit_code: 1, ..HookResult::default() },
            Err(error) => HookResult { stderr: error.to_string(), exit_code: 127, ..HookResult::default() },
        }
    }

    fn output(&self, input: &Value, variables: &[(&str, &Path)]) -> io::Result<Option<Output>> {
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
            let mut child = Command::new("sh")
                .arg("-c")
                .arg(&self.command)
                .envs(variables.iter().copied())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0)
                .kill_on_drop(true)
                .spawn()?;
            let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
            if let Some(mut stdin) = child.stdin.take() {
                // A hook need not read its input.
                let _ = stdin.write_all(format!("{input}\n").as_bytes()).await;
            }
            match tokio::time::timeout(self.timeout, child.wait_with_output()).await {
                Ok(output) => output.map(Some),
                Err(_) => {
                    // It may exit at this very moment.
                    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                    Ok(None)
                }
            }
        })
    }
}

impl HookResult {
    fn additional_context(&self) -> Option<String> {
        let output: Value = serde_json::from_str(&self.stdout).ok().filter(|_| self.exit_code == 0)?;
        output["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
    }

    pub(super) fn verdict(&self) -> Verdict {
        if self.exit_code == 2 {
            return Verdict::Deny(self.stderr.trim().to_owned());
        }
        let output: Value = if self.exit_code == 0 {
            serde_json::from_str(&self.stdout).unwrap_or_default()
        } else {
            json!({})
        };
        Verdict::parse(&output)
    }
}

impl Verdict {
    pub(super) fn parse(output: &Value) -> Verdict {
        let decision = &output["hookSpecificOutput"];
        if decision["permissionDecision"] == "deny" {
            return Verdict::Deny(
                decision["permissionDecisionReason"].as_str().unwrap_or_default().to_owned(),
            );
        }
        if decision["permissionDecision"] == "allow" && decision["updatedInput"].is_object() {
            return Verdict::Modify(decision["updatedInput"].clone());
        }
        if output["continue"] == false { Verdict::StopAfter } else { Verdict::Run }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, timeout: u64, expected: Verdict) {
        let settings = json!({"hooks": {"PreToolUse": [
            {"matcher": "Bash|Write", "hooks": [{"type": "command", "command": command, "timeout": timeout}]}]}});
        let hooks = Hooks::read(&[], Some(&settings.to_string())).unwrap_or_default();
        assert_eq!(hooks.run("Read", &json!({})), []);
        let results = hooks.run("Bash", &json!({"tool_name": "Bash"}));
        assert_eq!(
            results.iter().map(HookResult::verdict).collect::<Vec<_>>(),
            [expected],
            "{command}: {results:?}"
        );
    }

    #[test]
    fn hook_output_maps_to_measured_verdicts() {
        check("echo '{\"continue\":false,\"stopReason\":\"x\"}'", 5, Verdict::StopAfter);
        check("echo no >&2; exit 2", 5, Verdict::Deny("no".into()));
        check("grep -q '\"tool_name\":\"Bash\"' && exit 2", 5, Verdict::Deny(String::new()));
        check("exit 1", 5, Verdict::Run);
        check("sleep 5", 0, Verdict::Run);
        check("no-such-command-here", 5, Verdict::Run);
        let deny =
            r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}'"#;
        check(deny, 5, Verdict::Deny("r".into()));
        let modify =
            r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}'"#;
        check(modify, 5, Verdict::Modify(json!({"command": "ls"})));
        // A changed input requires an explicit permission.
        let without_permission = r#"echo '{"hookSpecificOutput":{"updatedInput":{"command":"ls"}}}'"#;
        check(without_permission, 5, Verdict::Run);
        assert!(Hooks::read(&[], Some("/no/such/file")).is_err());
    }

    #[test]
    fn session_hooks_add_context() {
        let output =
            r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"tabs"}}"#;
        let command = format!(r#"grep -q '"prompt":"p"' && test "$PROJECT" = /p && echo '{output}'"#);
        let settings =
            json!({"hooks": {USER_PROMPT_SUBMIT: [{"hooks": [{"type": "command", "command": command}]}]}});
        let hooks =
            Hooks::read(&[PathBuf::from("/no/such/file")], Some(&settings.to_string())).unwrap_or_default();
        let contexts = |event, prompt: &str| {
            hooks.run_session_event(event, &json!({"prompt": prompt}), &[("PROJECT", Path::new("/p"))])
        };
        assert_eq!(contexts(USER_PROMPT_SUBMIT, "p"), ["tabs"]);
        assert!(contexts(USER_PROMPT_SUBMIT, "q").is_empty() && contexts(SESSION_END, "p").is_empty());
    }
}
