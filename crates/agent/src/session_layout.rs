//! Where an agent keeps its sessions, and what a session's file proves. Bytes and paths in, words out:
//! nothing here looks at a file.

use crate::claude::session_file::Health;
use longhaul_core::{Continuity, SessionId};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How an agent keeps its sessions: a file each, in folders below its configuration directory.
pub trait SessionLayout {
    /// The configuration directory of an agent that is started with these variables.
    fn config_dir(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf>;

    /// The configuration directory that an agent has where nothing names another.
    fn default_config_dir(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf>;

    /// Below the configuration directory: what holds all folders of sessions.
    fn projects_dir(&self) -> &'static Path;

    /// Below the configuration directory: where an agent that works in `cwd`, a real path, looks for the
    /// file of this session.
    fn file(&self, cwd: &Path, session: &SessionId) -> PathBuf;

    /// Whether the agent can go on from these bytes, and what is damaged in them.
    fn health(&self, bytes: &[u8]) -> Health;

    /// The same bytes without what is damaged; nothing if nothing is.
    fn repair(&self, bytes: &[u8]) -> Option<Vec<u8>>;

    /// The rows that an attempt's stream tells and these bytes, which it wrote last, do not hold; they belong
    /// behind them. `begun` is how many bytes there were when the attempt began, if it was this file.
    fn missing_rows(&self, bytes: &[u8], started: Option<usize>, stream: &[u8]) -> Vec<u8>;

    /// The tool calls whose results the conversation shows, by the agent's names for them.
    fn visible_tool_results(&self, bytes: &[u8]) -> BTreeSet<String>;

    /// The agent's name for the last row of the conversation.
    fn last_row_id(&self, bytes: &[u8]) -> Option<String>;

    /// The agent's name for the message that the conversation is to go on from, where its last turns were for nothing
    /// but saving the work: the one before them. They were asked for in our words, or in these.
    fn resume_point_before_wrap_up(&self, bytes: &[u8], words: Option<&str>) -> Option<String>;

    /// The bytes up to this message, and with it.
    fn history_up_to<'a>(&self, bytes: &'a [u8], message: &str) -> &'a [u8];

    /// Whether a file that held `before` and now holds `after` went on from where it was, or from this message if it
    /// was to go on from there.
    fn continuity(&self, before: &[u8], after: &[u8], resume_at: Option<&str>) -> Continuity;
}
