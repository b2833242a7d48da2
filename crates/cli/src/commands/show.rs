//! `longhaul show`: one run, and what was decided in each of its attempts. It reads the run's files alone.

use crate::args::{Global, OutputFormat, ShowArgs};
use crate::failure::Failure;
use crate::output::words;
use crate::{home, output};
use longhaul_core::{
    Because, Condensed, Continuity, Fault, Next, OutcomeKind, Questions, Record, Remedy, Run, Rung,
    SessionPlan, Silence, StopWhy, Tally,
};
use longhaul_store::{AnsweredQuestion, Journal, Orphaned, Plan, RunDir, rfc3339};
use serde::Serialize;
use std::fmt::Write;

const TASK_CHARS_MAX: usize = 200;

/// A run, as it is printed.
#[derive(Debug, Serialize)]
struct Shown {
    id: String,
    /// How it ended; nothing if it has not.
    outcome: Option<OutcomeKind>,
    fault: Option<Fault>,
    task: String,
    cwd: String,
    session_id: Option<String>,
    dir: String,
    /// Stated by the agent plus estimated by us.
    total_cost_usd: f64,
    attempts: Vec<Attempt>,
}

/// One attempt.
#[derive(Debug, Serialize)]
struct Attempt {
    number: u32,
    started_at: String,
    session: SessionPlan,
    /// How the history of the conversation reached it; nothing where there was none.
    rung: Option<Rung>,
    because: Option<Because>,
    ended_at: Option<String>,
    fault: Option<Fault>,
    /// Whether it continued the conversation that it was to continue, where that could be read.
    continuity: Option<Continuity>,
    /// How many of its tool calls our guards denied.
    denied: u32,
    /// How its questions were answered.
    questions: Questions,
    /// What it asked; the first hundred.
    answers: Vec<AnsweredQuestion>,
    /// What was done about the fault.
    remedy: Option<Remedy>,
    /// Of the attempt itself.
    total_cost_usd: f64,
    /// What came of asking a model for a summary of older work; nothing if none was asked.
    summary: Option<Summary>,
    /// Why it was stopped; nothing if it was not.
    stopped: Option<StopWhy>,
    /// What was heard and seen of it, if it was stopped because it stalled.
    silence: Option<Silence>,
    /// How often it was silent for too long while something of it worked.
    silences_excused: u32,
    /// That a watchdog ended it, because its supervisor had died and nobody had come back.
    orphaned: Option<Orphaned>,
}

/// A summary that an attempt was to be told.
#[derive(Debug, Serialize)]
struct Summary {
    outcome: Condensed,
    total_cost_usd: f64,
}

/// Carries out the command and returns its exit code.
pub fn show(global: &Global, args: &ShowArgs) -> Result<u8, Failure> {
    let dir = home::find_run(&home::locate()?, &args.run)?;
    let plan = dir.plan().map_err(|error| home::of_store(&error))?;
    let history = Journal::load(&dir.journal_path()).map_err(|error| home::of_store(&error))?;
    let records: Vec<&Record> = history.records().collect();
    let run = Run::replay(records.iter().copied());
    let (state, outcome) = (run.state(), run.state().outcome());
    let shown = Shown {
        id: dir.id().to_string(),
        outcome: outcome.map(|outcome| outcome.kind),
        fault: outcome.and_then(|outcome| outcome.fault),
        task: task(&plan),
        cwd: plan.cwd.as_path().display().to_string(),
        session_id: state.session.as_ref().map(ToString::to_string),
        dir: dir.path().display().to_string(),
        total_cost_usd: dollars(state.tally),
        attempts: attempts(&dir, &records),
    };
    match output::format(global) {
        OutputFormat::Text => output::print_text(&text(&shown)),
        OutputFormat::Json | OutputFormat::StreamJson => {
            let json = serde_json::to_string_pretty(&shown).expect("a run has only string keys");
            output::print_text(&(json + "\n"));
        }
    }
    Ok(0)
}

fn attempts(dir: &RunDir, records: &[&Record]) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for record in records {
        match (record, attempts.last_mut()) {
            (Record::AttemptStarted { at, plan }, _) => attempts.push(Attempt {
                number: plan.attempt,
                started_at: rfc3339(*at),
                session: plan.session.clone(),
                rung: None,
                because: None,
                ended_at: None,
                fault: None,
                continuity: None,
                denied: 0,
                questions: Questions::default(),
                remedy: None,
                // What cannot be read is told by nobody; the rest is.
                answers: dir.attempt(plan.attempt).answers().unwrap_or_default(),
                orphaned: dir.attempt(plan.attempt).orphaned().unwrap_or_default(),
                stopped: None,
                silence: None,
                silences_excused: 0,
                total_cost_usd: 0.0,
                summary: None,
            }),
            (Record::RungTaken { rung, because, .. }, Some(attempt)) => {
                (attempt.rung, attempt.because) = (Some(*rung), Some(*because));
            }
            (Record::Condensed { outcome, tally, .. }, Some(attempt)) => {
                attempt.summary = Some(Summary { outcome: *outcome, total_cost_usd: dollars(*tally) });
            }
            (Record::StopOrdered { why, silence, .. }, Some(attempt)) => {
                attempt.stopped = Some(*why);
                // A harder stop looks no more.
                attempt.silence = attempt.silence.or(*silence);
            }
            (Record::SilenceExcused { .. }, Some(attempt)) => attempt.silences_excused += 1,
            (
                Record::AttemptEnded { at, fault, tally, denied, questions, continuity, next, .. },
                Some(attempt),
            ) => {
                (attempt.denied, attempt.questions) = (*denied, *questions);
                attempt.ended_at = Some(rfc3339(*at));
                (attempt.fault, attempt.continuity) = (*fault, *continuity);
                attempt.total_cost_usd = dollars(*tally);
                if let Next::Attempt { remedy, .. } = next {
                    attempt.remedy = Some(*remedy);
                }
            }
            _ => {}
        }
    }
    attempts
}

fn text(shown: &Shown) -> String {
    let mut out = String::new();
    write_text(&mut out, shown).expect("writing to a string cannot fail");
    out
}

fn write_text(out: &mut String, shown: &Shown) -> std::fmt::Result {
    let outcome = shown.outcome.map_or("not over", OutcomeKind::word);
    let fault = shown.fault.map(|fault| format!(" ({})", words::cause(fault))).unwrap_or_default();
    writeln!(out, "{}", shown.id)?;
    let mut line = |name: &str, value: &str| writeln!(out, "  {name:<12}{value}");
    line("outcome", &format!("{outcome}{fault}"))?;
    line("task", &shown.task)?;
    line("directory", &shown.cwd)?;
    line("session", shown.session_id.as_deref().unwrap_or("none"))?;
    line("cost", &format!("${:.4}", shown.total_cost_usd))?;
    line("files", &shown.dir)?;
    writeln!(out, "\n  {:>7}  {:<24}  {:<34}  {:<22}  cost", "attempt", "began", "session", "ended by")?;
    for attempt in &shown.attempts {
        let ended = match (attempt.fault, &attempt.ended_at) {
            (Some(fault), _) => fault.word(),
            (None, Some(_)) => "itself",
            (None, None) if attempt.orphaned.is_some() => "watchdog",
            (None, None) => "-",
        };
        writeln!(
            out,
            "  {:>7}  {:<24}  {:<34}  {:<22}  ${:.4}",
            attempt.number,
            attempt.started_at,
            words::rung(attempt.rung, attempt.because),
            ended,
            attempt.total_cost_usd
        )?;
        if let Some(summary) = &attempt.summary {
            let words = words::summary(summary.outcome);
            writeln!(out, "  {:>7}  {words:<84}  ${:.4}", "", summary.total_cost_usd)?;
        }
    }
    for attempt in &shown.attempts {
        if attempt.denied > 0 {
            writeln!(out, "\n  attempt {}: {}", attempt.number, words::denied(attempt.denied))?;
        }
        if !attempt.questions.are_none() {
            writeln!(out, "\n  attempt {}: {}", attempt.number, words::questions(attempt.questions))?;
        }
        for answered in &attempt.answers {
            writeln!(out, "    {}", words::answered(answered))?;
        }
        let excused = attempt.silences_excused;
        let stalled = attempt.stopped.zip(attempt.silence);
        let silence = match stalled {
            Some((why, silence)) => Some(words::stalled(why, &silence, excused)),
            None => (excused > 0).then(|| words::excused(excused)),
        };
        if let Some(words) = silence {
            writeln!(out, "\n  attempt {}: {words}", attempt.number)?;
        }
        if let Some(orphaned) = &attempt.orphaned {
            writeln!(out, "\n  attempt {}: {}", attempt.number, words::orphaned(orphaned))?;
        }
    }
    Ok(())
}

fn dollars(tally: Tally) -> f64 {
    (tally.cost + tally.cost_estimated).dollars()
}

/// The beginning of the task, on one line.
fn task(plan: &Plan) -> String {
    let line = plan.prompt.text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TASK_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
