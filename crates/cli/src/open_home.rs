//! Opens the user's home of runs and finds runs in it.

use crate::failure::{Failure, USAGE};
use crate::hints::Hint;
use crate::next_commands::quoted;
use crate::open_ledger;
use crate::output::print_status;
use longhaul::find_agent::{claude_config_dir, claude_session_file};
use longhaul_agent::{default_dialect, did_you_mean};
use longhaul_core::{Moment, Run, RunId, SessionId};
use longhaul_store::{
    Home, Journal, RunDir, RunFilter, StoreError, WorkflowDir, has_started, is_judge_run, is_run_id,
    only_match,
};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::{env, fs};

// A prefix that matches more runs than this must be longer.
const CANDIDATES_MAX: u64 = 20;

/// Opens the home, and creates it if it is missing.
pub fn open() -> Result<Home, Failure> {
    Home::open(None, |name| env::var_os(name)).map_err(|error| {
        let hint =
            error.hint().unwrap_or_else(|| "set LONGHAUL_HOME to a directory you can write to".to_owned());
        Failure::not_started(error.to_string(), hint)
    })
}

/// Locates the home without creating it.
pub fn locate() -> Result<Home, Failure> {
    Ok(Home::locate(None, |name| env::var_os(name))?)
}

/// Finds a run by its id, name or directory. An unknown run is wrong usage for every command.
pub fn find_run(home: &Home, request: &str) -> Result<RunDir, Failure> {
    let run = find_run_silently(home, request)?;
    if request == "@" {
        print_unstarted(home, run.plan().ok().map(|plan| plan.started_at.0));
    }
    Ok(run)
}

/// Prints which run `@` does not mean, because it did not start, although it is newer than the one found.
fn print_unstarted(home: &Home, found_started_at: Option<Moment>) {
    let newest = home.runs_newest_first().ok().and_then(|mut runs| runs.find(|run| !is_judge_run(run)));
    let started_at = |run: &RunDir| run.plan().ok().map(|plan| plan.started_at.0);
    let newer = newest.filter(|run| !has_started(run) && started_at(run) > found_started_at);
    if let Some(id) = newer.as_ref().map(|run| run.id()) {
        print_status(&format!("run {id} is newer, but did not start: longhaul why {id}"));
    }
}

fn find_run_silently(home: &Home, request: &str) -> Result<RunDir, Failure> {
    // An id contains no slash; a request that could be either is an id first.
    if request.contains('/') {
        return by_path(request).ok_or_else(|| {
            let error = format!("cannot find run `{request}`: it is not a directory with a plan.json");
            Failure::usage(error, "name the directory of a run, or its id")
        });
    }
    find_by_id_or_name(home, request).or_else(|error| by_path(request).ok_or(error)).map_err(|error| {
        let is_unclear = matches!(error, StoreError::NoSuchRun { .. } | StoreError::AmbiguousRun { .. });
        let workflow = home.find_workflow(request).ok().flatten().filter(|_| is_unclear);
        if let Some(workflow) = workflow {
            let id = workflow.id();
            let hint = format!("name one of its runs: `longhaul show {id}` lists them");
            return Failure::usage(format!("`{request}` is a workflow, not a run"), hint);
        }
        match error {
            StoreError::NoSuchRun { .. } => {
                let runs: Vec<String> = home
                    .runs_newest_first()
                    .map_or_else(|_| Vec::new(), |runs| runs.map(|run| run.id().to_string()).collect());
                let near = did_you_mean(request, runs.iter().map(String::as_str));
                let hint = match (near.as_slice(), runs.first()) {
                    ([], Some(last)) if request == "@" => {
                        format!(
                            "the latest run, {last}, did not start, or it judged sessions for the playbook; `longhaul why {last}` explains it"
                        )
                    }
                    ([], Some(last)) => format!("the latest run is {last}; `longhaul runs` lists all"),
                    ([], None) => "there are no runs yet; `longhaul run` starts one".to_owned(),
                    (near, _) => format!("did you mean {}?", near.join(" or ")),
                };
                Failure::usage(error.to_string(), hint)
            }
            StoreError::AmbiguousRun { .. } | StoreError::MalformedRun { .. } => {
                Failure { exit_code: USAGE, ..error.into() }
            }
            _ => error.into(),
        }
    })
}

/// Finds the run with this id, the newest run with this name, or the only run whose id has this prefix.
/// Without a ledger it ignores names and searches the directories of all days.
fn find_by_id_or_name(home: &Home, request: &str) -> Result<RunDir, StoreError> {
    if !is_run_id(request) {
        return home.find(request);
    }
    let Ok(mut ledger) = open_ledger::usable(home) else { return home.find(request) };
    let by_prefix = ledger.by_prefix(request, CANDIDATES_MAX).unwrap_or_default();
    if let Some(run) = by_prefix.iter().find(|run| run.id().as_str() == request) {
        return Ok(run.clone());
    }
    let named = RunFilter { name: Some(request.to_owned()), limit: Some(1), ..RunFilter::default() };
    if let Some(run) = ledger.runs(&named).unwrap_or_default().first() {
        return Ok(run.run_dir());
    }
    only_match(request, by_prefix)?.map_or_else(|| home.find(request), Ok)
}

/// Finds a workflow by its id, its name, a prefix of its id, its directory, or `@` for the latest one. A prefix that
/// fits a workflow also fits all of its runs, and means the workflow.
pub fn find_workflow(home: &Home, request: &str) -> Result<Option<WorkflowDir>, Failure> {
    if request == "@" {
        return Ok(home.workflows_newest_first()?.into_iter().next());
    }
    if request.contains('/') {
        let path = fs::canonicalize(request).ok();
        return Ok(home
            .workflows_newest_first()?
            .into_iter()
            .find(|dir| Some(dir.path()) == path.as_deref()));
    }
    home.find_workflow(request).map_err(|error| Failure { exit_code: USAGE, ..error.into() })
}

/// A run or a workflow.
pub enum RunOrWorkflow {
    Run(RunDir),
    Workflow(WorkflowDir),
}

impl RunOrWorkflow {
    pub fn id(&self) -> &RunId {
        match self {
            RunOrWorkflow::Run(dir) => dir.id(),
            RunOrWorkflow::Workflow(dir) => dir.id(),
        }
    }

    fn started_at(&self) -> Option<Moment> {
        match self {
            RunOrWorkflow::Run(dir) => dir.plan().ok().map(|plan| plan.started_at.0),
            RunOrWorkflow::Workflow(dir) => dir.plan().ok().map(|plan| plan.started_at.0),
        }
    }
}

/// Finds a run or a workflow by the user's input. A complete id wins; then a workflow wins over its own runs. `@` is
/// the latest of both, and a run of a workflow means the workflow.
pub fn find_target(home: &Home, request: &str) -> Result<RunOrWorkflow, Failure> {
    if request.starts_with('@') {
        let found = newer(home, find_run_silently(home, request), find_workflow(home, request)?)?;
        if request == "@" {
            print_unstarted(home, found.started_at());
        }
        return Ok(found);
    }
    let is_run = is_run_id(request) && home.run_with_id(&RunId::from(request)).is_ok_and(|run| run.is_some());
    match find_workflow(home, request) {
        Ok(Some(workflow)) if !is_run => Ok(RunOrWorkflow::Workflow(workflow)),
        Err(failure) if !is_run => Err(failure),
        Ok(_) | Err(_) => find_run(home, request).map(RunOrWorkflow::Run),
    }
}

/// Finds the run or the workflow that `@` or `@-N` selects among those that `is_included` accepts. An excluded workflow
/// excludes its runs.
pub fn find_recent(
    home: &Home,
    request: &str,
    is_included: impl Fn(&RunOrWorkflow) -> bool,
) -> Result<RunOrWorkflow, StoreError> {
    let run = home.find_recent(request, |run| is_included(&with_workflow(home, run.clone())));
    let workflows = if request == "@" { home.workflows_newest_first()? } else { Vec::new() };
    let workflow = workflows.into_iter().find(|dir| is_included(&RunOrWorkflow::Workflow(dir.clone())));
    newer(home, run, workflow)
}

/// Returns the run or the workflow, whichever started later. A run of a workflow means the workflow.
fn newer<E>(home: &Home, run: Result<RunDir, E>, workflow: Option<WorkflowDir>) -> Result<RunOrWorkflow, E> {
    match workflow.filter(|workflow| is_newer(workflow, run.as_ref().ok())) {
        Some(workflow) => Ok(RunOrWorkflow::Workflow(workflow)),
        None => run.map(|run| with_workflow(home, run)),
    }
}

/// Returns the workflow of a run, or the run if it has none.
fn with_workflow(home: &Home, run: RunDir) -> RunOrWorkflow {
    let position = run.plan().ok().and_then(|plan| plan.workflow);
    let workflow = position.and_then(|position| find_workflow(home, position.id.as_str()).ok().flatten());
    workflow.map_or(RunOrWorkflow::Run(run), RunOrWorkflow::Workflow)
}

/// Returns whether a workflow started after this run, or there is no run.
fn is_newer(workflow: &WorkflowDir, run: Option<&RunDir>) -> bool {
    let started_at = workflow.plan().map(|plan| plan.started_at.0);
    let run_started_at = run.and_then(|run| run.plan().ok()).map(|plan| plan.started_at.0);
    started_at.is_ok_and(|started_at| run_started_at.is_none_or(|run| run < started_at))
}

pub fn replay(dir: &RunDir) -> Result<Run, Failure> {
    Ok(Run::replay(Journal::load(&dir.journal_path())?.records()))
}

fn by_path(request: &str) -> Option<RunDir> {
    let dir = fs::canonicalize(request).ok()?;
    RunDir::from_path(dir).filter(|run| run.plan_path().is_file())
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure { hint: hint(&error), ..Failure::not_started(error.to_string(), "") }
    }
}

/// Returns the hint for a storage error. The work of a run with an unreadable plan or journal can still be
/// continued from its transcript.
pub fn hint(error: &StoreError) -> Option<String> {
    let run = error.unreadable_run_dir().and_then(|dir| locate().ok()?.find(dir.file_name()?.to_str()?).ok());
    let transcript = run.as_ref().and_then(best_transcript);
    let resume = transcript.as_deref().and_then(resume_command).map(|command| {
        format!("or, without the limits and guards of the damaged run: {command} \"continue the task\"")
    });
    let handoff = transcript.as_ref().map(|path| {
        let path = quoted(&path.display().to_string());
        format!("the work is still on record: longhaul handoff --from-transcript {path}")
    });
    let hints: Vec<String> = error.hint().into_iter().chain(handoff).chain(resume).collect();
    if hints.is_empty() {
        let dir = error.unreadable_run_dir()?.display();
        return Some(format!("restore the file, or delete {dir}: no work of the run is on record"));
    }
    Some(hints.join("; "))
}

/// Returns the start of the command that continues a session in its directory. Elsewhere, the session would move there.
fn resume_command(session_file: &Path) -> Option<String> {
    // The agent names a session's file after the session.
    let session = SessionId::from(session_file.file_stem()?.to_str()?);
    let (dialect, config) = (default_dialect(), claude_config_dir()?);
    let layout = dialect.sessions()?;
    let cwd =
        BufReader::new(File::open(session_file).ok()?).lines().map_while(Result::ok).find_map(|line| {
            let cwd = PathBuf::from(serde_json::from_str::<Value>(&line).ok()?["cwd"].as_str()?);
            // The agent may have changed its directory.
            (config.join(layout.file(&cwd, &session)) == session_file).then_some(cwd)
        })?;
    let cwd = quoted(cwd.is_dir().then_some(cwd)?.to_str()?);
    session.is_uuid().then(|| format!("longhaul run -C {cwd} --resume {session}"))
}

/// Returns the file with the most of a run's work: its session file, or else the last stream that is not
/// empty.
pub fn best_transcript(run: &RunDir) -> Option<PathBuf> {
    let started = || run.plan().ok()?.spec.session.map(|session| session.id().clone());
    let session = run.status().ok().and_then(|status| status.session_id).or_else(started);
    let file = session.and_then(|session| claude_session_file(&claude_config_dir()?, session.as_str()));
    let has_output = |stream: &PathBuf| fs::metadata(stream).is_ok_and(|metadata| metadata.len() > 0);
    let streams = run.attempts().unwrap_or_default().into_iter().rev().map(|attempt| attempt.stream_path());
    file.or_else(|| streams.into_iter().find(has_output))
}
