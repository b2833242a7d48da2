//! The files of a workflow's directory, with their names in one place. This module never decides what to write or
//! when.
//!
//! ```text
//! plan.json        the plan, written once
//! journal.jsonl    the journal: see `journal.rs`
//! status.json      derived, for people and other programs
//! results/2/prove/3.json    result of item 3 of phase `prove` in iteration 2
//! commands/001.stdout.log, 001.stderr.log    output of the commands that list items or check `until`
//! warnings/2.json  warnings of iteration 2, such as a file that could not be written
//! hints/001.json   hint of a person; once a phase receives it: hints/<iteration>-<phase>/001.json
//! requests/        requests of other processes to the supervisor: `cancel`, `cancel-now`
//! worktrees/       git worktrees of runs, each named after its run, and files about them
//! ```

use crate::atomic::{Durability, replace_json};
use crate::files::{make_dirs, make_parents, private, read_json, read_json_if_exists};
use crate::{JournalDir, StoreError, WorkflowPlan, WorkflowStatus, failpoint_io};
use longhaul_core::{Moment, Rfc3339, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The directory of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowDir(JournalDir);

impl Deref for WorkflowDir {
    type Target = JournalDir;

    fn deref(&self) -> &JournalDir {
        &self.0
    }
}

/// The stored result of a run of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowResult {
    /// Id of the run.
    pub run: RunId,
    /// Result as JSON: for a phase without a schema, the agent's last answer. `None` if there is none.
    pub value: Option<Value>,
    /// Why the run is not done or its result is not valid, or the files outside of its `edit_paths` that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A hint of a person to the next phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowHint {
    /// When it was given.
    pub at: Rfc3339,
    /// Text.
    pub text: String,
}

impl WorkflowDir {
    pub(crate) fn new(path: PathBuf, id: RunId) -> WorkflowDir {
        WorkflowDir(JournalDir::new(path, id))
    }

    fn hints_path(&self) -> PathBuf {
        self.path().join("hints")
    }

    /// Reads the plan.
    pub fn plan(&self) -> Result<WorkflowPlan, StoreError> {
        read_json("plan", &self.plan_path())
    }

    /// Reads the plan of a workflow that is about to continue. A plan names programs to start, so it must be
    /// trustworthy.
    ///
    /// # Errors
    /// Returns [`StoreError::Untrusted`] if the directory, the plan or the journal belongs to another user or can
    /// be written by others, and otherwise the errors of [`WorkflowDir::plan`].
    pub fn trusted_plan(&self) -> Result<WorkflowPlan, StoreError> {
        self.check_trusted()?;
        self.plan()
    }

    /// Reads the status as last written. It may lag behind the journal.
    pub fn status(&self) -> Result<WorkflowStatus, StoreError> {
        read_json("status", &self.status_path())
    }

    /// Returns whether the outcome is in the files that people read. If a supervisor dies before it publishes
    /// the outcome, the next one does.
    pub fn is_outcome_published(&self) -> bool {
        self.status().is_ok_and(|status| status.returncode.is_some())
    }

    /// Replaces `status.json`, without a disk flush, because it can be derived again.
    pub fn write_status(&self, status: &WorkflowStatus) -> Result<(), StoreError> {
        replace_json(&self.status_path(), status, Durability::Process)
    }

    /// Opens the standard output and the standard error of own command `number` (from 1), empty.
    pub fn create_command_output(&self, number: u64) -> Result<[(PathBuf, File); 2], StoreError> {
        let dir = self.path().join("commands");
        make_dirs(&dir)?;
        let create = |name: &str| {
            let path = dir.join(format!("{number:03}.{name}.log"));
            let file = private().create(true).write(true).truncate(true).open(&path);
            Ok((path.clone(), file.map_err(StoreError::io("create file", &path))?))
        };
        Ok([create("stdout")?, create("stderr")?])
    }

    /// Returns whether git worktrees are left. They hold work that is not merged.
    pub fn has_worktrees(&self) -> bool {
        !self.worktrees().is_empty()
    }

    /// Returns the git worktrees that are left, each with the name of its branch.
    pub fn worktrees(&self) -> Vec<(PathBuf, String)> {
        let dirs = subdirs(&self.path().join("worktrees")).into_iter();
        let name = |dir: &Path| dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let with_branch = |dir: PathBuf| {
            let branch = worktree_branch(self.id(), &name(&dir));
            (dir, branch)
        };
        dirs.map(with_branch).collect()
    }

    /// Creates the directory of the git worktrees, and returns its path with links resolved: an agent stores its
    /// sessions under the real path of its working directory.
    pub fn create_worktrees_dir(&self) -> Result<PathBuf, StoreError> {
        let dir = self.path().join("worktrees");
        make_dirs(&dir)?;
        fs::canonicalize(&dir).map_err(StoreError::io("find directory", &dir))
    }

    fn result_path(&self, iteration: u32, phase: &str, item: u32) -> PathBuf {
        self.path().join(format!("results/{iteration}/{phase}/{}.json", item + 1))
    }

    /// Stores the result of an item (from 0), durably.
    pub fn write_result(
        &self,
        iteration: u32,
        phase: &str,
        item: u32,
        result: &WorkflowResult,
    ) -> Result<(), StoreError> {
        let path = self.result_path(iteration, phase, item);
        make_parents(&path)?;
        replace_json(&path, result, Durability::Power)
    }

    /// Reads the result of an item (from 0). `None` if it has none.
    pub fn result(
        &self,
        iteration: u32,
        phase: &str,
        item: u32,
    ) -> Result<Option<WorkflowResult>, StoreError> {
        read_json_if_exists("result", &self.result_path(iteration, phase, item))
    }

    fn warnings_path(&self, iteration: u32) -> PathBuf {
        self.path().join(format!("warnings/{iteration}.json"))
    }

    /// Stores a warning of an iteration, once.
    pub fn add_warning(&self, iteration: u32, text: &str) -> Result<(), StoreError> {
        let mut warnings = self.warnings(iteration)?;
        if warnings.iter().any(|known| known == text) {
            return Ok(());
        }
        warnings.push(text.to_owned());
        let path = self.warnings_path(iteration);
        make_parents(&path)?;
        replace_json(&path, &warnings, Durability::Process)
    }

    /// Reads the warnings of an iteration, oldest first.
    pub fn warnings(&self, iteration: u32) -> Result<Vec<String>, StoreError> {
        Ok(read_json_if_exists("warnings", &self.warnings_path(iteration))?.unwrap_or_default())
    }

    /// Stores a hint durably, for the next phase that receives hints.
    pub fn add_hint(&self, text: &str, at: Moment) -> Result<(), StoreError> {
        let dir = self.hints_path();
        make_dirs(&dir)?;
        let _lock = crate::create::lock_dir(&dir);
        // Numbers of received hints are not reused, so that the order stays visible.
        let number = hint_files(&dir).len()
            + subdirs(&dir).iter().map(|received| hint_files(received).len()).sum::<usize>();
        let path = dir.join(format!("{:03}.json", number + 1));
        replace_json(&path, &WorkflowHint { at: at.into(), text: text.to_owned() }, Durability::Power)
    }

    /// Returns the hints that no phase has received, oldest first.
    pub fn pending_hints(&self) -> Result<Vec<WorkflowHint>, StoreError> {
        read_hints(&self.hints_path())
    }

    /// Gives all pending hints to a phase of an iteration. Each hint moves by a rename, so exactly one phase
    /// receives it, whenever this process is killed.
    pub fn receive_hints(&self, iteration: u32, phase: &str) -> Result<(), StoreError> {
        let pending = hint_files(&self.hints_path());
        if pending.is_empty() {
            return Ok(());
        }
        let received = self.received_path(iteration, phase);
        make_dirs(&received)?;
        for path in pending {
            let target = received.join(path.file_name().unwrap_or_default());
            failpoint_io::rename(&path, &target).map_err(StoreError::io("move hint", &path))?;
        }
        crate::files::sync_dir(&received).and_then(|()| crate::files::sync_dir(&self.hints_path()))
    }

    /// Returns the hints that a phase received in an iteration, oldest first.
    pub fn received_hints(&self, iteration: u32, phase: &str) -> Result<Vec<WorkflowHint>, StoreError> {
        read_hints(&self.received_path(iteration, phase))
    }

    fn received_path(&self, iteration: u32, phase: &str) -> PathBuf {
        self.hints_path().join(format!("{iteration}-{phase}"))
    }
}

fn read_hints(dir: &Path) -> Result<Vec<WorkflowHint>, StoreError> {
    hint_files(dir).iter().map(|path| read_json("hint", path)).collect()
}

/// Returns the hint files of a directory, in order. A missing directory has none.
fn hint_files(dir: &Path) -> Vec<PathBuf> {
    let is_hint = |path: &PathBuf| {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !is_hidden && path.extension().is_some_and(|extension| extension == "json")
    };
    entries(dir).into_iter().filter(is_hint).collect()
}

/// Returns the branch of a run's git worktree: `longhaul/kxhfgg/1-prove-2`.
pub fn worktree_branch(workflow: &RunId, run: &str) -> String {
    let workflow = workflow.as_str();
    let position = run.strip_prefix(workflow).and_then(|rest| rest.strip_prefix('-'));
    format!("longhaul/{workflow}/{}", position.unwrap_or(run))
}

fn subdirs(dir: &Path) -> Vec<PathBuf> {
    entries(dir).into_iter().filter(|path| path.is_dir()).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let listed: io::Result<Vec<PathBuf>> =
        fs::read_dir(dir).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths = listed.unwrap_or_default();
    paths.sort_unstable();
    paths
}
