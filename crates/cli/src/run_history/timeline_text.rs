//! Formats a run's timeline as plain sentences: one or two lines for an entry, with its time of day, the date
//! if it changed, and the elapsed time of the run.

use super::{AttemptsEnded, NextStep, TimelineEntry, TimelineEvent, WorkDone};
use crate::output::phrases::{self, counted};
use crate::output::time::{TimeFormat, elapsed};
use crate::output::wrap::wrap;
use longhaul::describe_stopped_task;
use longhaul_core::{
    CancelSource, Dollars, Exit, Fault, Moment, Outcome, OutcomeKind, PromptKind, Questions, RecoveryFinding,
    ResumeRequest, Rfc3339, SessionPlan, SettingChange, Span, StopCause, Usd,
};

// `22:04:10  +1h02m  `.
const INDENT: usize = 18;
// An agent needs this long to start and to be rejected by its API.
const BRIEF_ATTEMPT_MAX: Span = Span::from_mins(1);
// A supervisor that is replaced immediately leaves no gap.
const GAP_MIN: Span = Span::from_secs(1);

/// Reason why a supervisor ended without an outcome, if it was not killed.
pub const DISK_FULL: &str = "the disk was full, so the supervisor stopped";

pub fn text(entries: &[TimelineEntry], clock: &TimeFormat) -> String {
    let entries = entries.iter().map(|entry| (entry.at.0, entry.elapsed_ms, sentence(entry, clock)));
    timeline_lines(entries, clock)
}

/// Formats sentences, each with its time and the time since the start, as lines that each end with a newline.
pub fn timeline_lines(entries: impl Iterator<Item = (Moment, Span, String)>, clock: &TimeFormat) -> String {
    let (mut out, mut day) = (String::new(), String::new());
    for (at, since_start, sentence) in entries {
        let today = clock.day(at);
        if today != day {
            out.push_str(&format!("{today}\n"));
            day = today;
        }
        out.push_str(&format!("{}  {:<8}", clock.time(at), elapsed(since_start)));
        wrap(&mut out, &sentence, INDENT);
    }
    out
}

/// Formats the next step as lines that each end with a newline.
pub fn next_text(next: &NextStep) -> String {
    let mut out = "next: ".to_owned();
    wrap(&mut out, &next.text, 6);
    for command in &next.commands {
        out.push_str(&format!("      {command}\n"));
    }
    out
}

/// Describes changed settings, as a clause: `: permission mode default -> acceptEdits, budget $1 -> $3`.
fn describe_changes(changes: &[SettingChange]) -> String {
    let value = |setting: &str, value: &str| {
        let dollars = value.parse().ok().filter(|_| setting == "budget");
        dollars.map_or_else(|| value.to_owned(), phrases::dollars)
    };
    let changes = changes.iter().map(|SettingChange { setting, from, to }| {
        format!("{} {} -> {}", setting.replace('_', " "), value(setting, from), value(setting, to))
    });
    let text = changes.collect::<Vec<_>>().join(", ");
    if text.is_empty() { text } else { format!(": {text}") }
}

pub fn sentence(entry: &TimelineEntry, clock: &TimeFormat) -> String {
    match &entry.kind {
        TimelineEvent::Started { session } => match session {
            SessionPlan::New(_) => "started in a new session".to_owned(),
            SessionPlan::Resume(id) => format!("started in session {id}"),
            SessionPlan::Fork { from, .. } => format!("started on a fork of session {from}"),
        },
        TimelineEvent::Reopened { request, finished_ms, changes } => {
            let purpose = match request {
                ResumeRequest::Continue => "to continue",
                ResumeRequest::RepeatTask => "to repeat its task",
                ResumeRequest::Prompt(_) => "with a new prompt",
                ResumeRequest::Workflow(_) => "by its workflow",
            };
            let changed = describe_changes(changes);
            format!("resumed {purpose} ({finished_ms} after it finished){changed}")
        }
        TimelineEvent::AttemptStarted { attempt, strategy, reason, prompt } => {
            let prompt = describe(*prompt).map(|prompt| format!("; asked {prompt}")).unwrap_or_default();
            format!("attempt {attempt} started: {}{prompt}", phrases::strategy_text(*strategy, *reason))
        }
        TimelineEvent::Summary { result: outcome, duration_ms, total_cost_usd, .. } => {
            let cost =
                cost(*total_cost_usd, Dollars::default()).map(|cost| format!(", {cost}")).unwrap_or_default();
            format!("{} ({duration_ms}{cost})", phrases::summary(*outcome))
        }
        TimelineEvent::AttemptEnded(ended) => describe_attempts_end(ended, entry.at.0, entry.until.0, clock),
        TimelineEvent::LimitReached { limit, threshold, .. } => phrases::limit_text(*limit, *threshold),
        TimelineEvent::PromptSent { prompt, .. } => match describe(*prompt) {
            Some(prompt) => format!("asked the agent {prompt}"),
            None => "asked the agent to continue".to_owned(),
        },
        TimelineEvent::AgentStopped { stops, done_claims, prompts, .. } => {
            stops_text(*stops, *done_claims, *prompts)
        }
        TimelineEvent::StallDeferred { times, stall, .. } => {
            let text = stall.describe(StopCause::Stalled);
            format!(
                "the agent was silent, but its processes were busy; stall deferred{}: {text}",
                many(*times)
            )
        }
        TimelineEvent::WatchdogStopped { silent_ms, processes_stopped, .. } => {
            phrases::watchdog_stop(*silent_ms, *processes_stopped)
        }
        TimelineEvent::Recovered { finding, disk_was_full, unsupervised_ms, idle_ms, changes, .. } => {
            let changes = describe_changes(changes);
            let changes = if changes.is_empty() { changes } else { format!("; changed{changes}") };
            if *finding == RecoveryFinding::Suspended {
                return format!("a new supervisor took over the suspended run{changes}");
            }
            let unsupervised = unsupervised_ms.filter(|span| *span >= GAP_MIN);
            let unsupervised =
                unsupervised.map(|span| format!(", and the run had no supervisor for up to {span}"));
            // The process of a check or a summary outlives the supervisor.
            let may_be_idle = !matches!(finding, RecoveryFinding::Checking | RecoveryFinding::Summarizing);
            let idle = (may_be_idle && *idle_ms >= GAP_MIN)
                .then(|| format!(", {idle_ms} of it with nothing running"));
            format!(
                "{}{}{}; a new supervisor {}{changes}",
                if *disk_was_full { DISK_FULL } else { "the supervisor died" },
                unsupervised.unwrap_or_default(),
                idle.unwrap_or_default(),
                phrases::describe_finding(*finding)
            )
        }
        TimelineEvent::Downtime { duration_ms: ms } => phrases::downtime(*ms),
        TimelineEvent::CheckEnded { check, result, duration_ms } => {
            let result = phrases::check_text(*result).trim_start_matches("the check ");
            format!("check {check} {result} ({duration_ms})")
        }
        TimelineEvent::ReviewEnded { check, result, duration_ms, retry_at, .. } => {
            let again = retry_at.map_or("", |_| "; it starts again");
            format!("check {check}: {} ({duration_ms}){again}", phrases::review_text(*result))
        }
        TimelineEvent::Cancelled { source, in_wait } => describe_cancel(*source, *in_wait).to_owned(),
        TimelineEvent::Suspended { source } => format!("{} suspended the run", source.signal()),
        TimelineEvent::Finished { outcome, attempts, wall_ms, waiting_ms, downtime_ms, total_cost_usd } => {
            let spans = [(waiting_ms, "waiting"), (downtime_ms, "asleep or without a supervisor")];
            let parts = spans.into_iter().filter(|(span, _)| **span > Span::ZERO);
            let parts: Vec<String> = parts.map(|(span, state)| format!("{span} of it {state}")).collect();
            let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
            format!(
                "finished: {} after {} in {wall_ms}{parts}, {}",
                describe_outcome(*outcome),
                counted((*attempts).into(), "attempt"),
                cost(*total_cost_usd, Dollars::default()).unwrap_or_else(|| "$0".to_owned()),
            )
        }
    }
}

/// Describes the ends of attempts from `at` to `until`, as a sentence.
pub fn describe_attempts_end(ended: &AttemptsEnded, at: Moment, until: Moment, clock: &TimeFormat) -> String {
    let count = ended.last_attempt - ended.attempt + 1;
    let name = match count {
        1 => format!("attempt {}", ended.attempt),
        _ => format!("attempts {} to {}", ended.attempt, ended.last_attempt),
    };
    let proof = ended.evidence.as_ref().map(|proof| format!(" ({proof})")).unwrap_or_default();
    let cause = match ended.fault {
        Some(Fault::Crashed) if ended.exit == Some(Exit::NeverSpawned) => {
            format!("the agent could not be started{proof}")
        }
        Some(fault) => format!("{}{proof}", phrases::attempt_cause(fault, ended.stop_cause)),
        None if ended.claimed_done => "the agent reports that it is done".to_owned(),
        None => match (ended.exit, ended.stop_cause) {
            (Some(Exit::NeverSpawned), _) => "it was not started".to_owned(),
            (_, Some(cause)) => phrases::stopped_success(cause).to_owned(),
            (_, None) => "the agent exited on its own".to_owned(),
        },
    };
    let mut parts = vec![cause];
    if count > 1 {
        parts[0].push_str(&format!(", {count} attempts over {}", until.since(at)));
    }
    if ended.claimed_done
        && let Some(cause) = ended.stop_cause
    {
        parts.push(phrases::stopped_success(cause).to_owned());
    }
    if ended.killed {
        parts.push("it had to be killed".to_owned());
    }
    if ended.leftover_processes > 0 {
        parts.push(phrases::leftovers_stopped(ended.leftover_processes));
    }
    parts.extend(ended.background_stopped.iter().map(describe_stopped_task));
    if ended.denied_calls > 0 {
        parts.push(phrases::denied_calls(ended.denied_calls));
    }
    if ended.questions > 0 {
        parts.push(phrases::questions(Questions { answered: ended.questions, by_default: 0 }));
    }
    parts.extend(describe_follow_up(ended, until, count, clock));
    let parts: Vec<String> = work(ended.work).into_iter().chain(parts).collect();
    format!("{name}: {}", parts.join("; "))
}

fn describe_follow_up(ended: &AttemptsEnded, at: Moment, count: u32, clock: &TimeFormat) -> Option<String> {
    let remedy = ended.remedy?;
    if let Some(Rfc3339(until)) = ended.waiting_until {
        return Some(phrases::describe_next(remedy, &clock.near(until, at), until.since(at)));
    }
    let waited = ended.waited_ms?;
    // A later entry names the takeover.
    let is_over = ended.wait_cut_short || ended.stop_cause == Some(StopCause::Suspended);
    let planned = ended.planned_wait_ms.unwrap_or_default();
    // A sweep and a start take up to a second.
    let late = waited.millis() > planned.millis() + planned.millis() / 10 + 1000;
    let planned = if late { format!(", planned: {planned}") } else { String::new() };
    let applied = match count {
        1 => phrases::describe_applied(remedy, waited, is_over)?,
        _ => format!("waited {waited} in total"),
    };
    Some(applied + &planned)
}

/// Describes the work of an attempt: `12 turns, 34 tool calls in 41m, $1.20`. `None` for a brief attempt
/// without any work.
fn work(work: WorkDone) -> Option<String> {
    let turns = (work.turns > 0).then(|| counted(work.turns.into(), "turn"));
    let calls = work.tool_calls.filter(|calls| *calls > 0).map(|calls| counted(calls, "tool call"));
    let done: Vec<String> = turns.into_iter().chain(calls).collect();
    let cost = cost(work.total_cost_usd, work.estimated_cost_usd).map(|cost| format!(", {cost}"));
    if done.is_empty() && cost.is_none() && work.duration_ms < BRIEF_ATTEMPT_MAX {
        return None;
    }
    let done = if done.is_empty() { "nothing finished".to_owned() } else { done.join(", ") };
    Some(format!("{done} in {}{}", work.duration_ms, cost.unwrap_or_default()))
}

/// Formats a cost: `$1.20`, or `$1.20 (partly estimated)`. `None` if it is zero.
fn cost(Dollars(amount): Dollars, Dollars(estimated): Dollars) -> Option<String> {
    if amount == Usd::ZERO {
        return None;
    }
    let partly = if estimated > Usd::ZERO { " (partly estimated)" } else { "" };
    Some(format!("{amount}{partly}"))
}

/// Describes a prompt as an infinitive clause, or returns `None` for the prompts that start or continue every
/// agent.
fn describe(prompt: PromptKind) -> Option<&'static str> {
    match prompt {
        PromptKind::WrapUp(_) => Some("to save its work"),
        PromptKind::LimitRaised(_) => Some("to continue under the raised limit"),
        PromptKind::CheckFailed(_) => Some("to fix what the check reported"),
        PromptKind::ConfirmDone => Some("to confirm that the work is done"),
        PromptKind::Task
        | PromptKind::TaskAfterLoss(_)
        | PromptKind::FollowUp
        | PromptKind::Continue(_)
        | PromptKind::Nudge(_)
        | PromptKind::KeepGoing(_) => None,
    }
}

fn stops_text(stops: u32, done_claims: u32, prompts: u32) -> String {
    let done_claims = match done_claims {
        0 => String::new(),
        1 => ", and reported that the work is done".to_owned(),
        _ => format!(", and reported {done_claims} times that the work is done"),
    };
    let prompts = match (stops, prompts) {
        (_, 0) => String::new(),
        (stops, prompts) if stops == prompts => "; asked it to continue".to_owned(),
        (_, prompts) => format!("; asked it to continue{}", many(prompts)),
    };
    format!("the agent stopped{}{done_claims}{prompts}", many(stops))
}

/// Formats how often something happened. Empty for once.
fn many(times: u32) -> String {
    match times {
        1 => String::new(),
        2 => " twice".to_owned(),
        _ => format!(" {times} times"),
    }
}

fn describe_cancel(source: CancelSource, in_wait: bool) -> &'static str {
    match source {
        CancelSource::Person | CancelSource::PersonNow if in_wait => "cancelled while no agent was running",
        CancelSource::Person => "cancelled; stopping what runs",
        CancelSource::PersonNow => "cancelled immediately",
        CancelSource::Sigterm => "SIGTERM cancelled the run",
        CancelSource::Sighup => "SIGHUP cancelled the run",
    }
}

/// Describes an outcome: `over_budget (the budget stopped the run)`.
pub fn describe_outcome(outcome: Outcome) -> String {
    let reason = outcome_reason(outcome).map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("{}{reason}", outcome.kind)
}

/// Describes how a run finished, with the reason that its supervisor reported if there is one.
pub fn describe_finish(outcome: Outcome, errors: &[String]) -> String {
    errors.first().map_or_else(|| describe_outcome(outcome), |reason| format!("{} ({reason})", outcome.kind))
}

pub fn outcome_reason(outcome: Outcome) -> Option<String> {
    match (outcome.limit, outcome.fault) {
        (Some(limit), _) => Some(limit.describe_stop()),
        (None, Some(Fault::Unfinished)) if outcome.kind == OutcomeKind::CheckFailed => {
            Some("the reviewer gave no verdict".to_owned())
        }
        (None, fault) => fault.map(|fault| fault.describe().to_owned()),
    }
}
