//! Packs a run into one file. It changes nothing: not the run, not the session, not the workspace.

use super::archive;
use super::manifest::{BUNDLE, Manifest, RUN, SessionEntry, is_name};
use super::scratch::{needs, scratch};
use super::sessions::{find, sessions_of};
use super::snapshot::{WorkspaceSnapshot, top_of};
use super::{TransferError, Workspace};
use crate::find_agent::claude_config_dir;
use crate::live::{RunMarker, processes_with};
use jiff::Timestamp;
use longhaul_core::{Moment, Outcome, Run};
use longhaul_store::{Home, Journal, Plan, RunDir, StoreError};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempDir};

/// What was exported.
#[derive(Debug)]
pub struct Exported {
    /// The file, absolute.
    pub file: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// What is in it.
    pub manifest: Manifest,
    /// How the run ended; nothing if it has not.
    pub outcome: Option<Outcome>,
    /// Why the workspace is not in it; nothing if it is.
    pub no_workspace: Option<WorkspaceOmitted>,
}

/// Why a workspace is not in an exported run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceOmitted {
    /// It is not in a git repository, or in one that ignores it.
    NotInGit,
    /// Its directory is not there any more.
    Gone,
}

/// Packs a run with its sessions and its workspace into the file `to`, readable by its owner only.
/// `overwrite` says whether a file that is there may be replaced.
///
/// # Errors
/// If the run is supervised or its agent lives; if its files, its workspace or a session cannot be read; if
/// the file cannot be written. Nothing is left then.
pub fn export(home: &Home, dir: &RunDir, to: &Path, overwrite: bool) -> Result<Exported, TransferError> {
    let to = std::path::absolute(to).map_err(TransferError::io("write", to))?;
    if !overwrite && to.symlink_metadata().is_ok() {
        return Err(TransferError::FileExists(to));
    }
    // Held to the end: nobody can take the run up while it is being packed.
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

    let mut manifest = Manifest::new(dir.id().clone(), plan.cwd.clone(), now());
    let mut sources = BTreeMap::new();
    files_of(dir.path(), RUN, &mut sources)?;
    for session in sessions_of(&plan, &history) {
        let name = format!("{RUN}sessions/{session}.jsonl");
        let file = claude_config_dir().and_then(|config| find(&config, plan.cwd.as_path(), &session));
        if let Some(file) = file.filter(|_| is_name(&name)) {
            // The agent's own is newer than one that the run has brought from elsewhere.
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
        Err(why) => Some(why),
    };

    let (names, sources): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
    for (name, source) in names.into_iter().zip(&sources) {
        manifest.members.push(archive::member(name, source)?);
    }
    if let Some(flaw) = manifest.validate() {
        return Err(TransferError::io("write", &to)(io::Error::other(flaw)));
    }
    let bytes = put(&to, overwrite, &manifest, &sources, &scratch)?;
    Ok(Exported { file: to, bytes, manifest, outcome, no_workspace })
}

/// Writes the file beside its place, and puts it there when it is whole.
fn put(
    to: &Path,
    overwrite: bool,
    manifest: &Manifest,
    sources: &[PathBuf],
    scratch: &TempDir,
) -> Result<u64, TransferError> {
    let failed = |error| TransferError::io("write", to)(error);
    let beside = to.parent().unwrap_or(Path::new("/"));
    // Readable by its owner only, from the start.
    let (file, name) =
        Builder::new().prefix(".longhaul-").suffix(".new").tempfile_in(beside).map_err(failed)?.into_parts();
    needs(scratch, &name)?;
    let file = archive::write(file, to, manifest, sources)?;
    file.sync_all().map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let placed = if overwrite { name.persist(to) } else { name.persist_noclobber(to) };
    placed.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => TransferError::FileExists(to.to_owned()),
        _ => failed(error.error),
    })?;
    Ok(bytes)
}

/// The state of the run's workspace and its bundle, or why there is none.
fn workspace(
    plan: &Plan,
    excluded: &[&Path],
    scratch: &Path,
) -> Result<Result<(Workspace, PathBuf), WorkspaceOmitted>, TransferError> {
    let Ok(cwd) = fs::canonicalize(plan.cwd.as_path()) else { return Ok(Err(WorkspaceOmitted::Gone)) };
    let Some(top) = top_of(&cwd)? else { return Ok(Err(WorkspaceOmitted::NotInGit)) };
    let excluded: Vec<PathBuf> = excluded.iter().map(|path| real(path)).collect();
    let snapshot = WorkspaceSnapshot::take(&top, &cwd, &excluded, scratch)?;
    let bundle = scratch.join(BUNDLE);
    snapshot.bundle(&bundle)?;
    Ok(Ok((snapshot.workspace, bundle)))
}

/// A path without symbolic links above its last part, as git names files.
fn real(path: &Path) -> PathBuf {
    let above = path.parent().and_then(|above| fs::canonicalize(above).ok());
    above.zip(path.file_name()).map_or_else(|| path.to_owned(), |(above, name)| above.join(name))
}

/// The files below a directory, by their names in the exported run. What other processes want of the
/// supervisor stays here, and so does what is only half-written.
fn files_of(dir: &Path, name: &str, found: &mut BTreeMap<String, PathBuf>) -> Result<(), TransferError> {
    for entry in fs::read_dir(dir).map_err(TransferError::io("read", dir))? {
        let entry = entry.map_err(TransferError::io("read", dir))?;
        let kind = entry.file_type().map_err(TransferError::io("read", dir))?;
        let Some(name) = entry.file_name().to_str().map(|part| format!("{name}{part}")) else { continue };
        if !is_name(&name) || name.ends_with(".lock") {
            continue;
        }
        if kind.is_dir() {
            files_of(&entry.path(), &format!("{name}/"), found)?;
        } else if kind.is_file() {
            found.insert(name, entry.path());
        }
    }
    Ok(())
}

/// The time now.
fn now() -> Moment {
    Moment(Timestamp::now().as_millisecond() as u64)
}
