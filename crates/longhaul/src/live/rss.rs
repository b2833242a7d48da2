//! How much memory a run's processes have resident, all together. Pages that they share count for each of them, as in
//! every such sum: it is an upper bound.

use super::run_marker::RunMarker;
use super::sweep::processes_with;
use rustix::process::Pid;
use std::fs;

/// The memory that the processes with the run's mark have resident, in bytes.
pub(crate) fn resident(marker: &RunMarker) -> u64 {
    processes_with(marker).iter().filter_map(|(pid, _)| resident_of(*pid)).sum()
}

/// The second number of `/proc/PID/statm`, in pages; nothing for a process that is gone.
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
    fn a_process_has_memory_while_it_lives() {
        let own = resident_of(getpid()).expect("this process lives");
        // A test binary maps more than a megabyte, and this machine has less than a terabyte.
        assert!((1 << 20..1 << 40).contains(&own), "{own}");
    }
}
