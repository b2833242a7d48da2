//! `longhaul ledger`: rebuilds the index of all runs, or compares it with the journals.

use crate::args::{GlobalArgs, LedgerCommand};
use crate::failure::{Failure, UNEXPECTED_ERROR};
use crate::output::phrases::counted;
use crate::{open_home, output};
use longhaul_core::Span;
use longhaul_store::{DatabaseError, Home, Ledger, LedgerError, VerifyStats};
use serde::Serialize;
use std::time::{Duration, Instant};

// A user who runs this command accepts a wait.
const WAIT: Duration = Duration::from_secs(30);

pub fn ledger(global: &GlobalArgs, command: LedgerCommand) -> Result<u8, Failure> {
    let home = open_home::open()?;
    match command {
        LedgerCommand::Rebuild => rebuild(global, &home),
        LedgerCommand::Verify => verify(global, &home),
    }
}

/// Result of a rebuild.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rebuilt {
    /// Number of indexed runs.
    runs: u64,
    /// Number of runs removed from the index because their directories are gone.
    removed: u64,
    /// Duration of the rebuild.
    duration_ms: Span,
    /// Path of the ledger.
    ledger: String,
}

fn rebuild(global: &GlobalArgs, home: &Home) -> Result<u8, Failure> {
    let started = Instant::now();
    let open_and_rebuild = || Ledger::open(home, WAIT)?.rebuild();
    let result = match open_and_rebuild() {
        // An unusable file is replaced, not repaired: it contains no original data.
        Err(LedgerError::Database(DatabaseError::Damaged { .. } | DatabaseError::Newer { .. })) => {
            Ledger::set_aside(home).and_then(|()| open_and_rebuild())
        }
        result => result,
    };
    let result = result?;
    let rebuilt = Rebuilt {
        runs: result.derived,
        removed: result.removed,
        duration_ms: Span(started.elapsed().as_millis() as u64),
        ledger: Ledger::path_in(home).display().to_string(),
    };
    output::print_output(global, &rebuilt, || {
        let seconds = rebuilt.duration_ms.millis() as f64 / 1_000.0;
        format!("{} in {seconds:.1} s: {}\n", counted(rebuilt.runs, "run"), rebuilt.ledger)
    });
    Ok(0)
}

/// Result of a verification.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerifyOutput {
    /// Number of compared runs.
    runs: u64,
    /// Number of unfinished runs with a supervisor. They are not compared, because they change all the time.
    supervised: u64,
    /// Differences, as text.
    differences: Vec<String>,
}

fn verify(global: &GlobalArgs, home: &Home) -> Result<u8, Failure> {
    let mut differences = Vec::new();
    let mut ledger = Ledger::open(home, WAIT)?;
    // Runs that no reader has indexed yet are no difference.
    ledger.catch_up()?;
    let VerifyStats { compared, supervised } = ledger.verify(|difference| differences.push(difference))?;
    let verified = VerifyOutput { runs: compared, supervised, differences };
    output::print_output(global, &verified, || {
        let lines: String = verified.differences.iter().map(|line| format!("{line}\n")).collect();
        let summary = match verified.differences.len() {
            0 => "the ledger matches the journals".to_owned(),
            count => {
                format!(
                    "{}; `longhaul ledger rebuild` rebuilds the ledger",
                    counted(count as u64, "difference")
                )
            }
        };
        let supervised = match verified.supervised {
            0 => String::new(),
            count => format!("; not compared: {} with a supervisor", counted(count, "run")),
        };
        format!("{lines}{}: {summary}{supervised}\n", counted(verified.runs, "run"))
    });
    Ok(if verified.differences.is_empty() { 0 } else { UNEXPECTED_ERROR })
}
