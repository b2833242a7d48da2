//! Finds the processes of a run by descent, without their environment.
//!
//! The run's directory has a file `processes/TOKEN-BOOT/PID-START` for each of its processes that was seen. For a
//! process that a supervisor started, the file contains the path of its standard output. A process belongs to the run
//! if it is remembered, or if one of these belongs to the run: the process that started it, its parent, the leader of
//! its group, the leader of its session. Each search remembers what it finds.
//!
//! A process that leads its own session is never found if the process that started it was not seen and has exited.
//! Supervisors therefore search again and again.

mod lineage;

use super::process_handle::ProcessHandle;
use crate::live::run_marker::RunMarker;
use crate::live::system::process_table::{self, ProcessStat};
use lineage::{is_needed, members};
use longhaul_core::ProcessId;
use longhaul_store::RunDir;
use rustix::process::{Pid, getpid};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::future::Future;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

// A search takes one to three milliseconds, because it reads the whole table of processes.
const SEARCH_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the live processes of a run, except this process. It never fails.
pub(crate) fn processes_of(marker: &RunMarker) -> io::Result<Vec<ProcessHandle>> {
    let members = Memory::of(marker).map(|memory| memory.search()).unwrap_or_default();
    let others = members.into_iter().filter(|stat| stat.pid != raw(getpid()));
    Ok(others.filter_map(ProcessHandle::new).collect())
}

/// Returns whether a process is known to belong to the run.
pub(crate) fn belongs_to(marker: &RunMarker, pid: Pid) -> bool {
    file_of(marker, pid).is_some_and(|file| file.exists())
}

/// Returns the process that was started as this attempt.
pub(crate) fn agent_of_attempt(marker: &RunMarker, attempt: u32) -> Option<Pid> {
    let stream = RunDir::from_path(marker.dir()?.to_owned())?.attempt(attempt).stream_path();
    let is_stream = |output: &Path| inode(output).is_some_and(|output| inode(&stream) == Some(output));
    let is_agent = |pid: &Pid| output_of_agent(marker, *pid).is_some_and(|(output, _)| is_stream(&output));
    let found = processes_of(marker).ok()?.iter().map(ProcessHandle::pid).find(is_agent);
    found.or_else(|| {
        // The supervisor may have died before it remembered the process.
        let writers = process_table::users_of(&stream).into_iter().filter_map(ProcessStat::read);
        let writer = writers.into_iter().find(|stat| stat.leads_only_a_group())?;
        Memory::of(marker)?.remember(writer.id(), Some(&stream));
        Pid::from_raw(writer.pid.cast_signed())
    })
}

/// Returns the standard output of a process that a supervisor of this run started: a path to open it by, and its name.
/// Returns `None` for any other process.
pub(crate) fn output_of_agent(marker: &RunMarker, pid: Pid) -> Option<(PathBuf, PathBuf)> {
    let output = fs::read(file_of(marker, pid)?).ok().filter(|output| !output.is_empty())?;
    let output = PathBuf::from(OsString::from_vec(output));
    Some((output.clone(), output))
}

/// Remembers a process of a run when it starts.
pub(crate) struct StartNote<'a> {
    memory: Option<Memory<'a>>,
    output: Option<PathBuf>,
}

impl StartNote<'_> {
    /// Prepares the note for a process with this standard output. A process without a marker belongs to no run.
    pub(crate) fn new<'a>(marker: Option<&'a RunMarker>, output: &File) -> StartNote<'a> {
        StartNote { memory: marker.and_then(Memory::of), output: process_table::path_of(output) }
    }

    pub(crate) fn write(self, process: ProcessId) {
        if let Some(memory) = self.memory {
            memory.remember(process, self.output.as_deref());
        }
    }
}

/// Searches for processes of a run from time to time.
pub(crate) struct ProcessWatch {
    due: Instant,
}

impl ProcessWatch {
    pub(crate) fn new() -> ProcessWatch {
        ProcessWatch { due: Instant::now() }
    }

    /// Searches once, when the next search is due.
    pub(crate) async fn search(&mut self, marker: &RunMarker) {
        sleep_until(self.due).await;
        search(marker);
        self.due = Instant::now() + SEARCH_INTERVAL;
    }

    /// Searches until a future is ready, and returns its result.
    pub(crate) async fn during<T>(marker: &RunMarker, future: impl Future<Output = T>) -> T {
        let mut watch = ProcessWatch::new();
        let mut future = std::pin::pin!(future);
        loop {
            tokio::select! {
                result = &mut future => return result,
                () = watch.search(marker) => {}
            }
        }
    }
}

/// Remembers the processes that a run has now. Call it before a signal ends some of them.
pub(crate) fn search(marker: &RunMarker) {
    drop(processes_of(marker).ok());
}

/// The directory with the remembered processes of a run.
struct Memory<'a> {
    marker: &'a RunMarker,
    dir: PathBuf,
}

impl Memory<'_> {
    /// Returns `None` if the marker belongs to no directory.
    fn of(marker: &RunMarker) -> Option<Memory<'_>> {
        let token = marker.token();
        // After a reboot, another process can have the same PID and the same start.
        let boot = process_table::boot_id().unwrap_or_default();
        let dir = marker.dir()?.join("processes").join(format!("{token}-{boot}"));
        Some(Memory { marker, dir })
    }

    fn file(&self, process: ProcessId) -> PathBuf {
        self.dir.join(format!("{}-{}", process.pid, process.start_ticks))
    }

    /// Remembers a process. If the disk is full, the process can still be found by its parent.
    fn remember(&self, process: ProcessId, output: Option<&Path>) {
        let create = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            let mut file = File::options().create(true).append(true).mode(0o600).open(self.file(process))?;
            file.write_all(output.map_or(&[], |output| output.as_os_str().as_bytes()))
        };
        // Another search may remove the empty directory in between.
        let _: io::Result<()> = create().or_else(|_| create());
    }

    fn remembered(&self) -> BTreeSet<ProcessId> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let (pid, start_ticks) = name.to_str()?.split_once('-')?;
                Some(ProcessId { pid: pid.parse().ok()?, start_ticks: start_ticks.parse().ok()? })
            })
            .collect()
    }

    /// Returns the live processes of the run. Remembers the new ones and forgets those that are no longer needed.
    fn search(&self) -> Vec<ProcessStat> {
        let remembered = self.remembered();
        if remembered.is_empty() {
            return Vec::new();
        }
        let (table, found) = self.search_once(&remembered);
        if remembered.iter().all(|process| is_needed(*process, &table)) {
            return found;
        }
        // A process that exited while the table was read may have left children that the table lacks. A second table
        // has them.
        let known = self.remembered();
        let (table, found) = self.search_once(&known);
        for process in remembered.iter().filter(|process| !is_needed(**process, &table)) {
            let _ = fs::remove_file(self.file(*process));
        }
        if found.is_empty() {
            // Only empty directories are removed.
            let _ = fs::remove_dir(&self.dir)
                .and_then(|()| fs::remove_dir(self.dir.parent().unwrap_or(&self.dir)));
        }
        found
    }

    fn search_once(&self, remembered: &BTreeSet<ProcessId>) -> (Vec<ProcessStat>, Vec<ProcessStat>) {
        let table = process_table::all();
        let found = members(remembered, &table, |process| {
            process_table::was_started_by(process, remembered, self.marker)
        });
        for stat in found.iter().filter(|stat| !remembered.contains(&stat.id())) {
            self.remember(stat.id(), None);
        }
        (table, found)
    }
}

/// Returns the file that remembers a process, whether it exists or not.
fn file_of(marker: &RunMarker, pid: Pid) -> Option<PathBuf> {
    Some(Memory::of(marker)?.file(ProcessStat::read(raw(pid))?.id()))
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn raw(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().cast_unsigned()
}

#[cfg(test)]
mod tests;
