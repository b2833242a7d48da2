//! A command that could not do what was asked: what to say, what to do about it, how to exit.

use longhaul_core::{Fault, Outcome, OutcomeKind, RunId};

/// The exit code of wrong usage: bad flags, a missing prompt, a directory that is not there.
pub const USAGE: u8 = 2;
/// The exit code of an error that nobody expected.
pub const UNEXPECTED_ERROR: u8 = 1;

/// Why a command ended without doing its work.
#[derive(Debug)]
pub struct Failure {
    pub error: String,
    pub hint: Option<String>,
    pub exit_code: u8,
    pub outcome: OutcomeKind,
    pub fault: Option<Fault>,
    /// The run that broke off and can be recovered.
    pub run: Option<RunId>,
}

impl Failure {
    /// The user asked for something that makes no sense. Nothing was begun.
    pub fn usage(error: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure {
            error: error.into(),
            hint: Some(hint.into()),
            exit_code: USAGE,
            outcome: OutcomeKind::NotStarted,
            fault: None,
            run: None,
        }
    }

    /// The run cannot be begun here and now. Nothing was started, nothing was spent.
    pub fn not_started(error: impl Into<String>, hint: impl Into<String>, fault: Option<Fault>) -> Failure {
        let outcome = OutcomeKind::NotStarted;
        Failure {
            error: error.into(),
            hint: Some(hint.into()),
            exit_code: code(outcome),
            outcome,
            fault,
            run: None,
        }
    }

    /// The run could not be carried to an end, and `longhaul recover` can go on with it.
    pub fn aborted(run: RunId, error: impl Into<String>, hint: impl Into<String>) -> Failure {
        let outcome = OutcomeKind::Incomplete;
        Failure {
            error: error.into(),
            hint: Some(hint.into()),
            exit_code: code(outcome),
            outcome,
            fault: None,
            run: Some(run),
        }
    }

    /// Something broke that should not.
    pub fn unexpected(error: impl Into<String>) -> Failure {
        Failure {
            error: error.into(),
            hint: None,
            exit_code: UNEXPECTED_ERROR,
            outcome: OutcomeKind::Bug,
            fault: None,
            run: None,
        }
    }
}

fn code(kind: OutcomeKind) -> u8 {
    Outcome { kind, ..Outcome::DONE }.exit_code()
}
