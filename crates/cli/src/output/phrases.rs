//! Describes a run's decisions in plain text: what happened, what Longhaul did, and what comes next.

mod faults;
mod remedies;

pub use faults::{advice, advice_of, attempt_cause, evidence, stopped_success};
pub use remedies::{describe_applied, describe_next};

use super::{envelope_text, time};
use crate::figures::LimitStatus;
use crate::hints::channel_hint;
use longhaul::{NotifyFailure, StepView};
use longhaul_core::{
    AfterAttempt, AnsweredQuestion, AttemptEnd, CheckResult, Fault, Limit, LimitThreshold, PhaseKind, Policy,
    PromptKind, Questions, Record, RecoveryFinding, ResumeStrategy, ReviewResult, RunId, SessionFileState,
    SessionPlan, Span, StallReport, StopCause, StopLevel, StrategyReason, SummaryResult, Usd,
};
use longhaul_store::OsText;

/// Returns a record as a sentence, or `None` if it is not printed. `view` is the run after the step;
/// `verbose` adds the records that only `--verbose` prints.
pub fn headline(record: &Record, view: StepView<'_>, verbose: bool) -> Option<String> {
    let (at, state, policy) = (view.at, view.run.state(), view.policy);
    let detail = |text: String| verbose.then_some(text);
    match record {
        Record::AttemptStarted { plan } => {
            let session = match &plan.session {
                SessionPlan::New(id) => format!("new session {id}"),
                SessionPlan::Resume(id) => format!("resuming session {id}"),
                SessionPlan::Fork { from, to } => format!("forking session {from} as {to}"),
            };
            detail(format!("attempt {}: {session}", plan.attempt))
        }
        Record::AttemptSpawned { process } => detail(format!("the agent runs as process {}", process.pid)),
        Record::SessionOpened { session } => detail(format!("session {session} is open")),
        Record::ProgressMade { .. } => detail("progress made; the retry count is reset".to_owned()),
        Record::InputClosed => detail("the agent is idle; closing its input".to_owned()),
        Record::AttemptEnded(AttemptEnd { fault: None, .. }) => {
            detail("the agent finished its work".to_owned())
        }
        Record::AttemptEnded(AttemptEnd {
            fault: Some(fault),
            result,
            next: AfterAttempt::Finish(_),
            ..
        }) => detail(fault.describe_with(result.as_ref()).to_owned()),
        // The suspension is printed already, and no retry follows.
        Record::AttemptEnded(AttemptEnd { fault: Some(Fault::Interrupted), .. })
            if state.suspended_by.is_some() =>
        {
            None
        }
        Record::AttemptEnded(AttemptEnd {
            fault: Some(fault),
            result,
            next: AfterAttempt::Attempt { at: until, remedy, .. },
            ..
        }) => {
            let fault = fault.describe_with(result.as_ref());
            let next = describe_next(*remedy, &time::future_time(*until), until.since(at));
            Some(format!("{fault}; {next}"))
        }
        Record::StopOrdered { cause, level, stall } => Some(stop_text(*cause, *level, *stall, policy)),
        Record::StallDeferred { until, stall } => {
            let text = stall.describe(StopCause::Stalled);
            Some(format!("{text}; waiting until {} (for {})", time::future_time(*until), until.since(at)))
        }
        Record::Swept { stopped_processes: ended @ 1.. } => {
            Some(format!("{} of the agent", leftovers_stopped(*ended)))
        }
        Record::LimitReached { limit, threshold, .. } => Some(limit_text(*limit, *threshold)),
        Record::CheckStarted => Some("the agent reports that it is done; running the checks".to_owned()),
        Record::CheckEnded { result } => Some(check_text(*result).to_owned()),
        Record::CheckStopOrdered { cause: StopCause::TimedOut } => {
            Some("the check timed out; stopping it".to_owned())
        }
        Record::ReviewStarted { .. } => Some("a model reviews the work".to_owned()),
        Record::ReviewEnded { result, retry_at: None, .. } => Some(review_text(*result)),
        Record::ReviewEnded { result, retry_at: Some(_), .. } => {
            Some(format!("{}; the reviewer starts again", review_text(*result)))
        }
        Record::PromptSent { prompt: PromptKind::WrapUp(_), .. } => {
            Some("asked the agent to save its work".to_owned())
        }
        Record::AgentStopped { claimed_done: true, .. } => {
            Some("the agent reports that the work is done".to_owned())
        }
        Record::AgentStopped { .. } => Some("the agent stopped".to_owned()),
        Record::SuspendOrdered { source } => Some(format!("{}: suspending the run", source.signal())),
        Record::Recovered { finding: RecoveryFinding::Suspended, .. } => {
            Some(describe_finding(RecoveryFinding::Suspended).to_owned())
        }
        Record::Recovered { finding, .. } => {
            Some(format!("the run had no supervisor; a new supervisor {}", describe_finding(*finding)))
        }
        Record::Downtime { duration } => Some(downtime(*duration)),
        Record::ResumeStrategyChosen { strategy, reason } => {
            let repair = match (strategy, reason) {
                (ResumeStrategy::Relocate | ResumeStrategy::Repair, StrategyReason::SessionFile(found)) => {
                    repair_text(*found)
                }
                (_, _) => None,
            };
            repair.map(str::to_owned).or_else(|| detail(strategy_text(Some(*strategy), Some(*reason))))
        }
        Record::SummaryStarted => detail("asking a model for a summary of older work".to_owned()),
        Record::SummaryStopOrdered { cause: StopCause::TimedOut } => {
            let timeout = policy.handoff_summary.as_ref()?.timeout;
            Some(format!("the summary timed out after {timeout}; stopping it"))
        }
        Record::SummaryEnded { result: result @ SummaryResult::Failed(_), .. } => Some(summary(*result)),
        Record::SummaryEnded { result, .. } => detail(summary(*result)),
        Record::RunFinished { outcome } => detail(format!("the run finished: {}", outcome.kind)),
        Record::RunReopened { .. } => detail("the run was resumed".to_owned()),
        _ => None,
    }
}

/// Describes downtime. It does not say that nothing ran: a background command may have, or the agent of a frozen
/// supervisor.
pub fn downtime(duration: Span) -> String {
    format!("downtime of {duration}: the machine was asleep, or no supervisor was running")
}

pub fn review_text(result: ReviewResult) -> String {
    match result {
        ReviewResult::Passed => "the reviewer found nothing missing".to_owned(),
        ReviewResult::Failed(0) => "the reviewer says that the task is not complete".to_owned(),
        ReviewResult::Failed(1) => "the reviewer found 1 thing missing".to_owned(),
        ReviewResult::Failed(missing) => format!("the reviewer found {missing} things missing"),
        ReviewResult::NoVerdict(Fault::Unfinished) => "the reviewer's answer has no verdict".to_owned(),
        ReviewResult::NoVerdict(fault) => format!("the reviewer gave no verdict: {}", fault.describe()),
    }
}

pub fn phase_words(phase: PhaseKind) -> &'static str {
    match phase {
        PhaseKind::New | PhaseKind::Starting => "starting the agent",
        PhaseKind::Summarizing => "summarizing older work",
        PhaseKind::Running => "working",
        PhaseKind::Closing => "finishing",
        PhaseKind::Stopping => "stopping the agent",
        PhaseKind::Sweeping => "stopping leftover processes",
        PhaseKind::Checking => "checking the work",
        PhaseKind::Waiting => "waiting",
        PhaseKind::Suspended => "suspended",
        PhaseKind::Finished => "finished",
    }
}

/// Describes what a new supervisor found and did immediately.
pub fn describe_finding(finding: RecoveryFinding) -> &'static str {
    match finding {
        RecoveryFinding::AgentRunning => "found the agent running and took it over",
        RecoveryFinding::AgentFinished => "found that the agent had finished",
        RecoveryFinding::AgentGone => "found the agent gone",
        RecoveryFinding::NotStarted => "found an attempt that had not started",
        RecoveryFinding::Summarizing => "found a summary in progress",
        RecoveryFinding::Checking => "found a check in progress",
        RecoveryFinding::Sweeping => "stopped leftover processes",
        RecoveryFinding::Waiting => "found the run waiting",
        RecoveryFinding::Suspended => "recovering the suspended run",
        RecoveryFinding::Finished => "found it finished and reported its outcome",
    }
}

pub fn summary(outcome: SummaryResult) -> String {
    match outcome {
        SummaryResult::Written => "older work was summarized".to_owned(),
        SummaryResult::NotNeeded => {
            "no summary needed: the recorded work fits into the handoff prompt".to_owned()
        }
        SummaryResult::Failed(Fault::AttemptTimeout) => {
            "no summary of older work: it took too long".to_owned()
        }
        // Also of a summary that a new supervisor stopped, because the one that had started it died.
        SummaryResult::Failed(Fault::Crashed) => {
            "no summary of older work: its process ended before it was written".to_owned()
        }
        SummaryResult::Failed(fault) => format!("no summary of older work: {}", fault.describe()),
    }
}

/// Describes how the history of a conversation reached an attempt, and why.
pub fn strategy_text(strategy: Option<ResumeStrategy>, reason: Option<StrategyReason>) -> String {
    let Some(strategy) = strategy else { return "new session".to_owned() };
    let text = match strategy {
        ResumeStrategy::AsIs => "resumed",
        ResumeStrategy::Relocate => "resumed from a relocated copy",
        ResumeStrategy::Repair => "resumed from a repaired copy",
        ResumeStrategy::Fork => "forked",
        ResumeStrategy::Handoff => "new session with a handoff prompt",
        ResumeStrategy::Fresh => "new session with only the task",
    };
    let reason_text = match reason {
        Some(StrategyReason::SessionFile(SessionFileState::Ready)) | None => return text.to_owned(),
        Some(StrategyReason::SessionFile(SessionFileState::Damaged)) => "the session file was damaged",
        Some(StrategyReason::SessionFile(SessionFileState::Stale)) => "the session file was out of date",
        Some(StrategyReason::SessionFile(SessionFileState::Elsewhere)) => {
            "the session file was found elsewhere"
        }
        Some(StrategyReason::SessionFile(SessionFileState::Empty)) => "the session file was empty",
        Some(StrategyReason::SessionFile(SessionFileState::Missing)) => "the session file was missing",
        Some(StrategyReason::Fault(fault)) => fault.describe(),
        Some(StrategyReason::NeverOpened) => "the session was never opened",
    };
    format!("{text} ({reason_text})")
}

pub fn denied_calls(calls: u32) -> String {
    format!("{calls} tool {} denied", plural(calls, "call was", "calls were"))
}

pub fn questions(questions: Questions) -> String {
    let Questions { answered, by_default } = questions;
    let by_default = if by_default == 0 { String::new() } else { format!(", {by_default} by default") };
    format!("{answered} {} answered{by_default}", plural(answered, "question was", "questions were"))
}

pub fn answer_line(answered: &AnsweredQuestion) -> String {
    let AnsweredQuestion { question, answer, key } = answered;
    let source = key.as_ref().map_or_else(|| "default".to_owned(), |key| format!("--answer {key}"));
    format!("{} → {} ({source})", one_line(question), quoted_answer(answer))
}

pub fn default_answer_warning(question: &str, answer: &str) -> String {
    let choice = match answer {
        "" => "answering with nothing".to_owned(),
        answer => format!("using its first option, {}", quoted_answer(answer)),
    };
    format!("warning: no --answer matches the question \"{}\"; {choice}", one_line(question))
}

fn quoted_answer(answer: &str) -> String {
    if answer.is_empty() { "nothing".to_owned() } else { format!("\"{}\"", one_line(answer)) }
}

/// Returns the label of a run or a workflow: `kmzxqp`, or `nightly (kmzxqp)`.
pub fn label(id: &RunId, name: Option<&str>) -> String {
    name.map_or_else(|| id.to_string(), |name| format!("{} ({id})", one_line(name)))
}

/// Puts the name that the user gave, if any, before a text.
pub fn titled(name: Option<&str>, text: &str) -> String {
    name.map_or_else(|| text.to_owned(), |name| format!("{name}: {text}"))
}

/// Formats a model's text on one line, without control characters.
pub fn one_line(text: &str) -> String {
    let spaced = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    envelope_text::one_line(&spaced).split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn watchdog_stop(silent: Span, processes_stopped: Option<u32>) -> String {
    let stopped =
        processes_stopped.map(|count| format!(" ({count} {})", plural(count, "process", "processes")));
    let stopped = stopped.unwrap_or_default();
    format!("the agent had no supervisor and was silent for {silent}; the watchdog stopped it{stopped}")
}

pub fn leftovers_stopped(count: u32) -> String {
    format!("stopped {count} leftover {}", plural(count, "process", "processes"))
}

pub fn deferred_stalls(times: u32) -> String {
    format!("silent, but its processes were busy: stall deferred {}", counted(times.into(), "time"))
}

pub fn stall_text(cause: StopCause, stall: &StallReport, deferrals: u32) -> String {
    let text = stall.describe(cause);
    match deferrals {
        0 => format!("{text}; it was stopped"),
        _ => format!("{text}; stall deferred {} and then stopped", counted(deferrals.into(), "time")),
    }
}

/// Describes the repair of a session file, or returns `None` if there was none.
fn repair_text(found: SessionFileState) -> Option<&'static str> {
    match found {
        SessionFileState::Elsewhere => Some("the session file was found elsewhere; resuming from a copy"),
        SessionFileState::Damaged => {
            Some("the session file was damaged; resuming from a repaired copy (original kept)")
        }
        SessionFileState::Stale => Some(
            "the session file lacked the latest messages; added them from the run's records (original kept)",
        ),
        SessionFileState::Ready | SessionFileState::Empty | SessionFileState::Missing => None,
    }
}

fn stop_text(cause: StopCause, level: StopLevel, stall: Option<StallReport>, policy: &Policy) -> String {
    if let Some(stall) = stall {
        return format!("{}; stopping the agent", stall.describe(cause));
    }
    if level == StopLevel::Kill {
        return "the agent did not stop; killing it".to_owned();
    }
    let text = match cause {
        StopCause::Stalled | StopCause::NoProgress => "the agent stalled; stopping it",
        StopCause::TimedOut => {
            let timeout = policy.attempt_timeout.unwrap_or_default();
            return format!("the attempt timed out after {timeout}; stopping the agent");
        }
        StopCause::AuthRejected => "the credentials were rejected twice; stopping the agent",
        StopCause::WrongSession => "the agent opened the wrong session; stopping it",
        StopCause::WrapUp => "interrupting the agent so that it can save its work",
        StopCause::MemoryLimit => {
            let limit = bytes(policy.limits.memory.unwrap_or_default());
            return format!(
                "the run's processes use more than {limit} of memory, the run's limit; stopping the agent"
            );
        }
        StopCause::DidNotExit => "the agent returned a result but did not exit; stopping it",
        StopCause::BackgroundStopped => {
            "stopping the agent and its background work: its time or a limit is exhausted"
        }
        StopCause::LimitReached | StopCause::Cancelled | StopCause::Suspended => "stopping the agent",
    };
    text.to_owned()
}

pub fn check_text(result: CheckResult) -> &'static str {
    match result {
        CheckResult::Passed => "the check passed",
        CheckResult::Failed => "the check failed",
        CheckResult::NeedsPerson => "the check needs a person",
        CheckResult::TimedOut => "the check timed out",
        CheckResult::Stopped => "the check was stopped before it finished",
    }
}

pub fn limit_text(limit: Limit, threshold: LimitThreshold) -> String {
    let of = limit.describe();
    match threshold {
        LimitThreshold::Reserve => format!("{of} is down to its wrap-up reserve"),
        LimitThreshold::Exhausted => format!("{of} is exhausted"),
    }
}

/// Describes the usage of a limit: `budget $0.0350: $0.0194 used, $0.0156 left`.
pub fn limit_line(used: &LimitStatus) -> String {
    let amount = |amount: f64| limit_amount(used.limit, amount, envelope_text::grouped);
    let (total, spent, remaining) = (amount(used.limit_value), amount(used.used), amount(used.remaining));
    let remaining =
        if used.remaining > 0.0 { format!("{remaining} left") } else { "nothing left".to_owned() };
    format!("{} {total}: {spent} used, {remaining}", used.limit)
}

pub fn limit_amount(limit: Limit, amount: f64, count: fn(u64) -> String) -> String {
    match limit {
        Limit::Budget => dollars(amount),
        Limit::Tokens | Limit::Turns | Limit::Attempts => count(amount as u64),
        Limit::Time | Limit::Wall => Span(amount as u64).to_string(),
    }
}

/// Formats an amount of dollars, or returns `?` if it is invalid.
pub fn dollars(amount: f64) -> String {
    Usd::from_dollars(amount).map_or_else(|| "?".to_owned(), |amount| amount.to_string())
}

pub fn notify_failure(failure: &NotifyFailure) -> String {
    let NotifyFailure { command, kind, reason, channel_error, log, .. } = failure;
    let (kind, log) = (kind.as_str(), log.display());
    let hint = channel_error.as_ref().map(|error| format!("; {}", channel_hint(error))).unwrap_or_default();
    format!("warning: `{command}` failed ({kind}): {reason}{hint}; its output is in {log}")
}

/// Lists the first paths, which fit a line or two, and the number of the others.
pub fn first_paths<'a>(paths: impl IntoIterator<Item = &'a OsText, IntoIter: ExactSizeIterator>) -> String {
    const PATHS_MAX: usize = 8;
    let paths = paths.into_iter();
    let more = paths.len().checked_sub(PATHS_MAX + 1).map(|more| format!("{} more", more + 1));
    let names = paths.take(PATHS_MAX).map(|path| path.as_path().display().to_string());
    names.chain(more).collect::<Vec<_>>().join(", ")
}

pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.into_iter().find(|(size, _)| bytes >= *size);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(size, unit)| format!("{:.1} {unit}", bytes as f64 / size as f64),
    )
}

pub fn plural<'a>(count: u32, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// Formats a number with its noun: `1 run`, `2,000 runs`.
pub fn counted(count: u64, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {one}{many}", envelope_text::grouped(count))
}

#[cfg(test)]
mod tests {
    use super::{counted, dollars};

    #[test]
    fn formats_short_amounts() {
        assert_eq!((dollars(0.0076).as_str(), dollars(-1.0).as_str()), ("$0.0076", "?"));
        assert_eq!((counted(1, "run"), counted(0, "run")), ("1 run".to_owned(), "0 runs".to_owned()));
    }
}
