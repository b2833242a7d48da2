//! Refers to a process by PID and start time. Between the check of the start time and a signal, the PID could be
//! reused: no portable call excludes that.

use crate::live::system::process_table::ProcessStat;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::time::Duration;

// An exit is noticed this late at most. Each poll is a system call or two.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) struct ProcessHandle {
    pid: Pid,
    start_ticks: u64,
}

impl ProcessHandle {
    pub(crate) fn open(pid: Pid) -> io::Result<ProcessHandle> {
        let stat = ProcessStat::read(pid.as_raw_nonzero().get().cast_unsigned());
        stat.and_then(ProcessHandle::new).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns `None` if the process has exited.
    pub(super) fn new(stat: ProcessStat) -> Option<ProcessHandle> {
        let pid = Pid::from_raw(stat.pid.cast_signed())?;
        (!stat.has_exited()).then_some(ProcessHandle { pid, start_ticks: stat.start_ticks })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if self.is_running() {
            // A failure means that the process has already exited.
            let _ = kill_process(self.pid, signal);
        }
    }

    fn is_running(&self) -> bool {
        let stat = ProcessStat::read(self.pid.as_raw_nonzero().get().cast_unsigned());
        stat.is_some_and(|stat| stat.start_ticks == self.start_ticks && !stat.has_exited())
    }
}

/// A process that another supervisor started. It is not a child of this process.
pub(crate) struct AdoptedProcess(ProcessHandle);

impl AdoptedProcess {
    pub(crate) fn new(pid: Pid) -> io::Result<AdoptedProcess> {
        ProcessHandle::open(pid).map(AdoptedProcess)
    }

    pub(crate) fn from_handle(process: ProcessHandle) -> io::Result<AdoptedProcess> {
        Ok(AdoptedProcess(process))
    }

    pub(crate) async fn wait_for_exit(&mut self) -> io::Result<()> {
        while self.0.is_running() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }
}
