//! `changes.json`: the git state of a run's workspace at the start and at the end of the run, to show later
//! what the run changed. New keys may be added, and none are removed. No decision depends on it.

use crate::atomic::{Durability, replace_json};
use crate::files::{make_parents, read_json_if_exists};
use crate::{OsText, RunDir, StoreError, failpoint_io};
use longhaul_core::{Moment, Rfc3339};
use serde::{Deserialize, Serialize};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The workspace at the start and the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceRecord {
    /// State before the run started any process.
    pub start: WorkspaceState,
    /// State when the run finished. `None` while it runs for the first time.
    pub end: Option<WorkspaceEnd>,
}

impl WorkspaceRecord {
    /// Returns the recorded end of this resume generation, or `None` if it was not recorded.
    pub fn end(&self, resume_generation: u32) -> Option<&WorkspaceEnd> {
        let end = self.end.as_ref().filter(|end| end.resume_generation == resume_generation);
        end.filter(|end| end.state.tree.is_some())
    }
}

/// The state of a workspace in git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceState {
    /// When the state was recorded.
    pub at: Rfc3339,
    /// Commit that was checked out. `None` before the first commit.
    pub head: Option<String>,
    /// Branch that was checked out. `None` for a detached head.
    pub branch: Option<String>,
    /// Tree of all files except ignored ones. `None` if it was not recorded.
    pub tree: Option<String>,
    /// Files whose uncommitted content is not in the tree.
    #[serde(default)]
    pub omitted: Vec<OsText>,
    /// Why there is no tree.
    pub unrecorded_reason: Option<UnrecordedReason>,
    /// Error message of git that belongs to this reason.
    pub git_error: Option<String>,
}

/// The workspace of a finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceEnd {
    /// State at the end.
    #[serde(flatten)]
    pub state: WorkspaceState,
    /// How often the run had been resumed by then. After another resume this is no longer its end.
    pub resume_generation: u32,
    /// Changes since the start. `None` if they could not be determined.
    pub changed: Option<DiffStat>,
}

/// The size of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffStat {
    /// Files that were added, deleted, changed or renamed.
    pub files: u64,
    /// Added lines of text.
    pub insertions: u64,
    /// Deleted lines of text.
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
    /// The uncommitted files could not be recorded in time.
    TooSlow,
    /// There are more uncommitted files than the limit.
    TooMuch,
    /// Git failed.
    GitFailed,
    /// The run's directory could not be written.
    NotWritten,
}

impl WorkspaceState {
    /// Creates a state without a tree, for this reason.
    pub fn unrecorded(at: Moment, reason: UnrecordedReason, git_error: Option<String>) -> WorkspaceState {
        WorkspaceState {
            at: at.into(),
            head: None,
            branch: None,
            tree: None,
            omitted: Vec::new(),
            unrecorded_reason: Some(reason),
            git_error,
        }
    }

    /// Returns whether the commit and the tree can be names of git objects. An imported record may contain
    /// anything.
    pub fn is_valid(&self) -> bool {
        let is_object = |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.head.iter().chain(&self.tree).all(is_object)
    }
}

/// One of the two recorded states of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBoundary {
    /// State before the run started any process.
    Start,
    /// State when the run finished.
    End,
}

impl RunDir {
    /// Reads the recorded states of the run's workspace. Returns `None` if they were not recorded.
    pub fn changes(&self) -> Result<Option<WorkspaceRecord>, StoreError> {
        read_json_if_exists("changes", &self.changes_path())
    }

    /// Writes `changes.json`, without a disk flush.
    pub fn write_changes(&self, record: &WorkspaceRecord) -> Result<(), StoreError> {
        replace_json(&self.changes_path(), record, Durability::Process)
    }

    /// Returns the directory of a state's git objects that are in no commit. It exists only if there are any.
    pub fn objects_path(&self, boundary: RunBoundary) -> PathBuf {
        let name = match boundary {
            RunBoundary::Start => "start",
            RunBoundary::End => "end",
        };
        self.path().join("changes").join(name)
    }

    /// Moves a directory of git objects to [`RunDir::objects_path`], where it replaces an existing one. Only
    /// its owner can read it there.
    pub fn store_objects(&self, boundary: RunBoundary, objects: &Path) -> Result<(), StoreError> {
        let target = self.objects_path(boundary);
        make_private(objects).map_err(StoreError::io("protect", objects))?;
        make_parents(&target)?;
        if target.exists() {
            fs::remove_dir_all(&target).map_err(StoreError::io("remove", &target))?;
        }
        failpoint_io::rename(objects, &target).map_err(StoreError::io("store objects", &target))
    }

    fn changes_path(&self) -> PathBuf {
        self.path().join("changes.json")
    }
}

/// Makes git objects private. Git creates them readable for all users and writable for none.
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
