//! Loads the recorded work of a run, for a handoff prompt to a fresh session.

mod files;

use crate::SuperviseError;
use crate::dialect::dialect_of;
use crate::file_end::FileEnd;
use longhaul_agent::{
    Conversation, Dialect, HandoffContext, HandoffReason, RecordedAttempt, SUMMARY_TOKENS_MAX,
    WrittenSummary, handoff_prompt, summary_prompt, task_with_follow_ups,
};
use longhaul_core::{AttemptHistory, PromptKind, RunHistory};
use longhaul_store::{Journal, RunDir, StoreError};
use std::io;
use std::path::Path;

pub use files::HandoffError;

// Read from the end of each attempt's stream. A handoff prompt covers the latest work, and this is hours of
// work.
const STREAM_BYTES_MAX: u64 = 64 << 20;

/// Returns the conversation of a run's first `attempts` attempts. An attempt whose stream is missing adds no
/// messages.
pub(crate) fn conversation_of(
    dir: &RunDir,
    dialect: &dyn Dialect,
    prompt: &str,
    attempts: u32,
) -> Result<Conversation, StoreError> {
    let history = Journal::load(&dir.journal_path())?.history();
    let earlier = history.attempts().iter().take_while(|attempt| attempt.number <= attempts);
    let recorded = earlier.map(|attempt| RecordedAttempt {
        user_prompt: user_prompt(&history, attempt, prompt),
        stream: start_and_end_of(&dir.attempt(attempt.number).stream_path()).unwrap_or_default(),
        wrap_up_after_results: attempt.wrap_up_after_results,
    });
    Ok(dialect.conversation(&recorded.collect::<Vec<_>>()))
}

/// Returns the user's prompt that an attempt starts with, or `None` if its prompt is Longhaul's. `task` is the
/// prompt of the run.
pub(crate) fn user_prompt(history: &RunHistory, attempt: &AttemptHistory, task: &str) -> Option<String> {
    let follow_ups = history.follow_ups(attempt.number);
    match attempt.prompt {
        PromptKind::Task | PromptKind::TaskAfterLoss(_) => {
            Some(task_with_follow_ups(task, &follow_ups).into_owned())
        }
        PromptKind::FollowUp => follow_ups.last().cloned(),
        PromptKind::Continue(_)
        | PromptKind::Nudge(_)
        | PromptKind::WrapUp(_)
        | PromptKind::LimitRaised(_)
        | PromptKind::KeepGoing(_)
        | PromptKind::ConfirmDone
        | PromptKind::CheckFailed(_) => None,
    }
}

/// The recorded work of a run and its task: the source of a handoff prompt.
#[derive(Clone, Debug)]
pub struct RecordedWork {
    transcript: Conversation,
    task: String,
    reason: HandoffReason<'static>,
}

impl RecordedWork {
    /// Loads the work of a run up to now.
    ///
    /// # Errors
    /// Returns an error if the run's files cannot be read.
    pub fn from_run(dir: &RunDir) -> Result<RecordedWork, SuperviseError> {
        let plan = dir.plan()?;
        let dialect = dialect_of(&plan.spec)?;
        let history = Journal::load(&dir.journal_path())?.history();
        let (state, prompts) = (history.state(), history.follow_ups(u32::MAX));
        let task = task_with_follow_ups(&plan.spec.prompt, &prompts).into_owned();
        let transcript = conversation_of(dir, &*dialect, &plan.spec.prompt, state.attempts())?;
        let reason = state.fault.map_or(HandoffReason::NewSession, HandoffReason::Fault);
        Ok(RecordedWork { transcript, task, reason })
    }

    /// Returns the handoff prompt for a fresh session, of at most `tokens_max` estimated tokens. If there is
    /// a summary, it replaces the older work.
    pub fn handoff_prompt(&self, tokens_max: u64, summary: Option<&WrittenSummary>) -> String {
        handoff_prompt(&self.transcript, &self.context(), tokens_max, summary)
    }

    /// Returns the prompt with which a model summarizes the older work, or `None` if all of it fits.
    pub fn summary_prompt(&self, tokens_max: u64) -> Option<String> {
        summary_prompt(&self.transcript, &self.context(), tokens_max, SUMMARY_TOKENS_MAX)
    }

    fn context(&self) -> HandoffContext<'_> {
        HandoffContext::unlimited(&self.task, self.reason)
    }
}

/// Returns the end of a stream. If the stream is longer, the result begins with the start of the stream,
/// because the start contains early decisions.
fn start_and_end_of(path: &Path) -> io::Result<Vec<u8>> {
    let end = end_of(path)?;
    if end.start == 0 {
        return Ok(end.bytes);
    }
    let mut bytes = files::head_of(path)?;
    bytes.truncate(usize::try_from(end.start).unwrap_or(usize::MAX));
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    bytes.extend(end.bytes);
    Ok(bytes)
}

fn end_of(path: &Path) -> io::Result<FileEnd> {
    FileEnd::read(path, STREAM_BYTES_MAX)
}
