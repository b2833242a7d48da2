//! Whether the kernel ended a process for want of memory: its count of such kills went up while the
//! process lived, and the process was killed.

use longhaul_core::Exit;
use std::fs;

const SIGKILL: i32 = 9;

/// The kernel's count when an attempt began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OomWatch(Option<u64>);

impl OomWatch {
    /// Begins to watch.
    pub(crate) fn begin() -> OomWatch {
        OomWatch(kills_now())
    }

    /// Whether a process that ended like this was ended for its memory, as far as can be told.
    pub(crate) fn saw_kill(self, exit: Exit) -> bool {
        is_memory_kill(self.0, kills_now(), exit)
    }
}

fn is_memory_kill(before: Option<u64>, after: Option<u64>, exit: Exit) -> bool {
    exit == Exit::Signal(SIGKILL) && before.zip(after).is_some_and(|(before, after)| after > before)
}

/// Kills for memory since boot, of the whole machine and of memory cgroups alike (Linux 4.13 and later).
fn kills_now() -> Option<u64> {
    count(&fs::read_to_string("/proc/vmstat").ok()?)
}

fn count(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_count() {
        assert_eq!(count("nr_free_pages 5\noom_kill 3\nnuma_hit 9\n"), Some(3));
        assert_eq!(count("nr_free_pages 5\noom_killer 3\n"), None);
        #[cfg(target_os = "linux")]
        assert!(kills_now().is_some());
    }

    #[test]
    fn only_a_killed_process_was_killed_for_memory() {
        assert!(is_memory_kill(Some(3), Some(4), Exit::Signal(SIGKILL)));
        assert!(!is_memory_kill(Some(3), Some(3), Exit::Signal(SIGKILL)));
        assert!(!is_memory_kill(Some(3), Some(4), Exit::Code(1)));
        assert!(!is_memory_kill(None, Some(4), Exit::Signal(SIGKILL)));
    }
}
