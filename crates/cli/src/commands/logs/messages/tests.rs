use super::*;
use longhaul_core::{
    AfterAttempt, AttemptEnd, AttemptPlan, Fault, Moment, PromptKind, Record, Remedy, ResumeStrategy,
    SessionId, SessionPlan, Usage,
};
use longhaul_store::Journal;
use std::fs;

/// The journal is read before the transcript, and the next attempt begins in between.
#[test]
fn attempt_that_begins_while_reading_has_its_banners() {
    let home = tempfile::tempdir().expect("temporary directory");
    let dir = RunDir::from_path(home.path().join("bcdfgh")).expect("an id");
    dir.attempt(1).create().expect("attempt");
    fs::create_dir_all(dir.transcript_path().parent().expect("a directory")).expect("created");
    let (at, session) = (Moment(1_763_775_245_120), SessionId::from("a"));
    let first = AttemptPlan::new(1, SessionPlan::New(session.clone()), PromptKind::Task);
    let second = AttemptPlan {
        strategy: Some(ResumeStrategy::AsIs),
        ..AttemptPlan::new(2, SessionPlan::Resume(session), PromptKind::Continue(Fault::Overloaded))
    };
    let mut journal = Journal::create(&dir.journal_path()).expect("journal");
    journal.append(at, &[Record::AttemptStarted { plan: first }]).expect("appended");
    let mut attempts = Attempts::new(&dir);
    attempts.update().expect("the journal is readable");

    let ended = Record::AttemptEnded(AttemptEnd::new(
        Some(Fault::Overloaded),
        Usage::default(),
        AfterAttempt::Attempt { at, remedy: Remedy::WaitOut, plan: second.clone() },
    ));
    journal.append(at, &[ended, Record::AttemptStarted { plan: second }]).expect("appended");
    let message = |attempt| {
        let content = Some(format!("message {attempt}"));
        let message = TranscriptMessage { attempt, content, ..TranscriptMessage::default() };
        serde_json::to_string(&message).expect("it serializes")
    };
    fs::write(dir.transcript_path(), format!("{}\n{}\n", message(1), message(2))).expect("written");

    let mut log = MessageLog::new(&dir, LogFilter { attempt: None, since: None }, OutputFormat::Text);
    let mut out = Vec::new();
    assert!(log.print_new(&mut attempts, &mut out).is_ok());
    let out = String::from_utf8(out).expect("text");
    assert!(out.contains("\nattempt 1: the API is overloaded"), "{out}");
    assert!(out.contains("\nattempt 2, ") && out.contains(": resumed\n"), "{out}");
}
