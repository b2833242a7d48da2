//! Prompts for a research run: the autonomous mode, the environment and the task.

use super::RequestedTotals;
use super::task::Task;

/// Prompt for resuming a run that is done.
pub const MORE: &str = "There is time and money left, so continue: review your results critically, find the largest possible improvement of every sub-task, and make it. Check your results again, and commit.";

const ALONE: &str = "You are an autonomous researcher. No one is available to answer questions or to approve anything: decide by yourself, and continue until the work is as good as you can make it.";

const RULES: &str = "- Your directory is a copy of the task's folder and a git repository. Commit early and often: only committed \
                     work counts if the work ends suddenly.
- Start with the primary sub-task, and make sure that it has a result; then continue with the others.
- Plan for the time that experiments take. Run long tasks in the background: you may end your turn while they run, and \
are notified when they end. Make them save their progress, because they are stopped when your time is up.
- Report results only as you measured them, with everything that is needed to reproduce them.
";

pub fn initial(task: &Task, limits: RequestedTotals, is_blocked: bool) -> String {
    let money =
        limits.budget.map(|usd| format!(", and it may cost ${}", usd.as_dollars())).unwrap_or_default();
    let mut prompt = format!(
        "{ALONE}\n\n- You have {} to work, waits between attempts not counted{money}. Before a limit is reached, you are asked to save your work.\n{RULES}",
        limits.time
    );
    if is_blocked {
        prompt += "- Pages that give the solution away are blocked. Do not look for ways around that: continue without them.\n";
    }
    if !task.setup.is_empty() {
        let files = task.setup.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        prompt += &format!(
            "- The task's dependencies are listed in {files}; first check what is already installed.\n"
        );
    }
    prompt += &format!("\n# The task\n\n{}\n", task.description.trim());
    if let Some(instructions) = &task.instructions {
        prompt += &format!("\n# Instructions\n\n{}\n", instructions.trim());
    }
    prompt
}
