//! Waits of a run that another process supervises, or supervised.

use super::{RunWait, WaitObserver};
use crate::follow::attach;
use longhaul_core::{
    AfterAttempt, AttemptEnd, AttemptPlan, Fault, Moment, Preset, PromptKind, Record, Remedy, RunKey,
    RunSpec, SessionPlan, Usage,
};
use longhaul_store::{Home, Plan};
use tokio::sync::mpsc;

fn attempt(number: u32) -> AttemptPlan {
    AttemptPlan::new(number, SessionPlan::New("one".into()), PromptKind::Task)
}

fn started(at: u64, number: u32) -> (u64, Vec<Record>) {
    (at, vec![Record::AttemptStarted { plan: attempt(number) }])
}

/// The attempt before `number` fails, and the run waits until `until`.
fn waits(at: u64, number: u32, until: u64) -> (u64, Vec<Record>) {
    let next = AfterAttempt::Attempt { at: Moment(until), remedy: Remedy::WaitOut, plan: attempt(number) };
    let ended = Record::AttemptEnded(AttemptEnd::new(Some(Fault::UsageLimit), Usage::default(), next));
    (at, vec![ended, Record::Swept { stopped_processes: 0 }])
}

/// Follows a run with these steps, whose supervisor died, and returns the waits that the workflow sees.
async fn followed(steps: &[(u64, Vec<Record>)]) -> Vec<Option<(Option<Fault>, Moment)>> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let home = Home::open(Some(folder.path().join("home")), |_| None).expect("a home");
    let spec = RunSpec::new("claude", folder.path(), "p", Preset::Default.policy());
    let day = "2025-11-22".parse().expect("a date");
    let mut run = home.create_run(&day, 7, &Plan::new(spec, Moment(1), "4b1d".to_owned())).expect("a run");
    run.journal.append(Moment(1), &[Record::RunStarted]).expect("a step");
    for (at, records) in steps {
        run.journal.append(Moment(*at), records).expect("a step");
    }
    drop(run.journal);
    let key = RunKey { iteration: 1, phase: 0, item: 0, retry: 0 };
    let (waits, mut received) = mpsc::unbounded_channel();
    let mut observer = WaitObserver { key, waits, is_following: true, wait: None, is_waiting: false };
    let (_cancel, cancels) = mpsc::channel(1);
    attach(&run.dir, &mut observer, cancels).await.expect_err("it has no supervisor");
    drop(observer);
    let mut shown = Vec::new();
    while let Some(RunWait { wait, .. }) = received.recv().await {
        shown.push(wait);
    }
    shown
}

#[tokio::test]
async fn waits_before_following_are_not_repeated() {
    let over = [started(2, 1), waits(3, 2, 50), started(50, 2)];
    assert_eq!(followed(&over).await, []);
    let lasts = [&over[..], &[waits(60, 3, 90)]].concat();
    assert_eq!(followed(&lasts).await, [Some((Some(Fault::UsageLimit), Moment(90)))]);
}
