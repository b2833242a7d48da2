//! Exports a run or a workflow into one file. It never changes the run, the session or the workspace.

use super::archive;
use super::manifest::{BUNDLE, Manifest, RUN, SessionEntry, WORKFLOW, is_member_name};
use super::scratch::{register_temporary, scratch};
use super::snapshot::WorkspaceSnapshot;
use super::{TransferError, WorkspaceManifest};
use crate::Environment;
use crate::clock::calendar_now;
use crate::git::UserRepo;
use crate::live::{RunMarker, SessionFiles, processes_with};
use longhaul_agent::dialect_named;
use longhaul_core::{
    Moment, Outcome, Run, RunId, SessionId, SessionPlan, Workflow, WorkflowPolicy, WorkflowRecord,
};
use longhaul_store::{Home, Journal, LoadedJournal, Plan, RunDir, StoreError, WorkflowDir};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempDir};

/// The result of an export.
#[derive(Debug)]
pub struct Exported {
    /// Absolute path of the file.
    pub file: PathBuf,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Content of the file.
    pub manifest: Manifest,
    /// How the run or workflow finished. `None` if it has not.
    pub outcome: Option<Outcome>,
    /// Why the workspace is not in the file. `None` if it is.
    pub no_workspace: Option<WorkspaceOmitted>,
}

/// The reason why a workspace is not in an exported run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceOmitted {
    /// The workspace is not in a git repository, or the repository ignores it.
    NotInGit,
    /// The directory of the workspace does not exist.
    Missing,
}

/// Exports a run with its sessions and its workspace into the file `to`, which only its owner can read.
/// Replaces an existing file only if `overwrite` is set.
///
/// # Errors
/// Returns an error in each of these cases, and leaves no file:
///
/// - the run has a supervisor or a live agent
/// - its files, workspace or sessions cannot be read
/// - the file cannot be written
pub fn export(home: &Home, dir: &RunDir, to: &Path, overwrite: bool) -> Result<Exported, TransferError> {
    let cwd = dir.plan()?.spec.cwd;
    let mut package = Package::new(Manifest::new(dir.id().clone(), None, &cwd, calendar_now()));
    // The lock is held until the end, so that no supervisor takes over the run during the export.
    let (_lock, outcome) = package.add_run(dir, RUN)?;
    package.write(home, &cwd, outcome, to, overwrite)
}

/// Exports a workflow with all its runs and the workspace, like [`export`].
///
/// # Errors
/// Returns the errors of [`export`], and [`TransferError::Worktrees`] if the workflow has git worktrees, because
/// their work is not in the workspace.
pub fn export_workflow(
    home: &Home,
    dir: &WorkflowDir,
    to: &Path,
    overwrite: bool,
) -> Result<Exported, TransferError> {
    let (_lock, history) = lock::<WorkflowRecord>(&dir.journal_path(), dir.id())?;
    let outcome = Workflow::replay(history.records()).state().outcome();
    if dir.has_worktrees() {
        return Err(TransferError::Worktrees { workflow: dir.id().clone(), is_finished: outcome.is_some() });
    }
    let plan = dir.plan()?;
    check_stopped(dir.id(), outcome, &RunMarker::new(dir, &plan.marker))?;
    let mut runs = Vec::new();
    for id in runs_of(dir.id(), &plan.policy, &history) {
        // A run was decided on, but the supervisor died before it created the run.
        runs.extend(home.run_with_id(&id)?);
    }
    let ids = runs.iter().map(|run| run.id().clone()).collect();
    let project_dir = plan.project_dir.as_path();
    let mut package = Package::new(Manifest::new(dir.id().clone(), Some(ids), project_dir, calendar_now()));
    files_of(dir.path(), WORKFLOW, &mut package.sources)?;
    let prefixes: Vec<String> = package.manifest.run_dirs().into_iter().map(|(_, dir)| dir).collect();
    let mut locks = Vec::new();
    for (run, prefix) in runs.iter().zip(&prefixes) {
        locks.push(package.add_run(run, prefix)?);
    }
    package.write(home, project_dir, outcome, to, overwrite)
}

fn runs_of(
    workflow: &RunId,
    policy: &WorkflowPolicy,
    history: &LoadedJournal<WorkflowRecord>,
) -> BTreeSet<RunId> {
    let run_of = |(_, record): (Moment, &WorkflowRecord)| {
        let WorkflowRecord::RunPlanned { key, .. } = record else { return None };
        Some(key.run_id(workflow, &policy.phases.get(key.phase)?.name))
    };
    history.records().filter_map(run_of).collect()
}

/// Locks a journal until the result is dropped, and reads it.
fn lock<R: Serialize + DeserializeOwned>(
    path: &Path,
    id: &RunId,
) -> Result<(Journal<R>, LoadedJournal<R>), TransferError> {
    Journal::open_append(path).map_err(|error| match error {
        StoreError::JournalLocked { .. } => TransferError::Supervised(id.clone()),
        _ => error.into(),
    })
}

/// Rejects an unfinished run or workflow with live processes.
fn check_stopped(id: &RunId, outcome: Option<Outcome>, marker: &RunMarker) -> Result<(), TransferError> {
    let processes = if outcome.is_none() { processes_with(marker).len() } else { 0 };
    if processes > 0 {
        return Err(TransferError::StillRunning { run: id.clone(), processes });
    }
    Ok(())
}

/// The files to export, by their names in the archive, and their manifest.
struct Package {
    manifest: Manifest,
    sources: BTreeMap<String, PathBuf>,
}

impl Package {
    fn new(manifest: Manifest) -> Package {
        Package { manifest, sources: BTreeMap::new() }
    }

    /// Adds a run and its sessions below `prefix`. Returns the lock on the run, and its outcome.
    fn add_run(&mut self, dir: &RunDir, prefix: &str) -> Result<(Journal, Option<Outcome>), TransferError> {
        let (lock, history) = lock(&dir.journal_path(), dir.id())?;
        let outcome = Run::replay(history.records()).state().outcome();
        let plan = dir.plan()?;
        check_stopped(dir.id(), outcome, &RunMarker::new(dir, &plan.marker))?;
        files_of(dir.path(), prefix, &mut self.sources)?;
        let dialect = dialect_named(&plan.spec.agent.name);
        let layout = dialect.as_ref().and_then(|dialect| dialect.sessions());
        let environment = Environment::default();
        let session_files =
            layout.and_then(|layout| SessionFiles::new(layout, dir, &environment, &plan.spec.cwd));
        for session in sessions_of(&plan, &history) {
            let name = format!("{prefix}sessions/{session}.jsonl");
            let file = session_files.as_ref().and_then(|files| files.find(&session));
            if let Some(file) = file.filter(|_| is_member_name(&name)) {
                // The agent's own file is newer than a file that was imported with the run.
                self.sources.insert(name.clone(), file);
            }
            let found = self.sources.contains_key(&name);
            self.manifest.sessions.push(SessionEntry { id: session.to_string(), found });
        }
        Ok((lock, outcome))
    }

    fn write(
        self,
        home: &Home,
        cwd: &Path,
        outcome: Option<Outcome>,
        to: &Path,
        overwrite: bool,
    ) -> Result<Exported, TransferError> {
        let Package { mut manifest, mut sources } = self;
        let to = std::path::absolute(to).map_err(TransferError::io("write", to))?;
        // A file renamed to a device would replace it.
        if fs::metadata(&to).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(TransferError::NotRegular(to));
        }
        if !overwrite && to.symlink_metadata().is_ok() {
            return Err(TransferError::FileExists(to));
        }
        let scratch = scratch(home)?;
        let no_workspace = match workspace(cwd, &[&to, home.path()], scratch.path())? {
            Ok((workspace, bundle)) => {
                manifest.workspace = Some(workspace);
                sources.insert(BUNDLE.to_owned(), bundle);
                None
            }
            Err(reason) => Some(reason),
        };
        let (names, sources): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        for (name, source) in names.into_iter().zip(&sources) {
            manifest.members.push(archive::member(name, source)?);
        }
        if let Some(flaw) = manifest.validate() {
            return Err(TransferError::io("write", &to)(io::Error::other(flaw)));
        }
        let bytes = write_atomically(&to, overwrite, &manifest, &sources, &scratch)?;
        Ok(Exported { file: to, bytes, manifest, outcome, no_workspace })
    }
}

/// Returns every session that the run was planned for, worked on, or forked.
fn sessions_of(plan: &Plan, history: &LoadedJournal) -> BTreeSet<SessionId> {
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

fn write_atomically(
    to: &Path,
    overwrite: bool,
    manifest: &Manifest,
    sources: &[PathBuf],
    scratch: &TempDir,
) -> Result<u64, TransferError> {
    let failed = |error| TransferError::io("write", to)(error);
    let parent = to.parent().unwrap_or(Path::new("/"));
    // Only the owner can access the file.
    let (file, name) =
        Builder::new().prefix(".longhaul-").suffix(".new").tempfile_in(parent).map_err(failed)?.into_parts();
    register_temporary(scratch, &name)?;
    let file = archive::write(file, to, manifest, sources)?;
    file.sync_all().map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let persisted = if overwrite { name.persist(to) } else { name.persist_noclobber(to) };
    persisted.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => TransferError::FileExists(to.to_owned()),
        _ => failed(error.error),
    })?;
    Ok(bytes)
}

/// Returns the state of the workspace around `cwd` and its bundle, or the reason why there is none.
fn workspace(
    cwd: &Path,
    excluded: &[&Path],
    scratch: &Path,
) -> Result<Result<(WorkspaceManifest, PathBuf), WorkspaceOmitted>, TransferError> {
    if fs::canonicalize(cwd).is_err() {
        return Ok(Err(WorkspaceOmitted::Missing));
    }
    let Some(repository) = UserRepo::find_blocking(cwd)? else { return Ok(Err(WorkspaceOmitted::NotInGit)) };
    let snapshot = WorkspaceSnapshot::take(&repository, excluded, scratch)?;
    let bundle = scratch.join(BUNDLE);
    snapshot.bundle(&bundle)?;
    Ok(Ok((snapshot.workspace, bundle)))
}

/// Collects the files below a directory, by their names in the exported run. It skips requests to the
/// supervisor and partly written files.
fn files_of(dir: &Path, name: &str, files: &mut BTreeMap<String, PathBuf>) -> Result<(), TransferError> {
    for entry in fs::read_dir(dir).map_err(TransferError::io("read", dir))? {
        let entry = entry.map_err(TransferError::io("read", dir))?;
        let kind = entry.file_type().map_err(TransferError::io("read", dir))?;
        let Some(name) = entry.file_name().to_str().map(|part| format!("{name}{part}")) else { continue };
        if !is_member_name(&name) || name.ends_with(".lock") {
            continue;
        }
        if kind.is_dir() {
            files_of(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}
