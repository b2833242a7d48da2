//! What is on record of a run, for sessions that do not remember it.

mod files;

use crate::SuperviseError;
use crate::supervisor::dialect_from_plan;
use longhaul_agent::{
    Conversation, Dialect, HandoffContext, HandoffReason, RecordedAttempt, SUMMARY_TOKENS_MAX, Summary,
    handoff_prompt, handoff_prompt_with_summary, summary_prompt, task_with_follow_ups,
};
use longhaul_core::{Fault, PromptKind, Record, ResumeRequest, Run};
use longhaul_store::{Journal, RunDir, StoreError, open_regular};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

pub use files::HandoffError;

// Of one attempt's stream, from its end: a seed tells of the latest work, and this much is hours of it.
const STREAM_BYTES_MAX: u64 = 64 << 20;

/// What was said and done in a run's first `attempts` attempts. One whose stream is gone is silent.
///
/// # Errors
///
/// If the journal cannot be read.
pub(crate) fn conversation_of(
    dir: &RunDir,
    dialect: &dyn Dialect,
    prompt: &str,
    attempts: u32,
) -> Result<Conversation, StoreError> {
    let history = Journal::load(&dir.journal_path())?;
    let (mut recorded, mut asked) = (Vec::new(), Vec::new());
    for record in history.records() {
        match record {
            Record::RunReopened { request: ResumeRequest::Prompt(text), .. } => asked.push(text.clone()),
            Record::AttemptStarted { plan, .. } if plan.attempt <= attempts => {
                let stream = start_and_end_of(&dir.attempt(plan.attempt).stream_path()).unwrap_or_default();
                let asked = match plan.prompt {
                    PromptKind::Task | PromptKind::TaskAfterLoss(_) => {
                        Some(task_with_follow_ups(prompt, &asked).into_owned())
                    }
                    PromptKind::FollowUp => asked.last().cloned(),
                    PromptKind::Continue(_)
                    | PromptKind::Nudge(_)
                    | PromptKind::WrapUp(_)
                    | PromptKind::LimitRaised(_)
                    | PromptKind::KeepGoing(_)
                    | PromptKind::ConfirmDone
                    | PromptKind::CheckFailed(_) => None,
                };
                let wraps_up_after = matches!(plan.prompt, PromptKind::WrapUp(_)).then_some(0);
                recorded.push(RecordedAttempt {
                    user_prompt: asked,
                    stream,
                    wrap_up_after_results: wraps_up_after,
                });
            }
            Record::PromptSent { prompt: PromptKind::WrapUp(_), results: turns, .. } => {
                if let Some(recorded) = recorded.last_mut() {
                    recorded.wrap_up_after_results.get_or_insert(*turns);
                }
            }
            _ => {}
        }
    }
    Ok(dialect.conversation(&recorded))
}

/// What was asked for since the run began, each time when it went on after it had been over.
pub(crate) fn follow_ups_in<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let asked = records.filter_map(|record| match record {
        Record::RunReopened { request: ResumeRequest::Prompt(text), .. } => Some(text.clone()),
        _ => None,
    });
    asked.collect()
}

/// What is on record of some work, and what it was to be: all that a seed is made of.
#[derive(Clone, Debug)]
pub struct RecordedWork {
    transcript: Conversation,
    task: String,
    reason: HandoffReason<'static>,
}

impl RecordedWork {
    /// That of a run, as it is now.
    ///
    /// # Errors
    ///
    /// If the run's files cannot be read.
    pub fn of_run(dir: &RunDir) -> Result<RecordedWork, SuperviseError> {
        let plan = dir.plan()?;
        let dialect = dialect_from_plan(&plan)?;
        let history = Journal::load(&dir.journal_path())?;
        let run = Run::replay(history.records());
        let asked = follow_ups_in(history.records());
        let task = task_with_follow_ups(&plan.prompt.text, &asked).into_owned();
        let transcript = conversation_of(dir, &*dialect, &plan.prompt.text, run.state().attempts())?;
        let reason = HandoffReason::Fault(run.state().fault.unwrap_or(Fault::SessionLost));
        Ok(RecordedWork { transcript, task, reason })
    }

    /// The seed with which a fresh session would go on with it; at most so long, in estimated tokens. With a
    /// summary, that stands in the place of older work.
    pub fn handoff_prompt(&self, tokens_max: u64, summary: Option<&Summary>) -> String {
        match summary {
            Some(summary) => {
                handoff_prompt_with_summary(&self.transcript, &self.about(), tokens_max, summary)
            }
            None => handoff_prompt(&self.transcript, &self.about(), tokens_max),
        }
    }

    /// What a model is to be given that condenses older work for such a seed; nothing if all of it fits.
    pub fn summary_prompt(&self, tokens_max: u64) -> Option<String> {
        summary_prompt(&self.transcript, &self.about(), tokens_max, SUMMARY_TOKENS_MAX)
    }

    fn about(&self) -> HandoffContext<'_> {
        HandoffContext::unlimited(&self.task, self.reason)
    }
}

/// The end of a file of lines.
struct FileTail {
    bytes: Vec<u8>,
    /// Where it starts in the file, in bytes.
    start: u64,
}

/// The end of a stream, after its start if that is another part: early decisions stand there.
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

/// The end of a stream or a session file, from the beginning of a line on.
fn end_of(path: &Path) -> io::Result<FileTail> {
    let mut file = open_regular(path)?;
    let cut = file.metadata()?.len().saturating_sub(STREAM_BYTES_MAX);
    file.seek(SeekFrom::Start(cut))?;
    let mut bytes = Vec::new();
    file.take(STREAM_BYTES_MAX).read_to_end(&mut bytes)?;
    if cut > 0 {
        let whole = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        bytes.drain(..whole);
    }
    Ok(FileTail { bytes, start: cut })
}
