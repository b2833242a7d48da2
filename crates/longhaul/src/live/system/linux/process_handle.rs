//! Refers to processes by pidfd, so that a reused PID is never hit.

use super::file_watch::readable;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

pub(crate) struct ProcessHandle {
    pid: Pid,
    descriptor: OwnedFd,
}

impl ProcessHandle {
    pub(crate) fn open(pid: Pid) -> io::Result<ProcessHandle> {
        Ok(ProcessHandle { pid, descriptor: pidfd_open(pid, PidfdFlags::empty())? })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // A failure means that the process has already exited.
        let _ = pidfd_send_signal(&self.descriptor, signal);
    }
}

/// A process that another supervisor started. It is not a child of this process. Its PID cannot be reused while this
/// handle is open.
pub(crate) struct AdoptedProcess(AsyncFd<OwnedFd>);

impl AdoptedProcess {
    pub(crate) fn new(pid: Pid) -> io::Result<AdoptedProcess> {
        AdoptedProcess::from_handle(ProcessHandle::open(pid)?)
    }

    pub(crate) fn from_handle(process: ProcessHandle) -> io::Result<AdoptedProcess> {
        readable(process.descriptor).map(AdoptedProcess)
    }

    pub(crate) async fn wait_for_exit(&mut self) -> io::Result<()> {
        // The handle stays readable, so further calls return at once.
        self.0.readable().await.map(drop)
    }
}
