//! The content of a report, independent of its rendering: a pure function of the collected inputs.
//!
//! A page, text and JSON are three renderings of it. JSON keys are only added, never removed.

use super::calls::ToolCalls;
use super::run_health::{RunHealth, explanation, health};
use super::run_timeline::{RunTimeline, TimelineAttempt, TimelineSlice};
use super::spend::{self, Bucket};
use super::totals::{self, FaultRow, LostTimeRow, ModelRow};
use super::workflows::ReportWorkflow;
use crate::output::envelope_text::cut;
use crate::output::phrases;
use jiff::tz::TimeZone;
use longhaul_core::{Dollars, Fault, Limit, Moment, OutcomeKind, Rfc3339, Span, Usd};
use longhaul_store::{LedgerEntry, LedgerSpend, RunState};
use serde::Serialize;
use std::cmp::Reverse;

// Three lines on most screens. `longhaul show` and the plan have the full task.
const TASK_CHARS_MAX: usize = 300;

/// A report on one run or on several.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportData {
    /// When the report was generated.
    pub generated_at: Rfc3339,
    /// The run, if the report is limited to one.
    pub run: Option<String>,
    /// Start of the reported period.
    pub since: Option<Rfc3339>,
    /// Totals over all runs.
    pub summary: ReportSummary,
    /// The workflows, newest first.
    pub workflows: Vec<ReportWorkflow>,
    /// The runs: urgent ones first, then newest first.
    pub runs: Vec<ReportRun>,
    /// Spending over time.
    pub spend: Vec<Bucket>,
    /// Faults that ended attempts.
    pub faults: Vec<FaultRow>,
    /// Causes of lost time.
    pub lost_time: Vec<LostTimeRow>,
    /// Usage by model.
    pub models: Vec<ModelRow>,
}

/// Totals over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportSummary {
    /// Number of runs.
    pub runs: u32,
    /// Number of runs that are done.
    pub done: u32,
    /// Number of runs that finished without being done.
    pub failed: u32,
    /// Number of runs that only a person can continue.
    pub needs_person: u32,
    /// Number of unfinished runs with a supervisor.
    pub running: u32,
    /// Number of cancelled runs.
    pub cancelled: u32,
    /// Number of attempts.
    pub attempts: u32,
    /// Cost reported by vendors.
    #[serde(rename = "reported_cost_usd")]
    pub cost: Dollars,
    /// Cost estimated by Longhaul, in addition to the reported cost.
    #[serde(rename = "estimated_cost_usd")]
    pub estimated_cost: Dollars,
    /// Whether some usage has no known price. The cost is then a lower bound.
    pub unpriced: bool,
    /// Reported and estimated cost from before the reported period, of runs that started earlier.
    #[serde(rename = "cost_before_usd")]
    pub cost_before: Dollars,
    /// Number of tokens of all kinds.
    #[serde(rename = "total_tokens")]
    pub tokens: u64,
    /// Time spent working.
    #[serde(rename = "active_ms")]
    pub active: Span,
    /// Time lost.
    #[serde(rename = "lost_ms")]
    pub lost_time: Span,
}

/// A run in a report.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportRun {
    /// Id of the run.
    pub id: String,
    /// Name given by the user.
    pub name: Option<String>,
    /// Start of the task.
    pub task: String,
    /// Working directory.
    #[serde(rename = "cwd")]
    pub project: String,
    /// Run directory.
    pub dir: String,
    /// Name of the agent.
    pub agent: String,
    /// Requested model.
    pub model: Option<String>,
    /// State of the run as a person sees it.
    pub health: RunHealth,
    /// Outcome, if the run is finished.
    pub outcome: Option<OutcomeKind>,
    /// Fault that the run is waiting out, or that finished it.
    pub fault: Option<Fault>,
    /// Limit that finished the run.
    pub limit: Option<Limit>,
    /// Outcome or state, as text for people.
    pub explanation: String,
    /// Id of the workflow that deals with the run. The command to type next is then that of the workflow.
    pub workflow: Option<String>,
    /// Command to type next.
    pub next: Option<String>,
    /// What to do before typing it.
    pub advice: Option<String>,
    /// When the run was created.
    pub started_at: Rfc3339,
    /// When the run finished.
    pub ended_at: Option<Rfc3339>,
    /// When a retry makes sense, or when the next attempt starts.
    pub retry_at: Option<Rfc3339>,
    /// Duration so far.
    #[serde(rename = "wall_ms")]
    pub wall: Span,
    /// Time spent working.
    #[serde(rename = "active_ms")]
    pub active: Span,
    /// Time lost.
    #[serde(rename = "lost_ms")]
    pub lost_time: Span,
    /// Cost reported by vendors.
    #[serde(rename = "reported_cost_usd")]
    pub cost: Dollars,
    /// Cost estimated by Longhaul, in addition to the reported cost.
    #[serde(rename = "estimated_cost_usd")]
    pub estimated_cost: Dollars,
    /// Whether some usage has no known price.
    pub unpriced: bool,
    /// Number of tokens of all kinds.
    #[serde(rename = "total_tokens")]
    pub tokens: u64,
    /// Number of attempts.
    pub attempts_total: u32,
    /// The most recent attempts.
    pub attempts: Vec<TimelineAttempt>,
    /// Activity of the run over time.
    pub timeline: Vec<TimelineSlice>,
    /// The most recent tool calls.
    pub calls: ToolCalls,
}

#[derive(Debug)]
pub struct RunInput {
    pub entry: LedgerEntry,
    /// Timeline from the journal. `None` if the journal cannot be read.
    pub timeline: Option<RunTimeline>,
    pub has_supervisor: bool,
    /// What to do about unreadable files.
    pub hint: Option<String>,
    /// Advice for a finished run.
    pub advice: Option<&'static str>,
    /// Errors of a finished run that is not done: first the reason.
    pub errors: Vec<String>,
    /// Commands that continue the run, most likely first.
    pub commands: Vec<String>,
    pub calls: ToolCalls,
}

/// Level of detail for each run. It keeps a report on many runs small enough for a browser to open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Number of runs in detail. Each further run gets one line.
    pub runs: usize,
    /// Number of attempts for each run, most recent first.
    pub attempts: usize,
    /// Number of tool calls for each run, most recent first.
    pub calls: usize,
    /// Number of distinguishable slices in a timeline.
    pub slices: usize,
    /// Number of bytes read from the end of a transcript.
    pub transcript_bytes: u64,
}

impl Bounds {
    pub fn new(runs: usize) -> Bounds {
        // 500 runs take at most 5 MB: about 200 bytes for an attempt or call and 60 for a slice of a
        // timeline.
        let share = |all: usize, least: usize, most: usize| (all / runs.max(1)).clamp(least, most);
        Bounds {
            runs: 500,
            attempts: share(5_000, 10, 200),
            calls: share(5_000, 10, 200),
            slices: share(12_000, 24, 400),
            // JSON is parsed at about 300 MB a second.
            transcript_bytes: share(64 << 20, 128 << 10, 8 << 20) as u64,
        }
    }
}

impl ReportData {
    /// Builds a report from the collected inputs, generated at this time, with calendar days of this time
    /// zone.
    pub fn new(
        run: Option<String>,
        since: Option<Moment>,
        inputs: Vec<RunInput>,
        workflows: Vec<ReportWorkflow>,
        generated_at: Moment,
        zone: &TimeZone,
    ) -> ReportData {
        let bounds = Bounds::new(inputs.len());
        let spent = inputs
            .iter()
            .flat_map(|input| &input.entry.spend)
            .map(|((quarter, model), spend)| (*quarter, model, *spend));
        let spent: Vec<(u64, &String, LedgerSpend)> = spent.collect();
        let timelines: Vec<&RunTimeline> =
            inputs.iter().filter_map(|input| input.timeline.as_ref()).collect();
        let mut report = ReportData {
            generated_at: generated_at.into(),
            since: since.map(Rfc3339),
            summary: ReportSummary::default(),
            workflows,
            runs: Vec::new(),
            spend: spend::over_time(&spent, since, generated_at, zone),
            faults: totals::faults(&timelines),
            lost_time: totals::lost_time(&timelines),
            models: totals::models(&spent),
            run,
        };
        report.summary.cost_before = since.map_or(Usd::ZERO, |since| spend::before(&spent, since)).into();
        let workflow_of = |input: &RunInput| {
            let position = input.entry.run.workflow.as_ref()?;
            report.workflows.iter().find(|workflow| workflow.id == position.id.as_str())
        };
        let runs = inputs.into_iter().map(|input| {
            let workflow = workflow_of(&input);
            ReportRun::new(input, workflow, bounds)
        });
        report.runs = runs.collect();
        report.runs.sort_by(|one, other| {
            let newest = |run: &ReportRun| Reverse(run.started_at);
            let urgent = |run: &ReportRun| if run.needs_attention() { run.health } else { RunHealth::Done };
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

impl ReportData {
    pub fn urgent_workflows(&self) -> impl Iterator<Item = &ReportWorkflow> {
        self.workflows.iter().filter(|workflow| workflow.health.is_urgent())
    }

    /// Returns the runs that need a person, or failed, and that no workflow deals with.
    pub fn urgent_runs(&self) -> impl Iterator<Item = &ReportRun> {
        self.runs.iter().filter(|run| run.needs_attention())
    }
}

impl ReportSummary {
    /// Returns the number of runs by health. Cancelled runs are listed only if there are any.
    pub fn counts(&self) -> impl Iterator<Item = (RunHealth, u32)> {
        let counts = [
            (RunHealth::Done, self.done),
            (RunHealth::Failed, self.failed),
            (RunHealth::NeedsPerson, self.needs_person),
            (RunHealth::Running, self.running),
            (RunHealth::Cancelled, self.cancelled),
        ];
        counts.into_iter().filter(|(health, count)| *count > 0 || *health != RunHealth::Cancelled)
    }

    fn count(&mut self, run: &ReportRun) {
        self.runs += 1;
        *match run.health {
            RunHealth::NeedsPerson => &mut self.needs_person,
            RunHealth::Failed => &mut self.failed,
            RunHealth::Running => &mut self.running,
            RunHealth::Cancelled => &mut self.cancelled,
            RunHealth::Done => &mut self.done,
        } += 1;
        self.attempts += run.attempts_total;
        self.cost.0 += run.cost.0;
        self.estimated_cost.0 += run.estimated_cost.0;
        self.unpriced |= run.unpriced;
        self.tokens += run.tokens;
        self.active = self.active + run.active;
        self.lost_time = self.lost_time + run.lost_time;
    }
}

impl ReportRun {
    fn new(input: RunInput, workflow: Option<&ReportWorkflow>, bounds: Bounds) -> ReportRun {
        let RunInput { entry, timeline, has_supervisor, hint, advice, errors, commands, calls } = input;
        let run = entry.run;
        let timeline = timeline.unwrap_or_default();
        let outcome = timeline.outcome;
        let kind = outcome.map(|outcome| outcome.kind);
        let workflow = workflow
            .filter(|workflow| run.state != RunState::Unreadable && workflow.deals_with(run.ended_at));
        let own_health = health(&run, outcome, has_supervisor);
        let health = match own_health {
            // The workflow resumes it.
            RunHealth::Failed if workflow.is_some_and(|workflow| workflow.resumes(&run.id)) => {
                RunHealth::Running
            }
            // The workflow continues without a person.
            RunHealth::NeedsPerson if workflow.is_some_and(|workflow| !workflow.health.is_urgent()) => {
                RunHealth::Failed
            }
            health => health,
        };
        let explanation = match workflow.filter(|_| own_health.is_urgent()) {
            Some(workflow) => {
                let text = explanation(&run, outcome, has_supervisor, &errors);
                format!("{text} (workflow {}: {})", workflow.id, workflow.status)
            }
            None => explanation(&run, outcome, has_supervisor, &errors),
        };
        let lost =
            timeline.lost_time.values().map(|lost| lost.total()).fold(Span::ZERO, |sum, span| sum + span);
        let mut attempts = timeline.attempts;
        let next = match outcome {
            _ if workflow.is_some() => None,
            Some(_) => commands.into_iter().next(),
            None if has_supervisor || run.state == RunState::Unreadable => None,
            None => Some(format!("longhaul recover {}", run.id)),
        };
        let fault = outcome.map_or(run.fault, |outcome| outcome.fault);
        let advice = advice.or_else(|| phrases::advice(fault?, &run.agent));
        let advice = advice.filter(|_| health.is_urgent() && workflow.is_none()).map(str::to_owned);
        ReportRun {
            explanation,
            workflow: workflow.map(|workflow| workflow.id.clone()),
            advice: hint.or(advice),
            next,
            health,
            outcome: kind,
            fault,
            limit: outcome.and_then(|outcome| outcome.limit),
            retry_at: match outcome {
                Some(_) if workflow.is_some() && health != RunHealth::Running => None,
                Some(outcome) => outcome.retry_at.map(Rfc3339),
                None => run.until.filter(|_| has_supervisor),
            },
            wall: timeline.wall,
            active: timeline.active,
            lost_time: lost,
            attempts_total: run.attempts.max(u32::try_from(attempts.len()).unwrap_or(u32::MAX)),
            attempts: attempts.split_off(attempts.len().saturating_sub(bounds.attempts)),
            timeline: timeline.timeline,
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

    /// Returns whether a person must act, and no workflow deals with the run.
    pub fn needs_attention(&self) -> bool {
        self.health.is_urgent() && self.workflow.is_none()
    }

    pub fn omitted_attempts(&self) -> usize {
        (self.attempts_total as usize).saturating_sub(self.attempts.len())
    }
}
