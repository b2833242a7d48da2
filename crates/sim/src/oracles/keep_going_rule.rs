//! The conditions for keep-going, restated for the oracles from the documentation.

use longhaul_core::{AgentResult, KeepGoing, Policy, StopReason, TerminalReason};

/// Returns the keep-going policy, or `None` if the run has a check. In such a run, the check decides.
pub(super) fn active_keep_going(policy: &Policy) -> Option<&KeepGoing> {
    policy.keep_going.as_ref().filter(|_| policy.checks.is_none())
}

/// Returns whether the agent ended an exchange with this result on its own.
pub(super) fn is_good(policy: &Policy, result: &AgentResult) -> bool {
    let AgentResult { is_error, terminal_reason, stop_reason, empty, denials, stop_hook_capped, .. } =
        *result;
    let ended =
        !is_error && terminal_reason == TerminalReason::Completed && stop_reason == StopReason::EndTurn;
    ended && !empty && !stop_hook_capped && (denials == 0 || policy.allow_denials)
}
