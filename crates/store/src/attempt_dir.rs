//! The directory of one attempt.

use crate::atomic::{replace, replace_json};
use crate::files::{if_exists, make_dirs, private, read_json_if_exists};
use crate::{
    AttemptFile, Durability, StoreError, failpoint_io, open_regular, read_at_most, read_regular_to_string,
};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The start of an error in `stderr.log` that Longhaul wrote.
const START_ERROR: &str = "longhaul: cannot start the agent: ";
// The longest part of the error is a path.
const START_ERROR_BYTES_MAX: u64 = 8 << 10;

/// The directory of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptDir {
    pub(crate) path: PathBuf,
    pub(crate) number: u32,
}

impl AttemptDir {
    /// Returns the number of the attempt, starting at 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory of the summary for this attempt, whether it exists or not. It has the files of
    /// an attempt except session and exit.
    pub fn summary(&self) -> AttemptDir {
        AttemptDir { path: self.path.join("summary"), number: self.number }
    }

    /// Creates the directory, unless a dead supervisor of the same run already did.
    pub fn create(self) -> Result<AttemptDir, StoreError> {
        make_dirs(&self.path)?;
        Ok(self)
    }

    /// Returns the path of a file of this type.
    pub fn path_of<T: AttemptFile>(&self) -> PathBuf {
        self.path.join(T::NAME)
    }

    /// Reads a file. Returns `None` if it was not written.
    pub fn read<T: AttemptFile>(&self) -> Result<Option<T>, StoreError> {
        read_json_if_exists(T::DESCRIPTION, &self.path_of::<T>())
    }

    /// Reads a file. Returns the default if it was not written or cannot be read.
    pub fn read_or_default<T: AttemptFile + Default>(&self) -> T {
        self.read().ok().flatten().unwrap_or_default()
    }

    /// Replaces a file.
    pub fn write<T: AttemptFile>(&self, content: &T) -> Result<(), StoreError> {
        replace_json(&self.path_of::<T>(), content, T::DURABILITY)
    }

    /// Returns the path of the agent's event stream: its unchanged standard output.
    pub fn stream_path(&self) -> PathBuf {
        self.path.join("stream.jsonl")
    }

    /// Returns the path of the agent's unchanged standard error.
    pub fn stderr_path(&self) -> PathBuf {
        self.path.join("stderr.log")
    }

    /// Opens `stream.jsonl` for the agent to append to.
    pub fn create_stream(&self) -> Result<File, StoreError> {
        open_append(&self.stream_path())
    }

    /// Opens `stderr.log` for the agent to append to.
    pub fn create_stderr(&self) -> Result<File, StoreError> {
        open_append(&self.stderr_path())
    }

    /// Writes to `stderr.log` why the system did not start the agent. It is for people, so errors are ignored.
    pub fn write_start_error(&self, error: &io::Error) {
        let _ = self.create_stderr().map(|mut stderr| write!(stderr, "{START_ERROR}{error}"));
    }

    /// Returns why the system did not start the agent, or `None` if `stderr.log` is the agent's.
    pub fn start_error(&self) -> Option<String> {
        let file = open_regular(&self.stderr_path()).ok()?;
        let bytes = read_at_most(file, START_ERROR_BYTES_MAX).ok()?;
        String::from_utf8_lossy(&bytes).strip_prefix(START_ERROR).map(str::to_owned)
    }

    /// Returns the path of a guarded agent's standard input, a FIFO that exists while the agent runs.
    pub fn input_path(&self) -> PathBuf {
        self.path.join("input")
    }

    /// Creates the FIFO for a guarded agent's input and opens it for the agent. It is open for reading and
    /// writing, so that the input does not end when a supervisor dies.
    pub fn create_input(&self) -> Result<File, StoreError> {
        let path = self.input_path();
        self.remove_input();
        failpoint_io::make_fifo(&path).map_err(StoreError::io("create", &path))?;
        File::options().read(true).write(true).open(&path).map_err(StoreError::io("open", &path))
    }

    /// Removes the FIFO, if there is one, after its agent has ended.
    pub fn remove_input(&self) {
        // If this fails, only an unused name remains.
        let _ = fs::remove_file(self.input_path());
    }

    /// Records that the disk is full by an empty file, which needs no room.
    pub fn record_disk_full(&self) {
        // If this fails, there is no evidence of it.
        let _ = private().create(true).append(true).open(self.disk_full_path());
    }

    /// Returns whether the disk was full during the attempt, so that output of the agent may be lost.
    pub fn disk_was_full(&self) -> bool {
        self.disk_full_path().exists()
    }

    fn disk_full_path(&self) -> PathBuf {
        self.path.join("disk-full")
    }

    /// Writes `prompt.txt`, the prompt that the agent starts with, without a disk flush.
    pub fn write_prompt(&self, prompt: &str) -> Result<(), StoreError> {
        replace(&self.prompt_path(), prompt.as_bytes(), Durability::Process)
    }

    /// Reads the prompt that the agent started with. Returns `None` if it was not recorded.
    pub fn prompt(&self) -> Result<Option<String>, StoreError> {
        read_if_exists(&self.prompt_path())
    }

    fn prompt_path(&self) -> PathBuf {
        self.path.join("prompt.txt")
    }

    /// Adds the id of a request that is about to be sent to the agent to `requests.txt`, without a disk flush:
    /// the agent dies with the machine.
    pub fn add_sent_request(&self, id: &str) -> Result<(), StoreError> {
        append_line(&self.sent_requests_path(), id)
    }

    /// Returns the ids of the requests that were sent to the agent one after the other.
    pub fn sent_requests(&self) -> Result<Vec<String>, StoreError> {
        let ids = read_if_exists(&self.sent_requests_path())?;
        Ok(ids.unwrap_or_default().lines().map(str::to_owned).collect())
    }

    fn sent_requests_path(&self) -> PathBuf {
        self.path.join("requests.txt")
    }

    /// Adds to `replies.txt` that the agent's requests in the first `bytes` of its stream are about to be answered,
    /// without a disk flush: the agent dies with the machine.
    pub fn add_replied_bytes(&self, bytes: u64) -> Result<(), StoreError> {
        append_line(&self.replies_path(), &bytes.to_string())
    }

    /// Returns the number of bytes of the stream whose requests were answered.
    pub fn replied_bytes(&self) -> Result<u64, StoreError> {
        let text = read_if_exists(&self.replies_path())?;
        Ok(text.unwrap_or_default().lines().filter_map(|bytes| bytes.parse().ok()).max().unwrap_or(0))
    }

    fn replies_path(&self) -> PathBuf {
        self.path.join("replies.txt")
    }
}

fn read_if_exists(path: &Path) -> Result<Option<String>, StoreError> {
    if_exists(read_regular_to_string(path)).map_err(StoreError::io("read", path))
}

fn append_line(path: &Path, line: &str) -> Result<(), StoreError> {
    let written = open_append(path)?.write_all(format!("{line}\n").as_bytes());
    written.map_err(StoreError::io("write", path))
}

fn open_append(path: &Path) -> Result<File, StoreError> {
    failpoint_io::open(private().append(true).create(true), path).map_err(StoreError::io("create", path))
}
