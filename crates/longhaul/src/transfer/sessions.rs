//! The agent's sessions that a run has worked on, and where their files are on this machine.

use crate::find_agent::files_in_folders;
use longhaul_agent::claude::session_paths::session_file;
use longhaul_core::{Record, SessionId, SessionPlan};
use longhaul_store::{History, Plan};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Every session that the run was to begin with, worked on, or took the history of.
pub(super) fn sessions_of(plan: &Plan, history: &History) -> BTreeSet<SessionId> {
    let mut sessions = BTreeSet::new();
    let mut add = |plan: &SessionPlan| {
        sessions.insert(plan.id().clone());
        if let SessionPlan::Fork { from, .. } = plan {
            sessions.insert(from.clone());
        }
    };
    plan.session.iter().for_each(&mut add);
    for record in history.records() {
        if let Record::AttemptStarted { plan, .. } = record {
            add(&plan.session);
        }
    }
    for record in history.records() {
        // As the agent itself named it.
        if let Record::SessionOpened { session, .. } = record {
            sessions.insert(session.clone());
        }
    }
    sessions
}

/// The file of a session: the one of this workspace, else the one last written to, in any project.
pub(super) fn find(config_dir: &Path, cwd: &Path, session: &SessionId) -> Option<PathBuf> {
    // A title, which is no id, names no file.
    if session.as_str().contains(['/', '\0']) {
        return None;
    }
    let own = config_dir.join(session_file(cwd, session.as_str()));
    if own.is_file() {
        return Some(own);
    }
    let name = format!("{session}.jsonl");
    files_in_folders(config_dir, Path::new("projects"), name.as_ref()).max_by_key(|path| {
        fs::metadata(path).and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    })
}
