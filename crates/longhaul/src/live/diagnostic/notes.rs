//! Decides which records are noteworthy, and describes them in the journal's wire words. The notes never
//! contain text of the agent.

use longhaul_core::{
    AfterAttempt, AfterWait, AttemptEnd, FoundAttempt, Phase, Record, ResumeStrategy, ReviewResult, Run,
    SessionFileState, StopCause, StrategyReason, SummaryResult,
};
use longhaul_store::rfc3339;
use serde::Serialize;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiagnosticNote {
    /// Name of its file, after the time.
    pub(super) name: String,
    pub(super) title: String,
    pub(super) lines: Vec<(&'static str, String)>,
    /// Whether an attempt ended, so that its exit and the end of its stderr are added.
    pub(super) is_ending: bool,
}

impl DiagnosticNote {
    fn new(name: impl Into<String>, title: impl Into<String>) -> DiagnosticNote {
        DiagnosticNote { name: name.into(), title: title.into(), lines: Vec::new(), is_ending: false }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> DiagnosticNote {
        self.lines.push((name, value.into()));
        self
    }
}

/// Returns one note with one line.
fn note(name: &str, title: &str, line: &'static str, value: impl Into<String>) -> Vec<DiagnosticNote> {
    vec![DiagnosticNote::new(name, title).with(line, value)]
}

/// Returns the notes for a record. `run` is the run after its step.
pub(super) fn describe_record(record: &Record, run: &Run) -> Vec<DiagnosticNote> {
    let attempt = run.state().attempts();
    match record {
        Record::AttemptEnded(AttemptEnd {
            fault, result, denied_calls, continuity, evidence, next, ..
        }) => {
            let denials = (*denied_calls > 0).then(|| {
                let title = format!("the guards denied tool calls of attempt {attempt}");
                DiagnosticNote::new("guard_denied", title).with("denials", denied_calls.to_string())
            });
            let failure = fault.map(|fault| {
                let title = format!("attempt {attempt} failed: {fault}");
                let mut note = DiagnosticNote::new(format!("fault_{fault}"), title);
                note.lines.push(("fault", fault.as_str().to_owned()));
                note.lines.extend(result.map(|result| ("result", wire_text(&result))));
                note.lines.extend(continuity.map(|continuity| ("history", wire_text(&continuity))));
                // Recorded only for faults that could not be classified.
                note.lines.extend(evidence.as_ref().map(|evidence| ("evidence", wire_text(evidence))));
                note.is_ending = true;
                with_next(note, next)
            });
            failure.into_iter().chain(denials).collect()
        }
        Record::StopOrdered { cause, level, stall } => {
            let (cause_word, level) = (wire_text(cause), wire_text(level));
            let note = DiagnosticNote::new(
                format!("stop_{cause_word}"),
                format!("attempt {attempt} is stopped: {cause_word}"),
            );
            let note = note.with("cause", cause_word).with("level", level);
            vec![match stall {
                Some(stall) => note.with("observed", stall.describe(*cause)),
                None => note,
            }]
        }
        Record::StallDeferred { until, stall } => {
            let title = format!("attempt {attempt} is silent but its processes are busy");
            let note = DiagnosticNote::new("stall_deferred", title).with("until", rfc3339(*until));
            vec![note.with("observed", stall.describe(StopCause::Stalled))]
        }
        // Most attempts use this strategy.
        Record::ResumeStrategyChosen {
            strategy: ResumeStrategy::AsIs,
            reason: StrategyReason::SessionFile(SessionFileState::Ready),
        } => Vec::new(),
        Record::ResumeStrategyChosen { strategy, reason } => {
            let title = format!("attempt {attempt} uses resume strategy {}", strategy.as_str());
            let note = DiagnosticNote::new(format!("strategy_{}", strategy.as_str()), title);
            vec![note.with("strategy", strategy.as_str()).with("reason", wire_text(reason))]
        }
        Record::Swept { stopped_processes } => {
            let leftover = (*stopped_processes > 0).then(|| {
                let title = format!("stopped leftover processes of attempt {attempt}");
                DiagnosticNote::new("swept", title).with("processes", stopped_processes.to_string())
            });
            leftover.into_iter().chain(waiting(run)).collect()
        }
        Record::SummaryStopOrdered { cause } => {
            note("summary_stopped", "the summary of older work timed out", "cause", wire_text(cause))
        }
        Record::SummaryEnded { result: SummaryResult::Failed(fault), .. } => {
            note("summary_failed", "no summary of older work", "fault", fault.as_str())
        }
        Record::CancelRequested { source } => note("cancel", "cancel requested", "source", wire_text(source)),
        Record::SuspendOrdered { source } => {
            let title = format!("{}: the run is suspended until it is recovered", source.signal());
            vec![DiagnosticNote::new("suspended", title)]
        }
        Record::Downtime { duration } => {
            let title = "downtime: the machine was asleep, or no supervisor was running";
            note("downtime", title, "duration", duration.to_string())
        }
        Record::LimitReached { limit, threshold, .. } => {
            let note =
                DiagnosticNote::new(format!("limit_{limit}"), format!("the limit of {limit} is reached"));
            vec![note.with("limit", limit.as_str()).with("threshold", wire_text(threshold))]
        }
        Record::PromptSent { prompt, .. } => {
            note("prompt_sent", "a prompt was sent to the agent", "prompt", wire_text(prompt))
        }
        Record::AgentStopped { claimed_done, .. } => {
            let title =
                if *claimed_done { "the agent reports that the work is done" } else { "the agent stopped" };
            note("stopped", title, "stop", run.state().voluntary_stops.to_string())
        }
        Record::CheckStopOrdered { cause } => {
            note("check_stop_ordered", "check stopped", "cause", wire_text(cause))
        }
        Record::CheckEnded { result } => {
            let result = wire_text(result);
            note(&format!("check_{result}"), "check finished", "result", result)
        }
        Record::ReviewEnded { result, .. } => {
            let word: &str = result.into();
            let name = format!("review_{word}");
            let note = DiagnosticNote::new(name, "the reviewer finished").with("result", word);
            let note = match result {
                ReviewResult::Passed => note,
                ReviewResult::Failed(missing) => note.with("missing", missing.to_string()),
                ReviewResult::NoVerdict(fault) => note.with("fault", fault.as_str()),
            };
            [note].into_iter().chain(waiting(run)).collect()
        }
        Record::RunReopened { .. } => vec![DiagnosticNote::new("reopened", "run resumed")],
        Record::RunFinished { outcome } => {
            let kind = outcome.kind.as_str();
            let note = DiagnosticNote::new(format!("outcome_{kind}"), format!("the run finished: {kind}"));
            let note = note.with("outcome", kind).with("exit code", outcome.exit_code().to_string());
            let fault = outcome.fault.map(|fault| ("fault", fault.as_str().to_owned()));
            let limit = outcome.limit.map(|limit| ("limit", limit.as_str().to_owned()));
            let later = outcome.retry_at.map(|at| ("retry at", rfc3339(at)));
            let lines = note.lines.iter().cloned().chain(fault).chain(limit).chain(later).collect();
            vec![DiagnosticNote { lines, ..note }]
        }
        _ => Vec::new(),
    }
}

pub(super) fn describe_takeover(found: &FoundAttempt) -> DiagnosticNote {
    let note = DiagnosticNote::new("recovered", "taken over by a new supervisor");
    match found {
        FoundAttempt::Running(process) => note.with("agent", format!("running as process {}", process.pid)),
        FoundAttempt::Ended(evidence) => note.with("agent", "exited").with("exit", wire_text(&evidence.exit)),
    }
}

fn with_next(note: DiagnosticNote, next: &AfterAttempt) -> DiagnosticNote {
    match next {
        AfterAttempt::Attempt { at, remedy, plan } => {
            let next = format!("attempt {} at {}, {}", plan.attempt, rfc3339(*at), wire_text(&plan.prompt));
            note.with("remedy", wire_text(remedy)).with("next", next)
        }
        AfterAttempt::Check => note.with("next", "check"),
        AfterAttempt::Finish(outcome) => note.with("next", outcome.kind.as_str()),
    }
}

/// Returns a note for the current wait, unless the next attempt starts at once.
fn waiting(run: &Run) -> Option<DiagnosticNote> {
    let Phase::Waiting { since, until, next } = &run.state().phase else { return None };
    let title = match next {
        AfterWait::Attempt(plan) => format!("waiting for attempt {}", plan.attempt),
        AfterWait::Review(_) => "waiting for the next reviewer".to_owned(),
    };
    let note = DiagnosticNote::new("wait", title);
    let note = note.with("until", rfc3339(*until)).with("duration", until.since(*since).to_string());
    Some(match run.state().wait_fault() {
        Some(fault) => note.with("fault", fault.as_str()),
        None => note,
    })
}

/// Formats a value in the journal's words, such as `code 143` or `denials 0, stop_reason end_turn`. It omits
/// absent fields.
pub(super) fn wire_text(value: &impl Serialize) -> String {
    plain(&serde_json::to_value(value).expect("a journaled value serializes"))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        Value::Object(fields) => {
            let present =
                fields.iter().filter(|(_, value)| !matches!(value, Value::Null | Value::Bool(false)));
            let words = present.map(|(name, value)| match value {
                Value::Object(_) => format!("{name} ({})", plain(value)),
                Value::Bool(true) => name.clone(),
                value => format!("{name} {}", plain(value)),
            });
            words.collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.to_string(),
    }
}
