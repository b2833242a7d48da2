//! Has a model review the work, once the commands of a check have passed. The process can only read files. It
//! never decides: its structured verdict is part of its evidence.

use super::one_shot::{EndedOneShot, ModelRun};
use super::world_config::WorldConfig;
use crate::changes::{ChangesError, DiffFormat, diff};
use longhaul_agent::{ReviewDiff, ReviewRequest, review_prompt};
use longhaul_core::{ReviewPlan, SpawnError, classify};
use longhaul_store::UnrecordedReason;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

// The agent has exited, and its work waits for the review. The recorded end of a run has as much time.
const DIFF_TIME_MAX: Duration = Duration::from_secs(5);

/// Starts a reviewer. `last_message` is the last message of the agent whose work it reviews.
pub(crate) async fn start_review(
    config: &WorldConfig<'_>,
    plan: &ReviewPlan,
    last_message: Option<&str>,
) -> Result<ModelRun, SpawnError> {
    let changes = changes(config).await;
    let prompt = review_prompt(&config.context, &changes, last_message);
    let checks = config.spec().policy.checks.as_ref();
    let request = ReviewRequest {
        attempt: plan.attempt,
        model: checks.and_then(|checks| checks.review.as_ref()?.model.as_deref()),
        prompt: &prompt,
        remaining: plan.remaining,
    };
    let invocation = config.dialect.review_invocation(&config.context, &request);
    ModelRun::start(config, config.dir.review(plan.review), invocation.ok_or(SpawnError::NotRunnable)?)
}

/// Adds the findings of a reviewer to the log of its check, for the next prompt and for people. A failed write
/// fails no run: the agent then learns only that the check failed.
pub(crate) fn record_findings(config: &WorldConfig<'_>, check: u32, ended: &EndedOneShot, stopped: bool) {
    let text = findings(ended, stopped);
    if let Ok(mut log) = config.dir.create_check_output(check, false) {
        let _ = log.write_all(text.as_bytes());
    }
}

fn findings(ended: &EndedOneShot, stopped: bool) -> String {
    let snapshot = ended.decoder.snapshot();
    let Some(answer) = &snapshot.review else {
        let reason = match classify(&ended.evidence) {
            _ if stopped => "longhaul stopped it".to_owned(),
            Some(fault) => fault.describe().to_owned(),
            None => "its answer has no verdict".to_owned(),
        };
        let message = snapshot.errors.last().map_or_else(String::new, |message| format!(" ({message})"));
        return format!("the reviewer gave no verdict: {reason}{message}\n");
    };
    let mut text = match (answer.complete, answer.missing.len()) {
        (true, 0) => "the reviewer found nothing missing\n".to_owned(),
        (false, 0) => "the reviewer says that the task is not complete, but it names nothing\n".to_owned(),
        (_, 1) => "the reviewer found 1 thing missing:\n".to_owned(),
        (_, count) => format!("the reviewer found {count} things missing:\n"),
    };
    for finding in &answer.missing {
        // A finding on several lines stays one item.
        let _ = writeln!(text, "- {}", finding.trim().replace('\n', "\n  "));
    }
    text
}

/// Returns the changes of the workspace since the run started.
async fn changes(config: &WorldConfig<'_>) -> ReviewDiff {
    let patch = async {
        let changes = diff(config.home, &config.dir, Vec::new()).await?;
        changes.render(DiffFormat::Patch { binary: false }).await
    };
    match tokio::time::timeout(DIFF_TIME_MAX, patch).await {
        Ok(Ok(patch)) => ReviewDiff::Patch(String::from_utf8_lossy(&patch).into_owned()),
        Ok(Err(ChangesError::Unrecorded(UnrecordedReason::NotInGit))) => {
            ReviewDiff::Unavailable("this directory is in no git repository".to_owned())
        }
        Ok(Err(error)) => ReviewDiff::Unavailable(error.to_string()),
        Err(_) => ReviewDiff::Unavailable("git took too long".to_owned()),
    }
}
