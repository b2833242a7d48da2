//! The location and format of Claude Code's sessions.

use super::environment::SESSIONS_FOLDER;
use super::session_file::{
    Health, continuity, facts, health, history_up_to, missing_rows, repair, resume_point_before_wrap_up,
};
use super::session_paths::session_file;
use crate::SessionLayout;
use longhaul_core::{Continuity, SessionId};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The sessions of Claude Code.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClaudeSessionLayout;

impl SessionLayout for ClaudeSessionLayout {
    fn config_dir(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let configured = variable("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        configured.or_else(|| self.default_config_dir(variable))
    }

    fn default_config_dir(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        variable("HOME").map(|home| PathBuf::from(home).join(".claude"))
    }

    fn projects_dir(&self) -> &'static Path {
        Path::new(SESSIONS_FOLDER)
    }

    fn file(&self, cwd: &Path, session: &SessionId) -> PathBuf {
        session_file(cwd, session.as_str())
    }

    fn health(&self, bytes: &[u8]) -> Health {
        health(bytes)
    }

    fn repair(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        repair(bytes)
    }

    fn missing_rows(&self, bytes: &[u8], started: Option<usize>, stream: &[u8]) -> Vec<u8> {
        missing_rows(bytes, started, stream)
    }

    fn visible_tool_results(&self, bytes: &[u8]) -> BTreeSet<String> {
        facts(bytes).answered
    }

    fn last_row_id(&self, bytes: &[u8]) -> Option<String> {
        facts(bytes).last().map(str::to_owned)
    }

    fn resume_point_before_wrap_up(&self, bytes: &[u8], wrap_up_prompt: Option<&str>) -> Option<String> {
        resume_point_before_wrap_up(bytes, wrap_up_prompt)
    }

    fn history_up_to<'a>(&self, bytes: &'a [u8], message: &str) -> &'a [u8] {
        history_up_to(bytes, message)
    }

    fn continuity(&self, before: &[u8], after: &[u8], resume_at: Option<&str>) -> Continuity {
        let mut before = facts(before);
        if let Some(message) = resume_at {
            before.end = BTreeSet::from([message.to_owned()]);
        }
        continuity(&before, after)
    }
}
