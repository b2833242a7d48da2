//! Text around the changes in `longhaul diff`: a summary, and notes on the comparison and on omitted files.

use crate::next_commands::quoted;
use crate::output::phrases::{counted, first_paths};
use longhaul::changes::{LiveReason, WorkspaceDiff};
use longhaul_core::RunId;
use longhaul_store::{DiffStat, OsText, RunDir, UnrecordedReason, WorkspaceState};
use std::collections::BTreeSet;

// Long enough to distinguish commits in all but the largest repositories.
const ID_CHARS: usize = 10;

/// Summarizes the changes on one line. `in_paths` states whether only some paths are compared.
pub fn summary(run: &RunId, diff: &WorkspaceDiff, in_paths: bool) -> String {
    let (totals, commits) = (diff.stat(), commits(diff));
    match (totals.files, commits) {
        (0, None) if in_paths => format!("run {run} changed nothing in these paths"),
        (0, None) => format!("run {run} changed nothing"),
        (0, Some(commits)) => format!("run {run}: no file changed; {commits}"),
        (_, None) => format!("run {run}: {}", totals_text(totals)),
        (_, Some(commits)) => format!("run {run}: {}; {commits}", totals_text(totals)),
    }
}

fn totals_text(totals: DiffStat) -> String {
    let DiffStat { files, insertions, deletions } = totals;
    let (insertions, deletions) = (counted(insertions, "insertion"), counted(deletions, "deletion"));
    format!("{} changed, {insertions}(+), {deletions}(-)", counted(files, "file"))
}

/// Describes the change of the history, or returns `None` if it did not change.
fn commits(diff: &WorkspaceDiff) -> Option<String> {
    let (from, to) = (&diff.from, &diff.to);
    let on = |state: &WorkspaceState| {
        state.branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default()
    };
    match &diff.commits {
        Some(commits) if commits.is_empty() => {
            let branch = to.branch.as_deref().unwrap_or("no branch");
            (from.branch != to.branch).then(|| format!("now on {branch}"))
        }
        Some(commits) => Some(format!("{}{}", counted(commits.len() as u64, "commit"), on(to))),
        None => Some(format!("HEAD moved from {} to {}{}", short(from), short(to), on(to))),
    }
}

fn short(state: &WorkspaceState) -> &str {
    state.head.as_deref().map_or("nothing", |head| head.get(..ID_CHARS).unwrap_or(head))
}

pub fn notes(diff: &WorkspaceDiff) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(diff.live.map(|live| match live {
        LiveReason::NotFinished => "the run has not finished: compared with the current workspace".to_owned(),
        LiveReason::Unrecorded(reason) => {
            let reason = reason.map_or_else(String::new, |reason| format!(" ({})", describe(reason)));
            format!(
                "the workspace at the end of the run was not recorded{reason}: compared with the current workspace"
            )
        }
    }));
    let omitted = omitted(diff);
    if !omitted.is_empty() {
        notes.push(format!(
            "not compared, because too large, unreadable or separate repositories: {}",
            first_paths(omitted).escape_debug()
        ));
    }
    notes
}

/// Returns the files that are missing in either state.
pub fn omitted(diff: &WorkspaceDiff) -> Vec<&OsText> {
    let omitted: BTreeSet<&OsText> = diff.from.omitted.iter().chain(&diff.to.omitted).collect();
    omitted.into_iter().collect()
}

/// Explains why the start state of a run is not recorded, and what else shows its work.
pub fn unrecorded(dir: &RunDir, reason: UnrecordedReason) -> (String, String) {
    let start = dir.changes().ok().flatten().map(|record| record.start);
    let git_error =
        start.as_ref().and_then(|start| start.git_error.as_ref()).map(|error| format!(": {error}"));
    let error = match &start {
        Some(_) => format!(
            "its workspace at the start was not recorded: {}{}",
            describe(reason),
            git_error.unwrap_or_default()
        ),
        None => {
            "its workspace at the start was not recorded, because an older version started the run".to_owned()
        }
    };
    let logs = format!("`longhaul logs {}` prints what the agent did", dir.id());
    let plan = dir.plan().ok();
    let Some(plan) = plan.filter(|_| reason != UnrecordedReason::NotInGit) else {
        return (error, format!("{logs}; after `git init` in the workspace, later runs can be compared"));
    };
    let cwd = quoted(&plan.spec.cwd.display().to_string());
    let hint = match start.and_then(|start| start.head) {
        Some(head) => format!(
            "`git -C {cwd} diff {head}` compares with the commit at the start of the run; the result includes changes that were uncommitted then"
        ),
        None => format!(
            "`git -C {cwd} log --since={}` lists the commits since the run started; {logs}",
            plan.started_at
        ),
    };
    (error, hint)
}

fn describe(reason: UnrecordedReason) -> &'static str {
    match reason {
        UnrecordedReason::NotInGit => "it was not in a git repository",
        UnrecordedReason::NoGit => "git could not be started",
        UnrecordedReason::TooSlow => "git took too long to record the uncommitted files",
        UnrecordedReason::TooMuch => "there were too many uncommitted files",
        UnrecordedReason::GitFailed => "git failed",
        UnrecordedReason::NotWritten => "it could not be written",
    }
}
