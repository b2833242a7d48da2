//! Opens the ledger for commands that read it, updates it, and rebuilds it if it is damaged. If it cannot be
//! used, the run directories are read instead, which is slower but gives the same answers.

use crate::failure::Failure;
use crate::hints::Hint;
use crate::output;
use longhaul_store::{DatabaseError, Home, Ledger, LedgerError};
use std::time::Duration;

// A person waits this long without wondering why.
const WAIT: Duration = Duration::from_secs(2);

pub fn open(home: &Home) -> Result<Ledger, Failure> {
    // Reading creates no files in an empty home.
    if !home.runs_path().exists() {
        return temporary(home);
    }
    match usable(home) {
        Ok(ledger) => Ok(ledger),
        Err(LedgerError::Runs(error)) => Err(error.into()),
        Err(error @ LedgerError::Database(DatabaseError::Damaged { .. })) => {
            output::print_status(&format!("warning: {error}; rebuilding it"));
            let rebuilt = Ledger::set_aside(home).and_then(|()| usable(home));
            rebuilt.or_else(|error| without_file(home, &error))
        }
        Err(error) => without_file(home, &error),
    }
}

pub fn usable(home: &Home) -> Result<Ledger, LedgerError> {
    let mut ledger = Ledger::open(home, WAIT)?;
    match ledger.catch_up() {
        Ok(_) => Ok(ledger),
        Err(error @ LedgerError::Database(DatabaseError::Locked { .. })) => {
            output::print_status(&format!("warning: {error}; the output may be slightly out of date"));
            Ok(ledger)
        }
        Err(error) => Err(error),
    }
}

fn without_file(home: &Home, error: &LedgerError) -> Result<Ledger, Failure> {
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    output::print_status(&format!("warning: {error}; reading every run's directory instead{hint}"));
    temporary(home)
}

fn temporary(home: &Home) -> Result<Ledger, Failure> {
    let mut ledger = Ledger::temporary(home)?;
    ledger.catch_up()?;
    Ok(ledger)
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Failure {
        Failure { hint: error.hint(), ..Failure::not_started(error.to_string(), "") }
    }
}
