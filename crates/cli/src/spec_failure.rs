//! Explains contradictions in the description of a run by the flags that cause them.

use crate::failure::Failure;
use longhaul_core::SpecError;

/// Returns the usage error for a contradiction.
pub fn spec_failure(error: SpecError) -> Failure {
    match error {
        SpecError::TimeExceedsWall { time, wall } => Failure::usage(
            format!("--time-limit {time} exceeds --wall-limit {wall}"),
            "working time is part of elapsed time: raise --wall-limit or lower --time-limit",
        ),
        SpecError::ReserveExceedsLimit { .. } => {
            Failure::usage(error.to_string(), "lower --wrap-up-reserve, or raise the limit")
        }
        SpecError::KeepGoingWithChecks => Failure::usage(
            "--keep-going and --check cannot be combined",
            "drop --keep-going: a failed check already makes the agent continue",
        ),
        SpecError::DoneWhenNotOneLine => Failure::usage(
            "--done-when needs one line of text",
            "choose a line that is never written by accident, like ALL TASKS COMPLETE",
        ),
        SpecError::EmptyPrompt => {
            Failure::usage(error.to_string(), "pass the task: longhaul run \"fix the failing tests\"")
        }
        SpecError::RelativePath(_) => {
            Failure::usage(error.to_string(), "name an existing directory with --cwd")
        }
        SpecError::NoCheckCommand => {
            Failure::usage(error.to_string(), "pass the command with --check COMMAND")
        }
        SpecError::Fixed(_) => Failure::usage(error.to_string(), "start another run for another task"),
    }
}
