//! Asks the user to confirm the cost. Without a terminal, confirmation must be given by a flag.

use super::output::cost;
use crate::failure::Failure;
use crate::output;
use crate::output::phrases::counted;
use longhaul_playbook::bootstrap::BootstrapPlan;
use std::io::{self, IsTerminal};

/// Asks the user to confirm the planned cost.
///
/// # Errors
/// Returns an error if the user declines or cannot be asked.
pub fn confirm_cost(plan: &BootstrapPlan) -> Result<(), Failure> {
    let sessions = counted(plan.included.len() as u64, "session");
    let cost = cost(plan.estimate.cost);
    if !(io::stdin().is_terminal() && output::out::stderr_is_terminal()) {
        let hint = "pass --yes, or a limit with --budget; --dry-run prints the plan";
        let error = format!("cannot learn from {sessions} for {cost}: no terminal to confirm");
        return Err(Failure::usage(error, hint));
    }
    output::print_status(&format!("Learn from {sessions} for {cost}? [y/N]"));
    let mut answer = String::new();
    let result = io::stdin().read_line(&mut answer);
    if result.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::not_started(
        "nothing was learned: not confirmed",
        "--limit and --since select fewer sessions",
        None,
    ))
}
