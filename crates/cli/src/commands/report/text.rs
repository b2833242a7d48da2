//! Renders a report as text of 100 columns, with the same content as the page.

use super::cost;
use super::data::{Bounds, ReportData, ReportRun, ReportSummary};
use super::run_timeline::SliceKind;
use super::workflows::ReportWorkflow;
use crate::output::envelope_text::{cut, short_count};
use crate::output::phrases::{self, counted, money, titled};
use crate::output::time::TimeFormat;
use crate::output::wrap::wrap;
use longhaul_core::{Span, Usd};
use std::fmt::{Result, Write};

const COLUMNS: usize = 100;
// Characters of a timeline, between its two times.
const TIMELINE_COLUMNS: usize = 64;
// Width of the bars for spending.
const BAR_COLUMNS: usize = 50;

pub fn text(report: &ReportData, clock: &TimeFormat) -> String {
    let mut out = String::new();
    write_text(&mut out, report, clock).expect("writing to a string cannot fail");
    out
}

fn write_text(out: &mut String, report: &ReportData, clock: &TimeFormat) -> Result {
    writeln!(out, "LONGHAUL REPORT")?;
    wrapped(out, "", &super::about(report, clock))?;
    wrapped(out, "", &format!("Times are {}.", clock.zone(report.generated_at.0)))?;
    summary(out, report)?;
    attention(out, report, clock)?;
    tables(out, report, clock)?;
    workflows(out, report, clock)?;
    heading(out, "RUNS")?;
    let bounds = Bounds::new(report.runs.len());
    if report.runs.is_empty() {
        writeln!(out, "There are none.")?;
    } else {
        let symbols = SliceKind::ALL.iter().map(|kind| format!("{} {}", symbol(*kind), kind.label()));
        wrapped(out, "", &format!("In timelines: {}.", symbols.collect::<Vec<_>>().join(", ")))?;
    }
    report.runs.iter().take(bounds.runs).try_for_each(|run| run_details(out, run, clock))?;
    for run in report.runs.iter().skip(bounds.runs) {
        wrapped(
            out,
            "",
            &format!("{} {}; {}", run.id, super::explanation(run, clock), super::facts(run, clock)),
        )?;
    }
    Ok(())
}

fn workflows(out: &mut String, report: &ReportData, clock: &TimeFormat) -> Result {
    if !report.workflows.is_empty() {
        heading(out, "WORKFLOWS")?;
    }
    for workflow in &report.workflows {
        let ReportWorkflow { id, status, iteration, iterations_max, cost, started_at, next, .. } = workflow;
        let started = clock.short(started_at.0);
        let facts =
            format!("iteration {iteration} of {iterations_max}; {}; started {started}", money(cost.0));
        writeln!(out, "  {id}  {status}; {facts}")?;
        writeln!(out, "    {}", line(&workflow.title(), COLUMNS - 4))?;
        if let Some(next) = next {
            // A command is never broken across lines.
            writeln!(out, "    $ {next}")?;
        }
    }
    Ok(())
}

fn heading(out: &mut String, name: &str) -> Result {
    writeln!(out, "\n{name}")
}

fn summary(out: &mut String, report: &ReportData) -> Result {
    let ReportSummary { runs, attempts, cost, active, lost_time: lost, .. } = report.summary;
    heading(out, "SUMMARY")?;
    let counts = report.summary.counts().map(|(health, count)| format!("{count} {}", health.label()));
    let counts: Vec<String> = counts.collect();
    row(out, "runs", &format!("{runs}, in {}: {}", counted(attempts.into(), "attempt"), counts.join(", ")))?;
    let spent = format!("{} reported by the agent; {}", money(cost.0), super::notes(report).join("; "));
    row(out, "spent", &spent)?;
    row(out, "time lost", &format!("{lost}; attempts ran for {active}"))
}

fn row(out: &mut String, name: &str, value: &str) -> Result {
    wrapped(out, &format!("  {name:<12}"), value)
}

fn attention(out: &mut String, report: &ReportData, clock: &TimeFormat) -> Result {
    heading(out, "NEEDS ATTENTION")?;
    let mut urgent = report.runs.iter().filter(|run| run.health.is_urgent()).peekable();
    if urgent.peek().is_none() {
        return writeln!(out, "  Nothing.");
    }
    for run in urgent {
        writeln!(out, "  {}  {}", run.id, run.health.label())?;
        writeln!(out, "    {}", line(&titled(run.name.as_deref(), &run.task), COLUMNS - 4))?;
        wrapped(out, "    ", &super::explanation(run, clock))?;
        if let Some(advice) = &run.advice {
            wrapped(out, "    ", &super::sentence(advice))?;
        }
        if let Some(next) = &run.next {
            // A command is never broken across lines.
            writeln!(out, "    $ {next}")?;
        }
    }
    Ok(())
}

fn tables(out: &mut String, report: &ReportData, clock: &TimeFormat) -> Result {
    let lost = report
        .lost_time
        .iter()
        .map(|row| [row.cause.label().to_owned(), dash(row.waiting), dash(row.wasted), row.runs.to_string()]);
    table(out, "TIME LOST", ["cause", "waiting", "in attempts", "runs"], lost)?;
    let faults = report.faults.iter().map(|row| {
        let counts = [row.attempts, row.ended_runs, row.runs].map(|count| count.to_string());
        let [attempts, ended_runs, runs] = counts;
        [row.fault.describe().to_owned(), attempts, ended_runs, runs]
    });
    table(out, "FAULTS", ["fault", "attempts", "ended runs", "runs"], faults)?;
    spending(out, report, clock)?;
    models(out, report)
}

fn table(
    out: &mut String,
    name: &str,
    columns: [&str; 4],
    rows: impl ExactSizeIterator<Item = [String; 4]>,
) -> Result {
    heading(out, name)?;
    if rows.len() == 0 {
        return writeln!(out, "  None.");
    }
    for [first, second, third, last] in [columns.map(str::to_owned)].into_iter().chain(rows) {
        writeln!(out, "  {first:<52}{second:>14}{third:>14}{last:>8}")?;
    }
    Ok(())
}

fn dash(span: Span) -> String {
    if span == Span::ZERO { "-".to_owned() } else { span.to_string() }
}

fn spending(out: &mut String, report: &ReportData, clock: &TimeFormat) -> Result {
    let total = |bar: &super::spend::Bucket| bar.cost.0 + bar.estimated_cost.0;
    let largest = report.spend.iter().map(total).max().unwrap_or_default();
    let Some(first) = report.spend.first() else { return Ok(()) };
    heading(out, &format!("SPENT OVER TIME, IN {} EACH", first.to.0.since(first.from.0)))?;
    for bar in report.spend.iter().filter(|bar| total(bar) > Usd::ZERO) {
        let length = total(bar).0 as f64 / largest.0.max(1) as f64 * BAR_COLUMNS as f64;
        let length = "#".repeat((length.round() as usize).max(1));
        writeln!(
            out,
            "  {:<13} {length} {}",
            clock.short(bar.from.0),
            cost(bar.cost, bar.estimated_cost, false)
        )?;
    }
    Ok(())
}

fn models(out: &mut String, report: &ReportData) -> Result {
    if report.models.is_empty() {
        return Ok(());
    }
    heading(out, "TOKENS BY MODEL")?;
    let row = |out: &mut String, first: &str, rest: [&str; 7]| {
        let [input, output, read, written, truncated, reported, estimated] = rest;
        writeln!(
            out,
            "  {first:<22}{input:>8}{output:>8}{read:>12}{written:>15}{truncated:>11}{reported:>11}{estimated:>11}"
        )
    };
    row(
        out,
        "model",
        ["input", "output", "cache read", "cache written", "truncated", "reported", "estimated"],
    )?;
    for model in &report.models {
        let tokens = model.tokens;
        let counts =
            [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, model.truncated_tokens]
                .map(short_count);
        let [input, output, read, written, truncated_tokens] = counts.each_ref().map(String::as_str);
        let reported = money(model.cost.0);
        let estimated = if model.unpriced { "no price".to_owned() } else { money(model.estimated_cost.0) };
        let name = line(super::model_name(&model.model), 21);
        row(out, &name, [input, output, read, written, truncated_tokens, &reported, &estimated])?;
    }
    Ok(())
}

fn run_details(out: &mut String, run: &ReportRun, clock: &TimeFormat) -> Result {
    writeln!(out, "\n{}  {}", run.id, run.health.label())?;
    writeln!(out, "  {}", line(&titled(run.name.as_deref(), &run.task), COLUMNS - 2))?;
    wrapped(out, "  ", &super::explanation(run, clock))?;
    wrapped(out, "  ", &super::facts(run, clock))?;
    if let Some(next) = run.next.as_ref().filter(|_| !run.health.is_urgent()) {
        // For urgent runs, the section on runs that need attention shows it.
        writeln!(out, "  $ {next}")?;
    }
    if let (Some(first), Some(last)) = (run.timeline.first(), run.timeline.last()) {
        writeln!(out, "  {} [{}] {}", clock.short(first.from.0), timeline(run), clock.short(last.to.0))?;
    }
    if run.omitted_attempts() > 0 && !run.attempts.is_empty() {
        writeln!(out, "  {}", super::attempts_heading(run))?;
    }
    for attempt in &run.attempts {
        let first = format!(
            "  {:>4}  {:<13}{:>9}  ",
            attempt.number,
            clock.short(attempt.started_at.0),
            super::took(attempt)
        );
        let cost = cost(attempt.cost, attempt.estimated_cost, false);
        wrapped(out, &first, &format!("{}; {cost}", super::ending(attempt, run)))?;
    }
    if !run.calls.last.is_empty() {
        writeln!(out, "  {}", super::calls_heading(run))?;
    }
    for call in &run.calls.last {
        let at = call.at.as_deref().map(|at| clock.time_of_timestamp(at)).unwrap_or_default();
        let by = if call.subagent { " (sub-agent)" } else { "" };
        let (at, action) = (phrases::one_line(&at), format!("{}{by} {}", call.tool, call.argument));
        let text = format!("{at:>8}  {:<9} {}", call.result.label(), phrases::one_line(&action));
        writeln!(out, "    {}", cut(&text, COLUMNS - 4))?;
    }
    wrapped(out, "  ", &super::agent_and_files(run))
}

fn symbol(kind: SliceKind) -> char {
    match kind {
        SliceKind::Working => '=',
        SliceKind::Failed => 'x',
        SliceKind::Waiting => '.',
        SliceKind::Checking => '?',
        SliceKind::Downtime => 'z',
        SliceKind::Finished => '_',
    }
}

/// Draws a timeline with one character for each column, chosen by the activity at its center.
fn timeline(run: &ReportRun) -> String {
    let (Some(first), Some(last)) = (run.timeline.first(), run.timeline.last()) else { return String::new() };
    let all = last.to.0.since(first.from.0).millis();
    let at = |column: usize| {
        let middle = first.from.0.0 + all * (2 * column as u64 + 1) / (2 * TIMELINE_COLUMNS as u64);
        let index = run.timeline.partition_point(|slice| slice.to.0.0 <= middle);
        run.timeline
            .get(index)
            .filter(|slice| slice.from.0.0 <= middle)
            .map_or(' ', |slice| symbol(slice.kind))
    };
    (0..TIMELINE_COLUMNS).map(at).collect()
}

/// Writes `first` and the text, wrapped between words and indented below the start of the text. A word longer
/// than a line, such as a path, is not broken, so that it can be copied.
fn wrapped(out: &mut String, first: &str, text: &str) -> Result {
    out.push_str(first);
    wrap(out, &phrases::one_line(text), first.chars().count());
    Ok(())
}

fn line(text: &str, columns: usize) -> String {
    cut(&phrases::one_line(text), columns)
}
