//! Lists the sessions that a run has worked on, and finds their files on this machine.

use crate::find_agent::files_in_folders;
use longhaul_agent::SessionLayout;
use longhaul_core::{SessionId, SessionPlan};
use longhaul_store::{LoadedJournal, Plan};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Returns every session that the run was planned for, worked on, or forked.
pub(super) fn sessions_of(plan: &Plan, history: &LoadedJournal) -> BTreeSet<SessionId> {
    let history = history.history();
    let mut sessions = BTreeSet::new();
    for planned in plan.spec.session.iter().chain(history.attempts().iter().map(|attempt| &attempt.session)) {
        sessions.insert(planned.id().clone());
        if let SessionPlan::Fork { from, .. } = planned {
            sessions.insert(from.clone());
        }
    }
    // The ids that the agent itself reported.
    sessions.extend(history.attempts().iter().filter_map(|attempt| attempt.opened_session.clone()));
    sessions
}

/// Returns the file of a session: the one of this workspace, or else the last modified one of any project.
pub(super) fn find(
    layout: &dyn SessionLayout,
    config_dir: &Path,
    cwd: &Path,
    session: &SessionId,
) -> Option<PathBuf> {
    // A title is not an id and names no file.
    if session.as_str().contains(['/', '\0']) {
        return None;
    }
    let path = config_dir.join(layout.file(cwd, session));
    if path.is_file() {
        return Some(path);
    }
    let name = format!("{session}.jsonl");
    files_in_folders(config_dir, layout.projects_dir(), name.as_ref()).max_by_key(|other| {
        fs::metadata(other).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    })
}
