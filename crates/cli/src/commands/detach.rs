//! `longhaul run --detach`: starts a supervisor that survives the terminal, and prints the run's id.
//!
//! The supervisor is another process of this program in its own session. It reports on its standard output
//! that the run has started. Until then, its warnings and errors are reported here.

use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::next_commands::attach_or_cancel;
use crate::output::{self, out, print_status};
use longhaul::workflow::{WorkflowObserver, WorkflowView};
use longhaul::{Observer, StepView, enclosing_run};
use longhaul_core::{RunId, Step, WorkflowRecord};
use longhaul_store::{WorkflowDir, WorkflowPlan};
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};

const FLAG: &str = "--detach";
/// Replacement of the flag in the supervisor's arguments.
const SUPERVISOR_FLAG: &str = "--detached";

/// Message that a detached run has started.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DetachMessage {
    /// The run that has started.
    run: DetachedRun,
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DetachedRun {
    /// Id of the run.
    id: String,
    /// Run directory.
    dir: String,
}

/// Does what `--detach` and `--detached` ask for. Returns the exit code if another process supervises the run.
pub fn start_or_leave(global: &GlobalArgs, detach: bool) -> Result<Option<u8>, Failure> {
    if global.detached {
        leave_terminal();
    }
    if detach { start(global).map(Some) } else { Ok(None) }
}

/// Starts the supervisor with this program's own arguments. Returns once its run has started.
fn start(global: &GlobalArgs) -> Result<u8, Failure> {
    let broken = |error: io::Error| Failure::unexpected(format!("cannot start a supervisor: {error}"));
    let mut supervisor = Command::new(env::current_exe().map_err(broken)?)
        .args(supervisor_args(env::args_os().skip(1)))
        // The prompt may come from stdin.
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(broken)?;
    let mut stdout = BufReader::new(supervisor.stdout.take().expect("its output is piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).map_err(broken)?;
    if let Ok(DetachMessage { run }) = serde_json::from_str(&line) {
        print_warnings(supervisor.stderr.take().expect("its errors are piped"));
        match output::format(global) {
            OutputFormat::Text => output::print_text(&format!("{}\n", run.id)),
            OutputFormat::Json | OutputFormat::StreamJson => output::print_text(&line),
        }
        print_status(&attach_or_cancel(&run.id));
        return Ok(0);
    }
    // The supervisor exited before the run started. Its output is the answer.
    output::print_text(&line);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).map_err(broken)?;
    output::print_text(&rest);
    let finished = supervisor.wait_with_output().map_err(broken)?;
    out::print_stderr(&String::from_utf8_lossy(&finished.stderr));
    Ok(finished
        .status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(crate::failure::UNEXPECTED_ERROR))
}

/// Prints what a supervisor has written so far. It keeps running, so its output has no end.
fn print_warnings(mut stderr: ChildStderr) {
    let mut written = Vec::new();
    if rustix::io::ioctl_fionbio(&stderr, true).is_ok() {
        // An empty pipe is an error here, after all of its content was read.
        let _ = stderr.read_to_end(&mut written);
    }
    out::print_stderr(&String::from_utf8_lossy(&written));
}

/// Replaces the flag in the arguments of this program. Arguments after `--` belong to the agent.
fn supervisor_args(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut is_agent_arg = false;
    args.map(|arg| {
        is_agent_arg |= arg == "--";
        if arg == FLAG && !is_agent_arg { SUPERVISOR_FLAG.into() } else { arg }
    })
    .collect()
}

/// Leaves the terminal, so that its signals and its end do not affect this process.
pub fn leave_terminal() {
    // This fails only for the leader of a process group. A supervisor started here is not one.
    let _ = rustix::process::setsid();
}

/// Reports the start of the run or workflow to the parent process and ignores everything else.
#[derive(Default)]
pub struct DetachObserver {
    /// The run to announce once its first decision is recorded. Before, a process that attaches to a resumed
    /// run would see it as finished.
    run: Option<(RunId, PathBuf)>,
}

impl DetachObserver {
    /// Reports the run or workflow once, with a warning if its supervisor will not survive.
    fn announce_start(&mut self) {
        let Some((run, dir)) = self.run.take() else { return };
        if let Some(outer) = enclosing_run() {
            let warning = format!("{run} ends with run {outer}, in which it was started");
            let hint = format!("wait for its end with `longhaul attach {run}`");
            output::print_warning(&warning, Some(&hint));
        }
        announce(&run, &dir);
    }
}

/// Reports a run that already has a supervisor.
pub fn announce(run: &RunId, dir: &Path) {
    let message = DetachMessage { run: DetachedRun { id: run.to_string(), dir: dir.display().to_string() } };
    output::print_text(&output::line(&message));
}

impl Observer for DetachObserver {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.run = Some((run.clone(), dir.to_owned()));
    }

    fn on_step(&mut self, _view: StepView<'_>, _step: &Step) {
        self.announce_start();
    }
}

impl WorkflowObserver for DetachObserver {
    fn on_start(&mut self, dir: &WorkflowDir, _plan: &WorkflowPlan) {
        self.run = Some((dir.id().clone(), dir.path().to_owned()));
    }

    fn on_step(&mut self, _view: WorkflowView<'_>, _records: &[WorkflowRecord]) {
        self.announce_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_only_longhaul_flag() {
        let args = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let check = |typed: &str, expected: &str| {
            assert_eq!(supervisor_args(args(typed).into_iter()), args(expected))
        };
        check("run --detach fix", "run --detached fix");
        check("run fix --detach -- --detach", "run fix --detached -- --detach");
    }
}
