//! Runs the workflow's own commands, which list items or check `until`: each in a shell, in the project directory,
//! with the marker of the workflow. No process of a command outlives it.

use super::REPEAT_DELAY;
use crate::live::{LaunchSpec, OneShotProcess, ProcessWatch, RunMarker, sweep};
use crate::{Environment, failpoints};
use longhaul_core::{Exit, Span};
use longhaul_store::{WorkflowDir, read_regular};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio::sync::Mutex;

// As long as one check may take by default.
const COMMAND_TIMEOUT: Span = Span::from_mins(30);
// A list of a million short paths.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;
// Signals that come from outside of a process: SIGHUP, SIGINT, SIGKILL, also if memory is short, and SIGTERM.
const OUTSIDE_SIGNALS: [i32; 4] = [1, 2, 9, 15];
// A shell exits with this code plus the number of the signal that ended its last command.
const SHELL_SIGNAL_CODE: i32 = 128;
// Enough to recognize a failed command in one line.
const ERROR_CHARS_MAX: usize = 200;

/// Starts commands one after another, because a sweep of one would stop another.
pub(super) struct Commands {
    dir: WorkflowDir,
    project_dir: PathBuf,
    environment: Environment,
    marker: RunMarker,
    number: Mutex<u64>,
}

/// A command that ended on its own.
struct EndedCommand {
    exit: Exit,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Commands {
    pub(super) fn new(
        dir: WorkflowDir,
        project_dir: PathBuf,
        environment: Environment,
        marker: RunMarker,
    ) -> Rc<Commands> {
        Rc::new(Commands { dir, project_dir, environment, marker, number: Mutex::new(0) })
    }

    /// Stops all processes of commands, also those that a dead supervisor started.
    pub(super) async fn stop_all(&self) {
        // A process that cannot be stopped is reported by the next command.
        let _ = sweep(&self.marker).await;
    }

    /// Runs a command to its end. If a signal from outside ends it, it is repeated once, because it gave no answer. The
    /// error is for people.
    async fn run(&self, command: &str) -> Result<EndedCommand, String> {
        let mut number = self.number.lock().await;
        let ended = self.run_once(&mut number, command).await?;
        if !ended.is_interrupted() {
            return Ok(ended);
        }
        tokio::time::sleep(REPEAT_DELAY).await;
        let ended = self.run_once(&mut number, command).await?;
        if ended.is_interrupted() { Err(ended.problem(command, ", twice")) } else { Ok(ended) }
    }

    async fn run_once(&self, number: &mut u64, command: &str) -> Result<EndedCommand, String> {
        *number += 1;
        let failed = |cause: &dyn std::fmt::Display| format!("cannot run `{command}`: {cause}");
        let files = self.dir.create_command_output(*number).map_err(|error| failed(&error))?;
        let [(stdout, out), (stderr, err)] = files;
        let args = ["-c", command];
        let launch = LaunchSpec::command("/bin/sh", &args, &self.project_dir, &self.environment, out, err);
        let launch = launch.with_marker(&self.marker);
        let started = OneShotProcess::start(launch, Vec::new()).map_err(|(_, error)| failed(&error))?;
        let (mut process, process_id) = started;
        failpoints::agent_is(process_id.pid);
        let waited = tokio::time::timeout(COMMAND_TIMEOUT.to_std(), process.wait_for_exit());
        let waited = ProcessWatch::during(&self.marker, waited).await;
        let exit = process.stop(&self.marker).await.map_err(|error| failed(&error))?;
        match waited {
            Ok(Ok(_)) => Ok(EndedCommand { exit, stdout, stderr }),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(format!("`{command}` did not end within {COMMAND_TIMEOUT}")),
        }
    }

    /// Runs a command that succeeds or fails by its exit code.
    pub(super) async fn succeeds(&self, command: &str) -> Result<bool, String> {
        let ended = self.run(command).await?;
        match ended.exit {
            // A shell reports with these that it could not run the command at all.
            Exit::Code(126 | 127) | Exit::Unobserved | Exit::NeverSpawned => Err(ended.problem(command, "")),
            Exit::Code(code) => Ok(code == 0),
            // It crashed.
            Exit::Signal(_) => Ok(false),
        }
    }

    /// Runs a command that must succeed, and returns its output.
    pub(super) async fn output(&self, command: &str) -> Result<String, String> {
        let ended = self.run(command).await?;
        if ended.exit != Exit::Code(0) {
            return Err(ended.problem(command, ""));
        }
        let length = std::fs::metadata(&ended.stdout).map_or(0, |metadata| metadata.len());
        if length > OUTPUT_BYTES_MAX {
            return Err(format!("`{command}` wrote {length} bytes, more than {OUTPUT_BYTES_MAX}"));
        }
        let bytes = read_regular(&ended.stdout);
        let bytes = bytes.map_err(|error| format!("cannot read the output of `{command}`: {error}"))?;
        String::from_utf8(bytes).map_err(|_| format!("the output of `{command}` is not UTF-8"))
    }
}

impl EndedCommand {
    /// Returns whether a signal from outside ended the command.
    fn is_interrupted(&self) -> bool {
        match self.exit {
            Exit::Signal(signal) => OUTSIDE_SIGNALS.contains(&signal),
            Exit::Code(code) => OUTSIDE_SIGNALS.contains(&(code - SHELL_SIGNAL_CODE)),
            Exit::Unobserved | Exit::NeverSpawned => false,
        }
    }

    fn problem(&self, command: &str, times: &str) -> String {
        let end = match self.exit {
            Exit::Code(code) => format!("exited with {code}"),
            Exit::Signal(signal) => format!("was ended by signal {signal}"),
            Exit::Unobserved | Exit::NeverSpawned => "did not run".to_owned(),
        };
        format!("`{command}` {end}{times}: {}", last_line(&self.stderr))
    }
}

fn last_line(stderr: &Path) -> String {
    let text = crate::file_end::tail_of(stderr);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.map_or_else(|| "it wrote no error".to_owned(), |line| line.chars().take(ERROR_CHARS_MAX).collect())
}
