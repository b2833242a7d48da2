//! Finds the processes of a run by the run marker in their environment.

use super::process_handle::ProcessHandle;
use crate::live::run_marker::{MARKER_VARIABLE, RunMarker};
use crate::live::system::process_table::ProcessStat;
use longhaul_core::ProcessId;
use longhaul_store::if_exists;
use rustix::process::{Pid, getpid};
use std::fs::{self, File};
use std::future::{self, Future};
use std::io::{self, Read};
use std::path::PathBuf;

const ATTEMPT_VARIABLE: &str = "LONGHAUL_ATTEMPT";
// Larger than most environments.
const ENVIRONMENT_BYTES: usize = 8 << 10;

/// Returns the live processes of a run, except this process.
///
/// # Errors
/// Returns an error if the processes cannot be listed. They may then be running.
pub(crate) fn processes_of(marker: &RunMarker) -> io::Result<Vec<ProcessHandle>> {
    let entries = if_exists(fs::read_dir("/proc"))?;
    // Fails if no two descriptors are free to examine a process with. A system without `/proc` shows no process.
    let open = || if_exists(File::open("/proc/self/stat"));
    if let (None, _) | (_, None) = (open()?, open()?) {
        return Ok(Vec::new());
    }
    let processes = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != getpid() && belongs_to(marker, *pid))
        .filter_map(|pid| {
            let process = ProcessHandle::open(pid).ok()?;
            // The marker is checked again after the handle is open, because the PID may have been reused in
            // between.
            belongs_to(marker, pid).then_some(process)
        });
    Ok(processes.collect())
}

pub(crate) fn belongs_to(marker: &RunMarker, pid: Pid) -> bool {
    environment(pid).is_some_and(|environment| tokens(&environment).any(|token| token == marker.token()))
}

/// Returns `true` if a process belongs to the run and not to a nested one.
fn carries_last(marker: &RunMarker, pid: Pid) -> bool {
    environment(pid).is_some_and(|environment| tokens(&environment).last() == Some(marker.token()))
}

/// Returns the process that was started as this attempt. Its tools carry the marker, too, but each leads its
/// own process session or belongs to another process group. The agent leads a group in the process session of
/// its supervisor.
pub(crate) fn agent_of_attempt(marker: &RunMarker, attempt: u32) -> Option<Pid> {
    let attempt = attempt.to_string();
    let is_attempt = |pid: Pid| {
        let environment = environment(pid);
        environment
            .is_some_and(|environment| value(&environment, ATTEMPT_VARIABLE) == Some(attempt.as_bytes()))
    };
    let is_agent = |pid: &Pid| {
        ProcessStat::read(pid.as_raw_nonzero().get().cast_unsigned())
            .is_some_and(ProcessStat::leads_only_a_group)
            && is_attempt(*pid)
            && carries_last(marker, *pid)
    };
    processes_of(marker).ok()?.iter().map(ProcessHandle::pid).find(is_agent)
}

/// Returns the standard output of a process that a supervisor of this run started: a path to open it by, and its name.
pub(crate) fn output_of_agent(marker: &RunMarker, pid: Pid) -> Option<(PathBuf, PathBuf)> {
    if !carries_last(marker, pid) {
        return None;
    }
    let output = PathBuf::from(format!("/proc/{}/fd/1", pid.as_raw_nonzero()));
    let name = fs::read_link(&output).ok()?;
    Some((output, name))
}

/// Notes the start of a process. The process carries the marker, so there is nothing to note.
pub(crate) struct StartNote;

impl StartNote {
    pub(crate) fn new(_marker: Option<&RunMarker>, _output: &File) -> StartNote {
        StartNote
    }

    pub(crate) fn write(self, _process: ProcessId) {}
}

/// Searches for processes of a run from time to time. The marker identifies them at any time, so there is no need to.
pub(crate) struct ProcessWatch;

impl ProcessWatch {
    pub(crate) fn new() -> ProcessWatch {
        ProcessWatch
    }

    pub(crate) async fn search(&mut self, _marker: &RunMarker) {
        future::pending().await
    }

    pub(crate) async fn during<T>(_marker: &RunMarker, future: impl Future<Output = T>) -> T {
        future.await
    }
}

/// Remembers the processes that a run has now. There is no need to.
pub(crate) fn search(_marker: &RunMarker) {}

/// Returns the tokens of the runs that a process with this environment belongs to. A nested run follows the run that
/// encloses it.
fn tokens(environment: &[u8]) -> impl Iterator<Item = &str> {
    let markers = value(environment, MARKER_VARIABLE).and_then(|bytes| str::from_utf8(bytes).ok());
    let runs = markers.unwrap_or_default().split(':');
    runs.filter_map(|run| Some(run.split_once('/')?.1))
}

/// Returns the environment of a process at the start of its program. A zombie has none, and a sweep does not need to
/// stop it.
fn environment(pid: Pid) -> Option<Vec<u8>> {
    // A sweep reads those of all processes. The file states no size, so an empty buffer would take ten reads.
    let mut environment = Vec::with_capacity(ENVIRONMENT_BYTES);
    File::open(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?.read_to_end(&mut environment).ok()?;
    Some(environment)
}

fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn a_process_belongs_to_its_run_and_to_enclosing_runs() {
        let check = |environment: &str, expected: &[&str]| {
            assert_eq!(tokens(environment.as_bytes()).collect::<Vec<_>>(), expected, "{environment:?}");
        };
        check("A=b\0LONGHAUL_RUN=a\0LONGHAUL_RUN_MARKER=a/1\0C=", &["1"]);
        check("LONGHAUL_RUN=outer:a\0LONGHAUL_RUN_MARKER=outer/9:a/1", &["9", "1"]);
        check("LONGHAUL_RUN=a", &[]);
        check("LONGHAUL_RUN_MARKER=", &[]);
        check("", &[]);
    }
}
