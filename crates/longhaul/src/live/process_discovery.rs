//! Finds what a dead supervisor left of an attempt. Looks only; ends and starts nothing.

use super::agent_process::start_ticks;
use super::run_marker::{RunMarker, variable};
use super::sweep::processes_with;
use longhaul_core::{Exit, Phase, ProcessId, Run};
use longhaul_store::{AttemptDir, RunDir};
use rustix::process::{Pid, getpgid, getsid};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const ATTEMPT_VARIABLE: &str = "LONGHAUL_ATTEMPT";

/// The agent of the run's last attempt, if it lives.
pub(crate) fn live_agent(marker: &RunMarker, run: &Run) -> Option<ProcessId> {
    match (&run.state().phase, run.state().process) {
        (Phase::Running | Phase::Closing { .. } | Phase::Stopping { .. }, Some(process)) => {
            let pid = Pid::from_raw(process.pid as i32)?;
            let same = start_ticks(process.pid) == Some(process.start_ticks);
            (same && marker.is_on(pid)).then_some(process)
        }
        // Started perhaps, and not written down.
        (Phase::Starting, _) => unwritten_agent(marker, run.state().attempts()),
        // Nothing may live; what does is swept.
        (
            Phase::New
            | Phase::Summarizing { .. }
            | Phase::Running
            | Phase::Closing { .. }
            | Phase::Stopping { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Waiting { .. }
            | Phase::Suspended { .. }
            | Phase::Finished { .. },
            _,
        ) => None,
    }
}

/// The process that was started as this attempt. Its tools carry its marks too: they lead sessions of
/// their own or belong to somebody's group, while it leads a group in the session of its supervisor.
fn unwritten_agent(marker: &RunMarker, attempt: u32) -> Option<ProcessId> {
    let is_agent = |pid: Pid| {
        getpgid(Some(pid)) == Ok(pid)
            && getsid(Some(pid)).is_ok_and(|session| session != pid)
            && variable(pid, ATTEMPT_VARIABLE).is_some_and(|number| number == attempt.to_string().as_bytes())
            && marker.is_last_on(pid)
    };
    let (pid, _) = processes_with(marker).into_iter().find(|(pid, _)| is_agent(*pid))?;
    let pid = pid.as_raw_nonzero().get() as u32;
    Some(ProcessId { pid, start_ticks: start_ticks(pid)? })
}

/// The stream that an agent of this run writes to in another directory: the run was copied while it was at work. That agent
/// must not be adopted or ended here.
pub(crate) fn stream_of_original(marker: &RunMarker, dir: &RunDir) -> Option<PathBuf> {
    let file = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let attempts = dir.attempts().unwrap_or_default();
    let streams =
        attempts.iter().flat_map(|attempt| [attempt.stream_path(), attempt.summary().stream_path()]);
    let ours: Vec<_> = streams.filter_map(|path| file(&path)).collect();
    let agents = processes_with(marker).into_iter().filter(|(pid, _)| marker.is_last_on(*pid));
    agents.into_iter().find_map(|(pid, _)| {
        let output = PathBuf::from(format!("/proc/{}/fd/1", pid.as_raw_nonzero()));
        let path = fs::read_link(&output).ok()?;
        let is_foreign = path.ends_with("stream.jsonl") && !ours.contains(&file(&output)?);
        is_foreign.then_some(path)
    })
}

/// How an attempt's process ended, as far as its directory tells.
pub(crate) fn exit_of(dir: &AttemptDir) -> Exit {
    // A power cut may leave an empty file: that nobody saw the end is all that it says.
    match dir.exit() {
        Ok(Some(seen)) => seen.exit,
        Ok(None) | Err(_) if is_silent(dir) => Exit::NeverSpawned,
        Ok(None) | Err(_) => Exit::Unobserved,
    }
}

/// Whether the process, if there ever was one, said nothing. An order that was carried out without a
/// trace may be carried out again: the worst it did is to open the session, and then the agent says so.
fn is_silent(dir: &AttemptDir) -> bool {
    let is_empty = |path: PathBuf| fs::metadata(path).map_or(true, |found| found.len() == 0);
    is_empty(dir.stream_path()) && is_empty(dir.stderr_path())
}
