//! Has a model condense older work for a seed that somebody wants to read: one process, its files in a temporary
//! directory, and nothing of either is left.

use crate::Environment;
use crate::live::{LaunchSpec, OneShotProcess, RunMarker, evidence_of};
use longhaul_agent::{AgentSpec, Dialect, Summary};
use longhaul_core::{CancelSource, Fault, Span, StopCause, classify};
use std::fs::File;
use std::io;
use thiserror::Error;
use tokio::sync::mpsc;

/// Why there is no summary.
#[derive(Debug, Error)]
pub enum SummarizeError {
    /// The system refused something.
    #[error("ask the model: {0}")]
    Io(#[from] io::Error),
    /// The agent could not be started.
    #[error("start {program}: {source}")]
    Start {
        /// Its program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The model gave no answer, for this fault.
    #[error("ask the model: {}", .message.as_deref().unwrap_or(.fault.word()))]
    Failed {
        /// Why.
        fault: Fault,
        /// What the agent said of it.
        message: Option<String>,
    },
    /// It had its time.
    #[error("ask the model: no answer within {0}")]
    TimedOut(Span),
    /// Somebody wanted the end.
    #[error("ask the model: cancelled")]
    Cancelled(CancelSource),
}

/// The summary that `model` writes when it is given `prompt`. It is ended after `timeout`, and when a cancel comes.
///
/// # Errors
///
/// If there is none.
pub async fn summarize(
    order: &AgentSpec,
    dialect: &dyn Dialect,
    (model, prompt): (&str, &str),
    timeout: Span,
    cancels: &mut mpsc::Receiver<CancelSource>,
) -> Result<Summary, SummarizeError> {
    let place = tempfile::Builder::new().prefix("longhaul-seed-").tempdir()?;
    let (stream, stderr) = (place.path().join("stream.jsonl"), place.path().join("stderr.log"));
    let output = (File::create(&stream)?, File::create(&stderr)?);
    // No run, but a mark of its own, by which all of it is found and ended.
    let marker = RunMarker::unowned();
    let invocation = dialect.summary_invocation(
        &AgentSpec { run_id: marker.run().clone(), ..order.clone() },
        0,
        model,
        prompt,
    );
    let launch = LaunchSpec::new(&invocation, &Environment::default(), &marker, output);
    let program = launch.program.display().to_string();
    let (mut condenser, _) = OneShotProcess::start(launch, invocation.stdin)
        .map_err(|(_, source)| SummarizeError::Start { program, source })?;
    let stopped = tokio::select! {
        gone = condenser.gone() => gone.map(|_| None)?,
        () = tokio::time::sleep(timeout.to_std()) => Some(StopCause::TimedOut),
        Some(by) = cancels.recv() => {
            condenser.end(&marker).await?;
            return Err(SummarizeError::Cancelled(by));
        }
    };
    let exit = condenser.end(&marker).await?;
    let (mut evidence, decoder) = evidence_of(dialect, (&stream, &stderr), exit);
    evidence.stop_cause = stopped;
    let snapshot = decoder.snapshot();
    match (classify(&evidence), &snapshot.result) {
        (Some(Fault::AttemptTimeout), _) => Err(SummarizeError::TimedOut(timeout)),
        (None, Some(text)) => Ok(Summary { model: model.to_owned(), text: text.clone() }),
        (fault, _) => Err(SummarizeError::Failed {
            fault: fault.unwrap_or(Fault::Unfinished),
            message: snapshot.errors.last().cloned(),
        }),
    }
}
