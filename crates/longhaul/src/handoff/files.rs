//! Loads work from files that the agent wrote, for a handoff prompt without the records of a run.

use super::{RecordedWork, end_of};
use longhaul_agent::{AGENTS, Conversation, Dialect, HandoffReason, dialect_named};
use longhaul_store::open_regular;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

// Read from the start of a long session, which holds the task and early decisions.
const HEAD_BYTES_MAX: u64 = 4 << 20;

/// The reason why files yield no handoff prompt.
#[derive(Debug, Error)]
pub enum HandoffError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file is not in a format of the agent.
    #[error("cannot read {}: it is neither a session file nor a stream of the agent", .0.display())]
    UnknownFormat(PathBuf),
    /// No file states the task.
    #[error("cannot find the task in {}: it does not state the task", .0.display())]
    NoTask(PathBuf),
}

impl RecordedWork {
    /// Loads the work that these files of one agent record, the oldest first. Without a `task`, the first
    /// recorded prompt is the task.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or if the task is unknown.
    pub fn from_files(files: &[PathBuf], task: Option<&str>) -> Result<RecordedWork, HandoffError> {
        let dialects = AGENTS.iter().filter_map(|agent| dialect_named(agent));
        let mut works = dialects.map(|dialect| RecordedWork::from_files_of(files, &*dialect, task));
        let work = works.find(|work| !matches!(work, Err(HandoffError::UnknownFormat(_))));
        work.unwrap_or_else(|| Err(HandoffError::UnknownFormat(files.first().cloned().unwrap_or_default())))
    }

    fn from_files_of(
        files: &[PathBuf],
        dialect: &dyn Dialect,
        task: Option<&str>,
    ) -> Result<RecordedWork, HandoffError> {
        let mut transcript = Conversation::default();
        let mut recorded_task = None;
        for path in files {
            let io = |source| HandoffError::Io { path: path.clone(), source };
            let end = end_of(path).map_err(io)?;
            let conversation = dialect.conversation_from_file(&end.bytes);
            let conversation = conversation.ok_or_else(|| HandoffError::UnknownFormat(path.clone()))?;
            if recorded_task.is_none() {
                let head = if end.start > 0 {
                    dialect.conversation_from_file(&head_of(path).map_err(io)?)
                } else {
                    None
                };
                recorded_task = head.as_ref().unwrap_or(&conversation).task().map(str::to_owned);
            }
            transcript = transcript.then(conversation);
        }
        let no_task = || HandoffError::NoTask(files.first().cloned().unwrap_or_default());
        let task = task.map(str::to_owned).or(recorded_task).ok_or_else(no_task)?;
        Ok(RecordedWork { transcript, task, reason: HandoffReason::Text("only a record of it is left") })
    }
}

pub(super) fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(HEAD_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
