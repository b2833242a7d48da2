//! Prompts for a research run: the autonomous mode, the environment and the task.

use super::RequestedTotals;
use super::task::Task;

/// Prompt for resuming a run that is done.
pub const MORE: &str = "There is time and money left, so continue: review your results critically, find the largest possible improvement of every sub-task, and make it. Check your results again, and commit.";

const ALONE: &str = "You are an autonomous researcher. No one is available to answer questions or to approve anything: decide by yourself, and continue until the work is as good as you can make it.";

const RULES: &str = "- Your directory is a copy of the task's folder and a git repository. Commit early and often: what is committed \
                     is what counts if the work ends suddenly.
- Begin with the primary sub-task, and make sure that it has a result; then continue with the others.
- Plan for the time that experiments take. Run what takes long in the background: you may end your turn while it runs, and \
are notified when it ends. Have it save its progress, since it is stopped when your time is up.
- Report results only as you measured them, with what is needed to measure them again.
";

/// Returns the first prompt of a run.
pub fn initial(task: &Task, limits: RequestedTotals, is_blocked: bool) -> String {
    let money =
        limits.budget.map(|usd| format!(", and it may cost ${}", usd.as_dollars())).unwrap_or_default();
    let mut prompt = format!(
        "{ALONE}\n\n- You have {} to work, waits for the API not counted{money}. Before that is exhausted you are asked to save your work.\n{RULES}",
        limits.time
    );
    if is_blocked {
        prompt += "- Pages that give the solution away are blocked. Do not look for ways around that: continue without them.\n";
    }
    if !task.setup.is_empty() {
        let files = task.setup.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        prompt +=
            &format!("- What the task needs installed is in {files}; look first what is there already.\n");
    }
    prompt += &format!("\n# The task\n\n{}\n", task.description.trim());
    if let Some(instructions) = &task.instructions {
        prompt += &format!("\n# Instructions\n\n{}\n", instructions.trim());
    }
    prompt
}
