//! The parts that the directories of a run and of a workflow share. This module never decides what to write or when.

use crate::{NotifyFiles, StoreError, SupervisorRequests};
use longhaul_core::RunId;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The directory of a run or a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalDir {
    path: PathBuf,
    id: RunId,
}

impl JournalDir {
    pub(crate) fn new(path: PathBuf, id: RunId) -> JournalDir {
        JournalDir { path, id }
    }

    /// Returns the id of the run or the workflow, which is the directory's name.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the plan.
    pub fn plan_path(&self) -> PathBuf {
        self.path.join("plan.json")
    }

    /// Returns the path of the journal.
    pub fn journal_path(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// Returns the path of the status.
    pub fn status_path(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// Returns the directory for requests of other processes to the supervisor.
    pub fn requests_path(&self) -> PathBuf {
        self.path.join("requests")
    }

    /// Returns the requests to the supervisor.
    pub fn requests(&self) -> SupervisorRequests {
        SupervisorRequests::new(self.requests_path())
    }

    /// Returns the records and logs of the notifications.
    pub fn notify_files(&self) -> NotifyFiles {
        NotifyFiles::new(&self.path)
    }

    /// Returns the creation time, which is the modification time of the plan. A rewrite of the plan keeps it.
    pub(crate) fn created_at(&self) -> io::Result<SystemTime> {
        fs::metadata(self.plan_path())?.modified()
    }

    /// Returns an error if the directory, the plan or the journal belongs to another user or can be written by
    /// others. A plan names programs to start, so only the user may have written it.
    pub(crate) fn check_trusted(&self) -> Result<(), StoreError> {
        for path in [self.path.clone(), self.plan_path(), self.journal_path()] {
            let metadata = fs::metadata(&path).map_err(StoreError::io("read", &path))?;
            let reason = if metadata.uid() != rustix::process::geteuid().as_raw() {
                "belongs to another user"
            } else if metadata.mode() & 0o022 != 0 {
                "can be written by other users"
            } else {
                continue;
            };
            return Err(StoreError::Untrusted { path, reason });
        }
        Ok(())
    }
}
