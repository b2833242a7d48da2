//! Unpacks a run that was exported elsewhere. All of the file is checked before anything is created, and
//! the run is there as a whole or not at all: its directory gets its name last.

use super::destination::DestinationDir;
use super::manifest::{BUNDLE, Manifest};
use super::restore::restore;
use super::scratch::{needs, scratch};
use super::snapshot::{WorkspaceSnapshot, top_of};
use super::{TransferError, archive};
use crate::find_agent::find_claude;
use crate::live::{RunMarker, processes_with};
use jiff::Zoned;
use longhaul_core::{Moment, Outcome, Run};
use longhaul_store::{Binary, Home, ImportedRunDir, Journal, PlanAgent, RunDir};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

// Streams of small runs compress to less than a tenth, and fill no disk.
const UNPACKED_BYTES_FREE: u64 = 16 << 20;

/// Where an exported run should go on.
#[derive(Clone, Copy, Debug)]
pub struct ImportDestination<'a> {
    /// The directory that takes the place of the repository's top, or, without git, of the directory that
    /// the agent worked in.
    pub into: &'a Path,
    /// Whether the workspace is there already; else it is made from the file, in a new or empty directory.
    pub as_is: bool,
    /// Whether the file may unpack to more than ten times its size.
    pub allow_large: bool,
    /// The agent's program; nothing for the recorded one, or where that is missing, one that is found.
    pub agent_path: Option<&'a Path>,
}

/// What was imported.
#[derive(Debug)]
pub struct Imported {
    /// The run's directory.
    pub dir: RunDir,
    /// Where the agent will work, a real path.
    pub cwd: PathBuf,
    /// What was in the file.
    pub manifest: Manifest,
    /// How the run ended; nothing if it has not.
    pub outcome: Option<Outcome>,
    /// How the workspace got there.
    pub workspace: WorkspaceMatch,
}

/// How a workspace got to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceMatch {
    /// It was made from the file.
    Unpacked,
    /// It was there, and its files are those that were exported.
    Same,
    /// It was there, and some of its files are others.
    Different,
    /// It was there; one of the two is not in git, so that nobody can tell.
    Unknown,
}

/// Takes in the run of `file`.
///
/// # Errors
/// If the file is damaged, hostile or of a newer format; if this home has the run, or processes of it work
/// on this machine; if the workspace cannot be made or is not there; if there is no agent to go on with.
/// Nothing is left then.
pub fn import(
    home: &Home,
    file: &Path,
    destination: ImportDestination<'_>,
) -> Result<Imported, TransferError> {
    let packed = fs::metadata(file).map_err(TransferError::io("read", file))?.len();
    let unpacked_max = packed.saturating_mul(10).max(UNPACKED_BYTES_FREE);
    let unpacked_max = if destination.allow_large { u64::MAX } else { unpacked_max };
    let manifest = archive::read(file, unpacked_max, |_, _| Ok(()))?;
    check_destination(&manifest, destination)?;

    let now = Zoned::now();
    let day = now.strftime("%Y-%m-%d").to_string().parse().expect("a date is written as a day");
    let incoming = home.begin_import(&day, &manifest.run)?;
    let scratch = scratch(home)?;
    let bundle = scratch.path().join(BUNDLE);
    unpack(file, &manifest, &incoming, &bundle)?;
    let dir = incoming.dir();
    let mut plan = dir.plan()?;
    let processes = processes_with(&RunMarker::new(&manifest.run, &plan)).len();
    if processes > 0 {
        return Err(TransferError::RunningHere { run: manifest.run, processes });
    }
    // Nothing of it lives here, and should it go on where it comes from, in another home, that is another run's.
    plan.marker = Some(RunMarker::random());
    let history = Journal::load(&dir.journal_path())?;
    let outcome = Run::replay(history.records()).state().outcome();
    settle_agent(&mut plan.agent, outcome.is_some(), destination.agent_path)?;

    let (made, arrival) = match &manifest.workspace {
        Some(workspace) if !destination.as_is => {
            needs(&scratch, &DestinationDir::scratch_of(destination.into))?;
            let mut place = DestinationDir::begin(destination.into)?;
            restore(&bundle, workspace, &place.scratch(), file, unpacked_max)?;
            working_directory(&manifest, &place.scratch(), file)?;
            place.commit()?;
            (Some(place), WorkspaceMatch::Unpacked)
        }
        Some(_) | None => (None, compare(home, &manifest, destination.into, scratch.path())?),
    };
    let cwd = working_directory(&manifest, destination.into, file)?;
    plan.imported = Some(longhaul_store::Imported {
        from_cwd: manifest.cwd.clone(),
        at: Moment(now.timestamp().as_millisecond() as u64),
    });
    plan.cwd = cwd.as_path().into();
    // Those of the other machine. The first supervisor here records its own.
    plan.env = plan.env.with_needed([]);
    let dir = incoming.commit(&plan)?;
    if let Some(place) = made {
        place.keep();
    }
    Ok(Imported { dir, cwd, manifest, outcome, workspace: arrival })
}

/// That the workspace can be made there, or is there. Changes nothing.
fn check_destination(manifest: &Manifest, destination: ImportDestination<'_>) -> Result<(), TransferError> {
    let into = destination.into;
    if !destination.as_is {
        return match &manifest.workspace {
            Some(_) => DestinationDir::check(into),
            None => Err(TransferError::NoWorkspace(into.to_owned())),
        };
    }
    let path = manifest
        .workspace
        .as_ref()
        .map_or_else(|| into.to_owned(), |own| into.join(own.subdirectory.as_path()));
    match fs::read_dir(&path) {
        Ok(_) => Ok(()),
        Err(source) => Err(TransferError::Workspace { path, source }),
    }
}

/// Writes the run's own files into its directory, and the bundle to its place.
fn unpack(
    file: &Path,
    manifest: &Manifest,
    incoming: &ImportedRunDir,
    bundle: &Path,
) -> Result<(), TransferError> {
    let again = archive::read(file, u64::MAX, |member, content| {
        let (mut to, path) = match member.in_run() {
            Some(name) => (incoming.create_file(name)?, incoming.dir().path().join(name)),
            None => {
                (fs::File::create(bundle).map_err(TransferError::io("write", bundle))?, bundle.to_owned())
            }
        };
        io::copy(content, &mut to).and_then(|_| to.sync_all()).map_err(TransferError::io("write", &path))
    })?;
    // What was checked is what was unpacked.
    if again == *manifest {
        Ok(())
    } else {
        Err(TransferError::unsound(file, "it changed while it was read"))
    }
}

/// The agent's program on this machine. A run that is over needs none.
fn settle_agent(agent: &mut PlanAgent, over: bool, named: Option<&Path>) -> Result<(), TransferError> {
    let recorded = agent.program.as_path();
    if named.is_none() && (over || find_claude(Some(recorded)).is_ok()) {
        return Ok(());
    }
    let path = find_claude(named)?;
    // They belong to the program that is not here.
    agent.leading_args.clear();
    agent.version = None;
    agent.binary = Binary::new(&path).ok();
    agent.program = path.into();
    Ok(())
}

/// Whether the workspace that is there has the files of the one that was exported.
fn compare(
    home: &Home,
    manifest: &Manifest,
    into: &Path,
    scratch: &Path,
) -> Result<WorkspaceMatch, TransferError> {
    let Some(exported) = &manifest.workspace else { return Ok(WorkspaceMatch::Unknown) };
    let into = fs::canonicalize(into).map_err(TransferError::io("read", into))?;
    let Some(top) = top_of(&into)? else { return Ok(WorkspaceMatch::Unknown) };
    let here = WorkspaceSnapshot::take(&top, &into, &[home.path().to_owned()], scratch)?;
    Ok(if here.workspace.tree == exported.tree { WorkspaceMatch::Same } else { WorkspaceMatch::Different })
}

/// Where the agent will work: below `into` as it was below the repository's top, made if git has no file
/// there. A link on the way would lead elsewhere than the exporting side said, and is refused.
fn working_directory(manifest: &Manifest, into: &Path, file: &Path) -> Result<PathBuf, TransferError> {
    let mut path = fs::canonicalize(into).map_err(TransferError::io("read", into))?;
    let below = manifest.workspace.as_ref().map(|workspace| workspace.subdirectory.as_path());
    for part in below.into_iter().flat_map(Path::components) {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let why = format!("the agent worked in {}, which is no directory", path.display());
                return Err(TransferError::unsound(file, why));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(&path).map_err(TransferError::io("create", &path))?;
            }
            Err(error) => return Err(TransferError::io("read", &path)(error)),
        }
    }
    Ok(path)
}
