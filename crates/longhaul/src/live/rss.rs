//! Measures the resident memory of a run's processes. Shared pages count once per process, so the sum is an
//! upper bound.

use super::run_marker::RunMarker;
use super::sweep::processes_with;
use rustix::process::Pid;
use std::fs;

pub(crate) fn resident(marker: &RunMarker) -> u64 {
    processes_with(marker).iter().filter_map(|(pid, _)| resident_of(*pid)).sum()
}

/// Returns the second number of `/proc/PID/statm` in bytes, or `None` if the process has exited.
fn resident_of(pid: Pid) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::resident_of;
    use rustix::process::getpid;

    #[test]
    fn a_live_process_has_memory() {
        let bytes = resident_of(getpid()).expect("this process is running");
        // A test binary maps more than a megabyte, and this machine has less than a terabyte.
        assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
    }
}
