//! Prints the decisions of a run as they are made.
//!
//! ```text
//! cargo run -p longhaul --example watch -- "Fix the tests."
//! ```
//! Claude Code works in the current directory and may edit files there.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use longhaul::find_agent::find_claude;
use longhaul::records::{AfterAttempt, AttemptEnd};
use longhaul::{Moment, Preset, Record, Run, RunEvent, RunReport, RunSpec, Supervisor};
use std::env;
use std::error::Error;
use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(prompt) = env::args().nth(1) else {
        eprintln!("usage: watch PROMPT");
        return ExitCode::from(2);
    };
    match watch(prompt).await {
        Ok(report) => ExitCode::from(report.outcome.exit_code()),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn watch(prompt: String) -> Result<RunReport, Box<dyn Error>> {
    let policy = Preset::Default.policy();
    let mut spec = RunSpec::new(find_claude(None)?, env::current_dir()?, prompt, policy);
    spec.permission_mode = Some("acceptEdits".to_owned());
    let mut handle = Supervisor::open(None)?.run(spec)?;
    // The state of the run, folded from its records.
    let mut run = Run::new();
    let mut events = handle.events();
    while let Some(event) = events.next().await {
        match event {
            RunEvent::Started { run, .. } => println!("run {run} starts"),
            RunEvent::Stepped { at, records } => {
                for record in &records {
                    run.apply(at, record);
                    print(&run, at, record);
                }
            }
            RunEvent::Replayed(_) | RunEvent::Messages(_) | RunEvent::NotifyFailed(_) | RunEvent::Missed => {}
        }
    }
    Ok(handle.outcome().await?)
}

/// Prints a line for each important decision.
fn print(run: &Run, at: Moment, record: &Record) {
    // There are about twenty kinds of records. A program that must handle each new kind matches all of them.
    if let Record::AttemptStarted { plan } = record {
        println!("attempt {} starts", plan.attempt);
    }
    if let Record::AttemptEnded(AttemptEnd { fault, next, .. }) = record {
        println!("  it ended: {}", fault.map_or("no fault", |fault| fault.as_str()));
        if let AfterAttempt::Attempt { at: until, remedy, .. } = next {
            println!("  the remedy: {remedy:?}, in {}", until.since(at));
        }
    }
    if let Record::RunFinished { outcome } = record {
        println!("the run finished: {}, after {} of work", outcome.kind, run.state().active(at));
    }
}
