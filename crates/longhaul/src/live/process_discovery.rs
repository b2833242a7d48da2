//! Discovers, for a takeover, the state of an attempt whose supervisor died: the agent that is still running,
//! or how it exited. It never starts or stops a process.

use super::process_stat::{ProcessStat, start_ticks};
use super::run_marker::{RunMarker, variable};
use super::sweep::processes_with;
use longhaul_core::{Exit, Phase, ProcessId, Run};
use longhaul_store::{AttemptDir, AttemptExit, RunDir};
use rustix::process::Pid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const ATTEMPT_VARIABLE: &str = "LONGHAUL_ATTEMPT";

pub(crate) fn live_agent(marker: &RunMarker, run: &Run) -> Option<ProcessId> {
    let state = run.state();
    match &state.phase {
        Phase::Running | Phase::Closing { .. } | Phase::Stopping { .. } => state.process.filter(|process| {
            let is_same = start_ticks(process.pid) == Some(process.start_ticks);
            is_same && Pid::from_raw(process.pid as i32).is_some_and(|pid| marker.is_on(pid))
        }),
        // The agent may have started without being journaled.
        Phase::Starting => unjournaled_agent(marker, state.attempts()),
        // No agent may be running in these phases. The sweep stops leftover processes.
        Phase::New
        | Phase::Summarizing { .. }
        | Phase::Sweeping { .. }
        | Phase::Checking { .. }
        | Phase::Waiting { .. }
        | Phase::Suspended { .. }
        | Phase::Finished { .. } => None,
    }
}

/// Returns the process that was started as this attempt. Its tools carry the marker, too, but each leads its
/// own process session or belongs to another process group. The agent leads a group in the process session of
/// its supervisor.
fn unjournaled_agent(marker: &RunMarker, attempt: u32) -> Option<ProcessId> {
    // Not with `getsid`: rustix reads its result as a PID, but a session from outside of this PID namespace is 0.
    let leads_only_a_group =
        |pid: u32| ProcessStat::read(pid).is_some_and(|stat| stat.group == pid && stat.session != pid);
    let is_agent = |pid: Pid| {
        leads_only_a_group(pid.as_raw_nonzero().get() as u32)
            && variable(pid, ATTEMPT_VARIABLE).is_some_and(|number| number == attempt.to_string().as_bytes())
            && marker.is_last_on(pid)
    };
    let (pid, _) = processes_with(marker).into_iter().find(|(pid, _)| is_agent(*pid))?;
    let pid = pid.as_raw_nonzero().get() as u32;
    Some(ProcessId { pid, start_ticks: start_ticks(pid)? })
}

/// Returns the stream in another directory that an agent of this run writes, if the run was copied while it
/// was running. That agent must not be adopted or stopped.
pub(crate) fn stream_of_original(marker: &RunMarker, dir: &RunDir) -> Option<PathBuf> {
    let inode = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let attempts = dir.attempts().unwrap_or_default();
    let reviews = dir.reviews().unwrap_or_default();
    let streams = attempts
        .iter()
        .flat_map(|attempt| [attempt.stream_path(), attempt.summary().stream_path()])
        .chain(reviews.iter().map(AttemptDir::stream_path));
    let own_streams: Vec<_> = streams.filter_map(|path| inode(&path)).collect();
    let agents = processes_with(marker).into_iter().filter(|(pid, _)| marker.is_last_on(*pid));
    agents.into_iter().find_map(|(pid, _)| {
        let output = PathBuf::from(format!("/proc/{}/fd/1", pid.as_raw_nonzero()));
        let path = fs::read_link(&output).ok()?;
        let is_foreign = path.ends_with("stream.jsonl") && !own_streams.contains(&inode(&output)?);
        is_foreign.then_some(path)
    })
}

pub(crate) fn exit_of(dir: &AttemptDir) -> Exit {
    // After a power cut, the file may be empty. Then the exit was not observed.
    match dir.read::<AttemptExit>() {
        Ok(Some(observed)) => observed.exit,
        Ok(None) | Err(_) if is_silent(dir) => Exit::NeverSpawned,
        Ok(None) | Err(_) => Exit::Unobserved,
    }
}

/// Returns `true` if no process of the attempt wrote anything. Such a start may be repeated: at worst it
/// opened the session, and then the agent reports that.
fn is_silent(dir: &AttemptDir) -> bool {
    let is_empty = |path: PathBuf| fs::metadata(path).map_or(true, |metadata| metadata.len() == 0);
    is_empty(dir.stream_path()) && is_empty(dir.stderr_path())
}
