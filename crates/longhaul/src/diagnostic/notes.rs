//! Which records are noteworthy, and what is said of them: in closed words only, those of the journal. No prose of an
//! agent is in them.

use longhaul_core::{Because, Condensed, Found, Next, Phase, Record, Run, Rung, SessionFound, StopWhy};
use longhaul_store::rfc3339;
use serde::Serialize;
use serde_json::Value;

/// What is to be said of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// What its file is called, behind the time.
    pub(super) name: String,
    /// The event in one line.
    pub(super) title: String,
    /// What was seen and decided, by name.
    pub(super) lines: Vec<(&'static str, String)>,
    /// Whether an attempt ended: then its exit and its last words belong to it.
    pub(super) is_ending: bool,
}

impl Note {
    fn new(name: impl Into<String>, title: impl Into<String>) -> Note {
        Note { name: name.into(), title: title.into(), lines: Vec::new(), is_ending: false }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Note {
        self.lines.push((name, value.into()));
        self
    }
}

/// What there is to say of a record; `run` is the run after its step.
pub(super) fn of(record: &Record, run: &Run) -> Vec<Note> {
    let attempt = run.state().attempts();
    match record {
        Record::AttemptEnded { .. } => ended(record, attempt),
        Record::StopOrdered { why, level, silence, .. } => {
            let (why_word, level) = (word(why), word(level));
            let note =
                Note::new(format!("stop_{why_word}"), format!("attempt {attempt} is stopped: {why_word}"));
            let note = note.with("why", why_word).with("level", level);
            vec![match silence {
                Some(silence) => note.with("seen", silence.words(*why)),
                None => note,
            }]
        }
        Record::SilenceExcused { until, silence, .. } => {
            let title = format!("attempt {attempt} is silent, and something of it works");
            let note = Note::new("silence_excused", title).with("until", rfc3339(*until));
            vec![note.with("seen", silence.words(StopWhy::Stalled))]
        }
        // What most attempts do.
        Record::RungTaken { rung: Rung::Resume, because: Because::Found(SessionFound::Ready), .. } => {
            Vec::new()
        }
        Record::RungTaken { rung, because, .. } => {
            let title = format!("the conversation reaches attempt {attempt} by the rung {}", rung.word());
            let note = Note::new(format!("rung_{}", rung.word()), title);
            vec![note.with("rung", rung.word()).with("because", word(because))]
        }
        Record::Swept { ended, .. } => {
            let left = (*ended > 0).then(|| {
                let title = format!("attempt {attempt} left processes behind, which were ended");
                Note::new("swept", title).with("processes", ended.to_string())
            });
            left.into_iter().chain(waiting(run)).collect()
        }
        Record::CondenseStopped { why, .. } => {
            let note = Note::new("summary_stopped", "the model had its time for a summary of older work");
            vec![note.with("why", word(why))]
        }
        Record::Condensed { outcome: Condensed::Failed(fault), .. } => {
            let note = Note::new("summary_failed", "no model told older work in a summary");
            vec![note.with("fault", fault.word())]
        }
        // Told with what was found, before it is decided what that means.
        Record::Recovered { .. } => Vec::new(),
        Record::CancelOrdered { by, .. } => {
            vec![Note::new("cancel", "somebody wants the run to end").with("by", word(by))]
        }
        Record::SuspendOrdered { by, .. } => {
            let title = format!("{}: the run is suspended, and `longhaul recover` continues it", by.signal());
            vec![Note::new("suspended", title)]
        }
        Record::Downtime { span } => {
            let title = "nothing ran: the machine slept, or the run had no supervisor";
            vec![Note::new("downtime", title).with("for", span.to_string())]
        }
        Record::LimitReached { limit, reach, .. } => {
            let note = Note::new(format!("limit_{limit}"), format!("the limit of {limit} is reached"));
            vec![note.with("limit", limit.word()).with("reach", word(reach))]
        }
        Record::Said { say, .. } => {
            vec![Note::new("said", "the agent was told something in its session").with("said", word(say))]
        }
        Record::Stopped { claimed, .. } => {
            let title = if *claimed {
                "the agent says that the work is finished"
            } else {
                "the agent stopped by itself"
            };
            vec![Note::new("stopped", title).with("stop", run.state().stops.to_string())]
        }
        Record::CheckStopped { why, .. } => {
            vec![
                Note::new("check_stopped", "the commands that judge the work are ended")
                    .with("why", word(why)),
            ]
        }
        Record::Checked { result, .. } => {
            let result = word(result);
            vec![Note::new(format!("check_{result}"), "the work was judged").with("result", result)]
        }
        Record::RunReopened { .. } => vec![Note::new("reopened", "a run that was over goes on")],
        Record::RunFinished { outcome, .. } => {
            let kind = outcome.kind.word();
            let note = Note::new(format!("outcome_{kind}"), format!("the run is over: {kind}"));
            let note = note.with("outcome", kind).with("exit code", outcome.exit_code().to_string());
            let fault = outcome.fault.map(|fault| ("fault", fault.word().to_owned()));
            let limit = outcome.limit.map(|limit| ("limit", limit.word().to_owned()));
            let later = outcome.retry_at.map(|at| ("retry at", rfc3339(at)));
            let lines = note.lines.iter().cloned().chain(fault).chain(limit).chain(later).collect();
            vec![Note { lines, ..note }]
        }
        Record::RunStarted { .. }
        | Record::AttemptStarted { .. }
        | Record::AttemptSpawned { .. }
        | Record::CondenseOrdered { .. }
        | Record::CheckOrdered { .. }
        | Record::Condensed { .. }
        | Record::SessionOpened { .. }
        | Record::Progressed { .. }
        | Record::Suspended { .. }
        | Record::InputEnded { .. } => Vec::new(),
    }
}

/// What there is to say of a run that was taken over.
pub(super) fn of_recovery(found: &Found) -> Note {
    let note = Note::new("recovered", "a new supervisor took the run over");
    match found {
        Found::Live(proc) => note.with("agent", format!("lives as process {}", proc.pid)),
        Found::Gone(evidence) => note.with("agent", "gone").with("exit", word(&evidence.exit)),
    }
}

fn ended(record: &Record, attempt: u32) -> Vec<Note> {
    let Record::AttemptEnded { fault, result, denied, continuity, evidence, next, .. } = record else {
        return Vec::new();
    };
    let denials = (*denied > 0).then(|| {
        let note = Note::new("guard_denied", format!("the guards denied tool calls of attempt {attempt}"));
        note.with("denied", denied.to_string())
    });
    let failure = fault.map(|fault| {
        let title = format!("attempt {attempt} failed: {fault}");
        let mut note = Note::new(format!("fault_{fault}"), title).with("fault", fault.word());
        note.lines.extend(result.map(|result| ("result", word(&result))));
        note.lines.extend(continuity.map(|continuity| ("history", word(&continuity))));
        // Kept for faults that nobody could name.
        note.lines.extend(evidence.as_ref().map(|evidence| ("evidence", word(evidence))));
        note.is_ending = true;
        match next {
            Next::Attempt { at, remedy, plan } => {
                let next = format!("attempt {} at {}, {}", plan.attempt, rfc3339(*at), word(&plan.say));
                note.with("remedy", word(remedy)).with("next", next)
            }
            Next::Check => note.with("next", "check"),
            Next::Finish(outcome) => note.with("next", outcome.kind.word()),
        }
    });
    failure.into_iter().chain(denials).collect()
}

/// The wait that the run is in, if its next attempt is not at once.
fn waiting(run: &Run) -> Option<Note> {
    let Phase::Waiting { since, until, plan } = &run.state().phase else { return None };
    let note = Note::new("wait", format!("waiting for attempt {}", plan.attempt));
    let note = note.with("until", rfc3339(*until)).with("for", until.since(*since).to_string());
    Some(match run.state().fault {
        Some(fault) => note.with("because", fault.word()),
        None => note,
    })
}

/// A value in the journal's words: `code 143`, or `ending api_error, api_status 529`. What is not there is left out.
pub(super) fn word(value: &impl Serialize) -> String {
    plain(&serde_json::to_value(value).expect("what is in a journal serialises"))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !matches!(value, Value::Null | Value::Bool(false)));
            let words = there.map(|(name, value)| match value {
                Value::Object(_) => format!("{name} ({})", plain(value)),
                Value::Bool(true) => name.clone(),
                value => format!("{name} {}", plain(value)),
            });
            words.collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.to_string(),
    }
}
