//! Command hooks from settings: those before a tool, and those at the events of a session. Each is really run, with the
//! hook's JSON on its stdin. Whatever one does not say clearly lets the tool run, as with the real agent.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

/// How long a hook may take unless it says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often a running hook is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// When hooks are called, of all events that the real agent has.
pub(super) const PRE_TOOL_USE: &str = "PreToolUse";
pub(super) const USER_PROMPT_SUBMIT: &str = "UserPromptSubmit";
pub(super) const SESSION_END: &str = "SessionEnd";
const EVENTS: [&str; 3] = [PRE_TOOL_USE, USER_PROMPT_SUBMIT, SESSION_END];

/// All hooks.
#[derive(Debug, Clone, Default)]
pub(super) struct Hooks(Vec<Hook>);

#[derive(Debug, Clone)]
struct Hook {
    event: &'static str,
    matcher: String,
    command: String,
    timeout: Duration,
}

/// What a hook did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HookResult {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) exit_code: i32,
    pub(super) timed_out: bool,
}

/// What its words mean for the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Run,
    /// The tool does not run; why.
    Deny(String),
    /// The tool runs with this input, whatever the permission mode.
    Modify(Value),
    /// The tool runs, then the turn ends.
    StopAfter,
}

impl Hooks {
    /// Those of the user's and the project's settings, as far as they can be read, and of `--settings`: JSON, or the path of
    /// a file with JSON; the error is what goes to stderr. All of them are called.
    pub(super) fn read(files: &[PathBuf], settings: Option<&str>) -> Result<Self, String> {
        let of_file = |file: &PathBuf| serde_json::from_slice::<Value>(&fs::read(file).ok()?).ok();
        let mut all: Vec<Value> = files.iter().filter_map(of_file).collect();
        all.extend(settings.map(given).transpose()?);
        Ok(Self(
            all.iter()
                .flat_map(|settings| EVENTS.into_iter().flat_map(|event| parse(settings, event)))
                .collect(),
        ))
    }

    /// Runs every hook that matches `tool` with `input` on its stdin.
    pub(super) fn run(&self, tool: &str, input: &Value) -> Vec<HookResult> {
        let before = self.0.iter().filter(|hook| hook.event == PRE_TOOL_USE);
        before.filter(|hook| hook.matches(tool)).map(|hook| hook.run(input, &[])).collect()
    }

    /// Runs every hook of an event of the session, with these variables besides, and returns what they want the model to
    /// know.
    pub(super) fn tell(&self, event: &str, input: &Value, variables: &[(&str, &Path)]) -> Vec<String> {
        let called = self.0.iter().filter(|hook| hook.event == event);
        called.filter_map(|hook| hook.run(input, variables).additional_context()).collect()
    }
}

/// What `--settings` says.
fn given(settings: &str) -> Result<Value, String> {
    let text = if settings.trim_start().starts_with('{') {
        settings.to_owned()
    } else {
        fs::read_to_string(settings).map_err(|_| format!("Error: Settings file not found: {settings}"))?
    };
    serde_json::from_str(&text).map_err(|_| "Error: Invalid JSON provided to --settings".to_owned())
}

/// The hooks of an event in some settings.
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

impl Hook {
    fn matches(&self, tool: &str) -> bool {
        matches!(self.matcher.as_str(), "" | "*" | ".*") || self.matcher.split('|').any(|name| name == tool)
    }

    fn run(&self, input: &Value, variables: &[(&str, &Path)]) -> HookResult {
        let failed =
            |stderr: String| HookResult { stdout: String::new(), stderr, exit_code: 127, timed_out: false };
        let spawned = Command::new("sh")
            .arg("-c")
            .arg(&self.command)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return failed(error.to_string()),
        };
        if let Some(mut stdin) = child.stdin.take() {
            // A hook need not read what it is given.
            let _ = writeln!(stdin, "{input}");
        }
        let stdout = child.stdout.take().map(reader);
        let stderr = child.stderr.take().map(reader);
        let end = Instant::now() + self.timeout;
        let mut timed_out = false;
        let exit_code = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.code().unwrap_or(1),
                Ok(None) if Instant::now() < end => thread::sleep(LOOK_EVERY),
                Ok(None) | Err(_) => {
                    timed_out = true;
                    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
                        // It may end at this very moment.
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                    // Killed, it ends at once.
                    let _ = child.wait();
                    break 1;
                }
            }
        };
        let text = |reader: Option<thread::JoinHandle<String>>| {
            reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        HookResult { stdout: text(stdout), stderr: text(stderr), exit_code, timed_out }
    }
}

impl HookResult {
    /// What it wants the model to know.
    fn additional_context(&self) -> Option<String> {
        let said: Value = serde_json::from_str(&self.stdout).ok().filter(|_| self.exit_code == 0)?;
        said["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
    }

    /// What it means for the tool.
    pub(super) fn verdict(&self) -> Verdict {
        if self.timed_out {
            return Verdict::Run;
        }
        if self.exit_code == 2 {
            return Verdict::Deny(self.stderr.trim().to_owned());
        }
        let said: Value = if self.exit_code == 0 {
            serde_json::from_str(&self.stdout).unwrap_or_default()
        } else {
            json!({})
        };
        Verdict::parse(&said)
    }
}

impl Verdict {
    /// What a hook's answer says.
    pub(super) fn parse(said: &Value) -> Verdict {
        let decision = &said["hookSpecificOutput"];
        if decision["permissionDecision"] == "deny" {
            return Verdict::Deny(
                decision["permissionDecisionReason"].as_str().unwrap_or_default().to_owned(),
            );
        }
        if decision["permissionDecision"] == "allow" && decision["updatedInput"].is_object() {
            return Verdict::Modify(decision["updatedInput"].clone());
        }
        if said["continue"] == false { Verdict::StopAfter } else { Verdict::Run }
    }
}

fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a failure is what it said.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, timeout: u64, expected: Verdict) {
        let settings = json!({"hooks": {"PreToolUse": [
            {"matcher": "Bash|Write", "hooks": [{"type": "command", "command": command, "timeout": timeout}]}]}});
        let hooks = Hooks::read(&[], Some(&settings.to_string())).unwrap_or_default();
        assert_eq!(hooks.run("Read", &json!({})), []);
        let ran = hooks.run("Bash", &json!({"tool_name": "Bash"}));
        assert_eq!(ran.iter().map(HookResult::verdict).collect::<Vec<_>>(), [expected], "{command}: {ran:?}");
    }

    #[test]
    fn what_hooks_say_is_taken_as_measured() {
        check("echo '{\"continue\":false,\"stopReason\":\"x\"}'", 5, Verdict::StopAfter);
        check("echo no >&2; exit 2", 5, Verdict::Deny("no".into()));
        check("grep -q '\"tool_name\":\"Bash\"' && exit 2", 5, Verdict::Deny(String::new()));
        check("exit 1", 5, Verdict::Run);
        check("sleep 5", 0, Verdict::Run);
        check("no-such-command-here", 5, Verdict::Run);
        let deny =
            r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}'"#;
        check(deny, 5, Verdict::Deny("r".into()));
        let amend =
            r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}'"#;
        check(amend, 5, Verdict::Modify(json!({"command": "ls"})));
        // Another input needs a permission that is given in so many words.
        let unasked = r#"echo '{"hookSpecificOutput":{"updatedInput":{"command":"ls"}}}'"#;
        check(unasked, 5, Verdict::Run);
        assert!(Hooks::read(&[], Some("/no/such/file")).is_err());
    }

    #[test]
    fn a_session_is_told_what_its_hooks_say() {
        let say = r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"tabs"}}"#;
        let command = format!(r#"grep -q '"prompt":"p"' && test "$PROJECT" = /p && echo '{say}'"#);
        let settings =
            json!({"hooks": {USER_PROMPT_SUBMIT: [{"hooks": [{"type": "command", "command": command}]}]}});
        let hooks =
            Hooks::read(&[PathBuf::from("/no/such/file")], Some(&settings.to_string())).unwrap_or_default();
        let told = |event, prompt: &str| {
            hooks.tell(event, &json!({"prompt": prompt}), &[("PROJECT", Path::new("/p"))])
        };
        assert_eq!(told(USER_PROMPT_SUBMIT, "p"), ["tabs"]);
        assert!(told(USER_PROMPT_SUBMIT, "q").is_empty() && told(SESSION_END, "p").is_empty());
    }
}
