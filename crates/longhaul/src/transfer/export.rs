//! Exports a run into one file. It never changes the run, the session or the workspace.

use super::archive;
use super::manifest::{BUNDLE, Manifest, RUN, SessionEntry, is_member_name};
use super::scratch::{register_temporary, scratch};
use super::sessions::{find, sessions_of};
use super::snapshot::{WorkspaceSnapshot, top_of};
use super::{TransferError, WorkspaceManifest};
use crate::live::{RunMarker, processes_with};
use jiff::Timestamp;
use longhaul_agent::dialect_for;
use longhaul_core::{Moment, Outcome, Run};
use longhaul_store::{Home, Journal, Plan, RunDir, StoreError};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::{env, fs};
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
    /// How the run finished. `None` if it has not.
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
    let to = std::path::absolute(to).map_err(TransferError::io("write", to))?;
    if !overwrite && to.symlink_metadata().is_ok() {
        return Err(TransferError::FileExists(to));
    }
    // The lock is held until the end, so that no supervisor takes over the run during the export.
    let (_journal, history) = Journal::open_append(&dir.journal_path()).map_err(|error| match error {
        StoreError::JournalLocked { .. } => TransferError::Supervised(dir.id().clone()),
        _ => error.into(),
    })?;
    let outcome = Run::replay(history.records()).state().outcome();
    let plan = dir.plan()?;
    let processes = processes_with(&RunMarker::new(dir.id(), &plan)).len();
    if outcome.is_none() && processes > 0 {
        return Err(TransferError::StillRunning { run: dir.id().clone(), processes });
    }

    let mut manifest = Manifest::new(dir.id().clone(), plan.spec.cwd.as_path().into(), now());
    let mut sources = BTreeMap::new();
    files_of(dir.path(), RUN, &mut sources)?;
    let dialect = dialect_for(&plan.spec.agent.name);
    let layout = dialect.as_ref().and_then(|dialect| dialect.sessions());
    let config_dir = layout.and_then(|layout| layout.config_dir(&|name| env::var_os(name)));
    for session in sessions_of(&plan, &history) {
        let name = format!("{RUN}sessions/{session}.jsonl");
        let file = layout
            .zip(config_dir.as_deref())
            .and_then(|(layout, config_dir)| find(layout, config_dir, &plan.spec.cwd, &session));
        if let Some(file) = file.filter(|_| is_member_name(&name)) {
            // The agent's own file is newer than a file that was imported with the run.
            sources.insert(name.clone(), file);
        }
        let found = sources.contains_key(&name);
        manifest.sessions.push(SessionEntry { id: session.to_string(), found });
    }
    let scratch = scratch(home)?;
    let no_workspace = match workspace(&plan, &[&to, home.path()], scratch.path())? {
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

/// Writes the file under a temporary name next to `to` and renames it when it is complete.
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

/// Returns the state of the run's workspace and its bundle, or the reason why there is none.
fn workspace(
    plan: &Plan,
    excluded: &[&Path],
    scratch: &Path,
) -> Result<Result<(WorkspaceManifest, PathBuf), WorkspaceOmitted>, TransferError> {
    let Ok(cwd) = fs::canonicalize(&plan.spec.cwd) else { return Ok(Err(WorkspaceOmitted::Missing)) };
    let Some(top) = top_of(&cwd)? else { return Ok(Err(WorkspaceOmitted::NotInGit)) };
    let excluded: Vec<PathBuf> = excluded.iter().map(|path| canonical(path)).collect();
    let snapshot = WorkspaceSnapshot::take(&top, &cwd, &excluded, scratch)?;
    let bundle = scratch.join(BUNDLE);
    snapshot.bundle(&bundle)?;
    Ok(Ok((snapshot.workspace, bundle)))
}

/// Resolves symbolic links above the last component, as git does in its file names.
fn canonical(path: &Path) -> PathBuf {
    let parent = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
    parent.zip(path.file_name()).map_or_else(|| path.to_owned(), |(parent, name)| parent.join(name))
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

fn now() -> Moment {
    Moment(Timestamp::now().as_millisecond() as u64)
}
