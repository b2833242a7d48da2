//! What can go wrong on disk, in words for people. Nothing here decides what a run does about it.

use longhaul_core::{RunId, SessionId};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An error of the store. Its message is complete on one line (path and cause are in it), and
/// reads well after "failed to".
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refused something.
    #[error("{doing} {}: {}", path.display(), cause_words(cause))]
    Io {
        /// What was being done, with its object: `write plan`.
        doing: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Nothing says where runs should live.
    #[error("find a home for runs: none of LONGHAUL_HOME, XDG_STATE_HOME and HOME is set")]
    HomeUnknown,
    /// Something that should be a directory is a file.
    #[error("open home {}: {} is not a directory", home.display(), path.display())]
    HomeNotDirectory {
        /// The home that was asked for.
        home: PathBuf,
        /// The part of it that is not a directory.
        path: PathBuf,
    },
    /// No run has this name.
    #[error("find run `{request}`: there is no such run in {}", runs.display())]
    NoSuchRun {
        /// What was asked for.
        request: String,
        /// Where it was looked for.
        runs: PathBuf,
    },
    /// Several runs begin so.
    #[error("find run `{request}`: it could be any of {}", listed(candidates))]
    AmbiguousRun {
        /// What was asked for.
        request: String,
        /// The runs that begin so, newest first.
        candidates: Vec<RunId>,
    },
    /// Not a way to name a run.
    #[error("find run `{request}`: a run is named by the first letters of its id, `@` or `@-N`")]
    MalformedRun {
        /// What was asked for.
        request: String,
    },
    /// Another supervisor drives the run.
    #[error("open journal {}: another process drives this run", path.display())]
    JournalLocked {
        /// The journal.
        path: PathBuf,
    },
    /// A line that is followed by others is not a step.
    #[error("read journal {}: line {line} is damaged: {cause}", path.display())]
    JournalDamaged {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        cause: String,
    },
    /// A step is whole and holds something this version does not know.
    #[error("read journal {}: line {line} was written by a newer longhaul: {cause}", path.display())]
    JournalNewer {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is not known.
        cause: String,
    },
    /// A step is missing or there twice.
    #[error("read journal {}: line {line} is step {found} where step {expected} belongs", path.display())]
    JournalGap {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The number that should be there.
        expected: u64,
        /// The number that is there.
        found: u64,
    },
    /// An earlier write failed in a way that cannot be undone, so nothing more may be promised.
    #[error("write journal {}: an earlier write to it failed", path.display())]
    JournalWriteFailed {
        /// The journal.
        path: PathBuf,
    },
    /// Another user could have written the run: nothing of it is carried out.
    #[error("cannot trust the run: {} {reason}", path.display())]
    Untrusted {
        /// The file or directory.
        path: PathBuf,
        /// What others can do: `belongs to another user`.
        reason: &'static str,
    },
    /// A file of the run directory does not hold what it should.
    #[error("read {description} {}: {cause}", path.display())]
    Unreadable {
        /// What the file is: `plan`.
        description: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        cause: serde_json::Error,
        /// The version of longhaul that wrote it, as far as it can be read.
        written_by: Option<String>,
    },
    /// Another live run works on the session.
    #[error("lock session {session}: {}", busy_words(holder.as_ref()))]
    SessionBusy {
        /// The session.
        session: SessionId,
        /// The run that has it, if it could be read.
        holder: Option<RunId>,
    },
    /// A run that has not ended works on the session, and its supervisor died.
    #[error("lock session {session}: run {run} is not over, and nobody supervises it")]
    SessionOrphaned {
        /// The session.
        session: SessionId,
        /// The run.
        run: RunId,
    },
    /// What should become a run's directory has no run's id.
    #[error("take in run `{id}`: that is no run's id")]
    InvalidRunId {
        /// What stands in its place.
        id: String,
    },
    /// A run of this id is here already.
    #[error("take in run {run}: a run of this id is in {}", dir.display())]
    RunExists {
        /// The id.
        run: RunId,
        /// The directory that has it.
        dir: PathBuf,
    },
    /// A run is to have an id that another one has.
    #[error("begin run {run}: a run of this id is in {}", dir.display())]
    RunIdInUse {
        /// The id.
        run: RunId,
        /// The directory that has it.
        dir: PathBuf,
    },
    /// A stream was written to while it was being compacted; it was left as it is.
    #[error("compact {}: it is still being written to", path.display())]
    StreamStillGrowing {
        /// The stream.
        path: PathBuf,
    },
}

impl StoreError {
    /// For `map_err`: the system refused `doing` at `path`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        move |cause| StoreError::Io { doing, path: path.to_owned(), cause }
    }

    /// Whether there is no room: disk, quota or a file size limit. Nothing half-written was left.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, StoreError::Io { cause, .. } if is_disk_full(cause.kind()))
    }

    /// The directory of the run whose plan or journal is missing or cannot be understood. What its agent
    /// wrote may still be there.
    pub fn unreadable_run_dir(&self) -> Option<&Path> {
        let path = match self {
            StoreError::JournalDamaged { path, .. }
            | StoreError::JournalNewer { path, .. }
            | StoreError::JournalGap { path, .. }
            | StoreError::Unreadable { path, .. } => path,
            StoreError::Io { path, cause, .. } if !is_disk_full(cause.kind()) => path,
            StoreError::Io { .. }
            | StoreError::HomeUnknown
            | StoreError::HomeNotDirectory { .. }
            | StoreError::NoSuchRun { .. }
            | StoreError::AmbiguousRun { .. }
            | StoreError::MalformedRun { .. }
            | StoreError::JournalLocked { .. }
            | StoreError::JournalWriteFailed { .. }
            | StoreError::SessionBusy { .. }
            | StoreError::SessionOrphaned { .. }
            | StoreError::InvalidRunId { .. }
            | StoreError::Untrusted { .. }
            | StoreError::RunExists { .. }
            | StoreError::RunIdInUse { .. }
            | StoreError::StreamStillGrowing { .. } => return None,
        };
        let is_ours = path.file_name().is_some_and(|name| name == "plan.json" || name == "journal.jsonl");
        path.parent().filter(|_| is_ours)
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            StoreError::Io { cause, .. } => return io_hint(cause.kind()),
            StoreError::HomeUnknown | StoreError::HomeNotDirectory { .. } => {
                "set LONGHAUL_HOME to a directory you can write to".to_owned()
            }
            StoreError::NoSuchRun { .. } => "look for its id among the directories there".to_owned(),
            StoreError::AmbiguousRun { .. } => "type one more letter".to_owned(),
            StoreError::MalformedRun { .. } => "`@` is the last run, `@-1` the one before".to_owned(),
            StoreError::JournalLocked { path } => {
                let run = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
                format!("follow it with `longhaul attach {run}`, or end it with `longhaul cancel {run}`")
            }
            StoreError::JournalDamaged { .. } | StoreError::JournalGap { .. } => {
                "the run cannot be recovered from it; its session can still be resumed by its id".to_owned()
            }
            StoreError::JournalNewer { .. } => "use the newer longhaul for this run".to_owned(),
            StoreError::JournalWriteFailed { .. } => {
                "see the first error; its session can still be resumed by its id".to_owned()
            }
            StoreError::Untrusted { path, .. } => format!(
                "look at its plan.json; if the run is yours, `chown` it to you and `chmod go-w {}`",
                path.display()
            ),
            StoreError::Unreadable { written_by, .. } => {
                let version = written_by.as_ref()?;
                format!("longhaul {version} wrote it; use that version for this run")
            }
            StoreError::SessionBusy { holder: Some(run), .. } => {
                format!("wait for run {run} to end, or end it by `longhaul cancel {run}`")
            }
            StoreError::SessionOrphaned { run, .. } => {
                format!("go on with it by `longhaul recover {run}`, or end it by `longhaul cancel {run}`")
            }
            StoreError::SessionBusy { holder: None, .. } => "wait for the other run to end".to_owned(),
            StoreError::RunExists { run, .. } => {
                format!("go on with it by `longhaul resume {run}`, or set LONGHAUL_HOME to another directory")
            }
            StoreError::RunIdInUse { dir, .. } => format!(
                "choose another --run-id, or go on with that one by `longhaul resume {}`",
                dir.display()
            ),
            StoreError::InvalidRunId { .. } => {
                "an id is a few letters like `kmzxqp`; use a file that longhaul wrote".to_owned()
            }
            StoreError::StreamStillGrowing { .. } => return None,
        };
        Some(hint)
    }
}

fn io_hint(kind: io::ErrorKind) -> Option<String> {
    let hint = match kind {
        kind if is_disk_full(kind) => "free some space, or set LONGHAUL_HOME to a directory on another disk",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "set LONGHAUL_HOME to a directory you can write to"
        }
        io::ErrorKind::Unsupported => {
            "this file system cannot lock files; set LONGHAUL_HOME to a directory on a local disk"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

fn is_disk_full(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

/// `Permission denied (os error 13)` as `permission denied`.
fn cause_words(cause: &io::Error) -> String {
    let words = cause.to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn busy_words(holder: Option<&RunId>) -> String {
    holder.map_or_else(
        || "another run is working on it".to_owned(),
        |run| format!("run {run} is working on it"),
    )
}

fn listed(runs: &[RunId]) -> String {
    runs.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ")
}
