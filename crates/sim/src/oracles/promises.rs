//! The promises to users about each fault: the reaction, and the outcome if it fails. They are read from the
//! table of `docs/faults.md`, so no code of the core is repeated here.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{Fault, Nudge, OutcomeKind, Policy, Remedy, SessionLoss};
use std::sync::LazyLock;

const DOCUMENT: &str = include_str!("../../../../docs/faults.md");
static PROMISES: LazyLock<Vec<(&str, Promise)>> = LazyLock::new(read_table);

/// A row of the table, for one of its faults.
#[derive(Clone, Copy)]
struct Promise {
    reaction: &'static str,
    outcome: &'static str,
}

/// Checks that the document promises this reaction to the fault.
pub(crate) fn check_reaction(policy: &Policy, fault: Fault, remedy: Remedy) -> OracleResult {
    // The policy of ResearchGym counts a failed resume as an attempt.
    if fault == Fault::SessionLost && policy.session_loss == SessionLoss::SpendAttempt {
        return ensure(remedy == Remedy::Resume, Oracle::Bounds, || format!("{remedy:?} follows {fault}"));
    }
    let promise = promise(fault);
    let is_promised = promise.zip(phrase(remedy)).is_some_and(|(row, phrase)| row.reaction.contains(phrase));
    ensure(is_promised, Oracle::Bounds, || {
        format!(
            "{remedy:?} follows {fault}, but the promise is: {}",
            promise.map_or("none", |row| row.reaction)
        )
    })
}

/// Returns whether the document promises this outcome of a run that the fault finishes.
pub(crate) fn is_promised(fault: Fault, outcome: OutcomeKind) -> bool {
    promise(fault).is_some_and(|row| row.outcome == outcome.to_string())
}

fn promise(fault: Fault) -> Option<Promise> {
    PROMISES.iter().find(|(name, _)| *name == fault.as_str()).map(|(_, promise)| *promise)
}

/// Reads the rows. A row with several outcomes lists them in the order of its faults.
fn read_table() -> Vec<(&'static str, Promise)> {
    let mut promises = Vec::new();
    for row in DOCUMENT.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        let [_, faults, reaction, outcomes, _] = cells[..] else { continue };
        for (index, fault) in names(faults).enumerate() {
            let outcome = names(outcomes).nth(index).or_else(|| names(outcomes).last()).unwrap_or_default();
            promises.push((fault, Promise { reaction, outcome }));
        }
    }
    promises
}

fn names(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns the words for a remedy that continues the run.
fn phrase(remedy: Remedy) -> Option<&'static str> {
    match remedy {
        Remedy::WaitOut => Some("wait with jitter, then resume"),
        Remedy::Park => Some("run no process until the reset, then resume"),
        Remedy::Resume => Some("resume, up to 5 times"),
        Remedy::ResumeOnce => Some("resume once"),
        Remedy::ResumeWhileProgressing => Some("resume while attempts make progress"),
        Remedy::ResumeWithinLimit => Some("resume if the run has a limit"),
        Remedy::ResumeExisting => Some("resume it"),
        Remedy::ReplaceLostSession | Remedy::ReplaceFullSession => Some("fresh session"),
        Remedy::TryFork => Some("retry once, on a fork or in a new session"),
        Remedy::Nudge(Nudge::SmallerSteps) => Some("ask for smaller steps"),
        Remedy::Nudge(Nudge::Answer) => Some("ask for the answer in the same session"),
        Remedy::RetryOnce => Some("retry once, keep the evidence"),
        // No fault leads to these.
        Remedy::KeepGoing | Remedy::End | Remedy::EndUnlessAllowed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_core::Preset;

    #[test]
    fn document_has_a_row_for_each_fault() {
        for fault in Fault::ALL {
            assert!(promise(*fault).is_some(), "docs/faults.md has no row for {fault}");
        }
        assert!(is_promised(Fault::AgentBudget, OutcomeKind::OverBudget));
        assert!(!is_promised(Fault::AgentBudget, OutcomeKind::OutOfTime));
    }

    #[test]
    fn rejects_reactions_that_are_not_promised() {
        let policy = Preset::Default.policy();
        let check = |fault, remedy, expected| {
            assert_eq!(check_reaction(&policy, fault, remedy).is_ok(), expected, "{fault}: {remedy:?}");
        };
        check(Fault::Crashed, Remedy::Resume, true);
        check(Fault::Crashed, Remedy::ReplaceLostSession, false);
        check(Fault::SessionLost, Remedy::ReplaceLostSession, true);
        check(Fault::SessionLost, Remedy::Resume, false);
        check(Fault::Auth, Remedy::Resume, false);
        check(Fault::Unknown, Remedy::TryFork, false);
    }
}
