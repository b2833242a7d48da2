//! What `longhaul diff` says beside the changes: how much there is, what they are compared with, what is not in them.

use crate::output::envelope_text::grouped;
use longhaul::changes::{LiveReason, WorkspaceDiff};
use longhaul::quoted;
use longhaul_core::RunId;
use longhaul_store::{DiffStat, OsText, RunDir, UnrecordedReason, WorkspaceState, rfc3339};
use std::collections::BTreeSet;

// As many as fit a line or two.
const NAMES_MAX: usize = 8;
// As many letters as tell commits apart in all but the largest repositories.
const ID_CHARS: usize = 10;

/// What changed, in a line.
pub fn summary(run: &RunId, viewed: &WorkspaceDiff) -> String {
    let (totals, commits) = (viewed.figures(), commits(viewed));
    match (totals.files, commits) {
        (0, None) => format!("run {run} changed nothing"),
        (0, Some(commits)) => format!("run {run}: no file changed; {commits}"),
        (_, None) => format!("run {run}: {}", figures(totals)),
        (_, Some(commits)) => format!("run {run}: {}; {commits}", figures(totals)),
    }
}

/// As git says it.
fn figures(totals: DiffStat) -> String {
    let counted = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", grouped(count)),
    };
    let files = counted(totals.files, "file changed", "files changed");
    let result = counted(totals.insertions, "insertion(+)", "insertions(+)");
    let went = counted(totals.deletions, "deletion(-)", "deletions(-)");
    format!("{files}, {result}, {went}")
}

/// What became of the history; nothing if nothing did.
fn commits(viewed: &WorkspaceDiff) -> Option<String> {
    let (from, to) = (&viewed.from, &viewed.to);
    let on = |state: &WorkspaceState| {
        state.branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default()
    };
    match &viewed.commits {
        Some(commits) if commits.is_empty() => {
            (from.branch != to.branch).then(|| format!("now{}", or_detached(&on(to))))
        }
        Some(commits) if commits.len() == 1 => Some(format!("1 commit{}", on(to))),
        Some(commits) => Some(format!("{} commits{}", grouped(commits.len() as u64), on(to))),
        None => Some(format!("HEAD went from {} to {}{}", short(from), short(to), on(to))),
    }
}

fn or_detached(on: &str) -> &str {
    if on.is_empty() { " on no branch" } else { on }
}

fn short(state: &WorkspaceState) -> &str {
    state.head.as_deref().map_or("nothing", |head| head.get(..ID_CHARS).unwrap_or(head))
}

/// What a person should know of it.
pub fn notes(viewed: &WorkspaceDiff) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(viewed.live.map(|now| match now {
        LiveReason::NotFinished => "the run is not over: compared with its workspace as it is now".to_owned(),
        LiveReason::Unrecorded(why) => {
            let why = why.map_or("", |why| describe(why));
            let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
            format!(
                "what the workspace was when the run was over is not recorded{why}: compared with what it is now"
            )
        }
    }));
    let left_out = left_out(viewed);
    if !left_out.is_empty() {
        let names = left_out.iter().take(NAMES_MAX).map(|path| path.as_path().display().to_string());
        let more = left_out.len().checked_sub(NAMES_MAX + 1).map(|more| format!("{} more", more + 1));
        let names = names.chain(more).collect::<Vec<_>>().join(", ");
        remarks.push(format!(
            "not compared, being too large, unreadable or repositories of their own: {}",
            names.escape_debug()
        ));
    }
    remarks
}

/// Files that one of the states does not have, whatever they were.
pub fn left_out(viewed: &WorkspaceDiff) -> Vec<&OsText> {
    let omitted: BTreeSet<&OsText> = viewed.from.omitted.iter().chain(&viewed.to.omitted).collect();
    omitted.into_iter().collect()
}

/// Why a run's beginning is not recorded, and what else tells what it did.
pub fn unrecorded(dir: &RunDir, why: UnrecordedReason) -> (String, String) {
    let began = dir.changes().ok().flatten().map(|record| record.start);
    let said = began.as_ref().and_then(|began| began.git_error.as_ref()).map(|said| format!(": {said}"));
    let error = match &began {
        Some(_) => format!(
            "what its workspace was when it began is not recorded: {}{}",
            describe(why),
            said.unwrap_or_default()
        ),
        None => "what its workspace was when it began is not recorded; that is since this version".to_owned(),
    };
    let logs = format!("`longhaul logs {}` tells what was done in it", dir.id());
    let plan = dir.plan().ok();
    let Some(plan) = plan.filter(|_| why != UnrecordedReason::NotInGit) else {
        return (error, format!("{logs}; `git init` there lets the next one be compared"));
    };
    let cwd = quoted(&plan.cwd.as_path().display().to_string());
    let hint = match began.and_then(|began| began.head) {
        Some(head) => format!(
            "`git -C {cwd} diff {head}` compares with the commit that it began on; what was not committed then is in it, too"
        ),
        None => format!(
            "`git -C {cwd} log --since={}` tells what was committed since it began; {logs}",
            rfc3339(plan.started_at)
        ),
    };
    (error, hint)
}

fn describe(why: UnrecordedReason) -> &'static str {
    match why {
        UnrecordedReason::NotInGit => "it was in no git repository",
        UnrecordedReason::NoGit => "git could not be started",
        UnrecordedReason::TooSlow => "git took too long to take in what was not committed",
        UnrecordedReason::TooMuch => "too much was not committed",
        UnrecordedReason::GitFailed => "git failed",
        UnrecordedReason::NotWritten => "it could not be written",
    }
}
