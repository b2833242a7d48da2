//! The ledger for commands that read it: brought up to date, and made anew where it is damaged. Where it cannot be used
//! at all the answer is as good, only slower: the run directories are read instead.

use crate::failure::Failure;
use crate::open_home::of_store;
use crate::output;
use longhaul_store::{Home, Ledger, LedgerError};
use std::time::Duration;

// As long as a person waits without asking why.
const WAIT: Duration = Duration::from_secs(2);

/// The ledger of this home.
pub fn open(home: &Home) -> Result<Ledger, Failure> {
    // Reading creates nothing where there is nothing.
    if !home.runs_path().exists() {
        return own(home);
    }
    match usable(home) {
        Ok(ledger) => Ok(ledger),
        Err(LedgerError::Runs(error)) => Err(of_store(&error)),
        Err(error @ LedgerError::Damaged { .. }) => {
            output::print_status(&format!("warning: {error}; making it anew"));
            let anew = Ledger::set_aside(home).and_then(|()| usable(home));
            anew.or_else(|error| instead(home, &error))
        }
        Err(error) => instead(home, &error),
    }
}

/// The ledger of this home, if it can be used as it is.
pub fn usable(home: &Home) -> Result<Ledger, LedgerError> {
    let mut ledger = Ledger::open(home, WAIT)?;
    match ledger.catch_up() {
        Ok(_) => Ok(ledger),
        Err(error @ LedgerError::Locked { .. }) => {
            output::print_status(&format!("warning: {error}; what is told may be some moments old"));
            Ok(ledger)
        }
        Err(error) => Err(error),
    }
}

fn instead(home: &Home, error: &LedgerError) -> Result<Ledger, Failure> {
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    output::print_status(&format!("warning: {error}; reading every run's directory instead{hint}"));
    own(home)
}

/// One that is gone with us.
fn own(home: &Home) -> Result<Ledger, Failure> {
    let mut ledger = Ledger::temporary(home).map_err(|error| failure(&error))?;
    ledger.catch_up().map_err(|error| failure(&error))?;
    Ok(ledger)
}

/// What is wrong with the ledger, for a command that cannot do without it.
pub fn failure(error: &LedgerError) -> Failure {
    Failure { hint: error.hint(), ..Failure::not_started(error.to_string(), "", None) }
}
