//! Runs one request to its outcome and prints the report.
//!
//! ```text
//! cargo run -p longhaul --example run_task -- "Fix the tests."
//! ```
//! Claude Code works in the current directory and may edit files there. Ctrl-C interrupts it and keeps its
//! work.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use longhaul::find_agent::find_claude;
use longhaul::{CancelSource, OutcomeKind, Preset, RunReport, RunSpec, Supervisor};
use std::env;
use std::error::Error;
use std::process::ExitCode;
use tokio::signal::ctrl_c;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(prompt) = env::args().nth(1) else {
        eprintln!("usage: run_task PROMPT");
        return ExitCode::from(2);
    };
    match run_task(prompt).await {
        Ok(report) => {
            print(&report);
            // Only a run that is done exits with 0.
            ExitCode::from(report.outcome.exit_code())
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run_task(prompt: String) -> Result<RunReport, Box<dyn Error>> {
    let policy = Preset::Default.policy();
    let mut spec = RunSpec::new(find_claude(None)?, env::current_dir()?, prompt, policy);
    spec.permission_mode = Some("acceptEdits".to_owned());
    let run = Supervisor::open(None)?.run(spec)?;

    // The first Ctrl-C interrupts the exchange, a second one stops the agent at once.
    let canceller = run.canceller();
    tokio::spawn(async move {
        for source in [CancelSource::Person, CancelSource::PersonNow] {
            if ctrl_c().await.is_err() {
                return;
            }
            canceller.cancel_by(source);
        }
    });
    Ok(run.outcome().await?)
}

fn print(report: &RunReport) {
    println!("{}", report.result.as_deref().unwrap_or("(no answer)"));
    let (kind, attempts) = (report.outcome.kind, report.attempts);
    let cost = report.usage.reported_cost + report.usage.estimated_cost;
    eprintln!("run {}: {kind}, attempts: {attempts}, {}, {cost}", report.run, report.wall());
    for error in &report.errors {
        eprintln!("  {error}");
    }
    if report.outcome.kind != OutcomeKind::Done {
        eprintln!("to continue: longhaul resume {}", report.run);
    }
}
