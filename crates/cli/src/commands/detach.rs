//! `longhaul run --detach`: starts a supervisor that survives the terminal, and says which run it has.
//!
//! The supervisor is this program once more, in a session of its own. It says on its standard output
//! that the run has begun; until then its complaints are ours.

use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output::{self, out, print_status};
use longhaul::{Observer, StepView};
use longhaul_core::{RunId, Step};
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FLAG: &str = "--detach";
/// What the flag becomes for the supervisor.
const SUPERVISOR_FLAG: &str = "--detached";

/// What is said of a run that is on its way.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DetachMessage {
    /// The run that has begun.
    run: DetachedRun,
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DetachedRun {
    /// Its id.
    id: String,
    /// Its directory.
    dir: PathBuf,
}

/// Starts the supervisor with this program's own arguments, and returns once its run has begun.
pub fn start(global: &GlobalArgs) -> Result<u8, Failure> {
    let broken = |error: io::Error| Failure::unexpected(format!("start a supervisor: {error}"));
    let mut supervisor = Command::new(env::current_exe().map_err(broken)?)
        .args(supervisor_args(env::args_os().skip(1)))
        // A prompt may come from there.
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(broken)?;
    let mut said = BufReader::new(supervisor.stdout.take().expect("its output is piped"));
    let mut line = String::new();
    said.read_line(&mut line).map_err(broken)?;
    if let Ok(DetachMessage { run }) = serde_json::from_str(&line) {
        match output::format(global) {
            OutputFormat::Text => output::print_text(&format!("{}\n", run.id)),
            OutputFormat::Json | OutputFormat::StreamJson => output::print_text(&line),
        }
        if !global.quiet {
            print_status(&format!(
                "follow it with `longhaul attach {0}`, end it with `longhaul cancel {0}`",
                run.id
            ));
        }
        return Ok(0);
    }
    // It ended before it began: what it says is the answer.
    output::print_text(&line);
    let mut rest = String::new();
    said.read_to_string(&mut rest).map_err(broken)?;
    output::print_text(&rest);
    let ended = supervisor.wait_with_output().map_err(broken)?;
    out::say(&String::from_utf8_lossy(&ended.stderr));
    Ok(ended
        .status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(crate::failure::UNEXPECTED_ERROR))
}

/// Ours, with the one flag changed. What stands behind `--` is the agent's.
fn supervisor_args(ours: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut of_agent = false;
    ours.map(|arg| {
        of_agent |= arg == "--";
        if arg == FLAG && !of_agent { SUPERVISOR_FLAG.into() } else { arg }
    })
    .collect()
}

/// Leaves the terminal: its signals and its end are no concern of this process any more.
pub fn leave_terminal() {
    // It fails only for the leader of a group, which a supervisor that was started here is not.
    let _ = rustix::process::setsid();
}

/// Tells whoever started this supervisor that the run has begun; else says nothing.
#[derive(Default)]
pub struct DetachObserver {
    /// What is to be told once the first decision is written down: who attaches to a run that goes on must not
    /// find it over.
    line: Option<String>,
}

/// Announces a run that has a supervisor already.
pub fn announce(run: &RunId, dir: &Path) {
    output::print_text(&announcement(run, dir));
}

fn announcement(run: &RunId, dir: &Path) -> String {
    let announcement = DetachMessage { run: DetachedRun { id: run.to_string(), dir: dir.to_owned() } };
    output::line(&announcement)
}

impl Observer for DetachObserver {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.line = Some(announcement(run, dir));
    }

    fn on_step(&mut self, _view: StepView<'_>, _step: &Step) {
        if let Some(line) = self.line.take() {
            output::print_text(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_flag_is_changed() {
        let args = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let check = |ours: &str, its: &str| assert_eq!(supervisor_args(args(ours).into_iter()), args(its));
        check("run --detach fix", "run --detached fix");
        check("run fix --detach -- --detach", "run fix --detached -- --detach");
    }
}
