//! Waiting for the end of a process that is not our child: it was started by a supervisor that died.

use super::file_watch::readable;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// A process that somebody else started. Its number cannot be taken by another one while we hold this.
pub(crate) struct AdoptedProcess(AsyncFd<OwnedFd>);

impl AdoptedProcess {
    pub(crate) fn new(pid: Pid) -> io::Result<AdoptedProcess> {
        AdoptedProcess::from_handle(pidfd_open(pid, PidfdFlags::NONBLOCK)?)
    }

    /// The process of this handle.
    pub(crate) fn from_handle(process: OwnedFd) -> io::Result<AdoptedProcess> {
        readable(process).map(AdoptedProcess)
    }

    /// Returns when the process is gone.
    pub(crate) async fn gone(&mut self) -> io::Result<()> {
        // It stays readable: the next caller returns at once.
        self.0.readable().await.map(drop)
    }
}
