//! What is on record of a run, for sessions that do not remember it.

mod files;

use crate::SuperviseError;
use crate::supervisor::dialect_of;
use longhaul_agent::{
    About, CONDENSE_TOKENS_MAX, Dialect, Reason, Recorded, Summary, Transcript, condensing_prompt, seed,
    summarised_seed, whole_task,
};
use longhaul_core::{Ask, Fault, Record, Run, Say};
use longhaul_store::{Journal, RunDir, StoreError, open_regular};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

pub use files::SeedError;

// Of one attempt's stream, from its end: a seed tells of the latest work, and this much is hours of it.
const STREAM_BYTES_MAX: u64 = 64 << 20;

/// What was said and done in a run's first `attempts` attempts. One whose stream is gone is silent.
///
/// # Errors
///
/// If the journal cannot be read.
pub(crate) fn transcript_of(
    dir: &RunDir,
    dialect: &dyn Dialect,
    prompt: &str,
    attempts: u32,
) -> Result<Transcript, StoreError> {
    let history = Journal::load(&dir.journal_path())?;
    let (mut recorded, mut asked) = (Vec::new(), Vec::new());
    for record in history.records() {
        match record {
            Record::RunReopened { ask: Ask::Prompt(text), .. } => asked.push(text.clone()),
            Record::AttemptStarted { plan, .. } if plan.attempt <= attempts => {
                let stream = start_and_end_of(&dir.attempt(plan.attempt).stream_path()).unwrap_or_default();
                let asked = match plan.say {
                    Say::Task | Say::TaskAgain(_) => Some(whole_task(prompt, &asked).into_owned()),
                    Say::Asked => asked.last().cloned(),
                    Say::Continue(_)
                    | Say::Nudge(_)
                    | Say::WrapUp(_)
                    | Say::More(_)
                    | Say::KeepGoing(_)
                    | Say::Confirm
                    | Say::CheckFailed(_) => None,
                };
                let wraps_up_after = matches!(plan.say, Say::WrapUp(_)).then_some(0);
                recorded.push(Recorded { asked, stream, wraps_up_after });
            }
            Record::Said { say: Say::WrapUp(_), turns, .. } => {
                if let Some(recorded) = recorded.last_mut() {
                    recorded.wraps_up_after.get_or_insert(*turns);
                }
            }
            _ => {}
        }
    }
    Ok(dialect.transcript(&recorded))
}

/// What was asked for since the run began, each time when it went on after it had been over.
pub(crate) fn asked_in<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let asked = records.filter_map(|record| match record {
        Record::RunReopened { ask: Ask::Prompt(text), .. } => Some(text.clone()),
        _ => None,
    });
    asked.collect()
}

/// What is on record of some work, and what it was to be: all that a seed is made of.
#[derive(Clone, Debug)]
pub struct WorkOnRecord {
    transcript: Transcript,
    task: String,
    reason: Reason<'static>,
}

impl WorkOnRecord {
    /// That of a run, as it is now.
    ///
    /// # Errors
    ///
    /// If the run's files cannot be read.
    pub fn of_run(dir: &RunDir) -> Result<WorkOnRecord, SuperviseError> {
        let plan = dir.plan()?;
        let dialect = dialect_of(&plan)?;
        let history = Journal::load(&dir.journal_path())?;
        let run = Run::replay(history.records());
        let asked = asked_in(history.records());
        let task = whole_task(&plan.prompt.text, &asked).into_owned();
        let transcript = transcript_of(dir, &*dialect, &plan.prompt.text, run.state().attempts())?;
        let reason = Reason::Fault(run.state().fault.unwrap_or(Fault::SessionLost));
        Ok(WorkOnRecord { transcript, task, reason })
    }

    /// The seed with which a fresh session would go on with it; at most so long, in estimated tokens. With a
    /// summary, that stands in the place of older work.
    pub fn seed(&self, tokens_max: u64, summary: Option<&Summary>) -> String {
        match summary {
            Some(summary) => summarised_seed(&self.transcript, &self.about(), tokens_max, summary),
            None => seed(&self.transcript, &self.about(), tokens_max),
        }
    }

    /// What a model is to be given that condenses older work for such a seed; nothing if all of it fits.
    pub fn condensing_prompt(&self, tokens_max: u64) -> Option<String> {
        condensing_prompt(&self.transcript, &self.about(), tokens_max, CONDENSE_TOKENS_MAX)
    }

    fn about(&self) -> About<'_> {
        About::unlimited(&self.task, self.reason)
    }
}

/// The end of a file of lines.
struct End {
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
fn end_of(path: &Path) -> io::Result<End> {
    let mut file = open_regular(path)?;
    let cut = file.metadata()?.len().saturating_sub(STREAM_BYTES_MAX);
    file.seek(SeekFrom::Start(cut))?;
    let mut bytes = Vec::new();
    file.take(STREAM_BYTES_MAX).read_to_end(&mut bytes)?;
    if cut > 0 {
        let whole = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        bytes.drain(..whole);
    }
    Ok(End { bytes, start: cut })
}
