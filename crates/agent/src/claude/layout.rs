//! The location and format of Claude Code's sessions.

use super::environment::SESSIONS_FOLDER;
use super::session_file::ClaudeSession;
use super::session_paths::session_file;
use crate::{SessionDocument, SessionLayout};
use longhaul_core::SessionId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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

    fn parse(&self, bytes: Vec<u8>) -> Box<dyn SessionDocument> {
        Box::new(ClaudeSession::parse(bytes))
    }
}
