//! `longhaul report`: what runs did, cost and need, as one page that loads nothing, as text or as JSON. It reads the
//! runs' own files and changes none of them.

pub mod calls;
mod data;
mod destination;
mod format;
mod gather;
mod html;
mod run_health;
mod run_timeline;
mod spend;
mod text;
mod totals;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub use data::ReportData as Printed;

use crate::args::{GlobalArgs, OutputFormat, ReportArgs};
use crate::failure::Failure;
use crate::output::envelope_text::short_count;
use crate::output::phrases::{counted, money};
use crate::output::time::TimeFormat;
use crate::{open_home, output};
use data::{ReportData, ReportRun, ReportScope};
use destination::Destination;
use format::cost;
use jiff::Zoned;
use longhaul_core::{Moment, Span, Usd};
use run_timeline::TimelineAttempt;
use std::path::Path;

// What a report tells of that is asked for nothing else: one is made each morning.
const LAST: Span = Span::from_hours(24);

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportFormat {
    Page,
    Text,
    Json,
}

/// Carries out the command and returns its exit code.
pub fn report(global: &GlobalArgs, args: &ReportArgs) -> Result<u8, Failure> {
    let now = Zoned::now();
    let form = form(global, args)?;
    let home = open_home::locate()?;
    let destination = match (&args.output, form) {
        (Some(path), _) => Destination::new(path)?,
        (None, ReportFormat::Page) => Destination::in_home(&home, &format!("report-{}.html", now.date()))?,
        (None, ReportFormat::Text | ReportFormat::Json) => Destination::Stdout,
    };
    let at = Moment(u64::try_from(now.timestamp().as_millisecond()).unwrap_or_default());
    let since = args.since.unwrap_or(Moment(at.0.saturating_sub(LAST.0)));
    let (asked, read) = match &args.run {
        Some(asked) => {
            let dir = open_home::find_run(&home, asked)?;
            (ReportScope { run: Some(dir.id().to_string()), since: None }, vec![gather::one(&dir, at)])
        }
        None => (ReportScope { run: None, since: Some(since) }, gather::since(&home, since, at)?),
    };
    let report = ReportData::new(asked, read, at, now.time_zone());
    let clock = TimeFormat::here();
    let written = match form {
        ReportFormat::Page => html::page(&report, &clock),
        ReportFormat::Text => text::text(&report, &clock),
        ReportFormat::Json => output::pretty(&report),
    };
    if let Some(path) = destination.write(&written)? {
        output::print_text(&format!("{}\n", path.display()));
    }
    Ok(0)
}

fn form(global: &GlobalArgs, args: &ReportArgs) -> Result<ReportFormat, Failure> {
    match (args.text, global.output_format) {
        (true, Some(OutputFormat::Json | OutputFormat::StreamJson)) => Err(Failure::usage(
            "a report is text or JSON, not both",
            "leave out --text, --json or --output-format",
        )),
        // What is called a page is one, whatever else is printed as text.
        (false, Some(OutputFormat::Text)) if is_page(args) => Ok(ReportFormat::Page),
        (true, None | Some(OutputFormat::Text)) | (false, Some(OutputFormat::Text)) => Ok(ReportFormat::Text),
        (false, Some(OutputFormat::Json | OutputFormat::StreamJson)) => Ok(ReportFormat::Json),
        // Wherever its name is printed to: a page is what is asked for by nothing else.
        (false, None) => Ok(ReportFormat::Page),
    }
}

fn is_page(args: &ReportArgs) -> bool {
    let ending = args.output.as_deref().and_then(Path::extension);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm"))
}

/// What a report is about.
fn about(report: &ReportData, clock: &TimeFormat) -> String {
    let runs = match (&report.run, report.since) {
        (Some(run), _) => format!("Run {run}"),
        (None, Some(since)) => {
            format!("{} active since {}", counted(report.summary.runs.into(), "run"), clock.minute(since))
        }
        (None, None) => counted(report.summary.runs.into(), "run"),
    };
    format!("{runs}; made {}.", clock.minute(report.generated_at))
}

/// What must be known to read the money of the summary.
fn remarks(report: &ReportData) -> Vec<String> {
    let mut remarks = Vec::new();
    if report.summary.cost_before > Usd::ZERO {
        remarks.push(format!(
            "{} of both was spent before, by runs begun earlier",
            money(report.summary.cost_before)
        ));
    }
    if report.summary.unpriced {
        remarks.push("some tokens have no known price: it is more".to_owned());
    }
    remarks
}

/// As a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(".".chars()).collect()
}

/// How a run ended or where it stands, and when something will happen.
fn because(run: &ReportRun, clock: &TimeFormat) -> String {
    let when = run.retry_at.map(|at| match run.outcome {
        Some(_) => format!("; trying again makes sense at {}", clock.short(at)),
        None => format!("; until {}", clock.short(at)),
    });
    sentence(&format!("{}{}", run.explanation, when.unwrap_or_default()))
}

/// A run in figures.
fn facts(run: &ReportRun, clock: &TimeFormat) -> String {
    let mut facts =
        vec![format!("began {}", clock.short(run.started_at)), counted(run.attempts_total.into(), "attempt")];
    facts.push(format!("took {}", run.wall));
    if run.lost_time > Span::ZERO {
        facts.push(format!("lost {}", run.lost_time));
    }
    facts.push(cost(run.cost, run.estimated_cost, run.unpriced));
    facts.push(format!("{} tokens", short_count(run.tokens)));
    facts.join("; ")
}

/// Who worked where, and where its files are.
fn place(run: &ReportRun) -> String {
    let agent = match (&run.model, run.agent.as_str()) {
        (_, "") => return format!("Files: {}", run.dir),
        (Some(model), agent) => format!("{agent} with {model}"),
        (None, agent) => agent.to_owned(),
    };
    format!("By {agent}, in {}. Files: {}", run.project, run.dir)
}

/// How long an attempt took.
fn took(attempt: &TimelineAttempt) -> String {
    attempt.ended_at.map_or_else(|| "-".to_owned(), |ended| ended.since(attempt.started_at).to_string())
}

/// How an attempt began and ended, and how long the run waited then.
fn ending(attempt: &TimelineAttempt, run: &ReportRun) -> String {
    let began = output::phrases::strategy_text(attempt.strategy, attempt.reason);
    let last = run.attempts.last().is_some_and(|last| last.number == attempt.number);
    let waited = match attempt.waited {
        Span::ZERO => String::new(),
        waited if last && run.outcome.is_none() => format!("; waiting for {waited} so far"),
        waited => format!("; then waited {waited}"),
    };
    format!("{began}; {}{waited}", attempt.ending())
}

fn attempts_heading(run: &ReportRun) -> String {
    match run.attempts_left_out() {
        0 => counted(run.attempts_total.into(), "attempt"),
        _ => format!(
            "The last {} of {} attempts; longhaul show {} has them all",
            run.attempts.len(),
            run.attempts_total,
            run.id
        ),
    }
}

fn calls_heading(run: &ReportRun) -> String {
    let count = run.calls.last.len() as u64;
    if run.calls.truncated {
        format!("The last {}; longhaul logs {} has them all", counted(count, "tool call"), run.id)
    } else {
        counted(count, "tool call")
    }
}

/// The name of a model, or that nobody said it.
fn model_name(model: &str) -> &str {
    if model.is_empty() { "(not stated)" } else { model }
}
