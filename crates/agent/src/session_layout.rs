//! Defines where an agent stores its sessions, and what a parsed session file offers. Takes paths and bytes;
//! never accesses a file.

use longhaul_core::{Continuity, SessionId};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How an agent stores its sessions: one file each, in directories below its configuration directory.
pub trait SessionLayout {
    /// Returns the configuration directory of an agent that is started with these variables.
    fn config_dir(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf>;

    /// Returns the configuration directory that an agent uses if no variable names another one.
    fn default_config_dir(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf>;

    /// Returns the path, below the configuration directory, of the directory that holds all session
    /// directories.
    fn projects_dir(&self) -> &'static Path;

    /// Returns the path, below the configuration directory, where an agent working in `cwd` looks for the
    /// file of this session. `cwd` must be a canonical path.
    fn file(&self, cwd: &Path, session: &SessionId) -> PathBuf;

    /// Parses the bytes of a session file.
    fn parse(&self, bytes: Vec<u8>) -> Box<dyn SessionDocument>;
}

/// A session file, parsed once.
pub trait SessionDocument {
    /// Returns the bytes of the file.
    fn bytes(&self) -> &[u8];

    /// Returns whether the agent can continue from the file.
    fn health(&self) -> Health;

    /// Returns the bytes without the damaged parts, or `None` if nothing is damaged. Whole rows stay
    /// unchanged, including a row that shares its line with a block of NUL bytes.
    fn without_damage(&self) -> Option<Vec<u8>>;

    /// Returns the rows that an attempt's stream contains and the file lacks. They must be appended to the
    /// file, which that attempt wrote last. `started` is the length of the file in bytes when the attempt
    /// started, if it used this file.
    ///
    /// Restoring stops at a message of the agent program and at a call that did not run. A later exchange is
    /// not restored. Nothing is restored if file and stream do not match.
    fn missing_rows(&self, started: Option<usize>, stream: &[u8]) -> Vec<u8>;

    /// Returns the ids of the tool calls whose results are in the conversation, up to and including this
    /// message, or in all of it.
    fn answered_calls(&self, up_to: Option<&str>) -> BTreeSet<String>;

    /// Returns the id of the conversation's last row.
    fn last_row_id(&self) -> Option<&str>;

    /// Returns the id of the message to resume from if the last turns only belong to a wrap-up: the message
    /// before them. The wrap-up is recognized by `wrap_up_prompt` or by Longhaul's default prompt.
    fn resume_point_before_wrap_up(&self, wrap_up_prompt: Option<&str>) -> Option<String>;

    /// Returns the history in the first `bytes` bytes of the file, or `None` if the file is shorter.
    fn history(&self, bytes: u64) -> Option<SessionHistory>;

    /// Returns whether this file continues an earlier history from its end. Of several branches the last one
    /// counts, because the next resume continues it.
    fn continuity(&self, before: &SessionHistory) -> Continuity;
}

/// The condition of a session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Every line is a row.
    Whole,
    /// It can be resumed, but some lines are lost.
    Damaged,
    /// No row belongs to a conversation, so the agent would not find the session.
    Empty,
}

/// The rows of a session at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionHistory {
    /// The ids of the conversation's rows, in file order.
    pub rows: Vec<String>,
    /// The rows that a continuation may descend from. There may be several: each result of parallel calls has
    /// its own row, and the agent continues from that of the last call.
    pub end: BTreeSet<String>,
}
