//! A program that uses the library. It cancels a run, resumes it, follows it and tries to recover it.

use longhaul::find_agent::find_claude;
use longhaul::{Preset, ResumeOptions, RunError, RunEvent, RunSpec, StoreError, SuperviseError, Supervisor};
use std::env;
use std::error::Error;

/// Controls a run and prints its outcomes.
pub async fn run() -> Result<(), Box<dyn Error>> {
    let supervisor = Supervisor::open(None)?;
    let policy = Preset::Default.policy();
    let mut spec = RunSpec::new(find_claude(None)?, env::current_dir()?, "Write hello.txt.", policy);
    spec.permission_mode = Some("acceptEdits".to_owned());
    let mut handle = supervisor.run(spec)?;
    let mut events = handle.events();
    let Some(RunEvent::Started { run, .. }) = events.next().await else {
        return Err("the first event is the start".into());
    };
    handle.cancel();
    handle.cancel();
    let canceller = handle.canceller();
    println!("run: {}", handle.outcome().await?.outcome.kind);
    // The run has finished.
    canceller.cancel();
    let mut steps = 0;
    while let Some(event) = events.next().await {
        steps += u32::from(matches!(event, RunEvent::Stepped { .. }));
    }
    assert!(steps > 0, "the stream has the steps of the run and ends with it");

    let run = run.as_str();
    let mut resumed = supervisor.resume(run, ResumeOptions::default())?;
    let mut events = resumed.events();
    let mut replayed = 0;
    while let Some(event) = events.next().await {
        match event {
            RunEvent::Replayed(_) => replayed += 1,
            RunEvent::Stepped { .. } => break,
            RunEvent::Started { .. }
            | RunEvent::Messages(_)
            | RunEvent::NotifyFailed(_)
            | RunEvent::Missed => {}
        }
    }
    assert_eq!(replayed, steps, "the next supervisor replays each step");
    // The run is live: the second handle follows the first.
    let attached = supervisor.attach(run)?;
    println!("resume: {}", resumed.outcome().await?.outcome.kind);
    println!("attach: {}", attached.outcome().await?.outcome.kind);
    match supervisor.recover(run)?.outcome().await {
        Err(RunError::NotStarted(SuperviseError::AlreadyFinished { outcome, .. })) => {
            println!("recover: already {}", outcome.kind);
        }
        other => return Err(format!("a finished run was recovered: {other:?}").into()),
    }
    match supervisor.attach("zzzzzz") {
        Err(SuperviseError::Store(StoreError::NoSuchRun { .. })) => Ok(()),
        other => Err(format!("an unknown run was found: {other:?}").into()),
    }
}
