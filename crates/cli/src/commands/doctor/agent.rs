//! The agent: whether it is there, whether it can be started, and whether it is a version that this was tested with.

use super::finding::Finding;
use crate::failure::Failure;
use crate::runtime;
use longhaul::find_agent::find_claude;
use longhaul_agent::claude::environment::VERSION_TESTED;
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{env, io};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

const AGENT: &str = "agent";
const VERSION: &str = "version";
const UPDATE: &str = "update it with `claude update`, or name another one with --agent-path";

// It takes a second on a slow disk; whoever asks waits.
const PATIENCE: Duration = Duration::from_secs(10);
// A version is one line.
const SAID_BYTES_MAX: u64 = 4096;
// More of a line is no version, and no use.
const TOLD_CHARACTERS_MAX: usize = 60;

/// Finds it, and asks its version.
pub fn check(named: Option<&Path>) -> Result<Vec<Finding>, Failure> {
    let path = match find_claude(named) {
        Ok(path) => path,
        Err(error) => return Ok(vec![Finding::problem(AGENT, error.to_string(), error.hint())]),
    };
    let said = runtime::new()?.block_on(ask(&path));
    Ok(vec![Finding::ok(AGENT, path.display().to_string()), version(said)])
}

/// What the agent says to `--version`, or why it says nothing. It gets none of our environment but what it is found by.
async fn ask(path: &Path) -> Result<String, String> {
    let mut command = Command::new(path);
    let kept = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
    command.arg("--version").env_clear().envs(kept);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // It may be a script: what that starts ends with it.
    command.process_group(0).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    match timeout(PATIENCE, answer(&mut child)).await {
        Ok(answer) => answer.map_err(|error| format!("it cannot be heard: {error}"))?,
        Err(_) => {
            if let Some(group) = group {
                // One that is gone by now is what we want.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = child.wait().await;
            Err(format!("it did not tell its version within {} s", PATIENCE.as_secs()))
        }
    }
}

async fn answer(child: &mut Child) -> io::Result<Result<String, String>> {
    let mut said = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(SAID_BYTES_MAX).read_to_end(&mut said).await?;
    }
    let status = child.wait().await?;
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(if status.success() {
        Ok(said)
    } else {
        Err(format!("asked for its version, it ended with {status}"))
    })
}

/// What its answer means.
fn version(said: Result<String, String>) -> Finding {
    let said = match said {
        Ok(said) => said,
        Err(why) => {
            let remedy = "start it by hand with `--version`, and install it anew if it fails: npm install -g \
                          @anthropic-ai/claude-code";
            return Finding::problem(VERSION, why, remedy);
        }
    };
    let tested = number(VERSION_TESTED).expect("it is a version");
    let told = version_text(&said);
    match number(&told) {
        None => Finding::warning(VERSION, format!("it is not known: it says `{told}`"), UPDATE),
        Some(found) if found < tested => {
            let found = format!("{told} is older than {VERSION_TESTED}, with which this was tested");
            Finding::warning(VERSION, found, UPDATE)
        }
        Some(found) if found > tested => {
            Finding::ok(VERSION, format!("{told}, newer than {VERSION_TESTED}, with which this was tested"))
        }
        Some(_) => Finding::ok(VERSION, format!("{told}, with which this was tested")),
    }
}

/// The first line, fit for a terminal.
fn version_text(said: &str) -> String {
    let line = said.lines().next().unwrap_or_default().trim();
    line.chars().filter(|sign| !sign.is_control()).take(TOLD_CHARACTERS_MAX).collect()
}

/// The three numbers that the text begins with.
fn number(text: &str) -> Option<[u64; 3]> {
    // Behind a `-` or a `+` stands what kind of build it is.
    let word = text.split([' ', '-', '+']).next()?;
    let numbers: Option<Vec<u64>> = word.split('.').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::version;

    #[test]
    fn versions() {
        let check = |said: &str, state: Severity, found: &str| {
            let finding = version(Ok(said.to_owned()));
            assert_eq!((finding.state, finding.detail.as_str()), (state, found), "{said:?}");
        };
        let tested = "with which this was tested";
        check("2.1.330 (Claude Code)\n", Severity::Ok, &format!("2.1.330 (Claude Code), {tested}"));
        check("2.1.331", Severity::Ok, &format!("2.1.331, newer than 2.1.330, {tested}"));
        check("3.0.0-beta.1", Severity::Ok, &format!("3.0.0-beta.1, newer than 2.1.330, {tested}"));
        check("2.1.99", Severity::Warning, &format!("2.1.99 is older than 2.1.330, {tested}"));
        check("1.10.400\n", Severity::Warning, &format!("1.10.400 is older than 2.1.330, {tested}"));
        check("", Severity::Warning, "it is not known: it says ``");
        check("hello", Severity::Warning, "it is not known: it says `hello`");
        check("2.1\x1b[31m.x\n", Severity::Warning, "it is not known: it says `2.1[31m.x`");
        check(&"9".repeat(99), Severity::Warning, &format!("it is not known: it says `{}`", "9".repeat(60)));
        let silent = version(Err("it is silent".to_owned()));
        assert_eq!((silent.state, silent.detail.as_str()), (Severity::Problem, "it is silent"));
    }
}
