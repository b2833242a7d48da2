//! The files of a run's directory, with their names in one place. This module never decides what to write or
//! when.
//!
//! ```text
//! plan.json        the plan, written once, and again if the run has moved
//! journal.jsonl    the journal: see `journal.rs`
//! status.json      derived, for people and other programs
//! heartbeat        when the supervisor last watched a process of the run, in milliseconds since 1970
//! attempts/001/    argv.json, prompt.txt, session.json, stream.jsonl, stderr.log, exit.json, usage.json
//!                  answers.json if the agent asked questions; background.json if background tasks ended with it;
//!                  watchdog.json if a watchdog stopped it; input: the FIFO of a guarded agent while it runs;
//!                  replies.txt: which of its requests were answered
//!   summary/       argv.json, stream.jsonl, stderr.log, usage.json of the model that summarized older work, if one did
//! checks/001.log   output of the check commands, and the findings of the reviewer
//! reviews/001/     argv.json, stream.jsonl, stderr.log, usage.json of a reviewer process
//! logs/            transcript.jsonl, derived during the run; cost_summary.json, session.json when it ends
//!                  for a harness also transcript.json, and exec.stdout.log, exec.stderr.log after each attempt
//!                  notify-NAME.N.log: output of the Nth notification command
//! notified/        one file per notification that was sent, so that it is not sent again
//! trace.json       ids of the run's telemetry trace, if telemetry is enabled
//! metadata.json    for a harness, when the run ends
//! requests/        requests of other processes to the supervisor: `cancel`, `cancel-now`
//! diagnostic/      one text per noteworthy event, if enabled
//! workspace/       the run's own workspace, if it has one
//! changes.json     git state of the workspace at the start and the end of the run
//! changes/         git objects of uncommitted files: `start/`, `end/`
//! sessions/        the agent's sessions of an imported run: `<session id>.jsonl`
//! ```

use crate::atomic::{Durability, replace_json};
use crate::files::{make_parents, private, read_json};
use crate::{
    AttemptDir, CostSummary, JournalDir, Plan, SessionSummary, Status, StoreError, read_regular_to_string,
};
use longhaul_core::{Moment, RunId, State, Usage};
use std::fs::{self, File};
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The directory of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir(JournalDir);

impl Deref for RunDir {
    type Target = JournalDir;

    fn deref(&self) -> &JournalDir {
        &self.0
    }
}

impl RunDir {
    pub(crate) fn new(path: PathBuf, id: RunId) -> RunDir {
        RunDir(JournalDir::new(path, id))
    }

    /// Returns the run at this absolute path, whether the directory exists or not. Returns `None` if the path
    /// is relative or its last part cannot be an id.
    pub fn from_path(path: PathBuf) -> Option<RunDir> {
        let id = RunId::from(path.file_name()?.to_str()?);
        path.is_absolute().then(|| RunDir::new(path, id))
    }

    /// Returns the path of the trace ids.
    pub fn trace_path(&self) -> PathBuf {
        self.path().join("trace.json")
    }

    /// Returns the directory of all attempts.
    pub fn attempts_path(&self) -> PathBuf {
        self.path().join("attempts")
    }

    /// Returns the directory of imported sessions, each as `<session id>.jsonl`. A run that was created here
    /// has none, because the agent stores its sessions itself.
    pub fn sessions_path(&self) -> PathBuf {
        self.path().join("sessions")
    }

    /// Returns the run's own workspace, if it has one.
    pub fn workspace_path(&self) -> PathBuf {
        self.path().join("workspace")
    }

    /// Returns the directory of diagnostic files, if they are enabled.
    pub fn diagnostic_path(&self) -> PathBuf {
        self.path().join("diagnostic")
    }

    /// Returns the directory of logs and summaries.
    pub fn logs_path(&self) -> PathBuf {
        self.path().join("logs")
    }

    /// Returns the path of the transcript, one message per line.
    pub fn transcript_path(&self) -> PathBuf {
        self.logs_path().join("transcript.jsonl")
    }

    /// Returns the path of the transcript as a JSON array, for a harness.
    pub fn transcript_array_path(&self) -> PathBuf {
        self.logs_path().join("transcript.json")
    }

    /// Returns the paths of the standard output and standard error of all attempts' agents, for a harness.
    pub fn exec_paths(&self) -> (PathBuf, PathBuf) {
        (self.logs_path().join("exec.stdout.log"), self.logs_path().join("exec.stderr.log"))
    }

    /// Reads the plan of a run that is about to continue. A plan names programs to start, so it must be
    /// trustworthy.
    ///
    /// # Errors
    /// Returns [`StoreError::Untrusted`] if the directory, the plan or the journal belongs to another user or
    /// can be written by others, and otherwise the errors of [`RunDir::plan`].
    pub fn trusted_plan(&self) -> Result<Plan, StoreError> {
        self.check_trusted()?;
        self.plan()
    }

    /// Reads the plan.
    pub fn plan(&self) -> Result<Plan, StoreError> {
        let mut plan: Plan = read_json("plan", &self.plan_path())?;
        if plan.spec.cwd.is_relative() {
            plan.spec.cwd = self.real_path().join(&plan.spec.cwd);
        }
        Ok(plan)
    }

    /// Replaces `plan.json`, for a run that moved to another directory. The file keeps its modification time,
    /// which is the run's creation time.
    pub fn replace_plan(&self, plan: &Plan) -> Result<(), StoreError> {
        let path = self.plan_path();
        let created = self.created_at();
        let mut stored = plan.clone();
        stored.spec.cwd = self.stored_cwd(&plan.spec.cwd).to_owned();
        replace_json(&path, &stored, Durability::Power)?;
        let restore_time = || File::options().write(true).open(&path)?.set_modified(created?);
        restore_time().map_err(StoreError::io("set the time of", &path))
    }

    /// Returns a working directory as `plan.json` stores it: relative if it is inside the run's directory.
    pub fn stored_cwd<'a>(&self, cwd: &'a Path) -> &'a Path {
        cwd.strip_prefix(self.real_path()).unwrap_or(cwd)
    }

    /// Returns the directory with links resolved, which is the path that an agent sees.
    fn real_path(&self) -> PathBuf {
        fs::canonicalize(self.path()).unwrap_or_else(|_| self.path().to_owned())
    }

    /// Reads the status as last written. It may lag behind the journal.
    pub fn status(&self) -> Result<Status, StoreError> {
        read_json("status", &self.status_path())
    }

    /// Returns whether the outcome is in the files that people read. If a supervisor dies before it publishes
    /// the outcome, the next one does.
    pub fn is_outcome_published(&self) -> bool {
        self.status().is_ok_and(|status| status.returncode.is_some())
    }

    /// Returns the usage of the run in `state`, as its supervisor last published it.
    pub fn usage(&self, state: &State) -> Usage {
        self.status().map_or(state.usage, |status| status.usage_of(state))
    }

    /// Replaces `status.json`, without a disk flush, because it can be derived again.
    pub fn write_status(&self, status: &Status) -> Result<(), StoreError> {
        replace_json(&self.status_path(), status, Durability::Process)
    }

    /// Writes to `heartbeat` that a supervisor and a process of the run are alive at this time, in place and without a
    /// disk flush.
    pub fn write_heartbeat(&self, at: Moment) {
        // Only the time that counts after a crash depends on the file.
        let file = private().write(true).create(true).open(self.heartbeat_path());
        // The number of digits changes only in the year 2286, so nothing of a longer number remains.
        let _ = file.and_then(|mut file| file.write_all(at.0.to_string().as_bytes()));
    }

    /// Returns the time of the last heartbeat, or `None` if there was none or the file is damaged.
    pub fn heartbeat(&self) -> Option<Moment> {
        read_regular_to_string(&self.heartbeat_path()).ok()?.parse().ok().map(Moment)
    }

    fn heartbeat_path(&self) -> PathBuf {
        self.path().join("heartbeat")
    }

    /// Replaces `logs/cost_summary.json`, without a disk flush.
    pub fn write_cost_summary(&self, summary: &CostSummary) -> Result<(), StoreError> {
        replace_json(&self.logs_path().join("cost_summary.json"), summary, Durability::Process)
    }

    /// Replaces `logs/session.json`, without a disk flush.
    pub fn write_session_summary(&self, summary: &SessionSummary) -> Result<(), StoreError> {
        replace_json(&self.logs_path().join("session.json"), summary, Durability::Process)
    }

    /// Returns the directory of attempt `number` (from 1), whether it exists or not.
    pub fn attempt(&self, number: u32) -> AttemptDir {
        AttemptDir { path: self.attempts_path().join(format!("{number:03}")), number }
    }

    /// Returns the directory of reviewer process `number` (from 1), whether it exists or not. It has the files of
    /// an attempt except session and exit.
    pub fn review(&self, number: u32) -> AttemptDir {
        AttemptDir { path: self.path().join("reviews").join(format!("{number:03}")), number }
    }

    /// Returns the path of the output of check `number` (from 1): each command line, followed by its
    /// output, and the findings of the reviewer.
    pub fn check_output_path(&self, number: u32) -> PathBuf {
        self.path().join("checks").join(format!("{number:03}.log"))
    }

    /// Opens the output of a check for reading and appending. Empties the file first if `truncate` is `true`.
    pub fn create_check_output(&self, number: u32, truncate: bool) -> Result<File, StoreError> {
        let path = self.check_output_path(number);
        make_parents(&path)?;
        let file = private().create(true).read(true).append(true).open(&path);
        let file = file.map_err(StoreError::io("create file", &path))?;
        if truncate {
            file.set_len(0).map_err(StoreError::io("empty file", &path))?;
        }
        Ok(file)
    }

    /// Returns the attempts that have a directory, in order.
    pub fn attempts(&self) -> Result<Vec<AttemptDir>, StoreError> {
        Ok(numbers(&self.attempts_path())?.into_iter().map(|number| self.attempt(number)).collect())
    }

    /// Returns the reviewer processes that have a directory, in order. Returns an error if there are none.
    pub fn reviews(&self) -> Result<Vec<AttemptDir>, StoreError> {
        Ok(numbers(&self.path().join("reviews"))?.into_iter().map(|number| self.review(number)).collect())
    }
}

fn numbers(dir: &Path) -> Result<Vec<u32>, StoreError> {
    let entries = fs::read_dir(dir).map_err(StoreError::io("list", dir))?;
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests;
