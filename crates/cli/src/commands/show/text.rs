//! Renders a run as text: figures, a table of attempts, notes, files and commands to type next.

use super::attempt::{Attempt, ReviewRow};
use super::files::RunFiles;
use super::{Loaded, ShowOutput};
use crate::commands::runs::table::outcome_style;
use crate::output::color::Colors;
use crate::output::envelope_text::{cut, grouped, one_line};
use crate::output::phrases;
use crate::output::time::TimeFormat;
use crate::output::wrap::{COLUMNS, columns, wrap};
use crate::run_history::NextStep;
use crate::run_history::timeline_text::describe_finish;
use longhaul::{RunReport, describe_stopped_task};
use longhaul_core::{
    AttemptHistory, OutcomeKind, Phase, ResumeStrategy, RunHistory, SessionFileState, Span, StopCause,
    StrategyReason, Usd, Verified,
};
use longhaul_store::DiffStat;

// Width of `  directory   `.
const INDENT: usize = 14;
// Fits a few screens. The run directory has the full answer.
const ANSWER_CHARS_MAX: usize = 2000;
// Together with the other columns, these fill a page.
const ENDED_BY_CHARS: usize = 28;
const THEN_CHARS: usize = 24;
// Shortest useful texts: `out_of_memory` and `resumed after 12m 34s`.
const ENDED_BY_CHARS_MIN: usize = 13;
const THEN_CHARS_MIN: usize = 21;

/// Renders the run as text. Each line ends with a line break.
pub fn text(loaded: &Loaded, clock: &TimeFormat) -> String {
    let Loaded { show_output: output, history } = loaded;
    let mut out = format!("{}\n", output.id);
    let outcome_text = match (history.state().outcome(), &history.state().phase) {
        (Some(outcome), _) => describe_finish(outcome, &output.errors) + proof(outcome.kind, output.verified),
        (None, Phase::Suspended { source, .. }) => format!("suspended by {}", source.signal()),
        (None, _) if output.supervised => "unfinished".to_owned(),
        (None, _) => "unfinished, without a supervisor".to_owned(),
    };
    line(&mut out, "outcome", &outcome_text);
    error_lines(&mut out, &output.errors);
    if let Some(name) = &output.name {
        line(&mut out, "name", name);
    }
    line(&mut out, "task", &output.task);
    line(&mut out, "directory", &output.cwd);
    line(&mut out, "session", output.session_id.as_deref().unwrap_or("none"));
    line(&mut out, "agent", &agent(output));
    if let Some(started_at) = history.started_at() {
        line(&mut out, "started", &clock.whole(started_at));
        if let Some(ended_at) = output.ended_at {
            line(&mut out, "finished", &clock.whole(ended_at.0));
        }
        line(&mut out, "time", &time(output));
    }
    if output.recoveries > 0 {
        line(&mut out, "recovered", &recovered(output));
    }
    usage_lines(&mut out, output);
    table(&mut out, output, history, clock);
    for attempt in &output.attempts {
        notes(&mut out, attempt);
    }
    out.push('\n');
    line(&mut out, "files", &output.dir);
    line(&mut out, "", &files(&output.files));
    next_lines(&mut out, &output.next);
    out
}

/// Renders the answer of a finished run, followed by its outcome, usage and commands to type next.
pub fn summary(output: &ShowOutput, report: &RunReport, colors: Colors) -> String {
    let mut out = answer(report);
    out += &format!("{}\n", output.id);
    outcome_line(&mut out, &finish(report), Some(report.outcome.kind), colors);
    error_lines(&mut out, &report.errors);
    // A failed run lists these tasks among its errors.
    let is_done = report.outcome.kind == OutcomeKind::Done;
    for task in report.background_stopped.iter().filter(|_| is_done) {
        line(&mut out, "note", &one_line(&describe_stopped_task(task)));
    }
    if let Some(name) = &output.name {
        line(&mut out, "name", name);
    }
    line(&mut out, "session", output.session_id.as_deref().unwrap_or("none"));
    let attempts = phrases::counted(u64::from(report.attempts), "attempt");
    line(&mut out, "time", &format!("{}, {attempts}", time(output)));
    usage_lines(&mut out, output);
    next_lines(&mut out, &output.next);
    out
}

fn answer(report: &RunReport) -> String {
    let text = report.result.as_deref().map(one_line).unwrap_or_default();
    let text = text.trim();
    match text.char_indices().nth(ANSWER_CHARS_MAX) {
        Some((end, _)) => format!("{}…\n(`longhaul logs {}` prints all of it)\n\n", &text[..end], report.run),
        None if text.is_empty() => String::new(),
        None => format!("{text}\n\n"),
    }
}

/// Returns the outcome of a finished run with its reason, or with the proof of its success.
pub fn finish(report: &RunReport) -> String {
    describe_finish(report.outcome, &report.errors) + proof(report.outcome.kind, report.verified)
}

fn proof(kind: OutcomeKind, verified: Verified) -> &'static str {
    match verified {
        Verified::None if kind == OutcomeKind::Done => " (not verified: no check was set)",
        Verified::Review => " (verified by the reviewer)",
        Verified::None | Verified::Checks => "",
    }
}

fn usage_lines(out: &mut String, output: &ShowOutput) {
    line(out, "cost", &cost(output));
    line(out, "tokens", &tokens(output));
    lines(out, "limits", output.figures.limits.iter().map(phrases::limit_line));
    if !output.checks.is_empty() {
        line(out, "checks", &checks(output));
    }
    if let Some(changed) = output.changed {
        line(out, "changed", &changes(changed, &output.id));
    }
}

/// Writes what comes next. Commands are not wrapped: people copy them.
pub(super) fn next_lines(out: &mut String, next: &NextStep) {
    line(out, "next", &next.text);
    for command in &next.commands {
        *out += &format!("{:INDENT$}{command}\n", "");
    }
}

/// Writes the outcome. It is colored after wrapping, because color codes take no columns.
pub(super) fn outcome_line(out: &mut String, text: &str, kind: Option<OutcomeKind>, colors: Colors) {
    let mut outcome = String::new();
    line(&mut outcome, "outcome", text);
    if let Some(kind) = kind {
        outcome = outcome.replacen(kind.as_str(), &colors.styled(kind.as_str(), outcome_style(kind)), 1);
    }
    *out += &outcome;
}

/// Writes the errors after the reason, which the outcome names.
fn error_lines(out: &mut String, errors: &[String]) {
    for error in errors.iter().skip(1) {
        lines(out, "error", one_line(error).lines().map(str::to_owned));
    }
}

pub(super) fn lines(out: &mut String, name: &str, values: impl Iterator<Item = String>) {
    for (index, value) in values.enumerate() {
        line(out, if index == 0 { name } else { "" }, &value);
    }
}

pub(super) fn line(out: &mut String, name: &str, value: &str) {
    *out += &format!("  {name:<12}");
    wrap(out, value, INDENT);
}

fn agent(output: &ShowOutput) -> String {
    let agent = &output.agent;
    let version = agent.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let model = agent.model.as_ref().or(agent.requested_model.as_ref());
    let model = model.map(|model| format!(", {model}")).unwrap_or_default();
    format!("{}{version}{model}", agent.name)
}

fn time(output: &ShowOutput) -> String {
    let figures = &output.figures;
    let parts =
        [(figures.active_ms, "active"), (figures.waiting_ms, "waiting"), (figures.downtime_ms, "downtime")];
    let parts = parts.into_iter().filter(|(span, word)| *word == "active" || *span > Span::ZERO);
    let parts: Vec<String> = parts.map(|(span, word)| format!("{span} {word}")).collect();
    format!("{}: {}", figures.wall_ms, parts.join(", "))
}

fn recovered(output: &ShowOutput) -> String {
    let times = match output.recoveries {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        times => format!("{times} times"),
    };
    format!("{times}; without a supervisor for up to {}", output.unsupervised_ms)
}

fn cost(output: &ShowOutput) -> String {
    let figures = &output.figures;
    let mut cost = output.total_cost_usd.0.to_string();
    if figures.estimated_cost_usd.0 > Usd::ZERO {
        let (reported, estimated) = (figures.reported_cost_usd.0, figures.estimated_cost_usd.0);
        cost += &format!(": {reported} reported, {estimated} estimated");
    }
    if figures.unpriced {
        cost.push_str("; a lower bound: some usage is lost or has no price");
    }
    if output.agent.subscription == Some(true) {
        cost.push_str("; at API prices: the agent uses a subscription");
    }
    cost
}

fn tokens(output: &ShowOutput) -> String {
    let (tokens, truncated) = (output.figures.tokens, output.figures.truncated_tokens);
    let suffix =
        if truncated > 0 { format!("; {} in truncated messages", grouped(truncated)) } else { String::new() };
    format!(
        "{} input, {} output, {} read from the cache, {} written to it{suffix}",
        grouped(tokens.input),
        grouped(tokens.output),
        grouped(tokens.cache_read),
        grouped(tokens.cache_write)
    )
}

fn checks(output: &ShowOutput) -> String {
    let without_result = match output.outcome {
        None if output.supervised => "is running",
        None => "runs again when the run is recovered",
        Some(_) => "was stopped",
    };
    let texts = output.checks.iter().map(|check| match (check.result, check.duration_ms) {
        (Some(result), Some(duration)) => {
            let result = phrases::check_text(result).trim_start_matches("the check ");
            let review = check.review.as_ref().map_or_else(String::new, review_text);
            format!("{} {result} ({duration}{review})", check.number)
        }
        (_, _) => format!("{} {without_result}", check.number),
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn review_text(review: &ReviewRow) -> String {
    let result = review.result.map(|result| format!(", {}", phrases::review_text(result)));
    let cost = Some(review.total_cost_usd.0).filter(|cost| *cost > Usd::ZERO);
    let cost = cost.map(|cost| format!("; the review cost {cost}"));
    result.into_iter().chain(cost).collect()
}

fn changes(changed: DiffStat, run: &str) -> String {
    let DiffStat { files, insertions, deletions } = changed;
    if files == 0 {
        return "nothing".to_owned();
    }
    let (files, added, deleted) = (phrases::counted(files, "file"), grouped(insertions), grouped(deletions));
    format!("{files}, +{added} -{deleted}; longhaul diff {run}")
}

/// Returns the widths of the columns for the end of an attempt and its remedy. They shrink on a narrow
/// terminal.
fn column_chars() -> (usize, usize) {
    let room = (ENDED_BY_CHARS + THEN_CHARS).saturating_sub(COLUMNS - columns());
    let then = THEN_CHARS.min(room.saturating_sub(ENDED_BY_CHARS)).max(THEN_CHARS_MIN);
    (room.saturating_sub(then).max(ENDED_BY_CHARS_MIN), then)
}

fn table(out: &mut String, output: &ShowOutput, history: &RunHistory, clock: &TimeFormat) {
    let (ended_by_chars, then_chars) = column_chars();
    let end_chars = ended_by_chars + 2 + then_chars;
    let end = |ended_by: &str, then: &str| {
        format!("{:<ended_by_chars$}  {}", cut(ended_by, ended_by_chars), cut(then, then_chars))
    };
    let mut row = |cells: [&str; 6]| {
        let [number, start, strategy, duration, end, cost] = cells;
        let row =
            format!("  {number:>2}  {start:<8}  {strategy:<8}  {duration:<7}  {end:<end_chars$}  {cost:>7}");
        out.push_str(row.trim_end());
        out.push('\n');
    };
    row(["", "", "", "", "", ""]);
    row(["#", "started", "resume", "took", &end("ended by", "then"), "cost"]);
    let mut day = history.started_at().map_or_else(String::new, |start| clock.day(start));
    for (attempt, history) in output.attempts.iter().zip(history.attempts()) {
        let today = clock.day(history.agent_started_at());
        if today != day {
            row(["", &today, "", "", "", ""]);
            day = today;
        }
        let duration = attempt.duration_ms.map_or_else(|| "-".to_owned(), |duration| duration.to_string());
        // No strategy applied to a session that was gone.
        let without_strategy = if attempt.session.source().is_some() { "-" } else { "new" };
        let resume = attempt.strategy.map_or(without_strategy, ResumeStrategy::as_str);
        row([
            &attempt.number.to_string(),
            &clock.time(history.agent_started_at()),
            resume,
            &duration,
            &end(&ended_by(attempt), &then(attempt, history, clock)),
            &attempt.total_cost_usd.0.to_string(),
        ]);
        if let Some(summary) = &attempt.summary {
            let text = cut(&phrases::summary(summary.outcome), end_chars);
            row(["", "", "", "", &text, &summary.total_cost_usd.0.to_string()]);
        }
    }
}

fn ended_by(attempt: &Attempt) -> String {
    match (attempt.fault, &attempt.ended_at) {
        (Some(fault), _) => match &attempt.evidence {
            Some(evidence) => format!("{fault} ({evidence})"),
            None => fault.to_string(),
        },
        (None, Some(_)) => attempt.stop_cause.map_or("itself", phrases::stopped_success).to_owned(),
        (None, None) if attempt.watchdog.is_some() => "watchdog".to_owned(),
        (None, None) => "-".to_owned(),
    }
}

fn then(attempt: &Attempt, history: &AttemptHistory, clock: &TimeFormat) -> String {
    match (attempt.remedy, attempt.waited_ms, history.ended_at.zip(history.planned_wait())) {
        (Some(remedy), Some(waited), _) => {
            let is_suspended = attempt.stop_cause == Some(StopCause::Suspended);
            let is_over = is_suspended || history.is_wait_cut_short();
            phrases::describe_applied(remedy, waited, is_over).unwrap_or_default()
        }
        (Some(_), None, Some((ended_at, planned))) => {
            format!("waits until {}", clock.time(ended_at + planned))
        }
        (_, _, _) => String::new(),
    }
}

fn notes(out: &mut String, attempt: &Attempt) {
    let is_ordinary = matches!(
        (attempt.strategy, attempt.reason),
        (None, _) | (Some(ResumeStrategy::AsIs), Some(StrategyReason::SessionFile(SessionFileState::Ready)))
    );
    if !is_ordinary {
        note(out, attempt, &phrases::strategy_text(attempt.strategy, attempt.reason));
    }
    if attempt.denied_calls > 0 {
        note(out, attempt, &phrases::denied_calls(attempt.denied_calls));
    }
    if !attempt.questions.is_empty() {
        note(out, attempt, &phrases::questions(attempt.questions));
    }
    for task in &attempt.background_stopped {
        note(out, attempt, &describe_stopped_task(task));
    }
    for question in &attempt.answers {
        out.push_str(&format!("    {}\n", phrases::answer_line(question)));
    }
    let deferred = attempt.stalls_deferred;
    match attempt.stop_cause.zip(attempt.stall) {
        Some((cause, stall)) => note(out, attempt, &phrases::stall_text(cause, &stall, deferred)),
        None if deferred > 0 => note(out, attempt, &phrases::deferred_stalls(deferred)),
        // The stopped background work is listed above.
        None if attempt.fault.is_none()
            && !attempt.background_stopped.is_empty()
            && attempt.stop_cause == Some(StopCause::BackgroundStopped) => {}
        // The table had no room for the full text.
        None if ended_by(attempt).chars().count() > column_chars().0 => {
            note(out, attempt, &ended_by(attempt));
        }
        None => {}
    }
    if attempt.leftover_processes > 0 {
        note(out, attempt, &phrases::leftovers_stopped(attempt.leftover_processes));
    }
    if let Some(stop) = &attempt.watchdog {
        note(out, attempt, &phrases::watchdog_stop(stop.silent_ms, stop.processes_stopped));
    }
}

fn note(out: &mut String, attempt: &Attempt, text: &str) {
    out.push_str("\n  ");
    wrap(out, &format!("attempt {}: {text}", attempt.number), 4);
}

fn files(files: &RunFiles) -> String {
    let sizes = [
        ("plan.json", files.plan_bytes),
        ("journal.jsonl", files.journal_bytes),
        ("logs/transcript.jsonl", files.transcript_bytes),
    ];
    let sizes =
        sizes.into_iter().filter_map(|(name, size)| Some(format!("{name} {}", phrases::bytes(size?))));
    let streams: u64 = files.streams.iter().map(|stream| stream.bytes).sum();
    let count = files.streams.len();
    let streams = (count > 0).then(|| match count {
        1 => format!("attempts/{:03}/stream.jsonl {}", files.streams[0].attempt, phrases::bytes(streams)),
        _ => format!("attempts/*/stream.jsonl {} in {count}", phrases::bytes(streams)),
    });
    let diagnostics = (files.diagnostics > 0)
        .then(|| format!("diagnostic/ {}", phrases::counted(files.diagnostics as u64, "text")));
    sizes.chain(streams).chain(diagnostics).collect::<Vec<_>>().join(", ")
}
