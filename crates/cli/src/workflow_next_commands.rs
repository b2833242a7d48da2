//! Commands that a user can type to continue a workflow. Each works as printed.

use crate::next_commands::{commands_of, quoted};
use crate::open_home;
use longhaul_core::{Limit, Outcome, OutcomeKind};
use longhaul_store::WorkflowStatus;
use std::path::{Path, PathBuf};

/// Returns the commands that continue a finished or suspended workflow, the likeliest first. The list is empty if
/// nothing needs to be done.
pub fn next_commands(status: &WorkflowStatus, outcome: Outcome) -> Vec<String> {
    let id = &status.workflow_id;
    let command_of_run = |command: &str, kinds: &[OutcomeKind]| {
        let items = status.phases.iter().flat_map(|phase| &phase.items);
        let mut named = items.filter(|item| kinds.iter().any(|kind| kind.as_str() == item.status));
        named.find_map(|item| item.run.as_ref()).map(|run| format!("longhaul {command} {run}"))
    };
    // A run that did not start names what is wrong with its settings.
    let why = command_of_run(
        "why",
        &[OutcomeKind::Failed, OutcomeKind::NeedsPerson, OutcomeKind::CheckFailed, OutcomeKind::NotStarted],
    );
    // At least as much again, so that the rest has a chance to fit.
    let raise = match status.exhausted_limit {
        Some(Limit::Budget) => status.budget_usd.map(|budget| {
            let budget = budget.0.as_dollars().max(status.total_cost_usd.0.as_dollars());
            format!(" --add-budget {:.2}", (budget * 100.0).ceil().max(1.0) / 100.0)
        }),
        Some(Limit::Time) => status.time_limit_ms.map(|limit| {
            format!(" --add-time {}s", limit.max(status.active_ms).millis().div_ceil(1_000).max(1))
        }),
        Some(Limit::Tokens | Limit::Turns | Limit::Wall | Limit::Attempts) | None => None,
    };
    let resume = format!("longhaul resume {id}{}", raise.unwrap_or_default());
    match outcome.kind {
        OutcomeKind::Done => Vec::new(),
        OutcomeKind::Suspended => vec![format!("longhaul recover {id}")],
        OutcomeKind::OverBudget | OutcomeKind::OutOfTime => {
            // The run's own limit must be raised first.
            let home = status.own_limit_run.as_ref().zip(open_home::locate().ok());
            let dir = home.and_then(|(run, home)| home.find(run.as_str()).ok());
            let of_run = dir.map(|dir| commands_of(dir.path()));
            of_run.into_iter().flatten().take(1).chain([resume]).collect()
        }
        // Without a condition, another iteration would repeat the work that is done.
        OutcomeKind::Partial if status.until_holds.is_some() && status.iteration >= status.iterations_max => {
            why.into_iter()
                .chain([format!("{resume} --max-iterations {}", status.iterations_max * 2)])
                .collect()
        }
        OutcomeKind::Failed
        | OutcomeKind::NeedsPerson
        | OutcomeKind::CheckFailed
        | OutcomeKind::NotStarted
        | OutcomeKind::Incomplete
        | OutcomeKind::Partial
        | OutcomeKind::Bug
        | OutcomeKind::RetryLater
        | OutcomeKind::Cancelled => why.into_iter().chain([resume]).collect(),
    }
}

/// Returns the command of a notification: it continues the workflow, or follows or shows it.
pub fn notified_workflow_command(status: &WorkflowStatus, outcome: Option<Outcome>) -> String {
    let id = &status.workflow_id;
    let Some(outcome) = outcome else { return format!("longhaul attach {id}") };
    let next = next_commands(status, outcome).into_iter().next();
    next.unwrap_or_else(|| format!("longhaul show {id}"))
}

pub fn commands_to_drop_worktrees(project: &Path, worktrees: &[(PathBuf, String)]) -> Vec<String> {
    let git = format!("git -C {}", quoted(&project.to_string_lossy()));
    let drop = |(dir, branch): &(PathBuf, String)| {
        let dir = quoted(&dir.to_string_lossy());
        [format!("{git} worktree remove --force {dir}"), format!("{git} branch -D {}", quoted(branch))]
    };
    worktrees.iter().flat_map(drop).collect()
}

#[cfg(test)]
mod tests {
    use super::commands_to_drop_worktrees;
    use longhaul_store::worktree_branch;
    use std::path::Path;

    #[test]
    fn commands_to_drop_worktrees_work_as_printed() {
        let branch = worktree_branch(&"kxhfgg".into(), "kxhfgg-1-prove-2");
        let worktrees = [("/home/it's/worktrees/kxhfgg-1-prove-2".into(), branch)];
        let commands = commands_to_drop_worktrees(Path::new("/my project"), &worktrees);
        assert_eq!(
            commands,
            [
                r"git -C '/my project' worktree remove --force '/home/it'\''s/worktrees/kxhfgg-1-prove-2'",
                "git -C '/my project' branch -D longhaul/kxhfgg/1-prove-2"
            ]
        );
    }
}
