//! Checks that the agent exists, starts and has a tested version.

use super::finding::Finding;
use crate::failure::Failure;
use crate::hints::agent_hint;
use crate::runtime;
use longhaul::find_agent::find_claude;
use longhaul_agent::default_environment;
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{env, io};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

const AGENT: &str = "agent";
const VERSION: &str = "version";
const UPDATE: &str = "update it with `claude update`, or name another one with --agent-path";

// Starting takes a second on a slow disk, and the user is waiting.
const TIMEOUT: Duration = Duration::from_secs(10);
// A version is one line.
const OUTPUT_BYTES_MAX: u64 = 4096;
// A longer line is not a version.
const VERSION_CHARS_MAX: usize = 60;

pub fn check(agent_path: Option<&Path>) -> Result<Vec<Finding>, Failure> {
    let path = match find_claude(agent_path) {
        Ok(path) => path,
        Err(error) => return Ok(vec![Finding::problem(AGENT, error.to_string(), agent_hint(&error))]),
    };
    let output = runtime::new()?.block_on(ask(&path));
    Ok(vec![Finding::ok(AGENT, path.display().to_string()), version(output)])
}

/// Returns the agent's output for `--version`. The agent receives only the variables that are needed to find
/// it.
async fn ask(path: &Path) -> Result<String, String> {
    let mut command = Command::new(path);
    let variables = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
    command.arg("--version").env_clear().envs(variables);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // The program may be a script. Its children are killed with its process group.
    command.process_group(0).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let answer = async {
        let mut output = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(OUTPUT_BYTES_MAX).read_to_end(&mut output).await?;
        }
        Ok::<_, io::Error>((child.wait().await?, output))
    };
    let Ok(answer) = timeout(TIMEOUT, answer).await else {
        // The group may already be gone.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = child.wait().await;
        return Err(format!("it did not report its version within {} s", TIMEOUT.as_secs()));
    };
    match answer.map_err(|error| format!("its output cannot be read: {error}"))? {
        (status, output) if status.success() => Ok(String::from_utf8_lossy(&output).into_owned()),
        (status, _) => Err(format!("asked for its version, it exited with {status}")),
    }
}

fn version(output: Result<String, String>) -> Finding {
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            let remedy = "start it by hand with `--version`, and reinstall it if it fails: npm install -g \
                          @anthropic-ai/claude-code";
            return Finding::problem(VERSION, error, remedy);
        }
    };
    let version_tested = default_environment().version_tested;
    let tested = number(version_tested).expect("the constant is a version");
    let text = version_text(&output);
    match number(&text) {
        None if text.is_empty() => Finding::problem(VERSION, "unknown: it printed nothing", UPDATE),
        None => Finding::problem(VERSION, format!("unknown: it printed `{text}`"), UPDATE),
        Some(found) if found < tested => {
            let found = format!("{text} is older than {version_tested} (tested version)");
            Finding::warning(VERSION, found, UPDATE)
        }
        Some(found) if found > tested => {
            Finding::ok(VERSION, format!("{text}, newer than {version_tested} (tested version)"))
        }
        Some(_) => Finding::ok(VERSION, format!("{text} (tested version)")),
    }
}

fn version_text(output: &str) -> String {
    let line = output.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split(|c: char| c.is_control() || c.is_whitespace()).collect();
    let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    words.chars().take(VERSION_CHARS_MAX).collect()
}

fn number(text: &str) -> Option<[u64; 3]> {
    // The kind of build follows a `-` or `+`.
    let word = text.split([' ', '-', '+']).next()?;
    let numbers: Option<Vec<u64>> = word.split('.').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::version;

    #[test]
    fn classifies_versions() {
        let check = |output: &str, state: Severity, found: &str| {
            let finding = version(Ok(output.to_owned()));
            assert_eq!((finding.state, finding.detail.as_str()), (state, found), "{output:?}");
        };
        let tested = "(tested version)";
        check("2.1.330 (Claude Code)\n", Severity::Ok, &format!("2.1.330 (Claude Code) {tested}"));
        check("2.1.331", Severity::Ok, &format!("2.1.331, newer than 2.1.330 {tested}"));
        check("3.0.0-beta.1", Severity::Ok, &format!("3.0.0-beta.1, newer than 2.1.330 {tested}"));
        check("2.1.99", Severity::Warning, &format!("2.1.99 is older than 2.1.330 {tested}"));
        check("1.10.400\n", Severity::Warning, &format!("1.10.400 is older than 2.1.330 {tested}"));
        check("", Severity::Problem, "unknown: it printed nothing");
        check("hello  \t you", Severity::Problem, "unknown: it printed `hello you`");
        check("2.1\x1b[31m.x\n", Severity::Problem, "unknown: it printed `2.1 [31m.x`");
        check(&"9".repeat(99), Severity::Problem, &format!("unknown: it printed `{}`", "9".repeat(60)));
        let silent = version(Err("it is silent".to_owned()));
        assert_eq!((silent.state, silent.detail.as_str()), (Severity::Problem, "it is silent"));
    }
}
