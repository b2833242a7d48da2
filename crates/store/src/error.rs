//! Defines the errors of the store, worded for people. This module does not decide how a run reacts to them.

use longhaul_core::{RunId, SessionId};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An error of the store. Its message is one line with path and cause.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A system call failed.
    #[error("cannot {action} {}: {}", path.display(), describe_cause(cause))]
    Io {
        /// Operation with its object: `write plan`.
        action: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
    /// No environment variable names a directory for runs.
    #[error(
        "cannot find a home for runs: none of LONGHAUL_HOME, XDG_STATE_HOME and HOME is an absolute path"
    )]
    HomeUnknown,
    /// The variable names a directory relative to the current one, so the home would depend on where a command is typed.
    #[error("LONGHAUL_HOME is not an absolute path: `{}`", .0.display())]
    HomeRelative(PathBuf),
    /// A part of the home's path is a file.
    #[error("cannot open home {}: {} is not a directory", home.display(), path.display())]
    HomeNotDirectory {
        /// Requested home.
        home: PathBuf,
        /// Part of it that is not a directory.
        path: PathBuf,
    },
    /// No run has this name.
    #[error("no run `{request}` in {}", runs.display())]
    NoSuchRun {
        /// The user's input.
        request: String,
        /// Directory that was searched.
        runs: PathBuf,
    },
    /// Several run ids start with the input.
    #[error("`{request}` matches several runs: {}", join_ids(candidates))]
    AmbiguousRun {
        /// The user's input.
        request: String,
        /// Matching runs, newest first.
        candidates: Vec<RunId>,
    },
    /// The input cannot name a run.
    #[error("`{0}` is not an id prefix, a name, `@` or `@-N`")]
    MalformedRun(String),
    /// Another supervisor drives the run.
    #[error("{} already has a supervisor", dir_name(.0))]
    JournalLocked(PathBuf),
    /// A line before the last one is not a step, or a step is missing or present twice.
    #[error("cannot read journal {}: line {line} {cause}", path.display())]
    JournalDamaged {
        /// Path of the journal.
        path: PathBuf,
        /// Number of the line, starting at 1.
        line: u64,
        /// Its flaw: `is step 3, expected 2`.
        cause: String,
    },
    /// A complete step contains something that this version does not know.
    #[error("cannot read journal {}: line {line} was written by a newer version of longhaul: {cause}", path.display())]
    JournalNewer {
        /// Path of the journal.
        path: PathBuf,
        /// Number of the line, starting at 1.
        line: u64,
        /// The unknown part.
        cause: String,
    },
    /// An earlier write failed and could not be undone, so nothing more can be written durably.
    #[error("cannot write journal {}: an earlier write to it failed", .0.display())]
    JournalWriteFailed(PathBuf),
    /// Another user could have written the run, so Longhaul does not act on it.
    #[error("cannot trust the run: {} {reason}", path.display())]
    Untrusted {
        /// File or directory.
        path: PathBuf,
        /// Why it is not trusted: `belongs to another user`.
        reason: &'static str,
    },
    /// The file system shows each file as another user's, or as writable by others. A run could not be recovered there.
    #[error("cannot create a run in {}: each file there {reason}", dir.display())]
    NoOwners {
        /// Directory of the runs.
        dir: PathBuf,
        /// Why its files are not trusted: `belongs to another user`.
        reason: &'static str,
    },
    /// A file of the run directory is malformed.
    #[error("cannot read {description} {}: {cause}", path.display())]
    Unreadable {
        /// Kind of file: `plan`.
        description: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Parse error.
        cause: serde_json::Error,
        /// Version of Longhaul that wrote it, if that can be read.
        written_by: Option<String>,
    },
    /// Another live run works on the session.
    #[error("cannot lock session {session}: {}", describe_holder(holder.as_ref()))]
    SessionBusy {
        /// The session.
        session: SessionId,
        /// Run that holds the session, if it could be read.
        holder: Option<RunId>,
    },
    /// An orphaned run works on the session.
    #[error("session {session} belongs to unfinished run {run}")]
    SessionOrphaned {
        /// The session.
        session: SessionId,
        /// The run.
        run: RunId,
    },
    /// The name of a directory to import is not a run id.
    #[error("`{0}` is not a valid run id")]
    InvalidRunId(String),
    /// A run to import has the id of an existing run.
    #[error("cannot import run {run}: its id is used in {}", dir.display())]
    RunExists {
        /// The id.
        run: RunId,
        /// Directory of the existing run.
        dir: PathBuf,
    },
    /// The requested id of a new run belongs to another run.
    #[error("run id {run} is already used in {}", dir.display())]
    RunIdInUse {
        /// The id.
        run: RunId,
        /// Directory of the other run.
        dir: PathBuf,
    },
    /// Another live workflow works in the project, in a directory that contains it, or in one within it.
    #[error("cannot start a workflow in {}: workflow {holder} works in {}", project.display(), held.display())]
    ProjectBusy {
        /// Project directory.
        project: PathBuf,
        /// The other workflow.
        holder: RunId,
        /// Project directory of the other workflow.
        held: PathBuf,
    },
}

impl StoreError {
    /// Returns a closure for `map_err` that reports a failed `action` on `path`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        move |cause| StoreError::Io { action, path: path.to_owned(), cause }
    }

    /// Returns whether the disk, a quota or a file size limit is full. No partial write remains.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, StoreError::Io { cause, .. } if is_disk_full(cause))
    }

    /// Returns the directory of the run whose plan or journal is missing or unreadable. The agent's files may
    /// still be there.
    pub fn unreadable_run_dir(&self) -> Option<&Path> {
        let (StoreError::JournalDamaged { path, .. }
        | StoreError::JournalNewer { path, .. }
        | StoreError::Unreadable { path, .. }
        | StoreError::Io { path, .. }) = self
        else {
            return None;
        };
        let is_plan_or_journal =
            path.file_name().is_some_and(|name| name == "plan.json" || name == "journal.jsonl");
        path.parent().filter(|_| is_plan_or_journal && !self.is_disk_full())
    }
}

/// Returns whether a write failed because the disk, a quota or a file size limit is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Turns `Permission denied (os error 13)` into `permission denied`.
fn describe_cause(cause: &io::Error) -> String {
    let text = cause.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn describe_holder(holder: Option<&RunId>) -> String {
    holder.map_or_else(
        || "another run is working on it".to_owned(),
        |run| format!("run {run} is working on it"),
    )
}

/// Returns the name of a file's directory: the id of the run or the workflow.
fn dir_name(file: &Path) -> String {
    file.parent()
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn join_ids(runs: &[RunId]) -> String {
    runs.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ")
}
