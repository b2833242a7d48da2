//! Detects whether the kernel killed a process because memory ran out. In this case the process was killed,
//! and the kernel's count of such kills rose while it was running.

use super::system::oom_kills;
use longhaul_core::Exit;

const SIGKILL: i32 = 9;

#[derive(Clone, Copy, Debug)]
pub(crate) struct OomWatch(Option<u64>);

impl OomWatch {
    pub(crate) fn start() -> OomWatch {
        OomWatch(oom_kills())
    }

    /// Returns `true` if a process with this exit was killed for its memory, as far as can be detected.
    pub(crate) fn was_oom_killed(self, exit: Exit) -> bool {
        is_oom_kill(self.0, oom_kills(), exit)
    }
}

fn is_oom_kill(before: Option<u64>, after: Option<u64>, exit: Exit) -> bool {
    exit == Exit::Signal(SIGKILL) && before.zip(after).is_some_and(|(before, after)| after > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_killed_process_counts_as_oom_killed() {
        assert!(is_oom_kill(Some(3), Some(4), Exit::Signal(SIGKILL)));
        assert!(!is_oom_kill(Some(3), Some(3), Exit::Signal(SIGKILL)));
        assert!(!is_oom_kill(Some(3), Some(4), Exit::Code(1)));
        assert!(!is_oom_kill(None, Some(4), Exit::Signal(SIGKILL)));
    }
}
