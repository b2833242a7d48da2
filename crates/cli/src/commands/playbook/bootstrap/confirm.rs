//! Whether it may cost that much: a person is asked, and whoever is none has said so before.

use super::output::cost;
use crate::failure::Failure;
use crate::output;
use crate::output::phrases::counted;
use longhaul_playbook::bootstrap::BootstrapPlan;
use std::io::{self, IsTerminal};

/// Asks.
///
/// # Errors
/// If it may not, or nobody can be asked.
pub fn confirm_cost(plan: &BootstrapPlan) -> Result<(), Failure> {
    let learns = counted(plan.included.len() as u64, "session");
    let question = format!("learn from {learns} for {}", cost(plan.estimate.cost));
    if !(io::stdin().is_terminal() && output::out::stderr_is_terminal()) {
        let hint = "say --yes, or how much it may cost with --budget; --dry-run prints what would be done";
        return Err(Failure::usage(format!("{question}: nobody can be asked whether it may"), hint));
    }
    output::print_status(&format!("May I {question}? [y/N]"));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::not_started(
        "nothing was learnt: you did not say yes",
        "--limit and --since take fewer sessions",
        None,
    ))
}
