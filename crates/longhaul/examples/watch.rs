//! Prints the decisions of a run as they are made.
//!
//! ```text
//! cargo run -p longhaul --example watch -- "Fix the tests."
//! ```
//! Claude Code works in the current directory and may edit files there.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use longhaul::find_agent::find_claude;
use longhaul::{Observer, RunReport, RunRequest, StepView, supervise};
use longhaul_core::{AfterAttempt, Preset, Record, RunId, RunSpec, Step};
use longhaul_store::Home;
use std::env;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use tokio::sync::mpsc;

/// Prints a line for each important decision.
struct Watcher;

impl Observer for Watcher {
    fn on_start(&mut self, run: &RunId, _dir: &Path) {
        println!("run {run} starts");
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        // There are about twenty kinds of records. A program that must handle each new kind matches all of
        // them.
        for record in &step.records {
            if let Record::AttemptStarted { plan, .. } = record {
                println!("attempt {} starts", plan.attempt);
            }
            if let Record::AttemptEnded { at, fault, next, .. } = record {
                println!("  it ended: {}", fault.map_or("no fault", |fault| fault.as_str()));
                if let AfterAttempt::Attempt { at: until, remedy, .. } = next {
                    println!("  the remedy: {remedy:?}, in {}", until.since(*at));
                }
            }
            if let Record::RunFinished { at, outcome } = record {
                let active = view.run.state().active(*at);
                println!("the run finished: {}, after {active} of work", outcome.kind);
            }
        }
    }
}

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
    let home = Home::open(None, |name| env::var_os(name))?;
    let policy = Preset::Default.policy();
    let mut spec = RunSpec::new(find_claude(None)?, env::current_dir()?, prompt, policy);
    spec.permission_mode = Some("acceptEdits".to_owned());
    let request = RunRequest::new(home, spec);
    // This run is never cancelled.
    let (_cancel, cancels) = mpsc::channel(1);
    Ok(supervise(request, &mut Watcher, cancels).await?)
}
