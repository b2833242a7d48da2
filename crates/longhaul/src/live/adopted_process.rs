//! Waits for the exit of a process that another supervisor started. It is not a child of this process.

use super::file_watch::readable;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// A process that another supervisor started. Its PID cannot be reused while this handle is open.
pub(crate) struct AdoptedProcess(AsyncFd<OwnedFd>);

impl AdoptedProcess {
    pub(crate) fn new(pid: Pid) -> io::Result<AdoptedProcess> {
        AdoptedProcess::from_handle(pidfd_open(pid, PidfdFlags::NONBLOCK)?)
    }

    pub(crate) fn from_handle(process: OwnedFd) -> io::Result<AdoptedProcess> {
        readable(process).map(AdoptedProcess)
    }

    pub(crate) async fn wait_for_exit(&mut self) -> io::Result<()> {
        // The handle stays readable, so further calls return at once.
        self.0.readable().await.map(drop)
    }
}
