//! A run's decisions in plain words: what happened, what we did, what comes next.

mod faults;
mod remedies;

pub use faults::{advice, cause, cause_of, evidence};
pub use remedies::{about_to, remedied, remedy_words};

use super::{clock, text};
use longhaul::Untold;
use longhaul_core::{
    Because, Checked, Condensed, Fault, Limit, Next, Policy, Questions, Reach, Record, Remains, Rung, Say,
    SessionFound, SessionPlan, Silence, State, StopLevel, StopWhy, Usd,
};
use longhaul_store::{AnsweredQuestion, Orphaned, rfc3339};

/// Returns a record as a sentence, or `None` if only `--verbose` prints it. `state` is the run's after its step.
pub fn plain(record: &Record, state: &State, policy: &Policy) -> Option<String> {
    match record {
        // The suspension is printed already, and no retry follows.
        Record::AttemptEnded { fault: Some(Fault::Interrupted), .. } if state.suspend.is_some() => None,
        Record::AttemptEnded {
            at,
            fault: Some(fault),
            result,
            next: Next::Attempt { at: until, remedy, .. },
            ..
        } => {
            let fault = fault.describe_with(result.as_ref());
            Some(format!("{fault}; {}", remedy_words(*remedy, *at, *until)))
        }
        Record::StopOrdered { why, level, silence, .. } => stop_words(*why, *level, *silence, policy),
        Record::SilenceExcused { at, until, silence } => {
            let words = silence.words(StopWhy::Stalled);
            Some(format!("{words}; waiting until {} (for {})", clock::coming(*until), until.since(*at)))
        }
        Record::Swept { ended: ended @ 1.., .. } => Some(format!(
            "ended {ended} {} that the agent left behind",
            plural(*ended, "process", "processes")
        )),
        Record::LimitReached { limit, reach, .. } => Some(limit_words(*limit, *reach)),
        Record::CheckOrdered { .. } => Some("the agent says that it is done; checking the work".to_owned()),
        Record::Checked { result, .. } => Some(check_words(*result).to_owned()),
        Record::CheckStopped { why: StopWhy::AttemptTimeout, .. } => {
            Some("the check had its time; ending it".to_owned())
        }
        Record::Said { say: Say::WrapUp(_), .. } => Some("told the agent to save its work".to_owned()),
        Record::Stopped { claimed, .. } => Some(stopped(*claimed).to_owned()),
        Record::SuspendOrdered { by, .. } => Some(format!("{}: suspending the run", by.signal())),
        Record::Recovered { remains: Remains::Suspended, .. } => {
            Some(recovered(Remains::Suspended).to_owned())
        }
        Record::Recovered { remains, .. } => {
            Some(format!("the supervisor had died; a new one {}", recovered(*remains)))
        }
        Record::Downtime { span } => {
            Some(format!("nothing ran for {span}: the machine slept, or the run had no supervisor"))
        }
        Record::RungTaken { rung: Rung::Place | Rung::Repair, because: Because::Found(found), .. } => {
            mended(*found).map(str::to_owned)
        }
        Record::CondenseStopped { why: StopWhy::AttemptTimeout, .. } => {
            Some(format!("the model had its {} for a summary; ending it", policy.condense_timeout))
        }
        Record::Condensed { outcome: outcome @ Condensed::Failed(_), .. } => Some(summary(*outcome)),
        Record::RunStarted { .. }
        | Record::RunReopened { .. }
        | Record::RungTaken { .. }
        | Record::CondenseOrdered { .. }
        | Record::CondenseStopped { .. }
        | Record::Condensed { .. }
        | Record::AttemptStarted { .. }
        | Record::AttemptSpawned { .. }
        | Record::SessionOpened { .. }
        | Record::Progressed { .. }
        | Record::CheckStopped { .. }
        | Record::Said { .. }
        | Record::InputEnded { .. }
        | Record::AttemptEnded { .. }
        | Record::Swept { .. }
        | Record::CancelOrdered { .. }
        | Record::Suspended { .. }
        | Record::RunFinished { .. } => None,
    }
}

/// What the other records say, for those who want to see every decision.
pub fn detailed(record: &Record) -> Option<String> {
    match record {
        Record::AttemptStarted { plan, .. } => {
            let session = match &plan.session {
                SessionPlan::New(id) => format!("new session {id}"),
                SessionPlan::Resume(id) => format!("resuming session {id}"),
                SessionPlan::Fork { from, to } => format!("forking session {from} as {to}"),
            };
            Some(format!("attempt {}: {session}", plan.attempt))
        }
        Record::AttemptSpawned { proc, .. } => Some(format!("the agent runs as process {}", proc.pid)),
        Record::SessionOpened { session, .. } => Some(format!("session {session} is open")),
        Record::Progressed { .. } => Some("progress: earlier failures are forgiven".to_owned()),
        Record::InputEnded { .. } => Some("no turn is owed; letting the agent end".to_owned()),
        Record::AttemptEnded { fault: None, .. } => Some("the agent finished its work".to_owned()),
        Record::AttemptEnded { fault: Some(fault), result, next: Next::Finish(_), .. } => {
            Some(fault.describe_with(result.as_ref()).to_owned())
        }
        Record::RunFinished { outcome, .. } => Some(format!("the run is over: {}", outcome.kind)),
        Record::RunReopened { .. } => Some("the run goes on".to_owned()),
        Record::RungTaken { rung: taken, because, .. } => Some(rung(Some(*taken), Some(*because))),
        Record::CondenseOrdered { .. } => Some("asking a model for a summary of older work".to_owned()),
        Record::Condensed { outcome, .. } => Some(summary(*outcome)),
        Record::RunStarted { .. }
        | Record::CondenseStopped { .. }
        | Record::LimitReached { .. }
        | Record::CheckOrdered { .. }
        | Record::CheckStopped { .. }
        | Record::Checked { .. }
        | Record::Said { .. }
        | Record::Stopped { .. }
        | Record::StopOrdered { .. }
        | Record::SilenceExcused { .. }
        | Record::Recovered { .. }
        | Record::Downtime { .. }
        | Record::AttemptEnded { .. }
        | Record::Swept { .. }
        | Record::CancelOrdered { .. }
        | Record::SuspendOrdered { .. }
        | Record::Suspended { .. } => None,
    }
}

/// What a new supervisor found of a run, and did at once.
pub fn recovered(remains: Remains) -> &'static str {
    match remains {
        Remains::Alive => "found the agent alive and went on with it",
        Remains::Finished => "found that the agent had finished alone",
        Remains::Gone => "found the agent gone",
        Remains::NotStarted => "found the attempt ordered and not started",
        Remains::Condensing => "took what there was of a model's summary",
        Remains::Checking => "found the work being judged",
        Remains::Sweeping => "ended what was left of the attempt",
        Remains::Waiting => "found the run waiting",
        Remains::Suspended => "recovering the suspended run",
        Remains::Over => "found it over, and told how it had ended",
    }
}

fn stopped(claimed: bool) -> &'static str {
    if claimed { "the agent says that the work is finished" } else { "the agent stopped by itself" }
}

/// What came of asking a model for a summary of older work.
pub fn summary(outcome: Condensed) -> String {
    match outcome {
        Condensed::Written => "older work is told in a model's summary".to_owned(),
        Condensed::NotNeeded => "all work on record is told: no summary is needed".to_owned(),
        Condensed::Failed(Fault::AttemptTimeout) => "no summary of older work: it took too long".to_owned(),
        Condensed::Failed(fault) => format!("no summary of older work: {}", cause(fault)),
    }
}

/// How the history of a conversation reached an attempt, and why.
pub fn rung(rung: Option<Rung>, because: Option<Because>) -> String {
    let Some(rung) = rung else { return "new".to_owned() };
    let how = match rung {
        Rung::Resume => "resumed",
        Rung::Place => "resumed from a placed copy",
        Rung::Repair => "resumed from a repaired copy",
        Rung::Fork => "forked",
        Rung::Seed => "new, told the work on record",
        Rung::Fresh => "new, told the task",
    };
    let why = match because {
        Some(Because::Found(SessionFound::Ready)) | None => return how.to_owned(),
        Some(Because::Found(SessionFound::Damaged)) => "damaged",
        Some(Because::Found(SessionFound::Behind)) => "behind its record",
        Some(Because::Found(SessionFound::Elsewhere)) => "found elsewhere",
        Some(Because::Found(SessionFound::Empty)) => "empty",
        Some(Because::Found(SessionFound::Missing)) => "missing",
        Some(Because::Fault(fault)) => fault.word(),
        Some(Because::NeverOpened) => "never opened",
    };
    format!("{how} ({why})")
}

/// What the guards of a run did.
pub fn denied(calls: u32) -> String {
    format!("{calls} tool {} denied", plural(calls, "call was", "calls were"))
}

/// How the questions of an agent were answered.
pub fn questions(questions: Questions) -> String {
    let Questions { answered, by_default } = questions;
    let by_default = if by_default == 0 { String::new() } else { format!(", {by_default} by default") };
    format!("{answered} {} answered{by_default}", plural(answered, "question was", "questions were"))
}

/// One of them.
pub fn answered(answered: &AnsweredQuestion) -> String {
    let AnsweredQuestion { question, answer, key } = answered;
    let why = key.as_ref().map_or_else(|| "default".to_owned(), |key| format!("--answer {key}"));
    format!("{} → {} ({why})", one_line(question), said(answer))
}

/// That nobody had said anything about a question.
pub fn answered_by_default(question: &str, answer: &str) -> String {
    let by = if answer.is_empty() { "with nothing" } else { "by its first option" };
    format!(
        "warning: no --answer fits the question \"{}\"; it was answered {by}{}",
        one_line(question),
        match answer {
            "" => String::new(),
            answer => format!(", {}", said(answer)),
        }
    )
}

fn said(answer: &str) -> String {
    if answer.is_empty() { "nothing".to_owned() } else { format!("\"{}\"", one_line(answer)) }
}

/// A text of a model, without what would move the cursor of a terminal.
pub fn one_line(text: &str) -> String {
    let spaced = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    text::plain(&spaced).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Why an attempt was ended that nobody supervised.
pub fn orphaned(orphaned: &Orphaned) -> String {
    let Orphaned { at, silent_ms: silent, processes_ended } = orphaned;
    let ended = processes_ended
        .map(|count| format!(" ({count} {})", plural(count, "process", "processes")))
        .unwrap_or_default();
    format!(
        "its supervisor had died, nobody had come back, and nothing was written for {silent}; a watchdog ended it at {}{ended}",
        rfc3339(*at)
    )
}

/// That an attempt was silent and not stopped.
pub fn excused(times: u32) -> String {
    format!("it was silent, and something of it worked: excused {times} {}", plural(times, "time", "times"))
}

/// Why an attempt was stopped that stalled.
pub fn stalled(why: StopWhy, silence: &Silence, excused: u32) -> String {
    let words = silence.words(why);
    match excused {
        0 => format!("{words}; it was stopped"),
        _ => {
            format!("{words}; it was excused {excused} {} and then stopped", plural(excused, "time", "times"))
        }
    }
}

/// What was done to a session that could not be resumed as it was.
fn mended(found: SessionFound) -> Option<&'static str> {
    match found {
        SessionFound::Elsewhere => {
            Some("the session's file was in another place; resuming from a copy of it")
        }
        SessionFound::Damaged => {
            Some("the session's file was damaged; resuming from a repaired copy, the original is kept")
        }
        SessionFound::Behind => Some(
            "the agent had not saved the end of its session; resuming from a completed copy, the original is kept",
        ),
        SessionFound::Ready | SessionFound::Empty | SessionFound::Missing => None,
    }
}

fn stop_words(why: StopWhy, level: StopLevel, silence: Option<Silence>, policy: &Policy) -> Option<String> {
    if let Some(silence) = silence {
        return Some(format!("{}; stopping the agent", silence.words(why)));
    }
    if level == StopLevel::Kill {
        return Some("the agent does not heed; killing it".to_owned());
    }
    match why {
        StopWhy::Stalled | StopWhy::NoProgress => Some("the agent stalled; stopping it".to_owned()),
        StopWhy::AttemptTimeout => Some(format!(
            "the attempt had its {}; stopping the agent",
            policy.attempt_timeout.unwrap_or_default()
        )),
        StopWhy::AuthRejected => Some("the credentials were rejected twice; stopping the agent".to_owned()),
        StopWhy::OtherSession => {
            Some("the agent opened another session than it was told; stopping it".to_owned())
        }
        StopWhy::Reserve => Some("interrupting the agent, to have it save its work".to_owned()),
        StopWhy::LimitReached => Some("stopping the agent".to_owned()),
        StopWhy::Memory => Some(format!(
            "the run's processes use more than {} of memory; stopping the agent",
            bytes(policy.limits.memory.unwrap_or_default())
        )),
        StopWhy::Lingered => Some("the agent has its result and does not end; stopping it".to_owned()),
        StopWhy::BackgroundStopped => {
            Some("the agent's background work is out of time; stopping it".to_owned())
        }
        StopWhy::Cancelled | StopWhy::Suspended => Some("stopping the agent".to_owned()),
    }
}

/// What came of a check.
pub fn check_words(result: Checked) -> &'static str {
    match result {
        Checked::Passed => "the check passed",
        Checked::Failed => "the check failed",
        Checked::Stopped => "the check was ended before it was over",
    }
}

/// What has become of a limit.
pub fn limit_words(limit: Limit, reach: Reach) -> String {
    let of = limit.describe();
    match reach {
        Reach::Reserve => format!("{of} is used up but for what is held back to save the work"),
        Reach::All => format!("{of} is used up"),
    }
}

/// An amount of money as people say it: cents where there are dollars; of less, as much as tells two small runs apart.
pub fn money(amount: Usd) -> String {
    match amount.0 {
        0 => "$0".to_owned(),
        1..1_000_000 => format!("${:.4}", amount.dollars()),
        1_000_000.. => format!("${:.2}", amount.dollars()),
    }
}

/// The same of dollars that were a number already.
pub fn dollars(amount: f64) -> String {
    Usd::from_dollars(amount).map_or_else(|| "?".to_owned(), money)
}

/// That a command of `--notify` did not tell anybody.
pub fn untold(untold: &Untold) -> String {
    let Untold { command, kind, because, log } = untold;
    let (kind, log) = (kind.word(), log.display());
    format!("warning: `{command}` may have told nobody ({kind}): {because}; what it said is in {log}")
}

/// An amount of memory, or the size of a file, for people.
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

/// `1 run`, `2,000 runs`.
pub fn counted(count: u64, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {one}{many}", text::grouped(count))
}

#[cfg(test)]
mod tests {
    use super::{counted, dollars, money};
    use longhaul_core::Usd;

    #[test]
    fn amounts_are_short() {
        for (micros, text) in [(0, "$0"), (1_234, "$0.0012"), (999_999, "$1.0000"), (12_345_678, "$12.35")] {
            assert_eq!(money(Usd(micros)), text);
        }
        assert_eq!((dollars(0.0076).as_str(), dollars(-1.0).as_str()), ("$0.0076", "?"));
        assert_eq!((counted(1, "run"), counted(0, "run")), ("1 run".to_owned(), "0 runs".to_owned()));
    }
}
