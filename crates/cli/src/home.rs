//! The user's runs: opening their home, finding the one that was meant.

use crate::failure::Failure;
use longhaul_agent::near;
use longhaul_store::{Home, RunDir, StoreError};
use std::env;

/// The home, made if it is not there.
pub fn open() -> Result<Home, Failure> {
    Home::open(None, |name| env::var_os(name)).map_err(|error| {
        let hint =
            error.hint().unwrap_or_else(|| "set LONGHAUL_HOME to a directory you can write to".to_owned());
        Failure::refused(error.to_string(), hint, None)
    })
}

/// The home as it is.
pub fn locate() -> Result<Home, Failure> {
    Home::locate(None, |name| env::var_os(name)).map_err(|error| of_store(&error))
}

/// The run that a person named.
pub fn find_run(home: &Home, asked: &str) -> Result<RunDir, Failure> {
    home.find(asked).map_err(|error| match error {
        StoreError::NoSuchRun { .. } => {
            let runs: Vec<String> = home
                .runs_newest_first()
                .map_or_else(|_| Vec::new(), |runs| runs.map(|run| run.id().to_string()).collect());
            let near = near(asked, runs.iter().map(String::as_str));
            let hint = match (near.as_slice(), runs.first()) {
                ([], Some(last)) => format!("the last run is {last}; `@` names it too"),
                ([], None) => "no run was begun yet; `longhaul run` begins one".to_owned(),
                (near, _) => format!("did you mean {}?", near.join(" or ")),
            };
            Failure::refused(error.to_string(), hint, None)
        }
        _ => of_store(&error),
    })
}

/// What is wrong on disk, with what to do about it.
pub fn of_store(error: &StoreError) -> Failure {
    let hint = error.hint();
    Failure { hint, ..Failure::refused(error.to_string(), "", None) }
}
