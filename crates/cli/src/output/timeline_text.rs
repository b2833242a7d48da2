//! A run's timeline in plain sentences: an entry a line or two, with its clock time, the day where it is another one, and
//! how far the run was.

use super::phrases::{self, plural};
use super::time::{TimeFormat, elapsed};
use super::wrap::wrap;
use crate::run_history::{AttemptEnded, NextStep, TimelineEntry, TimelineEvent, WorkDone};
use longhaul::stopped_words;
use longhaul_core::{
    CancelSource, Moment, Outcome, PromptKind, RecoveryFinding, ResumeRequest, SessionPlan, SettingChange,
    Span, StopCause, Usd,
};

// `22:04:10  +1h02m  `.
const INDENT: usize = 18;
// An agent takes so long to start, and to be told by its API that it is not served.
const BRIEF: Span = Span::from_mins(1);
// A supervisor that is replaced at once leaves no gap.
const BRIEFLY: Span = Span::from_secs(1);

/// The entries as text, each line ended.
pub fn text(entries: &[TimelineEntry], clock: &TimeFormat) -> String {
    let mut out = String::new();
    let mut day = String::new();
    for entry in entries {
        let today = clock.day(entry.at);
        if today != day {
            out.push_str(&format!("{today}\n"));
            day = today;
        }
        out.push_str(&format!("{}  {:<8}", clock.time(entry.at), elapsed(entry.elapsed_ms)));
        wrap(&mut out, &sentence(entry, clock), INDENT);
    }
    out
}

/// What comes next as text, each line ended.
pub fn next_text(next: &NextStep) -> String {
    let mut out = "next: ".to_owned();
    wrap(&mut out, &next.text, 6);
    for command in &next.commands {
        out.push_str(&format!("      {command}\n"));
    }
    out
}

/// The settings that a person changed, as a clause: `: permission mode default -> acceptEdits, budget $1 -> $3`.
fn changed(changes: &[SettingChange]) -> String {
    let value = |setting: &str, value: &str| {
        let dollars = value.parse().ok().filter(|_| setting == "budget");
        dollars.map_or_else(|| value.to_owned(), phrases::dollars)
    };
    let words = changes.iter().map(|SettingChange { setting, from, to }| {
        format!("{} {} -> {}", setting.replace('_', " "), value(setting, from), value(setting, to))
    });
    let words = words.collect::<Vec<_>>().join(", ");
    if words.is_empty() { words } else { format!(": {words}") }
}

/// One entry in a sentence.
pub fn sentence(entry: &TimelineEntry, clock: &TimeFormat) -> String {
    match &entry.kind {
        TimelineEvent::Started { session } => match session {
            SessionPlan::New(_) => "started in a new session".to_owned(),
            SessionPlan::Resume(id) => format!("began, in session {id}"),
            SessionPlan::Fork { from, .. } => format!("started on a fork of session {from}"),
        },
        TimelineEvent::Reopened { ask, finished_ms: finished_ms, changes } => {
            let said = match ask {
                ResumeRequest::Continue => "to continue",
                ResumeRequest::RepeatTask => "with its task once more",
                ResumeRequest::Prompt(_) => "with a new request",
            };
            let changed = changed(changes);
            format!("resumed {said} ({finished_ms} after it finished){changed}")
        }
        TimelineEvent::AttemptStarted { attempt, strategy: rung, reason: because, say } => {
            let told = describe(*say).map(|told| format!("; it was told {told}")).unwrap_or_default();
            format!("attempt {attempt} began: {}{told}", phrases::strategy_text(*rung, *because))
        }
        TimelineEvent::Summary { outcome, duration_ms: duration_ms, total_cost_usd, .. } => {
            let cost = cost(*total_cost_usd, 0.0).map(|cost| format!(", {cost}")).unwrap_or_default();
            format!("{} ({duration_ms}{cost})", phrases::summary(*outcome))
        }
        TimelineEvent::AttemptsEnded(ended) => ending_over(ended, (entry.at, entry.until), clock),
        TimelineEvent::LimitReached { limit, reach, .. } => phrases::limit_words(*limit, *reach),
        TimelineEvent::PromptSent { say, .. } => match describe(*say) {
            Some(told) => format!("the agent was told {told}"),
            None => "asked the agent to continue".to_owned(),
        },
        TimelineEvent::AgentStopped { stops, done_claims: claims, prompts: told, .. } => {
            stops_words(*stops, *claims, *told)
        }
        TimelineEvent::StallDeferred { times, stall: silence, .. } => {
            let words = silence.describe(StopCause::Stalled);
            format!(
                "the agent was silent and something of it worked, so it had more time{}: {words}",
                many(*times)
            )
        }
        TimelineEvent::WatchdogStopped { silent_ms, processes_stopped: processes_ended, .. } => {
            let ended = processes_ended
                .map(|count| format!(", with {count} {}", plural(count, "process", "processes")))
                .unwrap_or_default();
            format!(
                "its supervisor had died, nobody had come back, and nothing was written for {silent_ms}: a watchdog ended the agent{ended}"
            )
        }
        TimelineEvent::Recovered { remains, unsupervised_ms, idle_ms, changes, .. } => {
            if *remains == RecoveryFinding::Suspended {
                return format!("{}{}", phrases::recovered(*remains), changed(changes));
            }
            let alone = unsupervised_ms.filter(|alone| *alone >= BRIEFLY);
            let alone = alone.map(|alone| format!(", and nobody supervised the run for up to {alone}"));
            let idle = (*idle_ms >= BRIEFLY).then(|| format!(", {idle_ms} of it with nothing running"));
            format!(
                "the supervisor had died{}{}; a new one {}{}",
                alone.unwrap_or_default(),
                idle.unwrap_or_default(),
                phrases::recovered(*remains),
                changed(changes)
            )
        }
        TimelineEvent::Downtime { duration_ms: ms } => {
            format!("nothing ran for {ms}: the machine was asleep or the run had no supervisor")
        }
        TimelineEvent::CheckEnded { check, result, duration_ms: duration_ms } => {
            let result = phrases::check_words(*result).trim_start_matches("the check ");
            format!("check {check} {result} ({duration_ms})")
        }
        TimelineEvent::Cancelled { source: by } => cancelled(*by).to_owned(),
        TimelineEvent::Suspended { source: by } => format!("{} suspended the run", by.signal()),
        TimelineEvent::Finished { outcome, attempts, wall_ms, waiting_ms, downtime_ms, total_cost_usd } => {
            let spans = [(waiting_ms, "waiting"), (downtime_ms, "asleep or without a supervisor")];
            let parts = spans.into_iter().filter(|(span, _)| **span > Span::ZERO);
            let parts: Vec<String> = parts.map(|(span, what)| format!("{span} of it {what}")).collect();
            let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
            format!(
                "finished: {} after {attempts} {} in {wall_ms}{parts}, {}",
                outcome_words(*outcome),
                plural(*attempts, "attempt", "attempts"),
                cost(*total_cost_usd, 0.0).unwrap_or_else(|| "$0".to_owned()),
            )
        }
    }
}

/// How one attempt ended at `at`, in a sentence.
pub fn ending(ended: &AttemptEnded, at: Moment, clock: &TimeFormat) -> String {
    ending_over(ended, (at, at), clock)
}

fn ending_over(ended: &AttemptEnded, (at, until): (Moment, Moment), clock: &TimeFormat) -> String {
    let count = ended.last_attempt - ended.attempt + 1;
    let name = match count {
        1 => format!("attempt {}", ended.attempt),
        _ => format!("attempts {} to {}", ended.attempt, ended.last_attempt),
    };
    let proof = ended.evidence.as_ref().map(|proof| format!(" ({proof})")).unwrap_or_default();
    let how = match ended.fault {
        Some(fault) => format!("{}{proof}", phrases::cause_of(fault, ended.stop_cause)),
        None if ended.claimed_done => "the agent says that it is done".to_owned(),
        None => "the agent ended by itself".to_owned(),
    };
    let mut parts = vec![how];
    if count > 1 {
        parts[0].push_str(&format!(", {count} attempts over {}", until.since(at)));
    }
    if ended.killed {
        parts.push("it had to be killed".to_owned());
    }
    if ended.leftover_processes > 0 {
        let processes = plural(ended.leftover_processes, "process", "processes");
        parts.push(format!("ended {} {processes} that it left behind", ended.leftover_processes));
    }
    parts.extend(ended.background_stopped.iter().map(stopped_words));
    if ended.denied_calls > 0 {
        parts.push(phrases::denied(ended.denied_calls));
    }
    if ended.questions > 0 {
        let questions = plural(ended.questions, "question was", "questions were");
        parts.push(format!("{} {questions} answered", ended.questions));
    }
    parts.extend(followed(ended, until, count, clock));
    let parts: Vec<String> = work(ended.work).into_iter().chain(parts).collect();
    format!("{name}: {}", parts.join("; "))
}

/// What followed a failure.
fn followed(ended: &AttemptEnded, at: Moment, count: u32, clock: &TimeFormat) -> Option<String> {
    let remedy = ended.remedy?;
    if let Some(until) = ended.waiting_until {
        return Some(phrases::about_to(remedy, &clock.near(until, at), until.since(at)));
    }
    let waited = ended.waited_ms?;
    let planned = ended.planned_wait_ms.unwrap_or_default();
    // A second is what a sweep and a start take.
    let late = waited.millis() > planned.millis() + planned.millis() / 10 + 1000;
    let planned = if late { format!(", planned: {planned}") } else { String::new() };
    Some(match count {
        1 => format!("{}{planned}", phrases::remedied(remedy, waited)),
        _ => format!("waited {waited} in total{planned}"),
    })
}

/// `12 turns, 34 tool calls in 41m, $1.20`; nothing for an attempt that came to nothing at once.
fn work(work: WorkDone) -> Option<String> {
    let turns = (work.turns > 0).then(|| format!("{} {}", work.turns, plural(work.turns, "turn", "turns")));
    let calls = work
        .tool_calls
        .filter(|calls| *calls > 0)
        .map(|calls| format!("{calls} tool {}", if calls == 1 { "call" } else { "calls" }));
    let done: Vec<String> = turns.into_iter().chain(calls).collect();
    let cost = cost(work.total_cost_usd, work.estimated_cost_usd).map(|cost| format!(", {cost}"));
    if done.is_empty() && cost.is_none() && work.duration_ms < BRIEF {
        return None;
    }
    let done = if done.is_empty() { "nothing finished".to_owned() } else { done.join(", ") };
    Some(format!("{done} in {}{}", work.duration_ms, cost.unwrap_or_default()))
}

/// `$1.20`, or `$1.20 (partly estimated)`; nothing for nothing.
fn cost(total: f64, estimated: f64) -> Option<String> {
    let amount = Usd::from_dollars(total).filter(|amount| *amount > Usd::ZERO)?;
    let partly = if estimated > 0.0 { " (partly estimated)" } else { "" };
    Some(format!("{}{partly}", phrases::money(amount)))
}

/// What an agent was told, behind "it was told"; nothing for what every agent is told that begins or goes on.
fn describe(say: PromptKind) -> Option<&'static str> {
    match say {
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

fn stops_words(stops: u32, claims: u32, told: u32) -> String {
    let claims = match claims {
        0 => String::new(),
        1 => ", and said that the work is finished".to_owned(),
        _ => format!(", and said {claims} times that the work is finished"),
    };
    let told = match (stops, told) {
        (_, 0) => String::new(),
        (stops, told) if stops == told => "; it was told to go on".to_owned(),
        (_, told) => format!("; it was told to go on{}", many(told)),
    };
    format!("the agent stopped{}{claims}{told}", many(stops))
}

/// Nothing for once, else how often.
fn many(times: u32) -> String {
    match times {
        1 => String::new(),
        2 => " twice".to_owned(),
        _ => format!(" {times} times"),
    }
}

fn cancelled(by: CancelSource) -> &'static str {
    match by {
        CancelSource::Person => "cancelled; waiting for the agent's result",
        CancelSource::PersonNow => "cancelled immediately",
        CancelSource::Sigterm => "SIGTERM cancelled the run",
        CancelSource::Sighup => "SIGHUP cancelled the run",
    }
}

/// `over_budget, the budget is used up`.
pub fn outcome_words(outcome: Outcome) -> String {
    let why = match (outcome.limit, outcome.fault) {
        (Some(limit), _) => Some(format!("{} is exhausted", limit.describe())),
        (None, Some(fault)) => Some(phrases::fault_text(fault).to_owned()),
        (None, None) => None,
    };
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{}{why}", outcome.kind)
}
