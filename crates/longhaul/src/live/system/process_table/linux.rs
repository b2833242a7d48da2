//! Reads the table of processes from `/proc`.

use super::ProcessStat;
use std::collections::BTreeSet;
use std::fs;
#[cfg(feature = "portable-processes")]
use std::fs::File;
#[cfg(feature = "portable-processes")]
use std::os::fd::AsRawFd;
#[cfg(feature = "portable-processes")]
use std::path::{Path, PathBuf};
#[cfg(feature = "portable-processes")]
use {crate::live::run_marker::RunMarker, longhaul_core::ProcessId};

// The value of `st` in `/proc/net/tcp` for an established connection.
const ESTABLISHED: &str = "01";

pub(super) fn stat(pid: u32) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/PID/stat`. Fields are counted after the closing parenthesis of the name, because the name may contain
/// anything. The first of them is number 3 in the manual.
fn parse_stat(stat: &str) -> Option<ProcessStat> {
    let (start, end) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = end.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let id = |field: usize| number(field).and_then(|id| u32::try_from(id).ok());
    Some(ProcessStat {
        pid: start.split(' ').next()?.parse().ok()?,
        state: fields.first()?.chars().next()?,
        parent: id(4)?,
        group: id(5)?,
        session: id(6)?,
        own_ticks: number(14)? + number(15)?,
        child_ticks: number(16)? + number(17)?,
        start_ticks: number(22)?,
    })
}

#[cfg(feature = "portable-processes")]
pub(crate) fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(feature = "portable-processes")]
pub(crate) fn users_of(path: &Path) -> Vec<u32> {
    let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
    let has_open = |pid: &u32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut files = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        files.any(|file| file == path)
    };
    pids().into_iter().filter(has_open).collect()
}

/// Returns whether one of these processes started the process, even if it has exited since.
///
/// Linux does not keep this for an orphan. The run marker stands in for it: an orphan that leads its own group and
/// carries the marker counts as started by a process of the run.
#[cfg(feature = "portable-processes")]
pub(crate) fn was_started_by(
    process: &ProcessStat,
    _parents: &BTreeSet<ProcessId>,
    marker: &RunMarker,
) -> bool {
    let carries_marker = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(marker.token())
    };
    process.group == process.pid && carries_marker(process.pid) && !carries_marker(process.parent)
}

#[cfg(feature = "portable-processes")]
pub(crate) fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim_end().to_owned())
}

#[cfg(feature = "portable-processes")]
pub(crate) fn path_of(file: &File) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Returns the resident memory of a process, the second number of `/proc/PID/statm`, in bytes. Returns `None` if the
/// process has exited.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Returns the open network connections of a process. Processes that share a connection have the same number for it.
pub(crate) fn connections(pid: u32) -> BTreeSet<u64> {
    let mut open = BTreeSet::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        open.extend(text.lines().filter_map(established));
    }
    sockets(pid).into_iter().filter(|socket| open.contains(socket)).collect()
}

/// Returns the socket of a line of `/proc/PID/net/tcp`, or `None` if it is not connected.
fn established(line: &str) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    (*fields.get(3)? == ESTABLISHED).then(|| fields.get(9)?.parse().ok()).flatten()
}

fn sockets(pid: u32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
        .collect()
}

/// Returns the number of OOM kills since boot, of the whole machine and of memory cgroups (Linux 4.13 and
/// later).
pub(crate) fn oom_kills() -> Option<u64> {
    parse_oom_kills(&fs::read_to_string("/proc/vmstat").ok()?)
}

fn parse_oom_kills(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Returns the memory that is available for another process in bytes, or `None` if the system does not report it.
pub(crate) fn available_bytes() -> Option<u64> {
    parse_available(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests;
