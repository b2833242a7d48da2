//! Contradictions in the description of a run.

use crate::Span;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why a run cannot be started as described.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// There is no task.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// The working directory is relative, so it would depend on the supervisor's own.
    #[error("the working directory {} is not absolute", .0.display())]
    RelativePath(PathBuf),
    /// Working time is part of elapsed time, so the limit on working time could never be reached.
    #[error("the limit on working time, {time}, exceeds the limit on elapsed time, {wall}")]
    TimeExceedsWall {
        /// Limit on working time.
        time: Span,
        /// Limit on elapsed time.
        wall: Span,
    },
    /// The whole time is kept for the wrap-up.
    #[error("the reserve ({reserve}) leaves nothing of the limit ({limit})")]
    ReserveExceedsLimit {
        /// Reserve for the wrap-up.
        reserve: Span,
        /// The shorter one of the time limits.
        limit: Span,
    },
    /// The checks have no command, so they would always pass.
    #[error("the checks have no command")]
    NoCheckCommand,
    /// Both decide when the work is done.
    #[error("keep-going and checks cannot be combined")]
    KeepGoingWithChecks,
    /// No last line of a message can be equal to this text.
    #[error("the line that claims that the work is done is not one line of text")]
    DoneWhenNotOneLine,
    /// A resumed run keeps this setting.
    #[error("a resumed run keeps its setting {0}")]
    Fixed(&'static str),
}
