//! `changes.json`: what a run's workspace was in git when the run began and when it was over, so that somebody can
//! look later at what the run changed. Keys are only ever added. Nothing of it decides anything.

use crate::atomic::{Durability, replace_json};
use crate::files::{make_dirs, read_json};
use crate::{OsText, RunDir, StoreError, failpoint_io, rfc3339};
use longhaul_core::Moment;
use serde::{Deserialize, Serialize};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Both states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceRecord {
    /// Before anything of the run was started.
    pub start: WorkspaceState,
    /// When the run was over; nothing while it goes on for the first time.
    pub end: Option<WorkspaceEnd>,
}

impl WorkspaceRecord {
    /// The state in which a run was over that somebody had let go on so often; nothing if that is not recorded.
    pub fn end(&self, resume_generation: u32) -> Option<&WorkspaceEnd> {
        let ended = self.end.as_ref().filter(|ended| ended.resume_generation == resume_generation);
        ended.filter(|ended| ended.state.tree.is_some())
    }
}

/// A workspace in git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceState {
    /// When it was looked at.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub at: Moment,
    /// The commit that was checked out; nothing before the first one.
    pub head: Option<String>,
    /// The branch that was checked out; nothing for a detached head.
    pub branch: Option<String>,
    /// The tree of all files as they were, but for ignored ones; nothing if that is not recorded.
    pub tree: Option<String>,
    /// Files that are in the tree as they were committed or not at all, whatever they were.
    #[serde(default)]
    pub omitted: Vec<OsText>,
    /// Why there is no tree.
    pub unrecorded_reason: Option<UnrecordedReason>,
    /// What git said to that.
    pub git_error: Option<String>,
}

/// The workspace of a run that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceEnd {
    /// As of the beginning.
    #[serde(flatten)]
    pub state: WorkspaceState,
    /// How often somebody had let the run go on by then: once it goes on again, this is not its end.
    pub resume_generation: u32,
    /// What changed in between; nothing if that could not be told.
    pub changed: Option<DiffStat>,
}

/// Changes in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffStat {
    /// Files that came, went, changed, or have another name.
    pub files: u64,
    /// Lines of text that came.
    pub insertions: u64,
    /// Lines of text that went.
    pub deletions: u64,
}

/// Why a workspace is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnrecordedReason {
    /// It is in no git repository, or in one that ignores it.
    NotInGit,
    /// There is no git on this machine.
    NoGit,
    /// What is not committed could not be taken in within its time.
    TooSlow,
    /// More is not committed than is taken in.
    TooMuch,
    /// Git refused.
    GitFailed,
    /// The run's directory could not be written.
    NotWritten,
}

impl WorkspaceState {
    /// A workspace of which nothing is known.
    pub fn unrecorded(at: Moment, why: UnrecordedReason, said: Option<String>) -> WorkspaceState {
        WorkspaceState {
            at,
            head: None,
            branch: None,
            tree: None,
            omitted: Vec::new(),
            unrecorded_reason: Some(why),
            git_error: said,
        }
    }

    /// Whether all that it names can be an object of git's: a record may have been brought from elsewhere.
    pub fn is_valid(&self) -> bool {
        let is_object = |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.head.iter().chain(&self.tree).all(is_object)
    }
}

/// Which of the two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBoundary {
    /// The one before anything of the run was started.
    Start,
    /// The one when it was over.
    End,
}

impl RunDir {
    /// What was recorded of the run's workspace; nothing if nobody tried.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn changes(&self) -> Result<Option<WorkspaceRecord>, StoreError> {
        match read_json("changes", &self.changes_path()) {
            Err(StoreError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Writes `changes.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`]; a run does not fail for it.
    pub fn write_changes(&self, record: &WorkspaceRecord) -> Result<(), StoreError> {
        replace_json(&self.changes_path(), record, Durability::Process)
    }

    /// Where the git objects of a state are that no commit has; there only if there are any.
    pub fn objects_path(&self, of: RunBoundary) -> PathBuf {
        let name = match of {
            RunBoundary::Start => "began",
            RunBoundary::End => "ended",
        };
        self.path().join("changes").join(name)
    }

    /// Puts a directory of git objects there, in the place of one that was there, readable by its owner only.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn store_objects(&self, of: RunBoundary, objects: &Path) -> Result<(), StoreError> {
        let kept = self.objects_path(of);
        make_private(objects).map_err(StoreError::io("protect", objects))?;
        let above = kept.parent().unwrap_or(self.path());
        make_dirs(above).map_err(StoreError::io("create directory", above))?;
        if kept.exists() {
            fs::remove_dir_all(&kept).map_err(StoreError::io("remove", &kept))?;
        }
        failpoint_io::rename(objects, &kept).map_err(StoreError::io("keep objects", &kept))
    }

    fn changes_path(&self) -> PathBuf {
        self.path().join("changes.json")
    }
}

/// Git writes its objects so that everybody may read and nobody may write them.
fn make_private(path: &Path) -> io::Result<()> {
    let is_dir = fs::symlink_metadata(path)?.is_dir();
    fs::set_permissions(path, Permissions::from_mode(if is_dir { 0o700 } else { 0o600 }))?;
    if is_dir {
        for entry in fs::read_dir(path)? {
            make_private(&entry?.path())?;
        }
    }
    Ok(())
}
