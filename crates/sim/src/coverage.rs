//! Counts everything that a swarm reached: faults, remedies, outcomes, deadlines, recoveries and more. It
//! never judges a run.

use crate::kill_point::KillPoint;
use longhaul_core::{
    CancelSource, CheckResult, DeadlineKind, Fault, Limit, LimitThreshold, OutcomeKind, PromptKind, Remedy,
    ResumeStrategy, SessionFileState, StopCause, StopLevel, WorkflowDeadlineKind,
};
use std::collections::BTreeMap;
use std::fmt;

/// A counted item: its kind, and two words that specify it.
type Item = [&'static str; 3];

/// The kind of state machine that a swarm simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Runs.
    Run,
    /// Workflows.
    Workflow,
}

/// Counts of everything that a swarm reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<Item, u64>);

impl Coverage {
    pub(crate) fn count(&mut self, kind: &'static str, word: &'static str) {
        self.count_pair(kind, word, "");
    }

    pub(crate) fn count_pair(&mut self, kind: &'static str, first: &'static str, second: &'static str) {
        *self.0.entry([kind, first, second]).or_default() += 1;
    }

    pub(crate) fn remedy(&mut self, remedy: Remedy) {
        *self.0.entry(remedy_item(remedy)).or_default() += 1;
    }

    pub(crate) fn attempts_with(&self, fault: Fault) -> u64 {
        self.0.get(&["fault", fault.as_str(), ""]).copied().unwrap_or_default()
    }

    pub(crate) fn prompt(&mut self, prompt: PromptKind) {
        match prompt {
            PromptKind::WrapUp(_) => self.count("prompt", "wrap_up"),
            PromptKind::KeepGoing(prompt) => {
                self.count("prompt", "keep_going");
                if prompt.active_time.is_some() {
                    self.count("prompt", "status");
                }
                if prompt.limit_near {
                    self.count("prompt", "limit_near");
                }
            }
            PromptKind::ConfirmDone => self.count("prompt", "confirm_done"),
            PromptKind::Task
            | PromptKind::TaskAfterLoss(_)
            | PromptKind::Continue(_)
            | PromptKind::FollowUp
            | PromptKind::Nudge(_)
            | PromptKind::LimitRaised(_)
            | PromptKind::CheckFailed(_) => {}
        }
    }

    /// Adds another swarm's counts.
    pub fn add(&mut self, other: &Coverage) {
        for (item, count) in &other.0 {
            *self.0.entry(*item).or_default() += count;
        }
    }

    /// Returns the names of everything that should be reached and was not. The list is empty if the swarm
    /// covers the policy.
    pub fn missing(&self, subject: Subject) -> Vec<String> {
        let expected = match subject {
            Subject::Run => expected(),
            Subject::Workflow => expected_of_workflows(),
        };
        expected.into_iter().filter(|item| !self.0.contains_key(item)).map(name).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: Vec<(&Item, &u64)> = self.0.iter().collect();
        for row in items.chunks(3) {
            for (item, count) in row {
                write!(out, "{:<30}{count:>10}  ", name(**item))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

fn name(item: Item) -> String {
    item.join(" ").trim_end().to_owned()
}

fn expected() -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut add = |kind, words: Vec<&'static str>| items.extend(words.iter().map(|word| [kind, *word, ""]));
    // No run can be resumed after these outcomes.
    let is_final = |kind: &OutcomeKind| matches!(kind, OutcomeKind::Bug | OutcomeKind::Suspended);
    // These outcomes belong to loops of runs and to workflows.
    let is_of_loops = |kind: &OutcomeKind| matches!(kind, OutcomeKind::Incomplete | OutcomeKind::Partial);
    let outcomes = OutcomeKind::ALL.iter().copied().filter(|kind| !is_of_loops(kind));
    // These two lead to no attempt.
    let remedies =
        Remedy::ALL.iter().filter(|remedy| !matches!(remedy, Remedy::End | Remedy::EndUnlessAllowed));
    add("fault", Fault::ALL.iter().map(|fault| fault.as_str()).collect());
    add("outcome", outcomes.clone().map(OutcomeKind::as_str).collect());
    add("reopened", outcomes.filter(|kind| !is_final(kind)).map(OutcomeKind::as_str).collect());
    add("deadline", DeadlineKind::ALL.iter().map(|kind| kind.as_str()).collect());
    add("stop", StopCause::ALL.iter().map(|cause| cause.as_str()).collect());
    add("level", StopLevel::ALL.iter().map(|level| level.as_str()).collect());
    add("prompt", vec!["wrap_up", "keep_going", "status", "limit_near", "confirm_done"]);
    add("keep_going", vec!["stop", "claim", "idle_finish"]);
    add("stall", vec!["deferred"]);
    add("kill", KillPoint::ALL.iter().map(|point| point.as_str()).collect());
    add("strategy", ResumeStrategy::ALL.iter().map(|strategy| strategy.as_str()).collect());
    add("session", SessionFileState::ALL.iter().map(|state| state.as_str()).collect());
    add("summary", vec!["written", "not_needed", "failed"]);
    add("check", CheckResult::ALL.iter().map(|result| result.as_str()).collect());
    add("review", vec!["passed", "failed", "no_verdict"]);
    add("stop_at_takeover", CancelSource::ALL.iter().map(|source| source.as_str()).collect());
    items.extend(remedies.map(|remedy| remedy_item(*remedy)));
    for threshold in LimitThreshold::ALL {
        // The limit on attempts has no threshold.
        let limits = Limit::ALL.iter().filter(|limit| **limit != Limit::Attempts);
        items.extend(limits.map(|limit| ["limit", threshold.as_str(), limit.as_str()]));
    }
    let live = ["starting", "running", "closing", "stopping"];
    let active = ["sweeping", "waiting", "summarizing", "checking"];
    // A new supervisor stops a summary of its predecessor. The last phase has a process that cannot be killed.
    items.extend(live.iter().chain(&["finished"]).map(|phase| ["recovery", "running", *phase]));
    let gone = live.iter().chain(&active).chain(&["new", "suspended", "finished"]);
    items.extend(gone.map(|phase| ["recovery", "gone", *phase]));
    for source in CancelSource::ALL {
        items.extend(live.iter().chain(&active).map(|phase| ["cancel", source.as_str(), *phase]));
    }
    items
}

fn expected_of_workflows() -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut add = |kind, words: Vec<&'static str>| items.extend(words.iter().map(|word| [kind, *word, ""]));
    let outcomes = || OutcomeKind::ALL.iter().copied();
    add("outcome", outcomes().map(OutcomeKind::as_str).collect());
    let is_final = |kind: &OutcomeKind| *kind == OutcomeKind::Suspended;
    add("reopened", outcomes().filter(|kind| !is_final(kind)).map(OutcomeKind::as_str).collect());
    add("deadline", WorkflowDeadlineKind::ALL.iter().map(|kind| kind.as_str()).collect());
    add("kill", KillPoint::ALL.iter().map(|point| point.as_str()).collect());
    add("cancel", CancelSource::ALL.iter().map(|source| source.as_str()).collect());
    add("suspend", vec!["sigterm", "sighup"]);
    add("next", vec!["complete", "continue", "retry", "park", "raise", "suspend", "stop"]);
    add("run", vec!["started", "resumed", "continued by the user"]);
    add("until", vec!["holds", "open", "failed"]);
    add("clock", vec!["stopped", "started"]);
    add("phase", vec!["done", "failed", "needs_person"]);
    add("share", vec!["refused"]);
    add("items", vec!["deferred"]);
    add("memory", vec!["short"]);
    items
}

fn remedy_item(remedy: Remedy) -> Item {
    let nudge = if let Remedy::Nudge(nudge) = remedy { nudge.into() } else { "" };
    ["remedy", remedy.into(), nudge]
}
