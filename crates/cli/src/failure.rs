//! The failure of a command: the message, the hint and the exit code.

use longhaul_core::{Fault, Outcome, OutcomeKind, RunId, SpecError};
use std::fmt::Display;

/// Exit code of wrong usage: bad flags, a missing prompt, a missing directory.
pub const USAGE: u8 = 2;
pub const UNEXPECTED_ERROR: u8 = 1;

/// The reason why a command ended without doing its work.
#[derive(Debug)]
pub struct Failure {
    pub error: String,
    pub hint: Option<String>,
    pub exit_code: u8,
    pub outcome: OutcomeKind,
    pub fault: Option<Fault>,
    /// The run that was interrupted and can be recovered.
    pub run: Option<RunId>,
}

impl Failure {
    pub fn text(&self) -> String {
        let hint = self.hint.iter().filter(|hint| !hint.is_empty());
        hint.fold(self.error.clone(), |text, hint| format!("{text}\nhint: {hint}"))
    }

    /// Creates the failure of an invalid request. Nothing was started.
    pub fn usage(error: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { exit_code: USAGE, ..Failure::not_started(error, hint) }
    }

    /// Creates the failure of a run that cannot start here and now. Nothing was started, and nothing was
    /// spent.
    pub fn not_started(error: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::new(OutcomeKind::NotStarted, error, hint)
    }

    /// Creates a failure with this outcome, which determines the exit code.
    pub fn new(outcome: OutcomeKind, error: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure {
            error: error.into(),
            hint: Some(hint.into()),
            exit_code: code(outcome),
            outcome,
            fault: None,
            run: None,
        }
    }

    /// Creates the failure of a run that could not finish and that `longhaul recover` can continue.
    pub fn aborted(run: RunId, error: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { run: Some(run), ..Failure::new(OutcomeKind::Incomplete, error, hint) }
    }

    pub fn unexpected(error: impl Into<String>) -> Failure {
        Failure { hint: None, exit_code: UNEXPECTED_ERROR, ..Failure::new(OutcomeKind::Bug, error, "") }
    }
}

/// Converts an error to a failure with the message `ACTION: ERROR`.
pub trait OrFailure<T> {
    fn or_usage(self, action: impl Display, hint: impl Into<String>) -> Result<T, Failure>;
    fn or_not_started(self, action: impl Display, hint: impl Into<String>) -> Result<T, Failure>;
    fn or_unexpected(self, action: impl Display) -> Result<T, Failure>;
}

impl<T, E: Display> OrFailure<T> for Result<T, E> {
    fn or_usage(self, action: impl Display, hint: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::usage(format!("{action}: {error}"), hint))
    }

    fn or_not_started(self, action: impl Display, hint: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::not_started(format!("{action}: {error}"), hint))
    }

    fn or_unexpected(self, action: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::unexpected(format!("{action}: {error}")))
    }
}

pub fn code(kind: OutcomeKind) -> u8 {
    Outcome { kind, ..Outcome::DONE }.exit_code()
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Failure {
        match error {
            SpecError::TimeExceedsWall { time, wall } => Failure::usage(
                format!("--time-limit {time} exceeds --wall-limit {wall}"),
                "working time is part of elapsed time: raise --wall-limit or lower --time-limit",
            ),
            SpecError::ReserveExceedsLimit { .. } => Failure::usage(
                error.to_string(),
                "raise --time-limit or --wall-limit, or lower --wrap-up-reserve",
            ),
            SpecError::KeepGoingWithChecks => Failure::usage(
                "--keep-going cannot be combined with --check or --review",
                "drop --keep-going: a failed check already makes the agent continue",
            ),
            SpecError::DoneWhenNotOneLine => Failure::usage(
                "--done-when needs one line of text",
                "choose a line that is never written by accident, like ALL TASKS COMPLETE",
            ),
            SpecError::EmptyPrompt => {
                Failure::usage(error.to_string(), "pass the task: longhaul run \"fix the failing tests\"")
            }
            SpecError::RelativePath(_) => Failure::usage(error.to_string(), "name an existing directory"),
            SpecError::NoCheckCommand => {
                Failure::usage(error.to_string(), "pass the command with --check COMMAND, or --review")
            }
            SpecError::Fixed(_) => Failure::usage(error.to_string(), "start another run for another task"),
        }
    }
}
