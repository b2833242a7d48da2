//! Detects whether the kernel killed a process because memory ran out. In this case the process was killed,
//! and the kernel's count of such kills rose while it was running.

use longhaul_core::Exit;
use std::fs;

const SIGKILL: i32 = 9;

#[derive(Clone, Copy, Debug)]
pub(crate) struct OomWatch(Option<u64>);

impl OomWatch {
    pub(crate) fn start() -> OomWatch {
        OomWatch(kills_now())
    }

    /// Returns `true` if a process with this exit was killed for its memory, as far as can be detected.
    pub(crate) fn was_oom_killed(self, exit: Exit) -> bool {
        is_oom_kill(self.0, kills_now(), exit)
    }
}

fn is_oom_kill(before: Option<u64>, after: Option<u64>, exit: Exit) -> bool {
    exit == Exit::Signal(SIGKILL) && before.zip(after).is_some_and(|(before, after)| after > before)
}

/// Returns the number of OOM kills since boot, of the whole machine and of memory cgroups (Linux 4.13 and
/// later).
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
    fn only_a_killed_process_counts_as_oom_killed() {
        assert!(is_oom_kill(Some(3), Some(4), Exit::Signal(SIGKILL)));
        assert!(!is_oom_kill(Some(3), Some(3), Exit::Signal(SIGKILL)));
        assert!(!is_oom_kill(Some(3), Some(4), Exit::Code(1)));
        assert!(!is_oom_kill(None, Some(4), Exit::Signal(SIGKILL)));
    }
}
