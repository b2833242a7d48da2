//! What a report says, before it is put in words or drawn: a pure function of what was read. A page, a text and JSON are
//! three renderings of it. Keys of the JSON are only ever added.

use super::calls::ToolCalls;
use super::run_health::{RunHealth, because, standing};
use super::run_timeline::{LostTimeCause, RunTimeline, TimelineAttempt, TimelineSlice};
use super::spend::{self, Bucket};
use super::totals;
use crate::output::envelope_text::cut;
use crate::output::phrases;
use jiff::tz::TimeZone;
use longhaul_core::{Fault, Limit, Moment, OutcomeKind, Span, Tokens, Usd};
use longhaul_store::{LedgerEntry, LedgerSpend, RunState, rfc3339};
use serde::{Serialize, Serializer};
use std::cmp::Reverse;

// Three lines on most screens, which is as much as a page shows; `longhaul show` and the plan have more.
const TASK_CHARS_MAX: usize = 300;

/// A report of one run or of several.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportData {
    /// When it was made.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub generated_at: Moment,
    /// The one run that it was asked of.
    pub run: Option<String>,
    /// From when on runs were looked for.
    #[serde(serialize_with = "stamp_or_null")]
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub since: Option<Moment>,
    /// All of it in a few numbers.
    pub summary: Summary,
    /// The runs, those that want a person first, then the newest first.
    pub runs: Vec<ReportRun>,
    /// What was spent when.
    pub spend: Vec<Bucket>,
    /// Why attempts failed.
    pub faults: Vec<FaultRow>,
    /// What kept the runs from working.
    pub lost_time: Vec<LostTimeRow>,
    /// What was used of each model.
    pub models: Vec<ModelRow>,
}

/// All runs in a few numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// How many there are.
    pub runs: u32,
    /// How many are done.
    pub done: u32,
    /// How many ended without being done.
    pub failed: u32,
    /// How many only a person can go on with.
    pub needs_person: u32,
    /// How many go on.
    pub running: u32,
    /// How many somebody stopped.
    pub cancelled: u32,
    /// How many attempts they had.
    pub attempts: u32,
    /// What vendors stated that they cost.
    #[serde(rename = "stated_cost_usd", serialize_with = "dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost: Usd,
    /// What we priced besides.
    #[serde(rename = "estimated_cost_usd", serialize_with = "dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost: Usd,
    /// Whether some of it has no price: the money is then a lower bound.
    pub unpriced: bool,
    /// What of both was spent before the report begins, by runs that were begun before it.
    #[serde(rename = "cost_before_usd", serialize_with = "dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost_before: Usd,
    /// All tokens.
    #[serde(rename = "total_tokens")]
    pub tokens: u64,
    /// How long they worked.
    #[serde(rename = "active_ms")]
    pub active: Span,
    /// How long they were kept from it.
    #[serde(rename = "lost_ms")]
    pub lost_time: Span,
}

/// A run as it is told.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportRun {
    /// Its id.
    pub id: String,
    /// What the user called it.
    pub name: Option<String>,
    /// How its task begins.
    pub task: String,
    /// The directory that it works in.
    #[serde(rename = "cwd")]
    pub project: String,
    /// Its own directory.
    pub dir: String,
    /// The agent.
    pub agent: String,
    /// The model that was asked for.
    pub model: Option<String>,
    /// What a person thinks of first.
    pub health: RunHealth,
    /// How it ended.
    pub outcome: Option<OutcomeKind>,
    /// Why it waits, or why it ended so.
    pub fault: Option<Fault>,
    /// The limit that ended it.
    pub limit: Option<Limit>,
    /// How it ended or where it stands, in words for people.
    pub explanation: String,
    /// What to type next.
    pub next: Option<String>,
    /// What to do before that.
    pub advice: Option<String>,
    /// When it was created.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub started_at: Moment,
    /// When it was over.
    #[serde(serialize_with = "stamp_or_null")]
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub ended_at: Option<Moment>,
    /// When trying again makes sense, or the next attempt has its time.
    #[serde(serialize_with = "stamp_or_null")]
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub retry_at: Option<Moment>,
    /// How long it took so far.
    #[serde(rename = "wall_ms")]
    pub wall: Span,
    /// How long it worked.
    #[serde(rename = "active_ms")]
    pub active: Span,
    /// How long it was kept from working.
    #[serde(rename = "lost_ms")]
    pub lost_time: Span,
    /// What vendors stated that it cost.
    #[serde(rename = "stated_cost_usd", serialize_with = "dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost: Usd,
    /// What we priced besides.
    #[serde(rename = "estimated_cost_usd", serialize_with = "dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost: Usd,
    /// Whether some of it has no price.
    pub unpriced: bool,
    /// All tokens.
    #[serde(rename = "total_tokens")]
    pub tokens: u64,
    /// How many attempts it had.
    pub attempts_total: u32,
    /// The last ones of them.
    pub attempts: Vec<TimelineAttempt>,
    /// What it did when.
    pub timeline: Vec<TimelineSlice>,
    /// The last tool calls.
    pub calls: ToolCalls,
}

/// Why attempts failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FaultRow {
    /// Why.
    pub fault: Fault,
    /// How many attempts.
    pub attempts: u32,
    /// Of how many runs.
    pub runs: u32,
    /// How many runs ended by it.
    pub ended_runs: u32,
}

/// What kept the runs from working.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LostTimeRow {
    /// What.
    #[serde(serialize_with = "cause")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub cause: LostTimeCause,
    /// Between attempts.
    #[serde(rename = "waiting_ms")]
    pub waiting: Span,
    /// In attempts that came to nothing, and in silences.
    #[serde(rename = "vain_ms")]
    pub wasted: Span,
    /// How many runs.
    pub runs: u32,
}

/// What was used of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelRow {
    /// Which one; empty where nobody said.
    pub model: String,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Tokens of cut messages, estimated.
    pub truncated_tokens: u64,
    /// Completed messages.
    pub messages: u64,
    /// What the vendor stated.
    #[serde(rename = "stated_cost_usd", serialize_with = "dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost: Usd,
    /// What we priced besides.
    #[serde(rename = "estimated_cost_usd", serialize_with = "dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost: Usd,
    /// Whether some of it has no price.
    pub unpriced: bool,
}

/// What was read of one run.
#[derive(Debug)]
pub struct RunInput {
    /// What the ledger knows.
    pub entry: LedgerEntry,
    /// What its journal tells; nothing where that cannot be read.
    pub timeline: Option<RunTimeline>,
    /// Whether a supervisor has it.
    pub attended: bool,
    /// What to do about files that cannot be understood.
    pub hint: Option<String>,
    /// Commands that continue it, the likeliest first.
    pub commands: Vec<String>,
    /// Its tool calls, as far as they were read.
    pub calls: ToolCalls,
}

/// How much of each run is told in detail. A report of many runs is still one that a browser opens at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// So many runs in detail; of those behind them there is a line each.
    pub runs: usize,
    /// So many attempts of a run, the last ones.
    pub attempts: usize,
    /// So many tool calls of a run, the last ones.
    pub calls: usize,
    /// So many parts of its timeline can be told apart.
    pub slices: usize,
    /// So much of its transcript is read, from the end.
    pub transcript_bytes: u64,
}

impl Bounds {
    /// For a report of so many runs.
    pub fn new(runs: usize) -> Bounds {
        // 500 of them are 5 MB at most: some 200 bytes an attempt or call, and 60 a part of a timeline.
        let share = |all: usize, least: usize, most: usize| (all / runs.max(1)).clamp(least, most);
        Bounds {
            runs: 500,
            attempts: share(5_000, 10, 200),
            calls: share(5_000, 10, 200),
            slices: share(12_000, 24, 400),
            // JSON is read at some 300 MB a second.
            transcript_bytes: share(64 << 20, 128 << 10, 8 << 20) as u64,
        }
    }
}

/// What a report was asked about.
#[derive(Clone, Debug, Default)]
pub struct ReportScope {
    /// One run.
    pub run: Option<String>,
    /// All that were active since then.
    pub since: Option<Moment>,
}

impl ReportData {
    /// The report of what was read, made at this moment for people in this time zone.
    pub fn new(asked: ReportScope, read: Vec<RunInput>, generated_at: Moment, zone: &TimeZone) -> ReportData {
        let bounds = Bounds::new(read.len());
        let spent = read
            .iter()
            .flat_map(|read| &read.entry.spend)
            .map(|((quarter, model), spend)| (*quarter, model, *spend));
        let spent: Vec<(u64, &String, LedgerSpend)> = spent.collect();
        let mut report = ReportData {
            generated_at,
            since: asked.since,
            summary: Summary::default(),
            runs: Vec::new(),
            spend: spend::over_time(
                spent.iter().map(|(quarter, _, spend)| (*quarter, *spend)),
                (asked.since, generated_at),
                zone,
            ),
            faults: totals::faults(&read),
            lost_time: totals::lost(&read),
            models: totals::models(&spent),
            run: asked.run,
        };
        report.summary.cost_before = report.since.map_or(Usd::ZERO, |since| spend::before(&spent, since));
        report.runs = read.into_iter().map(|read| ReportRun::new(read, bounds)).collect();
        report.runs.sort_by(|one, other| {
            let newest = |run: &ReportRun| Reverse(run.started_at);
            let urgent = |run: &ReportRun| if run.health.is_urgent() { run.health } else { RunHealth::Done };
            (urgent(one), newest(one), &one.id).cmp(&(urgent(other), newest(other), &other.id))
        });
        for run in &report.runs {
            report.summary.count(run);
        }
        for run in report.runs.iter_mut().skip(bounds.runs) {
            (run.attempts, run.timeline, run.calls) = (Vec::new(), Vec::new(), ToolCalls::default());
        }
        report
    }
}

impl Summary {
    fn count(&mut self, run: &ReportRun) {
        self.runs += 1;
        *match run.health {
            RunHealth::NeedsPerson => &mut self.needs_person,
            RunHealth::Failed => &mut self.failed,
            RunHealth::GoingOn => &mut self.running,
            RunHealth::Cancelled => &mut self.cancelled,
            RunHealth::Done => &mut self.done,
        } += 1;
        self.attempts += run.attempts_total;
        self.cost += run.cost;
        self.estimated_cost += run.estimated_cost;
        self.unpriced |= run.unpriced;
        self.tokens += run.tokens;
        self.active = self.active + run.active;
        self.lost_time = self.lost_time + run.lost_time;
    }
}

impl ReportRun {
    fn new(read: RunInput, bounds: Bounds) -> ReportRun {
        let RunInput { entry, timeline: story, attended, hint, commands, calls } = read;
        let run = entry.run;
        let story = story.unwrap_or_default();
        let outcome = story.outcome;
        let standing = standing(&run, outcome, attended);
        let lost = story.lost_time.values().map(|lost| lost.total()).fold(Span::ZERO, |sum, span| sum + span);
        let mut attempts = story.attempts;
        let next = match (outcome, run.state) {
            (Some(_), _) => commands.into_iter().next(),
            (None, RunState::Running | RunState::Waiting | RunState::Suspended | RunState::Finished)
                if !attended =>
            {
                Some(format!("longhaul recover {}", run.id))
            }
            (
                None,
                RunState::Running
                | RunState::Waiting
                | RunState::Suspended
                | RunState::Finished
                | RunState::Unreadable,
            ) => None,
        };
        let fault = outcome.map_or(run.fault, |outcome| outcome.fault);
        let advice =
            if standing.is_urgent() { fault.and_then(phrases::advice).map(str::to_owned) } else { None };
        ReportRun {
            explanation: because(&run, outcome, attended),
            advice: hint.or(advice),
            next,
            health: standing,
            outcome: outcome.map(|outcome| outcome.kind),
            fault,
            limit: outcome.and_then(|outcome| outcome.limit),
            retry_at: outcome.map_or(run.until, |outcome| outcome.retry_at),
            wall: story.wall,
            active: story.active,
            lost_time: lost,
            attempts_total: run.attempts.max(u32::try_from(attempts.len()).unwrap_or(u32::MAX)),
            attempts: attempts.split_off(attempts.len().saturating_sub(bounds.attempts)),
            timeline: story.timeline,
            calls,
            id: run.id.to_string(),
            name: run.name,
            task: cut(&run.task, TASK_CHARS_MAX),
            project: run.project,
            dir: run.dir.display().to_string(),
            agent: run.agent,
            model: run.model,
            started_at: run.started_at,
            ended_at: run.ended_at,
            cost: run.cost,
            estimated_cost: run.estimated_cost,
            unpriced: run.unpriced,
            tokens: run.tokens,
        }
    }

    /// The attempts before those that are told.
    pub fn attempts_left_out(&self) -> usize {
        (self.attempts_total as usize).saturating_sub(self.attempts.len())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn stamp<S: Serializer>(moment: &Moment, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&rfc3339(*moment))
}

pub(super) fn stamp_or_null<S: Serializer>(moment: &Option<Moment>, out: S) -> Result<S::Ok, S::Error> {
    moment.map(rfc3339).serialize(out)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn dollars<S: Serializer>(amount: &Usd, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(amount.as_dollars())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn cause<S: Serializer>(cause: &LostTimeCause, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(cause.as_str())
}
