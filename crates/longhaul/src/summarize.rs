//! Has a model summarize older work for a handoff prompt that a user inspects. It runs one process in a
//! temporary directory, then stops the process and deletes the directory.

use crate::dialect::dialect_of;
use crate::live::{LaunchSpec, OneShotProcess, RunMarker, evidence_of};
use crate::{Environment, SuperviseError};
use longhaul_agent::{AgentContext, WrittenSummary};
use longhaul_core::{CancelSource, Fault, HandoffSummary, RunSpec, Span, StopCause, classify};
use std::fs::File;
use std::io;
use thiserror::Error;

/// The reason why there is no summary.
#[derive(Debug, Error)]
pub enum SummarizeError {
    /// The system refused an operation.
    #[error("cannot ask the model: {0}")]
    Io(#[from] io::Error),
    /// The description of the agent is invalid.
    #[error("cannot ask the model: {0}")]
    Spec(#[from] SuperviseError),
    /// The agent could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The agent's program.
        program: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The model gave no answer.
    #[error("cannot ask the model: {}", .message.as_deref().unwrap_or(.fault.as_str()))]
    Failed {
        /// Fault of the attempt.
        fault: Fault,
        /// Message of the agent.
        message: Option<String>,
    },
    /// The model did not answer in time.
    #[error("cannot ask the model: no answer within {0}")]
    TimedOut(Span),
    /// The agent has no way to ask a model once. Contains its name.
    #[error("cannot ask the model: the agent `{0}` cannot answer a single question")]
    NotPossible(&'static str),
    /// A user cancelled the summary.
    #[error("cannot ask the model: cancelled")]
    Cancelled(CancelSource),
}

/// Returns the summary that the model writes for `prompt`, with the agent of `spec`. The model is stopped after its timeout or when
/// `cancelled` is ready. Must be called on a tokio runtime with time and I/O.
///
/// # Errors
/// Returns an error if the model cannot be started, fails, times out or is cancelled.
pub async fn summarize(
    spec: RunSpec,
    summary: &HandoffSummary,
    prompt: &str,
    cancelled: impl Future<Output = CancelSource>,
) -> Result<WrittenSummary, SummarizeError> {
    let scratch = tempfile::Builder::new().prefix("longhaul-summary-").tempdir()?;
    let (stream, stderr) = (scratch.path().join("stream.jsonl"), scratch.path().join("stderr.log"));
    let (stdout_file, stderr_file) = (File::create(&stream)?, File::create(&stderr)?);
    // There is no run. A new marker identifies the processes, so that all of them can be stopped.
    let marker = RunMarker::unowned();
    let dialect = dialect_of(&spec)?;
    let context = AgentContext::new(spec, marker.run().clone()).map_err(SuperviseError::from)?;
    let HandoffSummary { model, timeout, .. } = summary;
    let Some(invocation) = dialect.summary_invocation(&context, 0, model, prompt) else {
        return Err(SummarizeError::NotPossible(dialect.name()));
    };
    let launch = LaunchSpec::new(&invocation, &Environment::default(), &marker, stdout_file, stderr_file);
    let program = launch.program.display().to_string();
    let (mut process, _) = OneShotProcess::start(launch, invocation.stdin)
        .map_err(|(_, source)| SummarizeError::Start { program, source })?;
    let stopped = tokio::select! {
        exited = process.wait_for_exit() => exited.map(|_| None)?,
        () = tokio::time::sleep(timeout.to_std()) => Some(StopCause::TimedOut),
        source = cancelled => {
            process.stop(&marker).await?;
            return Err(SummarizeError::Cancelled(source));
        }
    };
    let exit = process.stop(&marker).await?;
    let (mut evidence, decoder) = evidence_of(&*dialect, &stream, &stderr, exit);
    evidence.stop_cause = stopped;
    let snapshot = decoder.snapshot();
    match (classify(&evidence), &snapshot.result) {
        (Some(Fault::AttemptTimeout), _) => Err(SummarizeError::TimedOut(*timeout)),
        (None, Some(text)) => Ok(WrittenSummary { model: model.clone(), text: text.clone() }),
        (fault, _) => Err(SummarizeError::Failed {
            fault: fault.unwrap_or(Fault::Unfinished),
            message: snapshot.errors.last().cloned(),
        }),
    }
}
