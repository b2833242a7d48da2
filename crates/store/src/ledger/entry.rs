//! What the ledger knows of a run, out of its plan and its journal. Pure, but for [`LedgerEntry::read`].

use crate::{Journal, ModelUsage, Plan, RunDir, StoreError};
use longhaul_core::{
    AfterAttempt, Fault, Moment, OutcomeKind, Phase, Record, Run, RunId, SessionId, Span, Tokens, Usage, Usd,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::mem;
use std::ops::Add;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

// Enough to find a run by its words; the whole prompt is in its plan.
const TASK_BYTES_MAX: usize = 1_000;
// The finest step between time zones: each quarter of an hour is in one day of each of them.
const QUARTER_MS: u64 = 15 * 60 * 1_000;

/// A run with all that is known of it.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// The run itself.
    pub run: LedgerRun,
    /// Its attempts, the first one first.
    pub attempts: Vec<LedgerAttempt>,
    /// What it used, by time and model; an empty name where nobody said which.
    pub spend: BTreeMap<(Quarter, String), LedgerSpend>,
    /// Whether the last attempt that is over will be followed by another one.
    awaits_next: bool,
    /// The model that condenses older work.
    summary_model: Option<String>,
}

/// A quarter of an hour, counted from 1970.
pub type Quarter = u64;

/// A run, as far as a list tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRun {
    /// Its id.
    pub id: RunId,
    /// The directory of the day that it is filed under.
    pub day: String,
    /// Its own directory.
    pub dir: PathBuf,
    /// What the user called it.
    pub name: Option<String>,
    /// The agent.
    pub agent: String,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The directory that it works in.
    pub project: String,
    /// How its task begins, on one line.
    pub task: String,
    /// Where it stands.
    pub state: RunState,
    /// How it ended.
    pub outcome: Option<OutcomeKind>,
    /// Why it waits, or why it ended so.
    pub fault: Option<Fault>,
    /// Until when it waits.
    pub until: Option<Moment>,
    /// When trying again makes sense.
    pub retry_at: Option<Moment>,
    /// When it was created.
    pub started_at: Moment,
    /// When it was over.
    pub ended_at: Option<Moment>,
    /// How long it worked, once it is over.
    pub active: Option<Span>,
    /// How long it waited between its attempts.
    pub waiting: Span,
    /// How long the machine slept, or nobody worked on it.
    pub downtime: Span,
    /// How many attempts were ordered.
    pub attempts: u32,
    /// How often somebody let it go on after it had been over.
    pub reopen_count: u32,
    /// What the agent's vendor stated that it cost.
    pub cost: Usd,
    /// What we priced besides.
    pub estimated_cost: Usd,
    /// Whether some of it has no price.
    pub unpriced: bool,
    /// All tokens, those of cut messages too.
    pub tokens: u64,
    /// Why nothing more is known, in words for people.
    pub error: Option<String>,
    /// What this was derived from.
    pub journal: JournalPosition,
}

impl LedgerRun {
    /// Where it is.
    pub fn run_dir(&self) -> RunDir {
        RunDir::new(self.dir.clone(), self.id.clone())
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// An agent works, or something is done for one.
    Running,
    /// No process is resident; the next attempt has its time.
    Waiting,
    /// SIGTERM or SIGHUP stopped it; the next supervisor continues it.
    Suspended,
    /// It has its outcome.
    Finished,
    /// Its files cannot be understood.
    Unreadable,
}

impl RunState {
    /// Every state.
    pub const ALL: &'static [RunState] = &[
        RunState::Running,
        RunState::Waiting,
        RunState::Suspended,
        RunState::Finished,
        RunState::Unreadable,
    ];

    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Waiting => "waiting",
            RunState::Suspended => "suspended",
            RunState::Finished => "over",
            RunState::Unreadable => "unreadable",
        }
    }
}

/// How long a journal was, and when it was written last: by this it is seen whether there is more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JournalPosition {
    /// Its length.
    pub bytes: u64,
    /// Its time of change, in nanoseconds since 1970.
    pub modified: i64,
}

impl JournalPosition {
    /// Returns the mark of a run with this many attempts. The usage of a running attempt is published in a file of its own.
    pub fn of_run(dir: &RunDir, attempts: u32) -> JournalPosition {
        let journal = JournalPosition::new(&dir.journal_path());
        let usage = JournalPosition::new(&dir.attempt(attempts).spent_path());
        JournalPosition { modified: journal.modified.max(usage.modified), ..journal }
    }

    /// What it is now; nothing of one that is not there.
    pub fn new(path: &Path) -> JournalPosition {
        let found = fs::metadata(path);
        found.map_or(JournalPosition::default(), |found| JournalPosition {
            bytes: found.len(),
            modified: found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()),
        })
    }
}

/// One attempt of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerAttempt {
    /// Which one, from 1.
    pub number: u32,
    /// Its session.
    pub session: SessionId,
    /// When it was ordered.
    pub started_at: Moment,
    /// When it was over.
    pub ended_at: Option<Moment>,
    /// Why it failed.
    pub fault: Option<Fault>,
    /// How long the run then waited for the next one.
    pub waited: Span,
    /// What the vendor stated that it cost.
    pub cost: Usd,
    /// What we priced besides.
    pub estimated_cost: Usd,
}

/// What was used with one model within a quarter of an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LedgerSpend {
    /// What the vendor stated.
    pub cost: Usd,
    /// What we priced besides.
    pub estimated_cost: Usd,
    /// Whether some of it has no price.
    pub unpriced: bool,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Tokens of cut messages, estimated.
    pub truncated: u64,
    /// Completed messages.
    pub messages: u64,
}

impl LedgerEntry {
    /// The entry of a run of which nothing was decided yet.
    pub fn new(dir: &RunDir, plan: &Plan) -> LedgerEntry {
        let run = LedgerRun {
            name: plan.name.clone(),
            agent: plan.agent.name.clone(),
            model: plan.model.clone(),
            project: plan.cwd.as_path().display().to_string(),
            task: task(&plan.prompt.text),
            started_at: plan.started_at,
            ..unknown(dir)
        };
        LedgerEntry { summary_model: plan.handoff_summary.clone(), ..LedgerEntry::from_run(run) }
    }

    fn from_run(run: LedgerRun) -> LedgerEntry {
        LedgerEntry {
            run,
            attempts: Vec::new(),
            spend: BTreeMap::new(),
            awaits_next: false,
            summary_model: None,
        }
    }

    /// An entry that was written down.
    pub(super) fn from_stored(
        run: LedgerRun,
        attempts: Vec<LedgerAttempt>,
        spend: BTreeMap<(Quarter, String), LedgerSpend>,
    ) -> LedgerEntry {
        LedgerEntry { attempts, spend, ..LedgerEntry::from_run(run) }
    }

    /// The entry of a run, by its files. Of one whose files cannot be understood it says just that.
    pub fn read(dir: &RunDir) -> LedgerEntry {
        let entry = LedgerEntry::from_journal(dir);
        let journal = entry.run.journal;
        entry.with_live_usage(dir, journal)
    }

    /// The same without the usage of an attempt that has not ended.
    pub fn from_journal(dir: &RunDir) -> LedgerEntry {
        // Before anything is read: what is written meanwhile is seen to be missing.
        let journal = JournalPosition::new(&dir.journal_path());
        let mut entry = LedgerEntry::derived(dir).unwrap_or_else(|error| {
            let modified = fs::metadata(dir.path()).map_or(0, |found| found.mtime());
            let started_at = Moment(u64::try_from(modified).unwrap_or_default().saturating_mul(1_000));
            let (state, complaint) = (RunState::Unreadable, Some(error.to_string()));
            LedgerEntry::from_run(LedgerRun { state, started_at, error: complaint, ..unknown(dir) })
        });
        entry.run.journal = journal;
        entry
    }

    /// Returns the entry with the usage of the attempt that has not ended, as its supervisor published it last. `journal`
    /// is the journal that the entry was derived from.
    #[must_use]
    pub fn with_live_usage(mut self, dir: &RunDir, journal: JournalPosition) -> LedgerEntry {
        let usage = JournalPosition::new(&dir.attempt(self.run.attempts).spent_path());
        self.run.journal = JournalPosition { modified: journal.modified.max(usage.modified), ..journal };
        let is_live = self.run.state == RunState::Running;
        let Some(attempt) = self.attempts.last_mut().filter(|last| is_live && last.ended_at.is_none()) else {
            return self;
        };
        let quarter = quarter_of(Moment(u64::try_from(usage.modified).unwrap_or_default() / 1_000_000));
        for spent in model_usage_of(dir, attempt.number) {
            attempt.cost += spent.cost;
            attempt.estimated_cost += spent.estimated_cost;
            self.run.cost += spent.cost;
            self.run.estimated_cost += spent.estimated_cost;
            self.run.unpriced |= spent.unpriced;
            self.run.tokens += spent.tokens.total() + spent.truncated_tokens.total();
            add(&mut self.spend, quarter, &spent);
        }
        self
    }

    fn derived(dir: &RunDir) -> Result<LedgerEntry, StoreError> {
        let mut entry = LedgerEntry::new(dir, &dir.plan()?);
        let history = Journal::load(&dir.journal_path())?;
        for record in history.records() {
            entry.apply(record, |attempt| model_usage_of(dir, attempt));
        }
        entry.update_state(&Run::replay(history.records()));
        Ok(entry)
    }

    /// Takes in one record. What an attempt used, model by model, is asked for when the record says how much that was.
    pub fn apply(&mut self, record: &Record, spent: impl FnOnce(u32) -> Vec<ModelUsage>) {
        match record {
            Record::AttemptStarted { at, plan } => {
                let awaited = mem::take(&mut self.awaits_next);
                if let Some(last) = self.attempts.last_mut().filter(|_| awaited) {
                    last.waited = last.ended_at.map_or(Span::ZERO, |ended| at.since(ended));
                }
                self.attempts.push(LedgerAttempt {
                    number: plan.attempt,
                    session: plan.session.id().clone(),
                    started_at: *at,
                    ended_at: None,
                    fault: None,
                    waited: Span::ZERO,
                    cost: Usd::ZERO,
                    estimated_cost: Usd::ZERO,
                });
            }
            Record::SessionOpened { session, .. } => {
                if let Some(attempt) = self.attempts.last_mut() {
                    attempt.session = session.clone();
                }
            }
            Record::SummaryEnded { at, usage, .. } => {
                let model = self.summary_model.clone();
                self.spend(*at, *usage, model, &[]);
            }
            Record::AttemptEnded { at, fault, usage, next, .. } => {
                self.awaits_next = matches!(next, AfterAttempt::Attempt { .. });
                let Some(attempt) = self.attempts.last_mut() else { return };
                (attempt.ended_at, attempt.fault) = (Some(*at), *fault);
                (attempt.cost, attempt.estimated_cost) = (usage.reported_cost, usage.estimated_cost);
                let models = spent(attempt.number);
                self.spend(*at, *usage, self.run.model.clone(), &models);
            }
            // What follows is no attempt that it waited for.
            Record::RunFinished { .. } => self.awaits_next = false,
            // They tell where the run stands, which is asked of the run, or what a list has no room for.
            Record::RunStarted { .. }
            | Record::RunReopened { .. }
            | Record::ResumeStrategyChosen { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::AttemptSpawned { .. }
            | Record::ProgressMade { .. }
            | Record::LimitReached { .. }
            | Record::AgentStopped { .. }
            | Record::PromptSent { .. }
            | Record::InputClosed { .. }
            | Record::StopOrdered { .. }
            | Record::StallDeferred { .. }
            | Record::Recovered { .. }
            | Record::Downtime { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::CheckEnded { .. }
            | Record::Swept { .. }
            | Record::CancelRequested { .. }
            | Record::SuspendOrdered { .. }
            | Record::Suspended { .. } => {}
        }
    }

    /// Adds what was used until `at`, with these models; with `model`, if their list does not add up to it.
    fn spend(&mut self, at: Moment, usage: Usage, model: Option<String>, models: &[ModelUsage]) {
        if usage == Usage::default() {
            return;
        }
        let quarter = quarter_of(at);
        let money = |of: fn(&ModelUsage) -> Usd| models.iter().map(of).fold(Usd::ZERO, Usd::add);
        let adds_up = money(|spent| spent.cost) == usage.reported_cost
            && money(|spent| spent.estimated_cost) == usage.estimated_cost;
        if !adds_up {
            let spent = ModelUsage {
                model: model.unwrap_or_default(),
                cost: usage.reported_cost,
                estimated_cost: usage.estimated_cost,
                unpriced: usage.unpriced,
                tokens: usage.tokens,
                truncated_tokens: usage.truncated_tokens,
                messages: usage.messages,
            };
            return add(&mut self.spend, quarter, &spent);
        }
        for spent in models {
            add(&mut self.spend, quarter, spent);
        }
    }

    /// Takes in where the run stands.
    pub fn update_state(&mut self, run: &Run) {
        let state = run.state();
        let outcome = state.outcome();
        let (stands, until) = match state.phase {
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
        let known = &mut self.run;
        known.state = stands;
        known.outcome = outcome.map(|outcome| outcome.kind);
        known.fault = outcome.map_or(state.fault, |outcome| outcome.fault);
        (known.until, known.ended_at) = (until, ended_at);
        known.retry_at = outcome.and_then(|outcome| outcome.retry_at);
        known.active = ended_at.map(|ended| state.clocks.active(ended));
        (known.waiting, known.downtime) = (state.clocks.waiting, state.clocks.downtime);
        (known.attempts, known.reopen_count) = (state.attempts(), state.reopen_count);
        (known.cost, known.estimated_cost, known.unpriced) =
            (usage.reported_cost, usage.estimated_cost, usage.unpriced);
        known.tokens = usage.tokens.total() + usage.truncated_tokens.total();
    }
}

fn add(sums: &mut BTreeMap<(Quarter, String), LedgerSpend>, quarter: Quarter, spent: &ModelUsage) {
    let sum = sums.entry((quarter, spent.model.clone())).or_default();
    sum.cost += spent.cost;
    sum.estimated_cost += spent.estimated_cost;
    sum.unpriced |= spent.unpriced;
    sum.tokens += spent.tokens;
    sum.truncated += spent.truncated_tokens.total();
    sum.messages += u64::from(spent.messages);
}

/// The quarter of an hour in which that moment is.
pub(super) fn quarter_of(at: Moment) -> Quarter {
    at.0 / QUARTER_MS
}

/// What an attempt used, model by model; nothing if nobody wrote that down, or it cannot be read.
pub fn model_usage_of(dir: &RunDir, attempt: u32) -> Vec<ModelUsage> {
    dir.attempt(attempt).model_usage().unwrap_or_default()
}

/// A run of which only its place is known.
fn unknown(dir: &RunDir) -> LedgerRun {
    let day = dir.path().parent().and_then(Path::file_name).unwrap_or_default();
    LedgerRun {
        id: dir.id().clone(),
        day: day.to_string_lossy().into_owned(),
        dir: dir.path().to_owned(),
        name: None,
        agent: String::new(),
        model: None,
        project: String::new(),
        task: String::new(),
        state: RunState::Running,
        outcome: None,
        fault: None,
        until: None,
        retry_at: None,
        started_at: Moment(0),
        ended_at: None,
        active: None,
        waiting: Span::ZERO,
        downtime: Span::ZERO,
        attempts: 0,
        reopen_count: 0,
        cost: Usd::ZERO,
        estimated_cost: Usd::ZERO,
        unpriced: false,
        tokens: 0,
        error: None,
        journal: JournalPosition::default(),
    }
}

/// How a task begins, on one line.
fn task(prompt: &str) -> String {
    let mut line = String::new();
    for word in prompt.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > TASK_BYTES_MAX {
            let end = (0..=TASK_BYTES_MAX).rev().find(|end| line.is_char_boundary(*end));
            line.truncate(end.unwrap_or_default());
            line.push('…');
            break;
        }
    }
    line
}
