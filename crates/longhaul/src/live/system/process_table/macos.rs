//! Reads the table of processes with Apple's `libproc`. Longhaul's own tests never ran this file.

mod kernel_records;

use super::ProcessStat;
use crate::live::run_marker::RunMarker;
pub(crate) use kernel_records::boot_id;
use kernel_records::{UniqueIds, WITH_ZOMBIES};
use libproc::bsd_info::BSDInfo;
use libproc::file_info::{ListFDs, ProcFDType, pidfdinfo};
use libproc::net_info::{SocketFDInfo, SocketInfoKind};
use libproc::pid_rusage::{RUsageInfoV2, pidrusage};
use libproc::proc_pid::{listpidinfo, pidinfo};
use libproc::processes::{ProcFilter, pids_by_path, pids_by_type};
use longhaul_core::ProcessId;
use rustix::process::{Pid, getsid};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

// `SOI_S_ISCONNECTED` of `sys/proc_info.h`.
const IS_CONNECTED: i16 = 0x0002;
// The kernel counts CPU time in these units: nanoseconds as a fraction.
const NANOS_PER_UNIT: (u64, u64) = if cfg!(target_arch = "aarch64") { (125, 3) } else { (1, 1) };
const NANOS_PER_TICK: u64 = 10_000_000;

pub(super) fn stat(pid: u32) -> Option<ProcessStat> {
    let info = pidinfo::<BSDInfo>(pid.cast_signed(), WITH_ZOMBIES).ok()?;
    // Processes of other users and those that have exited report no usage.
    let usage = usage(pid);
    let ticks = |user: u64, system: u64| {
        (user + system).saturating_mul(NANOS_PER_UNIT.0) / NANOS_PER_UNIT.1 / NANOS_PER_TICK
    };
    Some(ProcessStat {
        pid,
        parent: info.pbi_ppid,
        // The values of `p_stat` in `sys/proc.h`.
        state: match info.pbi_status {
            1 => 'I',
            2 => 'R',
            4 => 'T',
            5 => 'Z',
            _ => 'S',
        },
        group: info.pbi_pgid,
        session: Pid::from_raw(pid.cast_signed())
            .and_then(|pid| getsid(Some(pid)).ok())
            .map_or(0, |session| session.as_raw_nonzero().get().cast_unsigned()),
        own_ticks: usage.as_ref().map_or(0, |usage| ticks(usage.ri_user_time, usage.ri_system_time)),
        child_ticks: usage
            .as_ref()
            .map_or(0, |usage| ticks(usage.ri_child_user_time, usage.ri_child_system_time)),
        start_ticks: UniqueIds::of(pid)?.own,
    })
}

/// Returns whether one of these processes started the process, even if it has exited since. The kernel keeps the unique
/// id of the parent that started a process when launchd adopts it.
pub(crate) fn was_started_by(
    process: &ProcessStat,
    parents: &BTreeSet<ProcessId>,
    _marker: &RunMarker,
) -> bool {
    let first_parent = UniqueIds::of(process.pid).map(|ids| ids.first_parent);
    parents.iter().any(|parent| Some(parent.start_ticks) == first_parent)
}

fn usage(pid: u32) -> Option<RUsageInfoV2> {
    pidrusage::<RUsageInfoV2>(pid.cast_signed()).ok()
}

pub(crate) fn pids() -> Vec<u32> {
    pids_by_type(ProcFilter::All).unwrap_or_default()
}

pub(crate) fn users_of(path: &Path) -> Vec<u32> {
    pids_by_path(path, false, false).unwrap_or_default()
}

pub(crate) fn path_of(file: &File) -> Option<PathBuf> {
    rustix::fs::getpath(file).ok().map(|path| OsString::from_vec(path.into_bytes()).into())
}

/// Returns the resident memory of a process in bytes, or `None` if it has exited.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    usage(pid).map(|usage| usage.ri_resident_size)
}

/// Returns the open network connections of a process. Processes that share a connection have the same number for it.
pub(crate) fn connections(pid: u32) -> BTreeSet<u64> {
    let Ok(info) = pidinfo::<BSDInfo>(pid.cast_signed(), 0) else { return BTreeSet::new() };
    let descriptors = listpidinfo::<ListFDs>(pid.cast_signed(), info.pbi_nfiles as usize);
    let sockets = descriptors.unwrap_or_default().into_iter();
    sockets
        .filter(|descriptor| matches!(ProcFDType::from(descriptor.proc_fdtype), ProcFDType::Socket))
        .filter_map(|descriptor| pidfdinfo::<SocketFDInfo>(pid.cast_signed(), descriptor.proc_fd).ok())
        .map(|socket| socket.psi)
        .filter(|socket| matches!(SocketInfoKind::from(socket.soi_kind), SocketInfoKind::Tcp))
        .filter(|socket| socket.soi_state & IS_CONNECTED != 0)
        .map(|socket| socket.soi_so)
        .collect()
}

/// Returns `None`: the kernel does not report how often it killed processes because memory ran out.
pub(crate) fn oom_kills() -> Option<u64> {
    None
}

/// Returns `None`: no safe interface reports the available memory.
pub(crate) fn available_bytes() -> Option<u64> {
    None
}
