//! Derives a run's ledger entry from its plan, its journal and the usage files of its processes. It writes nothing.

use crate::find_run::is_judge;
use crate::{AttemptDir, Journal, ModelUsage, Plan, RunDir, StoreError, WorkflowPosition};
use longhaul_core::{
    AttemptHistory, Dollars, Fault, HistoryEventKind, Moment, OutcomeKind, Phase, Record, Rfc3339,
    RunHistory, RunId, SessionId, Span, Tokens, Usage, Usd, shorten_line, word_enum,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::ops::AddAssign;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

// Enough to find a run by words of its task; the whole prompt is in its plan.
const TASK_CHARS_MAX: usize = 1_000;
/// Period in which spending is summed, in milliseconds. Time zones differ by multiples of a quarter of an hour, so each
/// quarter lies in one day of every zone.
pub const QUARTER_MS: u64 = 15 * 60 * 1_000;

/// A run with everything the ledger stores about it.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// The run itself.
    pub run: LedgerRun,
    /// Attempts, first one first.
    pub attempts: Vec<LedgerAttempt>,
    /// Usage by time and model. The name is empty if the model is unknown.
    pub spend: BTreeMap<(Quarter, String), LedgerSpend>,
    /// The fold of its records, from which the rows are rendered. Empty if the entry was read from the ledger.
    history: RunHistory,
}

/// A quarter of an hour, counted from 1970.
pub type Quarter = u64;

/// A run as it appears in a list. Its serialized form is both stored and printed: keys are only ever added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LedgerRun {
    /// Id of the run.
    pub id: RunId,
    /// Name of the directory of its day.
    #[serde(skip)]
    pub day: String,
    /// Directory of the run.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Name given by the user.
    pub name: Option<String>,
    /// Name of the agent.
    pub agent: String,
    /// Requested model.
    pub model: Option<String>,
    /// Working directory of the agent.
    #[serde(rename = "cwd")]
    pub project: String,
    /// Start of the task, on one line.
    pub task: String,
    /// State of the run.
    #[serde(skip)]
    pub state: RunState,
    /// Outcome. `None` if the run is not finished.
    pub outcome: Option<OutcomeKind>,
    /// Fault that the run is waiting out, or that finished it.
    pub fault: Option<Fault>,
    /// End of the current wait.
    pub until: Option<Rfc3339>,
    /// When a retry makes sense.
    pub retry_at: Option<Rfc3339>,
    /// When the run was created.
    pub started_at: Rfc3339,
    /// When the run finished.
    pub ended_at: Option<Rfc3339>,
    /// Time spent working. `None` if the run is not finished.
    #[serde(rename = "active_ms")]
    pub active: Option<Span>,
    /// Time spent waiting between attempts.
    #[serde(rename = "waiting_ms")]
    pub waiting: Span,
    /// Downtime: the machine slept, or the run had no supervisor.
    #[serde(rename = "downtime_ms")]
    pub downtime: Span,
    /// Number of attempts.
    pub attempts: u32,
    /// Number of times the finished run was resumed.
    #[serde(rename = "resume_generation")]
    pub reopen_count: u32,
    /// Reported cost, including the running attempt.
    #[serde(rename = "reported_cost_usd")]
    pub cost: Dollars,
    /// Estimated cost, in addition to the reported cost.
    #[serde(rename = "estimated_cost_usd")]
    pub estimated_cost: Dollars,
    /// Whether some usage has no known price, or the journal cannot be read. The cost is then a lower bound.
    pub unpriced: bool,
    /// Number of tokens of all kinds, including truncated messages.
    #[serde(rename = "total_tokens")]
    pub tokens: u64,
    /// Position in the workflow that started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowPosition>,
    /// Why no further data is available.
    pub error: Option<String>,
    /// Position of the journal that this entry was derived from.
    #[serde(skip)]
    pub journal: JournalPosition,
}

impl LedgerRun {
    /// Returns the directory of the run.
    pub fn run_dir(&self) -> RunDir {
        RunDir::new(self.dir.clone(), self.id.clone())
    }

    /// Returns whether the playbook's judge started the run.
    pub fn is_judge_run(&self) -> bool {
        is_judge(self.name.as_deref(), Path::new(&self.project))
    }

    /// Returns the reported and the estimated cost.
    pub fn total_cost(&self) -> Usd {
        self.cost.0 + self.estimated_cost.0
    }
}

word_enum! {
    /// The state of a run in the ledger.
    #[derive(Default)]
    pub enum RunState {
        /// An agent works, or Longhaul prepares or checks its work.
        #[default]
        Running = "running",
        /// No process is running; the next attempt is scheduled.
        Waiting = "waiting",
        /// SIGTERM or SIGHUP stopped it; `recover` continues it.
        Suspended = "suspended",
        /// It has an outcome.
        Finished = "finished",
        /// Its files cannot be read.
        Unreadable = "unreadable",
    }
}

/// Size and modification time of a journal, to detect whether it has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JournalPosition {
    /// Size in bytes.
    pub bytes: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified: i64,
}

impl JournalPosition {
    /// Returns the position of a run with this many attempts. Its time is that of the journal or of the last
    /// attempt's `usage.json`, whichever is later.
    pub fn from_run_dir(dir: &RunDir, attempts: u32) -> JournalPosition {
        let journal = JournalPosition::new(&dir.journal_path());
        let usage = JournalPosition::new(&dir.attempt(attempts).path_of::<Vec<ModelUsage>>());
        JournalPosition { modified: journal.modified.max(usage.modified), ..journal }
    }

    /// Returns the current position of a journal, or the default if the file is missing.
    pub fn new(path: &Path) -> JournalPosition {
        let metadata = fs::metadata(path);
        metadata.map_or(JournalPosition::default(), |metadata| JournalPosition {
            bytes: metadata.len(),
            modified: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
        })
    }
}

/// One attempt of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerAttempt {
    /// Number of the attempt, starting at 1.
    pub number: u32,
    /// Session that it worked on.
    pub session: SessionId,
    /// When it started.
    pub started_at: Moment,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// Fault that ended it.
    pub fault: Option<Fault>,
    /// How long the run then waited before the next attempt, with no process running. Zero while it waits.
    pub waited: Span,
    /// Reported cost, without a summary of older work for the attempt. The run's cost includes it.
    pub cost: Usd,
    /// Estimated cost.
    pub estimated_cost: Usd,
}

/// Usage of one model within a quarter of an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LedgerSpend {
    /// Reported cost.
    pub cost: Usd,
    /// Estimated cost.
    pub estimated_cost: Usd,
    /// Whether some tokens could not be priced.
    pub unpriced: bool,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Estimated tokens of truncated messages.
    pub truncated: u64,
    /// Number of completed messages.
    pub messages: u64,
}

impl From<&ModelUsage> for LedgerSpend {
    fn from(model_usage: &ModelUsage) -> LedgerSpend {
        LedgerSpend {
            cost: model_usage.cost.0,
            estimated_cost: model_usage.estimated_cost.0,
            unpriced: model_usage.unpriced,
            tokens: model_usage.tokens,
            truncated: model_usage.truncated_tokens.total(),
            messages: model_usage.messages.into(),
        }
    }
}

/// An absurd report of an agent must not keep SQLite, whose sums have 63 bits, from storing and adding up other runs.
const AMOUNT_MAX: u64 = 1 << 53;

impl LedgerSpend {
    fn limit(&mut self) {
        let LedgerSpend { cost, estimated_cost, tokens, truncated, .. } = self;
        let tokens = [&mut tokens.input, &mut tokens.output, &mut tokens.cache_read, &mut tokens.cache_write];
        let amounts = tokens.into_iter().chain([&mut cost.0, &mut estimated_cost.0, truncated]);
        amounts.for_each(|amount| *amount = AMOUNT_MAX.min(*amount));
    }
}

impl AddAssign for LedgerSpend {
    fn add_assign(&mut self, other: LedgerSpend) {
        self.cost += other.cost;
        self.estimated_cost += other.estimated_cost;
        self.unpriced |= other.unpriced;
        self.tokens += other.tokens;
        self.truncated = self.truncated.saturating_add(other.truncated);
        self.messages += other.messages;
    }
}

impl LedgerAttempt {
    fn new(attempt: &AttemptHistory) -> LedgerAttempt {
        let usage = attempt.usage();
        LedgerAttempt {
            number: attempt.number,
            session: attempt.session_id().clone(),
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
            fault: attempt.fault(),
            waited: attempt.completed_wait().unwrap_or_default(),
            cost: usage.reported_cost,
            estimated_cost: usage.estimated_cost,
        }
    }
}

impl LedgerEntry {
    /// Creates the entry of a run whose journal is still empty.
    pub fn new(dir: &RunDir, plan: &Plan) -> LedgerEntry {
        let run = LedgerRun {
            name: plan.spec.name.clone(),
            agent: plan.spec.agent.name.clone(),
            model: plan.spec.model.clone(),
            project: plan.spec.cwd.display().to_string(),
            task: shorten_line(&plan.spec.prompt, TASK_CHARS_MAX),
            started_at: plan.started_at,
            workflow: plan.workflow.clone(),
            ..unread_run(dir)
        };
        LedgerEntry::from_run(run)
    }

    fn from_run(run: LedgerRun) -> LedgerEntry {
        LedgerEntry { run, attempts: Vec::new(), spend: BTreeMap::new(), history: RunHistory::default() }
    }

    pub(super) fn from_stored(
        run: LedgerRun,
        attempts: Vec<LedgerAttempt>,
        spend: BTreeMap<(Quarter, String), LedgerSpend>,
    ) -> LedgerEntry {
        LedgerEntry { attempts, spend, ..LedgerEntry::from_run(run) }
    }

    /// Reads the entry of a run from its files. If they cannot be read, the entry says only that.
    pub fn read(dir: &RunDir) -> LedgerEntry {
        let entry = LedgerEntry::from_journal(dir);
        let journal = entry.run.journal;
        entry.with_live_usage(dir, journal)
    }

    /// Reads the entry of a run without the usage of an attempt that has not ended.
    pub fn from_journal(dir: &RunDir) -> LedgerEntry {
        // Taken before the files are read, so that a concurrent write is detected later.
        let journal = JournalPosition::new(&dir.journal_path());
        let mut entry = LedgerEntry::derive(dir).unwrap_or_else(|error| {
            let modified = fs::metadata(dir.path()).map_or(0, |metadata| metadata.mtime());
            let started_at = Moment(u64::try_from(modified).unwrap_or_default().saturating_mul(1_000));
            let mut entry = LedgerEntry::from_run(LedgerRun {
                state: RunState::Unreadable,
                started_at: started_at.into(),
                error: Some(error.to_string()),
                unpriced: true,
                ..unread_run(dir)
            });
            // Its usage is unknown, so that every sum that includes it is a lower bound.
            let unknown = LedgerSpend { unpriced: true, ..LedgerSpend::default() };
            entry.spend.insert((quarter_of(started_at), String::new()), unknown);
            entry
        });
        entry.run.journal = journal;
        entry
    }

    /// Adds the usage of the attempt that has not ended, as its supervisor last published it. `journal` is
    /// the position of the journal that the entry was derived from.
    #[must_use]
    pub fn with_live_usage(&self, dir: &RunDir, journal: JournalPosition) -> LedgerEntry {
        let mut entry = LedgerEntry::from_stored(self.run.clone(), self.attempts.clone(), self.spend.clone());
        let usage = JournalPosition::new(&dir.attempt(self.run.attempts).path_of::<Vec<ModelUsage>>());
        entry.run.journal = JournalPosition { modified: journal.modified.max(usage.modified), ..journal };
        let is_live = self.run.state == RunState::Running;
        let Some(attempt) = entry.attempts.last_mut().filter(|last| is_live && last.ended_at.is_none())
        else {
            return entry;
        };
        let quarter = quarter_of(Moment(u64::try_from(usage.modified).unwrap_or_default() / 1_000_000));
        for model_usage in dir.attempt(attempt.number).read_or_default::<Vec<ModelUsage>>() {
            attempt.cost += model_usage.cost.0;
            attempt.estimated_cost += model_usage.estimated_cost.0;
            entry.run.cost.0 += model_usage.cost.0;
            entry.run.estimated_cost.0 += model_usage.estimated_cost.0;
            entry.run.unpriced |= model_usage.unpriced;
            let tokens = (model_usage.tokens + model_usage.truncated_tokens).total();
            entry.run.tokens = entry.run.tokens.saturating_add(tokens);
            add(&mut entry.spend, quarter, &model_usage);
        }
        entry
    }

    fn derive(dir: &RunDir) -> Result<LedgerEntry, StoreError> {
        let mut entry = LedgerEntry::new(dir, &dir.plan()?);
        for step in &Journal::load(&dir.journal_path())?.entries {
            for record in &step.records {
                entry.apply(step.at, record, dir);
            }
        }
        entry.update_rows();
        Ok(entry)
    }

    /// Applies one record of a step that was decided at `at`. If a model's process ended, its usage by model is read
    /// from the directory of the run. The rows of the run and its attempts change with the next
    /// [`LedgerEntry::update_rows`].
    pub fn apply(&mut self, at: Moment, record: &Record, dir: &RunDir) {
        let Some(event) = self.history.apply(at, record) else { return };
        let attempt = dir.attempt(event.attempt);
        if let HistoryEventKind::SummaryEnded(summary) = event.kind {
            self.add_usage(at, summary.usage, None, &attempt.summary());
        } else if let HistoryEventKind::ReviewEnded { usage, .. } = event.kind {
            let review = dir.review(self.history.state().reviews);
            self.add_usage(at, usage, None, &review);
        } else if event.kind == HistoryEventKind::AttemptEnded {
            let ended = self.history.attempt(attempt.number());
            let usage = ended.map(AttemptHistory::usage).unwrap_or_default();
            self.add_usage(at, usage, self.run.model.clone(), &attempt);
        }
    }

    /// Adds the usage of a process until `at`, by the models in its file. If they do not add up to `usage`, all of it
    /// counts for `model`.
    fn add_usage(&mut self, at: Moment, usage: Usage, model: Option<String>, dir: &AttemptDir) {
        if usage == Usage::default() {
            return;
        }
        let total = ModelUsage::new(model.unwrap_or_default(), &usage);
        // Without a readable file, the list is empty.
        let models: Vec<ModelUsage> = dir.read_or_default();
        let mut sum = LedgerSpend::default();
        models.iter().for_each(|model_usage| sum += LedgerSpend::from(model_usage));
        let expected = LedgerSpend::from(&total);
        // A full disk can be noticed after the record.
        let adds_up = sum == LedgerSpend { unpriced: expected.unpriced || sum.unpriced, ..expected };
        let models = if adds_up { models } else { vec![total] };
        for model_usage in &models {
            add(&mut self.spend, quarter_of(at), model_usage);
        }
    }

    /// Renders the rows of the run and its attempts from the applied records.
    pub fn update_rows(&mut self) {
        self.attempts = self.history.attempts().iter().map(LedgerAttempt::new).collect();
        let state = self.history.state();
        let outcome = state.outcome();
        let (run_state, until) = match state.phase {
            Phase::Waiting { until, .. } => (RunState::Waiting, Some(until)),
            Phase::Suspended { .. } => (RunState::Suspended, None),
            Phase::Finished { .. } => (RunState::Finished, None),
            Phase::New
            | Phase::Starting
            | Phase::Summarizing { .. }
            | Phase::Running
            | Phase::Closing { .. }
            | Phase::Stopping { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. } => (RunState::Running, None),
        };
        let ended_at = outcome.map(|_| state.finished_at);
        let usage = state.usage;
        let entry = &mut self.run;
        entry.state = run_state;
        entry.outcome = outcome.map(|outcome| outcome.kind);
        entry.fault = outcome.map_or(state.wait_fault(), |outcome| outcome.fault);
        (entry.until, entry.ended_at) = (until.map(Rfc3339), ended_at.map(Rfc3339));
        entry.retry_at = outcome.and_then(|outcome| outcome.retry_at).map(Rfc3339);
        entry.active = ended_at.map(|ended| state.clocks.active(ended));
        (entry.waiting, entry.downtime) = (state.clocks.waiting, state.clocks.downtime);
        (entry.attempts, entry.reopen_count) = (state.attempts(), state.reopen_count);
        (entry.cost, entry.estimated_cost) = (usage.reported_cost.into(), usage.estimated_cost.into());
        entry.unpriced = usage.unpriced;
        entry.tokens = (usage.tokens + usage.truncated_tokens).total();
    }
}

/// Reads the usage of a run by model, from its files.
pub fn spend_by_model(dir: &RunDir) -> BTreeMap<String, LedgerSpend> {
    let mut sums: BTreeMap<String, LedgerSpend> = BTreeMap::new();
    for ((_, model), spend) in LedgerEntry::read(dir).spend {
        *sums.entry(model).or_default() += spend;
    }
    sums
}

fn add(sums: &mut BTreeMap<(Quarter, String), LedgerSpend>, quarter: Quarter, model_usage: &ModelUsage) {
    let sum = sums.entry((quarter, model_usage.model.clone())).or_default();
    *sum += LedgerSpend::from(model_usage);
    sum.limit();
}

pub(super) fn quarter_of(at: Moment) -> Quarter {
    at.0 / QUARTER_MS
}

fn unread_run(dir: &RunDir) -> LedgerRun {
    let day = dir.path().parent().and_then(Path::file_name).unwrap_or_default();
    LedgerRun {
        id: dir.id().clone(),
        day: day.to_string_lossy().into_owned(),
        dir: dir.path().to_owned(),
        ..LedgerRun::default()
    }
}
