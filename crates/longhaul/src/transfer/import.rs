//! Imports a run or a workflow that was exported elsewhere. The complete file is checked before anything is created.
//! A run appears completely or not at all, because its directory is renamed to its final name last. A workflow
//! appears after all its runs; a killed import of a workflow can be repeated into the same directory.

use super::destination::DestinationDir;
use super::manifest::{BUNDLE, Manifest, WORKFLOW, split_name};
use super::restore::restore;
use super::scratch::{register_temporary, scratch};
use super::snapshot::WorkspaceSnapshot;
use super::{TransferError, archive};
use crate::clock::local_now;
use crate::find_agent::find_recorded;
use crate::git::UserRepo;
use crate::live::RunMarker;
use jiff::Zoned;
use longhaul_agent::default_dialect;
use longhaul_core::{AgentProgram, Moment, Outcome, Run, RunId, RunSpec, Workflow, WorkflowRecord};
use longhaul_store::{
    Binary, Day, Home, ImportedDir, Journal, Plan, REMOVED_PREFIX, RunDir, WorkflowDir, WorkflowPlan,
    remove_dir,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::mem;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

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
    /// Directory of the run or the workflow.
    pub dir: PathBuf,
    /// Working directory of the agent, or directory of the workflow's project, with links resolved.
    pub cwd: PathBuf,
    /// Content of the file.
    pub manifest: Manifest,
    /// How the run or the workflow finished. `None` if it has not.
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

/// Imports the run or the workflow in `file`.
///
/// # Errors
/// Returns an error in each of these cases, without creating anything:
///
/// - the file is damaged, hostile or in a newer format
/// - this home already has the run, or its processes run on this machine
/// - an earlier import of the workflow left runs that work in another directory
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

    let now = local_now();
    let mut dirs = create_dirs(home, &now.date(), &manifest)?;
    let scratch = scratch(home)?;
    let bundle = scratch.path().join(BUNDLE);
    unpack(file, &manifest, &dirs, &bundle)?;
    let workflow =
        dirs.remove(WORKFLOW).map(|dir| Imported::<WorkflowPlan>::load(dir, destination)).transpose()?;
    let runs: Vec<Imported<Plan>> = dirs
        .into_values()
        .map(|dir| Imported::<Plan>::load(dir, destination, &now))
        .collect::<Result<_, TransferError>>()?;

    let (unpacked, workspace) = match &manifest.workspace {
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
    let moved = MovedDir { from: manifest.cwd.as_path(), to: &cwd };
    check_left_runs(home, &manifest, moved)?;
    let (dir, outcome) = commit(runs, workflow, moved)?;
    if let Some(destination_dir) = unpacked {
        destination_dir.keep();
    }
    Ok(ImportReport { dir, cwd, outcome, workspace, manifest })
}

/// Creates the hidden directories of the runs and the workflow, by their names in the archive. Skips the runs that a
/// killed import of the same workflow left.
fn create_dirs(
    home: &Home,
    day: &Day,
    manifest: &Manifest,
) -> Result<BTreeMap<String, ImportedDir>, TransferError> {
    let mut dirs = BTreeMap::new();
    if manifest.workflow_runs.is_some() {
        dirs.insert(WORKFLOW.to_owned(), home.begin_import(&home.workflows_path(), day, &manifest.run)?);
    }
    for (run, name) in manifest.run_dirs() {
        if left_run(home, manifest, run)?.is_none() {
            dirs.insert(name, home.begin_import(&home.runs_path(), day, run)?);
        }
    }
    Ok(dirs)
}

/// Returns the plan of a run that a killed import of the same workflow left.
fn left_run(home: &Home, manifest: &Manifest, run: &RunId) -> Result<Option<Plan>, TransferError> {
    let is_left = |plan: &Plan| {
        let workflow = plan.workflow.as_ref().map(|position| &position.id);
        manifest.workflow_runs.is_some() && plan.imported.is_some() && workflow == Some(&manifest.run)
    };
    Ok(home.run_with_id(run)?.and_then(|dir| dir.plan().ok()).filter(is_left))
}

/// Rejects another destination than that of the runs that a killed import left.
fn check_left_runs(home: &Home, manifest: &Manifest, moved: MovedDir<'_>) -> Result<(), TransferError> {
    for (run, _) in manifest.run_dirs() {
        if let Some(plan) = left_run(home, manifest, run)?
            && let Some(origin) = &plan.imported
            && plan.spec.cwd != moved.path_of(origin.from_cwd.as_path())
        {
            return Err(TransferError::ImportedElsewhere { run: run.clone(), cwd: plan.spec.cwd });
        }
    }
    Ok(())
}

/// Gives the directories their final names, that of the workflow last, and returns the path of the last one with the
/// outcome. After an error, none of them remains. Unfinished runs are locked meanwhile, so that none is recovered without
/// its workflow.
fn commit(
    runs: Vec<Imported<Plan>>,
    workflow: Option<Imported<WorkflowPlan>>,
    moved: MovedDir<'_>,
) -> Result<(PathBuf, Option<Outcome>), TransferError> {
    let mut committed = Vec::new();
    let commit_all = || {
        let (mut dir, mut outcome) = (PathBuf::new(), None);
        for run in runs {
            let lock = || Journal::lock(&run.dir.run_dir().journal_path());
            let lock = run.outcome.is_none().then(lock).transpose()?;
            outcome = run.outcome;
            dir = run.commit(moved)?.path().to_owned();
            committed.push((lock, dir.clone()));
        }
        if let Some(workflow) = workflow {
            outcome = workflow.outcome;
            dir = workflow.commit(moved)?.path().to_owned();
        }
        Ok::<_, TransferError>((dir, outcome))
    };
    let result = commit_all();
    if result.is_err() {
        // The caller reports the first error.
        for (_, dir) in &committed {
            // Under another name, a half removed run is none.
            let name = dir.file_name().unwrap_or_default().display();
            let hidden = dir.with_file_name(format!("{REMOVED_PREFIX}{name}"));
            let _ = fs::rename(dir, &hidden).and_then(|()| remove_dir(&hidden));
        }
    }
    result
}

/// A directory of the exporting machine, and its new path.
#[derive(Clone, Copy)]
struct MovedDir<'a> {
    from: &'a Path,
    to: &'a Path,
}

impl MovedDir<'_> {
    /// Returns the new path of a directory. For one outside of the moved one, such as a merged worktree, it is the
    /// moved one: an imported run never works elsewhere.
    fn path_of(&self, old: &Path) -> PathBuf {
        moved(old, self.from, self.to).unwrap_or_else(|| self.to.to_owned())
    }

    /// Moves the directory of a run, and its guards with it.
    fn apply(&self, spec: &mut RunSpec) {
        spec.cwd = self.path_of(&spec.cwd);
        let paths = &mut spec.guards.block_paths;
        // Relative paths follow the directory.
        for path in paths.iter_mut() {
            if let Some(moved) = moved(Path::new(path), self.from, self.to) {
                *path = moved.display().to_string();
            }
        }
        let new_home = env::var("HOME").unwrap_or_default();
        let old_home = spec.guards.home.as_mut().map(|home| mem::replace(home, new_home.clone()));
        let is_real = |home: &String| home.len() > 1;
        // A shell replaces `~`. The old path stays blocked, too: it may exist here.
        if let Some(old_home) = old_home.filter(is_real).filter(|_| is_real(&new_home)) {
            let here =
                paths.iter().filter_map(|path| moved(path.as_ref(), old_home.as_ref(), new_home.as_ref()));
            let here = here.filter(|path| !spec.cwd.starts_with(path));
            let here: Vec<String> = here.map(|path| path.display().to_string()).collect();
            paths.extend(here);
        }
    }
}

/// Returns the new path of `from` or of a file below it, if the path is one of these.
fn moved(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(from).ok().filter(|below| is_plain(below))?;
    // Joining an empty path would append a slash.
    Some(to.iter().chain(below).collect())
}

/// Returns whether a relative path has no `..`.
fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// A run or a workflow that was unpacked under a hidden name, with its plan.
struct Imported<P> {
    dir: ImportedDir,
    plan: P,
    outcome: Option<Outcome>,
}

impl Imported<Plan> {
    fn load(
        dir: ImportedDir,
        destination: ImportDestination<'_>,
        now: &Zoned,
    ) -> Result<Imported<Plan>, TransferError> {
        let run = dir.run_dir();
        let mut plan = run.plan()?;
        check_stopped(run.id(), &RunMarker::new(&run, &plan.marker))?;
        // The imported run has no processes here. If the original continues in another home, it is a different
        // run.
        plan.marker = RunMarker::random();
        let history = Journal::load(&run.journal_path())?;
        let replayed = Run::replay(history.records());
        let outcome = replayed.state().outcome();
        if let Some(last_at) = history.last_step_at().max(run.heartbeat()) {
            set_output_time(&run, replayed.state().attempts(), last_at)?;
        }
        if find_agent(&mut plan.spec.agent, outcome.is_some(), destination.agent_path)? {
            plan.binary = Binary::new(&plan.spec.agent.program).ok();
        }
        let at = Moment(now.timestamp().as_millisecond() as u64).into();
        plan.imported = Some(longhaul_store::ImportOrigin { from_cwd: plan.spec.cwd.as_path().into(), at });
        // The recorded variables are those of the other machine. The first supervisor here records its own.
        plan.env = plan.env.with_needed([]);
        Ok(Imported { dir, plan, outcome })
    }

    fn commit(mut self, moved: MovedDir<'_>) -> Result<RunDir, TransferError> {
        moved.apply(&mut self.plan.spec);
        Ok(self.dir.commit(&self.plan)?)
    }
}

impl Imported<WorkflowPlan> {
    fn load(
        dir: ImportedDir,
        destination: ImportDestination<'_>,
    ) -> Result<Imported<WorkflowPlan>, TransferError> {
        let workflow = dir.workflow_dir();
        let mut plan = workflow.plan()?;
        check_stopped(workflow.id(), &RunMarker::new(&workflow, &plan.marker))?;
        plan.marker = RunMarker::random();
        let history = Journal::<WorkflowRecord>::load(&workflow.journal_path())?;
        let outcome = Workflow::replay(history.records()).state().outcome();
        for spec in &mut plan.runs {
            find_agent(&mut spec.agent, outcome.is_some(), destination.agent_path)?;
        }
        Ok(Imported { dir, plan, outcome })
    }

    fn commit(mut self, moved: MovedDir<'_>) -> Result<WorkflowDir, TransferError> {
        self.plan.project_dir = moved.path_of(self.plan.project_dir.as_path()).into();
        for spec in &mut self.plan.runs {
            moved.apply(spec);
        }
        Ok(self.dir.commit_workflow(&self.plan)?)
    }
}

/// Sets when the agent last wrote. An archive has no times, and the time since then must not count as work.
fn set_output_time(run: &RunDir, attempt: u32, at: Moment) -> Result<(), TransferError> {
    let path = run.attempt(attempt).stream_path();
    match fs::File::options().write(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => file
            .and_then(|file| file.set_modified(UNIX_EPOCH + Duration::from_millis(at.0)))
            .map_err(TransferError::io("write", &path)),
    }
}

/// Rejects a run or workflow whose processes run on this machine.
fn check_stopped(run: &RunId, marker: &RunMarker) -> Result<(), TransferError> {
    let processes = marker.processes();
    if processes.is_empty() {
        Ok(())
    } else {
        Err(TransferError::RunningHere { run: run.clone(), processes })
    }
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

/// Unpacks each member into the directory that it belongs to. Without one, it belongs to a run that is already here.
fn unpack(
    file: &Path,
    manifest: &Manifest,
    dirs: &BTreeMap<String, ImportedDir>,
    bundle: &Path,
) -> Result<(), TransferError> {
    let reread = archive::read(file, u64::MAX, |member, content| {
        let (path, mut to) = match split_name(&member.name) {
            None => {
                (bundle.to_owned(), fs::File::create(bundle).map_err(TransferError::io("write", bundle))?)
            }
            Some((dir, name)) => match dirs.get(dir) {
                Some(dir) => dir.create_file(Path::new(name))?,
                None => return Ok(()),
            },
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

/// Sets the agent's program on this machine, and returns whether it is a different one. A finished run does not need
/// one.
fn find_agent(
    agent: &mut AgentProgram,
    is_finished: bool,
    named: Option<&Path>,
) -> Result<bool, TransferError> {
    if named.is_none() && is_finished {
        return Ok(false);
    }
    let program = find_recorded(agent, named)?;
    if program == agent.program {
        return Ok(false);
    }
    agent.program = program;
    // Claude Code is a whole program. Another agent may need its arguments, like `opencode acp`.
    if agent.name == default_dialect().name() {
        agent.leading_args.clear();
    }
    Ok(true)
}

fn compare(
    home: &Home,
    manifest: &Manifest,
    into: &Path,
    scratch: &Path,
) -> Result<WorkspaceMatch, TransferError> {
    let Some(exported) = &manifest.workspace else { return Ok(WorkspaceMatch::Unknown) };
    let Some(repository) = UserRepo::find_blocking(into)? else { return Ok(WorkspaceMatch::Unknown) };
    let existing = WorkspaceSnapshot::take(&repository, &[home.path()], scratch)?;
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
