//! `longhaul report`: prints the activity, cost and open needs of runs as one self-contained page, text or
//! JSON.
//!
//! Reads the runs' own files. Never changes them.

pub mod calls;
mod data;
mod destination;
mod gather;
mod html;
pub mod run_health;
mod run_timeline;
mod spend;
mod text;
mod totals;
mod workflows;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub use data::ReportData as Printed;

use crate::args::{GlobalArgs, OutputFormat, ReportArgs, ReportFormat};
use crate::failure::Failure;
use crate::open_home::RunOrWorkflow;
use crate::output::envelope_text::short_count;
use crate::output::phrases::counted;
use crate::output::time::TimeFormat;
use crate::{open_home, output};
use data::{ReportData, ReportRun};
use jiff::Zoned;
use longhaul_core::{Dollars, Moment, Span, Usd};
use run_health::RunHealth;
use run_timeline::TimelineAttempt;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use workflows::ReportWorkflow;

// Default period of a report: reports are often made once a day.
const LAST: Span = Span::from_hours(24);

pub fn report(global: &GlobalArgs, args: &ReportArgs) -> Result<u8, Failure> {
    let (now, clock) = (Zoned::now(), TimeFormat::here());
    let format = format(global, args)?;
    let home = open_home::locate()?;
    let target = args.run.as_deref().map(|selector| open_home::find_target(&home, selector)).transpose()?;
    let at = output::now();
    let since = args.since.unwrap_or(Moment(at.0.saturating_sub(LAST.0)));
    let subject = target.as_ref().map_or_else(|| now.date().to_string(), |target| target.id().to_string());
    let ((run, since), inputs, workflows) = match target {
        Some(RunOrWorkflow::Run(dir)) => {
            let runs = vec![gather::one(&dir, at)];
            let workflows = workflows::active(&home, None, &gather::workflows_of(&runs), &clock)?;
            ((Some(dir.id().to_string()), None), runs, workflows)
        }
        Some(RunOrWorkflow::Workflow(dir)) => {
            let runs = gather::of_workflow(&home, dir.id(), at)?;
            ((None, None), runs, vec![workflows::one(&home, dir, &clock)?])
        }
        None => {
            let runs = gather::since(&home, since, at)?;
            let workflows = workflows::active(&home, Some(since), &gather::workflows_of(&runs), &clock)?;
            ((None, Some(since)), runs, workflows)
        }
    };
    let report = ReportData::new(run, since, inputs, workflows, at, now.time_zone());
    let rendered = match format {
        ReportFormat::Html => html::page(&report, &clock),
        ReportFormat::Text => text::text(&report, &clock),
        ReportFormat::Json => output::pretty(&report),
    };
    let path = match (&args.output, format) {
        (Some(path), _) => path.clone(),
        (None, ReportFormat::Html) => destination::path_in_home(&home, &format!("report-{subject}.html"))?,
        (None, ReportFormat::Text | ReportFormat::Json) => PathBuf::from("-"),
    };
    if let Some(path) = destination::write(&path, &rendered)? {
        output::print_text(&format!("{}\n", path.display()));
    }
    Ok(0)
}

/// Returns the format: that of `--format`, else that of the global flags, else a page.
fn format(global: &GlobalArgs, args: &ReportArgs) -> Result<ReportFormat, Failure> {
    let of_other_output = global.output_format.map(|format| match format {
        OutputFormat::Text => ReportFormat::Text,
        OutputFormat::Json | OutputFormat::StreamJson => ReportFormat::Json,
    });
    match (args.format, of_other_output) {
        (Some(ReportFormat::Html | ReportFormat::Text), Some(ReportFormat::Json)) => Err(Failure::usage(
            "--format and --output-format name different formats",
            "drop one of --format, --json and --output-format",
        )),
        (Some(format), _) => Ok(format),
        // An output file with an HTML extension receives a page, even if other output is text.
        (None, Some(ReportFormat::Text)) if is_page(args) => Ok(ReportFormat::Html),
        // The default is a page, whatever stdout is connected to.
        (None, other) => Ok(other.unwrap_or(ReportFormat::Html)),
    }
}

fn is_page(args: &ReportArgs) -> bool {
    let ending = args.output.as_deref().and_then(Path::extension);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm"))
}

fn about(report: &ReportData, clock: &TimeFormat) -> String {
    let runs = match (&report.run, report.since) {
        (Some(run), _) => format!("Run {run}"),
        (None, Some(since)) => {
            format!("{} active since {}", counted(report.summary.runs.into(), "run"), clock.minute(since.0))
        }
        (None, None) => {
            let ids: Vec<&str> = report.workflows.iter().map(|workflow| workflow.id.as_str()).collect();
            format!("{} of workflow {}", counted(report.summary.runs.into(), "run"), ids.join(", "))
        }
    };
    format!("{runs}; generated {}.", clock.minute(report.generated_at.0))
}

fn notes(report: &ReportData) -> Vec<String> {
    let mut notes = Vec::new();
    if report.summary.estimated_cost.0 > Usd::ZERO {
        notes.push(format!("about {} estimated", report.summary.estimated_cost.0));
    }
    notes.push(format!("{} tokens", short_count(report.summary.tokens)));
    if report.summary.cost_before.0 > Usd::ZERO {
        notes.push(format!("{} of it was spent before this period", report.summary.cost_before.0));
    }
    if report.summary.unpriced {
        notes.push("a lower bound: some usage is lost or has no price".to_owned());
    }
    notes
}

/// Formats a cost, in the same way on a page and in text.
pub fn cost(Dollars(reported): Dollars, Dollars(estimated): Dollars, unpriced: bool) -> String {
    let more = if unpriced { " or more: partly unpriced" } else { "" };
    match (reported, estimated) {
        (reported, Usd::ZERO) => format!("{reported}{more}"),
        (Usd::ZERO, estimated) => format!("about {estimated}{more}"),
        (reported, estimated) => format!("{reported} and about {estimated}{more}"),
    }
}

fn sentence(text: &str) -> String {
    capital(text) + "."
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns a run's outcome or state as a sentence, with the time of the next attempt or sensible retry.
fn explanation(run: &ReportRun, clock: &TimeFormat) -> String {
    let when = run.retry_at.map(|at| match run.health {
        RunHealth::Running => format!("; until {}", clock.short(at.0)),
        RunHealth::NeedsPerson | RunHealth::Failed | RunHealth::Cancelled | RunHealth::Done => {
            format!("; resume at {}", clock.short(at.0))
        }
    });
    // An error of the API may be a sentence already.
    sentence(&format!("{}{}", run.explanation.trim_end_matches('.'), when.unwrap_or_default()))
}

/// Returns the problems of a workflow as sentences, with the time of a sensible retry.
fn problems<'a>(workflow: &'a ReportWorkflow, clock: &'a TimeFormat) -> impl Iterator<Item = String> + 'a {
    let retry = workflow.retry_at.map(|at| format!("Resume at {}.", clock.short(at.0)));
    workflow.problems.iter().map(|problem| sentence(problem.trim_end_matches('.'))).chain(retry)
}

fn workflow_counts(report: &ReportData) -> String {
    let mut counts: BTreeMap<RunHealth, u32> = BTreeMap::new();
    for workflow in &report.workflows {
        *counts.entry(workflow.health).or_default() += 1;
    }
    let counts = counts.iter().map(|(health, count)| format!("{count} {}", health.label()));
    counts.collect::<Vec<_>>().join(", ")
}

/// Returns a run's start, attempts, durations, cost and tokens on one line.
fn facts(run: &ReportRun, clock: &TimeFormat) -> String {
    let (started, attempts) = (clock.short(run.started_at.0), counted(run.attempts_total.into(), "attempt"));
    let lost = if run.lost_time > Span::ZERO { format!("; lost {}", run.lost_time) } else { String::new() };
    let cost = cost(run.cost, run.estimated_cost, run.unpriced);
    let tokens = short_count(run.tokens);
    format!("started {started}; {attempts}; took {}{lost}; {cost}; {tokens} tokens", run.wall)
}

fn agent_and_files(run: &ReportRun) -> String {
    let agent = match (&run.model, run.agent.as_str()) {
        (_, "") => return format!("Files: {}", run.dir),
        (Some(model), agent) => format!("{agent} with {model}"),
        (None, agent) => agent.to_owned(),
    };
    format!("By {agent}, in {}. Files: {}", run.project, run.dir)
}

fn took(attempt: &TimelineAttempt) -> String {
    attempt.duration.map_or_else(|| "-".to_owned(), |duration| duration.to_string())
}

/// Returns how an attempt started and ended, the cost of its summary and its reviews, and how long the run waited afterwards.
fn ending(attempt: &TimelineAttempt, run: &ReportRun) -> String {
    let start = output::phrases::strategy_text(attempt.strategy, attempt.reason);
    let last = run.attempts.last().is_some_and(|last| last.number == attempt.number);
    let waited = match attempt.waited {
        Span::ZERO => String::new(),
        waited if last && run.outcome.is_none() => format!("; waiting for {waited} so far"),
        waited => format!("; then waited {waited}"),
    };
    let costs = [
        (attempt.summary_cost.0, "its summary of older work"),
        (attempt.review_cost.0, "the reviews of its work"),
    ];
    let costs = costs.into_iter().filter(|(cost, _)| *cost > Usd::ZERO);
    let costs: String = costs.map(|(cost, work)| format!("; {work} cost {cost}")).collect();
    format!("{start}; {}{costs}{waited}", attempt.ending())
}

fn attempts_heading(run: &ReportRun) -> String {
    match run.omitted_attempts() {
        0 => counted(run.attempts_total.into(), "attempt"),
        _ => format!(
            "The last {} of {} attempts; longhaul show {} lists all",
            run.attempts.len(),
            run.attempts_total,
            run.id
        ),
    }
}

fn calls_heading(run: &ReportRun) -> String {
    let count = run.calls.last.len() as u64;
    if run.calls.truncated {
        format!("The last {}; longhaul logs {} prints all", counted(count, "tool call"), run.id)
    } else {
        counted(count, "tool call")
    }
}

fn model_name(model: &str) -> &str {
    if model.is_empty() { "(unknown)" } else { model }
}
