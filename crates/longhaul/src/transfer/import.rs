//! Imports a run that was exported elsewhere. The complete file is checked before anything is created. The
//! run appears completely or not at all, because its directory is renamed to its final name last.

use super::destination::DestinationDir;
use super::manifest::{BUNDLE, Manifest};
use super::restore::restore;
use super::scratch::{register_temporary, scratch};
use super::snapshot::{WorkspaceSnapshot, top_of};
use super::{TransferError, archive};
use crate::find_agent::find_claude;
use crate::live::{RunMarker, processes_with};
use jiff::Zoned;
use longhaul_core::{Moment, Outcome, Run};
use longhaul_store::{Binary, Home, ImportedRunDir, Journal, Plan, RunDir};
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

// Streams of small runs may compress to less than a tenth. This amount fills no disk.
const UNPACKED_BYTES_FREE: u64 = 16 << 20;

/// The destination of an exported run.
#[derive(Clone, Copy, Debug)]
pub struct ImportDestination<'a> {
    /// Directory that replaces the top of the repository or, without git, the agent's working directory.
    pub into: &'a Path,
    /// Whether to use an existing workspace. Otherwise it is unpacked into a new or empty directory.
    pub use_existing: bool,
    /// Whether the file may unpack to more than ten times its size.
    pub allow_large: bool,
    /// Program of the agent. `None` for the recorded one or, if that is missing, an installed one.
    pub agent_path: Option<&'a Path>,
}

/// The result of an import.
#[derive(Debug)]
pub struct ImportReport {
    /// The run's directory.
    pub dir: RunDir,
    /// Working directory of the agent, with links resolved.
    pub cwd: PathBuf,
    /// Content of the file.
    pub manifest: Manifest,
    /// How the run finished. `None` if it has not.
    pub outcome: Option<Outcome>,
    /// Whether the workspace was unpacked, or how it differs from the exported one.
    pub workspace: WorkspaceMatch,
}

/// The origin of an imported run's workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceMatch {
    /// It was unpacked from the file.
    Unpacked,
    /// It existed, with the exported files.
    Same,
    /// It existed, with different files.
    Different,
    /// It existed, and one of the two is not in git, so that they cannot be compared.
    Unknown,
}

/// Imports the run in `file`.
///
/// # Errors
/// Returns an error in each of these cases, without creating anything:
///
/// - the file is damaged, hostile or in a newer format
/// - this home already has the run, or its processes run on this machine
/// - the workspace cannot be created or does not exist
/// - there is no agent to continue with
pub fn import(
    home: &Home,
    file: &Path,
    destination: ImportDestination<'_>,
) -> Result<ImportReport, TransferError> {
    let packed_bytes = fs::metadata(file).map_err(TransferError::io("read", file))?.len();
    let unpacked_bytes_max = packed_bytes.saturating_mul(10).max(UNPACKED_BYTES_FREE);
    let unpacked_bytes_max = if destination.allow_large { u64::MAX } else { unpacked_bytes_max };
    let manifest = archive::read(file, unpacked_bytes_max, |_, _| Ok(()))?;
    check_destination(&manifest, destination)?;

    let now = Zoned::now();
    let incoming = home.begin_import(&now.date(), &manifest.run)?;
    let scratch = scratch(home)?;
    let bundle = scratch.path().join(BUNDLE);
    unpack(file, &manifest, &incoming, &bundle)?;
    let dir = incoming.dir();
    let mut plan = dir.plan()?;
    let processes = processes_with(&RunMarker::new(&manifest.run, &plan)).len();
    if processes > 0 {
        return Err(TransferError::RunningHere { run: manifest.run, processes });
    }
    // The imported run has no processes here. If the original continues in another home, it is a different
    // run.
    plan.marker = Some(RunMarker::random());
    let history = Journal::load(&dir.journal_path())?;
    let outcome = Run::replay(history.records()).state().outcome();
    find_agent(&mut plan, outcome.is_some(), destination.agent_path)?;

    let (unpacked, workspace_match) = match &manifest.workspace {
        Some(workspace) if !destination.use_existing => {
            register_temporary(&scratch, &DestinationDir::scratch_of(destination.into))?;
            let mut destination_dir = DestinationDir::create(destination.into)?;
            restore(&bundle, workspace, &destination_dir.scratch(), file, unpacked_bytes_max)?;
            working_directory(&manifest, &destination_dir.scratch(), file)?;
            destination_dir.commit()?;
            (Some(destination_dir), WorkspaceMatch::Unpacked)
        }
        Some(_) | None => (None, compare(home, &manifest, destination.into, scratch.path())?),
    };
    let cwd = working_directory(&manifest, destination.into, file)?;
    plan.imported = Some(longhaul_store::ImportOrigin {
        from_cwd: manifest.cwd.clone(),
        at: Moment(now.timestamp().as_millisecond() as u64).into(),
    });
    plan.spec.cwd.clone_from(&cwd);
    // The recorded variables are those of the other machine. The first supervisor here records its own.
    plan.env = plan.env.with_needed([]);
    let dir = incoming.commit(&plan)?;
    if let Some(destination_dir) = unpacked {
        destination_dir.keep();
    }
    Ok(ImportReport { dir, cwd, manifest, outcome, workspace: workspace_match })
}

/// Checks that the workspace can be created at the destination, or exists there. Changes nothing.
fn check_destination(manifest: &Manifest, destination: ImportDestination<'_>) -> Result<(), TransferError> {
    let into = destination.into;
    if !destination.use_existing {
        return match &manifest.workspace {
            Some(_) => DestinationDir::check(into),
            None => Err(TransferError::NoWorkspace(into.to_owned())),
        };
    }
    let path = manifest
        .workspace
        .as_ref()
        .map_or_else(|| into.to_owned(), |workspace| into.join(workspace.subdirectory.as_path()));
    match fs::read_dir(&path) {
        Ok(_) => Ok(()),
        Err(source) => Err(TransferError::Workspace { path, source }),
    }
}

fn unpack(
    file: &Path,
    manifest: &Manifest,
    incoming: &ImportedRunDir,
    bundle: &Path,
) -> Result<(), TransferError> {
    let reread = archive::read(file, u64::MAX, |member, content| {
        let (mut to, path) = match member.in_run() {
            Some(name) => (incoming.create_file(name)?, incoming.dir().path().join(name)),
            None => {
                (fs::File::create(bundle).map_err(TransferError::io("write", bundle))?, bundle.to_owned())
            }
        };
        io::copy(content, &mut to).and_then(|_| to.sync_all()).map_err(TransferError::io("write", &path))
    })?;
    // Rejects a file that changed after it was checked.
    if reread == *manifest {
        Ok(())
    } else {
        Err(TransferError::invalid_archive(file, "it changed while it was read"))
    }
}

/// Sets the agent's program on this machine. A finished run does not need one.
fn find_agent(plan: &mut Plan, is_finished: bool, named: Option<&Path>) -> Result<(), TransferError> {
    let agent = &mut plan.spec.agent;
    if named.is_none() && (is_finished || find_claude(Some(&agent.program)).is_ok()) {
        return Ok(());
    }
    let path = find_claude(named)?;
    // These values belong to the recorded program, which is not on this machine.
    agent.leading_args.clear();
    plan.binary = Binary::new(&path).ok();
    agent.program = path;
    Ok(())
}

fn compare(
    home: &Home,
    manifest: &Manifest,
    into: &Path,
    scratch: &Path,
) -> Result<WorkspaceMatch, TransferError> {
    let Some(exported) = &manifest.workspace else { return Ok(WorkspaceMatch::Unknown) };
    let into = fs::canonicalize(into).map_err(TransferError::io("read", into))?;
    let Some(top) = top_of(&into)? else { return Ok(WorkspaceMatch::Unknown) };
    let existing = WorkspaceSnapshot::take(&top, &into, &[home.path().to_owned()], scratch)?;
    Ok(if existing.workspace.tree == exported.tree {
        WorkspaceMatch::Same
    } else {
        WorkspaceMatch::Different
    })
}

/// Returns the agent's working directory. It has the same path below `into` as below the repository's top,
/// and is created if git has no file in it. Rejects a link on the path, because it could lead out of `into`.
fn working_directory(manifest: &Manifest, into: &Path, file: &Path) -> Result<PathBuf, TransferError> {
    let mut path = fs::canonicalize(into).map_err(TransferError::io("read", into))?;
    let subdirectory = manifest.workspace.as_ref().map(|workspace| workspace.subdirectory.as_path());
    for part in subdirectory.into_iter().flat_map(Path::components) {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                let reason = format!("the agent worked in {}, which is not a directory", path.display());
                return Err(TransferError::invalid_archive(file, reason));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(&path).map_err(TransferError::io("create", &path))?;
            }
            Err(error) => return Err(TransferError::io("read", &path)(error)),
        }
    }
    Ok(path)
}
