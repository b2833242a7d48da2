//! Defines where an agent stores its sessions, and which facts a session file contains. Takes paths and
//! bytes; never accesses a file.

use crate::claude::session_file::Health;
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

    /// Returns whether the agent can continue from these bytes, and their damage.
    fn health(&self, bytes: &[u8]) -> Health;

    /// Returns the bytes without the damaged parts, or `None` if nothing is damaged.
    fn repair(&self, bytes: &[u8]) -> Option<Vec<u8>>;

    /// Returns the rows that an attempt's stream contains and these bytes lack. They must be appended to the
    /// bytes, which that attempt wrote last. `started` is the length of the file when the attempt started, if
    /// it used this file.
    fn missing_rows(&self, bytes: &[u8], started: Option<usize>, stream: &[u8]) -> Vec<u8>;

    /// Returns the ids of the tool calls whose results are in the conversation.
    fn visible_tool_results(&self, bytes: &[u8]) -> BTreeSet<String>;

    /// Returns the id of the conversation's last row.
    fn last_row_id(&self, bytes: &[u8]) -> Option<String>;

    /// Returns the id of the message to resume from if the last turns only belong to a wrap-up: the message
    /// before them. The wrap-up is recognized by `wrap_up_prompt` or by Longhaul's default prompt.
    fn resume_point_before_wrap_up(&self, bytes: &[u8], wrap_up_prompt: Option<&str>) -> Option<String>;

    /// Returns the bytes up to and including this message.
    fn history_up_to<'a>(&self, bytes: &'a [u8], message: &str) -> &'a [u8];

    /// Returns whether a file that held `before` and now holds `after` was continued from its end, or from
    /// `resume_at` if that was requested.
    fn continuity(&self, before: &[u8], after: &[u8], resume_at: Option<&str>) -> Continuity;
}
