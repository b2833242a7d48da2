//! Discovers, for a takeover, the state of an attempt whose supervisor died: the agent that is still running,
//! or how it exited. It never starts or stops a process.

use super::run_marker::RunMarker;
use super::sweep::processes_with;
use super::system::{agent_of_attempt, belongs_to, output_of_agent, start_ticks};
use longhaul_core::{Exit, Phase, ProcessId, Run};
use longhaul_store::{AttemptDir, AttemptExit, RunDir};
use rustix::process::Pid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) fn live_agent(marker: &RunMarker, run: &Run) -> Option<ProcessId> {
    let state = run.state();
    match &state.phase {
        Phase::Running | Phase::Closing { .. } | Phase::Stopping { .. } => state.process.filter(|process| {
            let is_same = start_ticks(process.pid) == Some(process.start_ticks);
            is_same && Pid::from_raw(process.pid as i32).is_some_and(|pid| belongs_to(marker, pid))
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

fn unjournaled_agent(marker: &RunMarker, attempt: u32) -> Option<ProcessId> {
    let pid = agent_of_attempt(marker, attempt)?.as_raw_nonzero().get() as u32;
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
    processes_with(marker).into_iter().find_map(|pid| {
        let (output, name) = output_of_agent(marker, pid)?;
        let is_foreign = name.ends_with("stream.jsonl") && !own_streams.contains(&inode(&output)?);
        is_foreign.then_some(name)
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
    is_empty(dir.stream_path()) && (is_empty(dir.stderr_path()) || dir.start_error().is_some())
}
