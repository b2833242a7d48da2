//! The names in a run's directory, each in one place. Nothing here decides what to write or when.
//!
//! ```text
//! plan.json        what was asked for, written once; again where the run has moved
//! journal.jsonl    the truth: see `journal.rs`
//! status.json      derived, for people and other programs
//! attempts/001/    argv.json, prompt.txt, session.json, stream.jsonl, stderr.log, exit.json, spent.json; answers.json
//!                  where it asked something; background.json where background work ended with it; orphaned.json where a watchdog ended it; while a guarded agent runs, its
//!                  input as a FIFO: `input`
//!   summary/       argv.json, stream.jsonl, stderr.log of the model that condensed older work for it, if one did
//! checks/001.log   what the commands said that judged the work
//! logs/            transcript.jsonl, derived as the run goes on; cost_summary.json, session.json when it ends
//!                  for a harness also transcript.json, and when an attempt ends exec.stdout.log, exec.stderr.log
//!                  notify-NAME.N.log where the Nth command was told of something
//! told/            what those commands were told, one file each: what is there is not told again
//! trace.json       the ids by which telemetry tells of the run, where somebody wants any
//! metadata.json    for a harness, when the run ends
//! requests/        what other processes want of the supervisor: `cancel`, `cancel-now`
//! diagnostic/      what a person may want to know of each noteworthy event, where that was asked for: one text each
//! workspace/       for a run that works in a copy of its own
//! changes.json     what its workspace was in git when it began and when it was over
//! changes/         git objects of what was not committed then: `began/`, `ended/`
//! sessions/        the agent's sessions as they were brought from elsewhere: `<session id>.jsonl`
//! ```

use crate::atomic::{Durability, replace, replace_json};
use crate::files::{make_dirs, private, read_json};
use crate::{
    AnsweredQuestion, Argv, AttemptExit, CostSummary, ModelUsage, Plan, SessionBaseline, SessionSummary,
    Status, StoppedTask, StoreError, WatchdogStop, failpoint_io, read_regular_to_string,
};
use longhaul_core::{RunId, State, Usage};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A run's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
    id: RunId,
}

impl RunDir {
    pub(crate) fn new(path: PathBuf, id: RunId) -> RunDir {
        RunDir { path, id }
    }

    /// The run whose directory is at this path, absolute, whether it is there or not; nothing if the path's
    /// end cannot be an id.
    pub fn at(path: PathBuf) -> Option<RunDir> {
        let id = RunId::from(path.file_name()?.to_str()?);
        path.is_absolute().then_some(RunDir { path, id })
    }

    /// The run's id, which is the directory's name.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what a process that was killed while it replaced a file has left of that.
    pub fn clear_scratch(&self) {
        crate::atomic::clear(&self.path);
    }

    /// Where the plan is.
    pub fn plan_path(&self) -> PathBuf {
        self.path.join("plan.json")
    }

    /// Where the journal is.
    pub fn journal_path(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// Where the status is.
    pub fn status_path(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// Where the ids of its trace are.
    pub fn trace_path(&self) -> PathBuf {
        self.path.join("trace.json")
    }

    /// Where the attempts are.
    pub fn attempts_path(&self) -> PathBuf {
        self.path.join("attempts")
    }

    /// Where other processes put what they want of the supervisor.
    pub fn requests_path(&self) -> PathBuf {
        self.path.join("requests")
    }

    /// Where the agent's sessions are that came with a run from elsewhere, as `<session id>.jsonl`. A run
    /// that was begun here has none: the agent keeps its own.
    pub fn sessions_path(&self) -> PathBuf {
        self.path.join("sessions")
    }

    /// Where a run works that has a workspace of its own.
    pub fn workspace_path(&self) -> PathBuf {
        self.path.join("workspace")
    }

    /// Where a person finds what there is to say of each noteworthy event, if that was asked for.
    pub fn diagnostic_path(&self) -> PathBuf {
        self.path.join("diagnostic")
    }

    /// Where the summaries are.
    pub fn logs_path(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// Where the conversation is written down, message by message.
    pub fn transcript_path(&self) -> PathBuf {
        self.logs_path().join("transcript.jsonl")
    }

    /// Where the same is as one array, for a harness that reads it so.
    pub fn transcript_array_path(&self) -> PathBuf {
        self.logs_path().join("transcript.json")
    }

    /// Where a harness finds what the agents of all attempts wrote to their standard output and error.
    pub fn exec_paths(&self) -> (PathBuf, PathBuf) {
        (self.logs_path().join("exec.stdout.log"), self.logs_path().join("exec.stderr.log"))
    }

    /// Returns the plan for carrying it out: it names programs to start.
    ///
    /// # Errors
    /// Returns [`StoreError::Untrusted`] if the directory, the plan or the journal belongs to another user or can be written by
    /// others, and the errors of [`RunDir::plan`].
    pub fn trusted_plan(&self) -> Result<Plan, StoreError> {
        for path in [self.path().to_owned(), self.plan_path(), self.journal_path()] {
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
        self.plan()
    }

    /// What was asked for.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn plan(&self) -> Result<Plan, StoreError> {
        let mut plan: Plan = read_json("plan", &self.plan_path())?;
        if plan.cwd.as_path().is_relative() {
            plan.cwd = self.real_path().join(plan.cwd.as_path()).into();
        }
        Ok(plan)
    }

    /// Replaces `plan.json`, for a run that goes on in another directory. The file keeps its time, which is
    /// the run's.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn replace_plan(&self, plan: &Plan) -> Result<(), StoreError> {
        let path = self.plan_path();
        let created = fs::metadata(&path).and_then(|found| found.modified());
        let stored = Plan { cwd: self.stored_cwd(plan.cwd.as_path()).into(), ..plan.clone() };
        replace_json(&path, &stored, Durability::Power)?;
        let keep_time = || File::options().write(true).open(&path)?.set_modified(created?);
        keep_time().map_err(StoreError::io("set the time of", &path))
    }

    /// A working directory as `plan.json` has it: relative to the run's directory if it is in there.
    pub fn stored_cwd<'a>(&self, cwd: &'a Path) -> &'a Path {
        cwd.strip_prefix(self.real_path()).unwrap_or(cwd)
    }

    /// The directory without links, which is where an agent finds itself.
    fn real_path(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    /// The run's status as last written; it may be behind the journal.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn status(&self) -> Result<Status, StoreError> {
        read_json("status", &self.status_path())
    }

    /// Returns the usage of the run in `state`, as its supervisor published it last.
    pub fn usage(&self, state: &State) -> Usage {
        self.status().map_or(state.usage, |status| status.usage_of(state))
    }

    /// Replaces `status.json`, without a disk flush: it can be derived again.
    ///
    /// # Errors
    /// [`StoreError::Io`]; a run does not fail for it.
    pub fn write_status(&self, status: &Status) -> Result<(), StoreError> {
        replace_json(&self.status_path(), status, Durability::Process)
    }

    /// Replaces `logs/cost_summary.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`]; a run does not fail for it.
    pub fn write_cost_summary(&self, summary: &CostSummary) -> Result<(), StoreError> {
        replace_json(&self.logs_path().join("cost_summary.json"), summary, Durability::Process)
    }

    /// Replaces `logs/session.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`]; a run does not fail for it.
    pub fn write_session_summary(&self, summary: &SessionSummary) -> Result<(), StoreError> {
        replace_json(&self.logs_path().join("session.json"), summary, Durability::Process)
    }

    /// Attempt `number` (from 1), whether it is there or not.
    pub fn attempt(&self, number: u32) -> AttemptDir {
        AttemptDir { path: self.attempts_path().join(format!("{number:03}")), number }
    }

    /// Makes the directory of attempt `number` (from 1), unless a dead supervisor of the same run
    /// already did.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create_attempt(&self, number: u32) -> Result<AttemptDir, StoreError> {
        let attempt = self.attempt(number);
        make_dirs(&attempt.path).map_err(StoreError::io("create attempt directory", &attempt.path))?;
        Ok(attempt)
    }

    /// What check `number` (from 1) said: the output of its commands, each behind its command line.
    pub fn check_output_path(&self, number: u32) -> PathBuf {
        self.path.join("checks").join(format!("{number:03}.log"))
    }

    /// The same, open for appending; emptied first if `anew`.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create_check_output(&self, number: u32, anew: bool) -> Result<File, StoreError> {
        let path = self.check_output_path(number);
        make_dirs(&self.path.join("checks")).map_err(StoreError::io("create directory", &path))?;
        let mut options = File::options();
        options.create(true).append(true).mode(0o600);
        let file = options.open(&path).map_err(StoreError::io("create file", &path))?;
        if anew {
            file.set_len(0).map_err(StoreError::io("empty file", &path))?;
        }
        Ok(file)
    }

    /// The attempts that have a directory, in order.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn attempts(&self) -> Result<Vec<AttemptDir>, StoreError> {
        let path = self.attempts_path();
        let entries = fs::read_dir(&path).map_err(StoreError::io("list attempts", &path))?;
        let mut numbers: Vec<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers.into_iter().map(|number| self.attempt(number)).collect())
    }
}

/// The directory of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptDir {
    path: PathBuf,
    number: u32,
}

impl AttemptDir {
    /// Which attempt of its run this is, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a model left that was to condense older work for this attempt, whether it is there or not: a stream and
    /// what else an attempt has, but for a session and an exit.
    pub fn summary(&self) -> AttemptDir {
        AttemptDir { path: self.path.join("summary"), number: self.number }
    }

    /// Makes that directory, unless it is there.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create_summary(&self) -> Result<AttemptDir, StoreError> {
        let summary = self.summary();
        make_dirs(&summary.path).map_err(StoreError::io("create summary directory", &summary.path))?;
        Ok(summary)
    }

    /// Where the agent's event stream is: its standard output, as it came.
    pub fn stream_path(&self) -> PathBuf {
        self.path.join("stream.jsonl")
    }

    /// Where the agent's standard error is, as it came.
    pub fn stderr_path(&self) -> PathBuf {
        self.path.join("stderr.log")
    }

    /// Where the attempt's arguments are.
    pub fn argv_path(&self) -> PathBuf {
        self.path.join("argv.json")
    }

    /// Opens `stream.jsonl` for the agent to append to.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create_stream(&self) -> Result<File, StoreError> {
        open_append(&self.stream_path())
    }

    /// Opens `stderr.log` for the agent to append to.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create_stderr(&self) -> Result<File, StoreError> {
        open_append(&self.stderr_path())
    }

    /// Where a guarded agent's standard input is while it runs.
    pub fn input_path(&self) -> PathBuf {
        self.path.join("input")
    }

    /// Makes the FIFO that a guarded agent reads its input from, and opens it for the agent: for reading and
    /// writing, so that its input does not end with a supervisor.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create_input(&self) -> Result<File, StoreError> {
        let path = self.input_path();
        self.remove_input();
        failpoint_io::make_fifo(&path).map_err(StoreError::io("create", &path))?;
        File::options().read(true).write(true).open(&path).map_err(StoreError::io("open", &path))
    }

    /// Removes the FIFO, if there is one: nobody reads from it any more.
    pub fn remove_input(&self) {
        // One that stays is nothing but a name.
        let _ = fs::remove_file(self.input_path());
    }

    /// Writes `argv.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_argv(&self, argv: &Argv) -> Result<(), StoreError> {
        replace_json(&self.argv_path(), argv, Durability::Process)
    }

    /// How the agent was called.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn argv(&self) -> Result<Argv, StoreError> {
        read_json("arguments", &self.argv_path())
    }

    /// Writes `prompt.txt`, what the agent is told at its start, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_prompt(&self, prompt: &str) -> Result<(), StoreError> {
        replace(&self.prompt_path(), prompt.as_bytes(), Durability::Process)
    }

    /// What the agent was told at its start; nothing if that was not written down.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn prompt(&self) -> Result<Option<String>, StoreError> {
        let path = self.prompt_path();
        match read_regular_to_string(&path) {
            Ok(prompt) => Ok(Some(prompt)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(StoreError::io("read", &path)(cause)),
        }
    }

    fn prompt_path(&self) -> PathBuf {
        self.path.join("prompt.txt")
    }

    /// Writes `session.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_session(&self, session: &SessionBaseline) -> Result<(), StoreError> {
        replace_json(&self.session_path(), session, Durability::Process)
    }

    /// The attempt's session as it was at its start; nothing if that was not written down.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn session(&self) -> Result<Option<SessionBaseline>, StoreError> {
        let path = self.session_path();
        if path.exists() { read_json("session", &path).map(Some) } else { Ok(None) }
    }

    fn session_path(&self) -> PathBuf {
        self.path.join("session.json")
    }

    /// Writes `exit.json`, without a disk flush: the journal says the same a moment later.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_exit(&self, exit: &AttemptExit) -> Result<(), StoreError> {
        replace_json(&self.path.join("exit.json"), exit, Durability::Process)
    }

    /// How the agent's process ended; nothing if no supervisor saw it.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn exit(&self) -> Result<Option<AttemptExit>, StoreError> {
        let path = self.path.join("exit.json");
        if path.exists() { read_json("exit", &path).map(Some) } else { Ok(None) }
    }

    /// Writes `answers.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_answers(&self, answers: &[AnsweredQuestion]) -> Result<(), StoreError> {
        replace_json(&self.path.join("answers.json"), &answers, Durability::Process)
    }

    /// What the agent asked, and how it was answered; nothing if it asked nothing, or nobody wrote it down.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn answers(&self) -> Result<Vec<AnsweredQuestion>, StoreError> {
        let path = self.path.join("answers.json");
        if path.exists() { read_json("answers", &path) } else { Ok(Vec::new()) }
    }

    /// Writes `background.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_stopped_tasks(&self, tasks: &[StoppedTask]) -> Result<(), StoreError> {
        replace_json(&self.path.join("background.json"), &tasks, Durability::Process)
    }

    /// Returns the background tasks that ended with the agent; none if there is no such file.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn stopped_tasks(&self) -> Result<Vec<StoppedTask>, StoreError> {
        let path = self.path.join("background.json");
        if path.exists() { read_json("background tasks", &path) } else { Ok(Vec::new()) }
    }

    /// Returns the path of the attempt's usage by model.
    pub fn spent_path(&self) -> PathBuf {
        self.path.join("spent.json")
    }

    /// Writes `spent.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_model_usage(&self, spent: &[ModelUsage]) -> Result<(), StoreError> {
        replace_json(&self.spent_path(), &spent, Durability::Process)
    }

    /// What the attempt used, model by model; nothing if nobody wrote that down.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn model_usage(&self) -> Result<Vec<ModelUsage>, StoreError> {
        match read_json("spending", &self.spent_path()) {
            Err(StoreError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        }
    }

    /// Writes `orphaned.json`, durably: nothing else tells of it.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_watchdog_stop(&self, orphaned: &WatchdogStop) -> Result<(), StoreError> {
        replace_json(&self.orphaned_path(), orphaned, Durability::Power)
    }

    /// That a watchdog ended the agent, if one did.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Unreadable`].
    pub fn watchdog_stop(&self) -> Result<Option<WatchdogStop>, StoreError> {
        let path = self.orphaned_path();
        if path.exists() { read_json("orphaned", &path).map(Some) } else { Ok(None) }
    }

    fn orphaned_path(&self) -> PathBuf {
        self.path.join("orphaned.json")
    }
}

fn open_append(path: &Path) -> Result<File, StoreError> {
    failpoint_io::open(private().append(true).create(true), path).map_err(StoreError::io("create", path))
}

#[cfg(test)]
mod tests;
