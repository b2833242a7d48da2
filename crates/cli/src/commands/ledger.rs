//! `longhaul ledger`: the index of all runs made anew, or compared with their journals.

use crate::args::{GlobalArgs, LedgerArgs, LedgerCommand, OutputFormat};
use crate::failure::{Failure, UNEXPECTED_ERROR};
use crate::output::phrases::counted;
use crate::{open_home, open_ledger, output};
use longhaul_core::Span;
use longhaul_store::{Home, Ledger, LedgerError};
use serde::Serialize;
use std::time::{Duration, Instant};

// Whoever asks for this has time.
const WAIT: Duration = Duration::from_secs(30);

/// Carries out the command and returns its exit code.
pub fn ledger(global: &GlobalArgs, args: &LedgerArgs) -> Result<u8, Failure> {
    let home = open_home::open()?;
    match args.command {
        LedgerCommand::Rebuild => rebuild(global, &home),
        LedgerCommand::Verify => verify(global, &home),
    }
}

/// What making it anew came to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rebuilt {
    /// How many runs are in it.
    runs: u64,
    /// How many runs it had whose directories are gone.
    removed: u64,
    /// How long that took.
    duration_ms: Span,
    /// The file.
    ledger: String,
}

fn rebuild(global: &GlobalArgs, home: &Home) -> Result<u8, Failure> {
    let started = Instant::now();
    let anew = || Ledger::open(home, WAIT)?.rebuild();
    let made = match anew() {
        // What nobody can use is not mended: there is nothing in it that is not elsewhere.
        Err(LedgerError::Damaged { .. } | LedgerError::Newer { .. }) => {
            Ledger::set_aside(home).and_then(|()| anew())
        }
        made => made,
    };
    let made = made.map_err(|error| open_ledger::failure(&error))?;
    let rebuilt = Rebuilt {
        runs: made.derived,
        removed: made.removed,
        duration_ms: Span(started.elapsed().as_millis() as u64),
        ledger: Ledger::path_in(home).display().to_string(),
    };
    match output::format(global) {
        OutputFormat::Text => output::print_text(&format!(
            "{} in {:.1} s: {}\n",
            counted(rebuilt.runs, "run"),
            rebuilt.duration_ms.millis() as f64 / 1_000.0,
            rebuilt.ledger
        )),
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&rebuilt),
    }
    Ok(0)
}

/// What comparing it found.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verified {
    /// How many runs were compared.
    runs: u64,
    /// What is different, in words.
    differences: Vec<String>,
}

fn verify(global: &GlobalArgs, home: &Home) -> Result<u8, Failure> {
    let mut differences = Vec::new();
    let ledger = Ledger::open(home, WAIT).map_err(|error| open_ledger::failure(&error))?;
    let runs = ledger.verify(|difference| differences.push(difference.to_string()));
    let verified = Verified { runs: runs.map_err(|error| open_ledger::failure(&error))?, differences };
    let agrees = verified.differences.is_empty();
    match output::format(global) {
        OutputFormat::Text => {
            let told: String = verified.differences.iter().map(|told| format!("{told}\n")).collect();
            let verdict = match verified.differences.len() {
                0 => "the ledger says what the journals say".to_owned(),
                1 => "1 difference; `longhaul ledger rebuild` makes the ledger anew".to_owned(),
                count => format!("{count} differences; `longhaul ledger rebuild` makes the ledger anew"),
            };
            output::print_text(&format!("{told}{}: {verdict}\n", counted(verified.runs, "run")));
        }
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&verified),
    }
    Ok(if agrees { 0 } else { UNEXPECTED_ERROR })
}
