//! Lists the sessions that a run has worked on, and finds their files on this machine.

use crate::find_agent::files_in_folders;
use longhaul_agent::SessionLayout;
use longhaul_core::{SessionId, SessionPlan};
use longhaul_store::{LoadedJournal, Plan, RunDir, SessionBaseline};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

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

/// Returns the file of a session: the one of this workspace, or else the last modified one of the other places in which
/// a resume finds it.
pub(super) fn find(layout: &SessionLayout, dir: &RunDir, cwd: &Path, session: &SessionId) -> Option<PathBuf> {
    // A title is not an id and names no file.
    if session.as_str().contains(['/', '\0']) {
        return None;
    }
    let variable = |name: &str| env::var_os(name);
    let config_dir = layout.config_dir(&variable);
    let path = config_dir.as_ref().map(|config_dir| config_dir.join(layout.file(cwd, session)));
    if let Some(path) = path.filter(|path| path.is_file()) {
        return Some(path);
    }
    let name = format!("{session}.jsonl");
    let config_dirs = [config_dir, layout.default_config_dir(&variable)];
    let in_projects = config_dirs
        .iter()
        .flatten()
        .flat_map(|config_dir| files_in_folders(config_dir, layout.projects_dir(), name.as_ref()));
    let attempts = dir.attempts().unwrap_or_default();
    let baselines = attempts.iter().filter_map(|attempt| attempt.read::<SessionBaseline>().ok()?);
    // An imported run can name any file. Only one with the name of the session is taken.
    let recorded = baselines
        .map(|baseline| baseline.file.as_path().to_owned())
        .filter(|file| file.ends_with(&name) && file.is_file());
    in_projects.chain(recorded).max_by_key(|other| {
        fs::metadata(other).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    })
}
