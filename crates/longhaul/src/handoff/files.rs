//! Seeds from files that the agent wrote, where a run's own record is lost or there never was one.

use super::{RecordedWork, end_of};
use longhaul_agent::{Conversation, Dialect, HandoffReason};
use longhaul_store::open_regular;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

// How much is read of the start of a long session: the task stands there, and early decisions.
const HEAD_BYTES_MAX: u64 = 4 << 20;

/// Why no seed can be made of some files.
#[derive(Debug, Error)]
pub enum HandoffError {
    /// The system refused to read one.
    #[error("read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// One holds nothing of an agent.
    #[error("read {}: it is neither a session file of the agent nor a stream of it", .0.display())]
    UnknownFormat(PathBuf),
    /// None of them says what was to be done.
    #[error("find the task in {}: it does not say what was to be done", .0.display())]
    NoTask(PathBuf),
}

impl RecordedWork {
    /// The work that these files tell of, the oldest first. Without a `task` it is the one that the first prompt on
    /// record was.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or no task is known.
    pub fn of_files(
        files: &[PathBuf],
        dialect: &dyn Dialect,
        task: Option<&str>,
    ) -> Result<RecordedWork, HandoffError> {
        let mut transcript = Conversation::default();
        let mut first_asked = None;
        for path in files {
            let io = |source| HandoffError::Io { path: path.clone(), source };
            let end = end_of(path).map_err(io)?;
            let told = dialect.conversation_from_file(&end.bytes);
            let told = told.ok_or_else(|| HandoffError::UnknownFormat(path.clone()))?;
            if first_asked.is_none() {
                let head = if end.start > 0 {
                    dialect.conversation_from_file(&head_of(path).map_err(io)?)
                } else {
                    None
                };
                first_asked = head.as_ref().unwrap_or(&told).task().map(str::to_owned);
            }
            transcript = transcript.then(told);
        }
        let no_task = || HandoffError::NoTask(files.first().cloned().unwrap_or_default());
        let task = task.map(str::to_owned).or(first_asked).ok_or_else(no_task)?;
        Ok(RecordedWork { transcript, task, reason: HandoffReason::Text("only a record of it is left") })
    }
}

pub(super) fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(HEAD_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
