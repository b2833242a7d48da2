//! Renders a report as text of 100 columns, with the same content as the page.

use super::cost;
use super::data::{Bounds, ReportData, ReportRun, ReportSummary};
use super::run_timeline::SliceKind;
use super::workflows::ReportWorkflow;
use crate::output::envelope_text::{cut, short_count};
use crate::output::phrases::{self, counted, titled};
use crate::output::table::{Column, table};
use crate::output::time::TimeFormat;
use crate::output::wrap::{COLUMNS, wrap};
use longhaul_core::{Span, Usd};

// Characters of a timeline, between its two times.
const TIMELINE_COLUMNS: usize = 64;
// Width of the bars for spending.
const BAR_COLUMNS: usize = 50;
// The rest of a line has room for seven numbers.
const MODEL_COLUMNS: usize = 21;

pub fn text(report: &ReportData, clock: &TimeFormat) -> String {
    let mut out = "LONGHAUL REPORT\n".to_owned();
    wrapped(&mut out, "", &super::about(report, clock));
    wrapped(&mut out, "", &format!("Times are {}.", clock.zone(report.generated_at.0)));
    summary(&mut out, report);
    attention(&mut out, report, clock);
    lost_time_and_faults(&mut out, report);
    spending(&mut out, report, clock);
    models(&mut out, report);
    workflows(&mut out, report, clock);
    heading(&mut out, "RUNS");
    let bounds = Bounds::new(report.runs.len());
    if report.runs.is_empty() {
        out += "There are none.\n";
    } else {
        let symbols = SliceKind::ALL.iter().map(|kind| format!("{} {}", symbol(*kind), kind.label()));
        wrapped(&mut out, "", &format!("In timelines: {}.", symbols.collect::<Vec<_>>().join(", ")));
    }
    report.runs.iter().take(bounds.runs).for_each(|run| run_details(&mut out, run, clock));
    for run in report.runs.iter().skip(bounds.runs) {
        let facts = super::facts(run, clock);
        wrapped(&mut out, "", &format!("{} {}; {facts}", run.id, super::explanation(run, clock)));
    }
    out
}

fn workflows(out: &mut String, report: &ReportData, clock: &TimeFormat) {
    if !report.workflows.is_empty() {
        heading(out, "WORKFLOWS");
    }
    for workflow in &report.workflows {
        let ReportWorkflow { id, status, iteration, iterations_max, cost, started_at, next, .. } = workflow;
        let started = clock.short(started_at.0);
        let facts = format!("iteration {iteration} of {iterations_max}; {}; started {started}", cost.0);
        *out += &format!("  {id}  {status}; {facts}\n");
        *out += &format!("    {}\n", line(&workflow.title(), COLUMNS - 4));
        // For urgent workflows, the section on what needs attention shows it.
        command(out, "    ", next.as_deref().filter(|_| !workflow.health.is_urgent()));
    }
}

fn heading(out: &mut String, name: &str) {
    *out += &format!("\n{name}\n");
}

/// Writes a command, which is never broken across lines.
fn command(out: &mut String, indent: &str, command: Option<&str>) {
    if let Some(command) = command {
        *out += &format!("{indent}$ {command}\n");
    }
}

fn summary(out: &mut String, report: &ReportData) {
    let ReportSummary { runs, attempts, cost, active, lost_time: lost, .. } = report.summary;
    heading(out, "SUMMARY");
    let counts = report.summary.counts().map(|(health, count)| format!("{count} {}", health.label()));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let attempts = counted(attempts.into(), "attempt");
    wrapped(out, "  runs        ", &format!("{runs}, in {attempts}: {counts}"));
    if !report.workflows.is_empty() {
        let counts = super::workflow_counts(report);
        wrapped(out, "  workflows   ", &format!("{}: {counts}", report.workflows.len()));
    }
    let notes = super::notes(report).join("; ");
    wrapped(out, "  spent       ", &format!("{} reported by the agent; {notes}", cost.0));
    wrapped(out, "  time lost   ", &format!("{lost}; active {active}"));
}

fn attention(out: &mut String, report: &ReportData, clock: &TimeFormat) {
    heading(out, "NEEDS ATTENTION");
    if report.urgent_workflows().next().is_none() && report.urgent_runs().next().is_none() {
        *out += "  Nothing.\n";
    }
    for workflow in report.urgent_workflows() {
        *out += &format!("  {}  {}\n", workflow.id, workflow.health.label());
        *out += &format!("    {}\n", line(&format!("workflow {}", workflow.title()), COLUMNS - 4));
        super::problems(workflow, clock).for_each(|problem| wrapped(out, "    ", &problem));
        command(out, "    ", workflow.next.as_deref());
    }
    for run in report.urgent_runs() {
        *out += &format!("  {}  {}\n", run.id, run.health.label());
        *out += &format!("    {}\n", line(&titled(run.name.as_deref(), &run.task), COLUMNS - 4));
        wrapped(out, "    ", &super::explanation(run, clock));
        if let Some(advice) = &run.advice {
            wrapped(out, "    ", &super::sentence(advice));
        }
        command(out, "    ", run.next.as_deref());
    }
}

fn lost_time_and_faults(out: &mut String, report: &ReportData) {
    let dash = |span: Span| if span == Span::ZERO { "-".to_owned() } else { span.to_string() };
    let lost = report
        .lost_time
        .iter()
        .map(|row| [row.cause.label().to_owned(), dash(row.waiting), dash(row.wasted), row.runs.to_string()]);
    section(out, "TIME LOST", ["cause", "waiting", "in attempts", "runs"], lost);
    let faults = report.faults.iter().map(|row| {
        let [attempts, ended_runs, runs] =
            [row.attempts, row.ended_runs, row.runs].map(|count| count.to_string());
        [row.fault.describe().to_owned(), attempts, ended_runs, runs]
    });
    section(out, "FAULTS", ["fault", "attempts", "ended runs", "runs"], faults);
}

/// Writes a table whose first column is text.
fn section<const N: usize>(
    out: &mut String,
    name: &str,
    columns: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) {
    heading(out, name);
    let mut cells = vec![columns.map(str::to_owned).to_vec()];
    cells.extend(rows.map(Vec::from));
    if cells.len() == 1 {
        *out += "  None.\n";
        return;
    }
    let mut kinds = [Column::Right; N];
    kinds[0] = Column::Left;
    table(&cells, &kinds, COLUMNS).lines().for_each(|line| *out += &format!("  {line}\n"));
}

fn spending(out: &mut String, report: &ReportData, clock: &TimeFormat) {
    let total = |bar: &super::spend::Bucket| bar.cost.0 + bar.estimated_cost.0;
    let largest = report.spend.iter().map(total).max().unwrap_or_default();
    let Some(first) = report.spend.first() else { return };
    heading(out, &format!("SPENT OVER TIME, IN {} EACH", first.to.0.since(first.from.0)));
    for bar in report.spend.iter().filter(|bar| total(bar) > Usd::ZERO) {
        let length = total(bar).0 as f64 / largest.0.max(1) as f64 * BAR_COLUMNS as f64;
        let length = "#".repeat((length.round() as usize).max(1));
        let cost = cost(bar.cost, bar.estimated_cost, false);
        *out += &format!("  {:<13} {length} {cost}\n", clock.short(bar.from.0));
    }
}

fn models(out: &mut String, report: &ReportData) {
    if report.models.is_empty() {
        return;
    }
    let columns =
        ["model", "input", "output", "cache read", "cache written", "truncated", "reported", "estimated"];
    let rows = report.models.iter().map(|model| {
        let tokens = model.tokens;
        let [input, output, read, written, truncated] =
            [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, model.truncated_tokens]
                .map(short_count);
        let estimated =
            if model.unpriced { "no price".to_owned() } else { model.estimated_cost.0.to_string() };
        let name = line(super::model_name(&model.model), MODEL_COLUMNS);
        [name, input, output, read, written, truncated, model.cost.0.to_string(), estimated]
    });
    section(out, "TOKENS BY MODEL", columns, rows);
}

fn run_details(out: &mut String, run: &ReportRun, clock: &TimeFormat) {
    *out += &format!("\n{}  {}\n", run.id, run.health.label());
    *out += &format!("  {}\n", line(&titled(run.name.as_deref(), &run.task), COLUMNS - 2));
    wrapped(out, "  ", &super::explanation(run, clock));
    wrapped(out, "  ", &super::facts(run, clock));
    // For urgent runs, the section on runs that need attention shows it.
    command(out, "  ", run.next.as_deref().filter(|_| !run.needs_attention()));
    if let (Some(first), Some(last)) = (run.timeline.first(), run.timeline.last()) {
        let (first, last) = (clock.short(first.from.0), clock.short(last.to.0));
        *out += &format!("  {first} [{}] {last}\n", timeline(run));
    }
    if run.omitted_attempts() > 0 && !run.attempts.is_empty() {
        *out += &format!("  {}\n", super::attempts_heading(run));
    }
    for attempt in &run.attempts {
        let (started, took) = (clock.short(attempt.started_at.0), super::took(attempt));
        let first = format!("  {:>4}  {started:<13}{took:>9}  ", attempt.number);
        let cost = cost(attempt.cost, attempt.estimated_cost, false);
        wrapped(out, &first, &format!("{}; {cost}", super::ending(attempt, run)));
    }
    if !run.calls.last.is_empty() {
        *out += &format!("  {}\n", super::calls_heading(run));
    }
    for call in &run.calls.last {
        let at = call.at.as_deref().map(|at| clock.time_of_timestamp(at)).unwrap_or_default();
        let by = if call.subagent { " (sub-agent)" } else { "" };
        let (at, action) = (phrases::one_line(&at), format!("{}{by} {}", call.tool, call.argument));
        let text = format!("{at:>8}  {:<9} {}", call.result.label(), phrases::one_line(&action));
        *out += &format!("    {}\n", cut(&text, COLUMNS - 4));
    }
    wrapped(out, "  ", &super::agent_and_files(run));
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
fn wrapped(out: &mut String, first: &str, text: &str) {
    out.push_str(first);
    wrap(out, &phrases::one_line(text), first.chars().count());
}

fn line(text: &str, columns: usize) -> String {
    cut(&phrases::one_line(text), columns)
}
