//! Lists the newest runs, and the total cost of each model.
//!
//! ```text
//! cargo run -p longhaul --example costs
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr)]

use longhaul::{CostBy, Home, Ledger, LedgerRun, RunFilter};
use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

// Other processes write to the ledger for milliseconds. A person accepts a wait of two seconds.
const WAIT: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    match costs() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn costs() -> Result<(), Box<dyn Error>> {
    let home = Home::locate(None, |name| env::var_os(name))?;
    // Opening the ledger would create it.
    if !home.runs_path().exists() {
        println!("no runs yet");
        return Ok(());
    }
    let mut ledger = Ledger::open(&home, WAIT)?;
    // The ledger is an index of the run directories and first reads their new records.
    ledger.catch_up()?;

    for run in ledger.runs(&RunFilter { limit: Some(20), ..RunFilter::default() })? {
        println!("{}  {:<12} {:>9}  {}", run.id, state(&run), run.total_cost(), run.task);
    }
    println!();
    for row in ledger.costs(CostBy::Model, None)? {
        let spend = row.spend;
        let tokens = spend.tokens.total() + spend.truncated;
        println!("{:<32} {:>9}  {tokens} tokens", row.key, spend.cost + spend.estimated_cost);
    }
    Ok(())
}

/// Returns how the run finished, or else its state.
fn state(run: &LedgerRun) -> &'static str {
    run.outcome.map_or(run.state.as_str(), |outcome| outcome.as_str())
}
