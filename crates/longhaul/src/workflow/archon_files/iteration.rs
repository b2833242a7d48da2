//! One iteration as the journal records it, and its `meta.json`. It never reads or writes a file.

use super::{Claim, Role};
use longhaul_core::{AfterRun, Moment, OutcomeKind, RunKey, SessionId, Usd, WorkflowRecord};
use longhaul_workflow::archon::{ArchonStatus, IterationMeta, PhaseMeta, ProverMeta, ProverMode, slugs};
use std::collections::BTreeMap;

pub(super) struct Iteration {
    /// Number in the workflow, starting at 1.
    pub(super) number: u32,
    /// Log in the project. `None` before the first write.
    pub(super) claim: Option<Claim>,
    /// Files of the provers.
    pub(super) items: Vec<String>,
    started_at: Moment,
    pub(super) completed_at: Option<Moment>,
    phases: BTreeMap<Role, PhaseTimes>,
    runs: BTreeMap<(Role, RunKey), RunFacts>,
}

#[derive(Clone, Copy)]
struct PhaseTimes {
    started_at: Moment,
    /// `None` while it runs.
    ended_at: Option<Moment>,
    is_done: bool,
}

#[derive(Clone, Copy, Default)]
struct RunFacts {
    cost: Usd,
    /// Whether its work is done. `None` while it runs or waits.
    is_done: Option<bool>,
}

impl Iteration {
    pub(super) fn new(number: u32, started_at: Moment) -> Iteration {
        Iteration {
            number,
            claim: None,
            items: Vec::new(),
            started_at,
            completed_at: None,
            phases: BTreeMap::new(),
            runs: BTreeMap::new(),
        }
    }

    pub(super) fn apply(&mut self, at: Moment, record: &WorkflowRecord, roles: &[Option<Role>]) {
        let role = |phase: usize| roles.get(phase).copied().flatten();
        match record {
            WorkflowRecord::ItemsListed { phase, items, .. } if role(*phase) == Some(Role::Prover) => {
                self.items.clone_from(items);
            }
            WorkflowRecord::RunPlanned { key, .. } => {
                let Some(role) = role(key.phase) else { return };
                let new = PhaseTimes { started_at: at, ended_at: None, is_done: false };
                self.phases.entry(role).or_insert(new).ended_at = None;
                self.runs.entry((role, *key)).or_default().is_done = None;
                self.completed_at = None;
            }
            WorkflowRecord::RunEnded { key, end, next, .. } => {
                let Some(role) = role(key.phase) else { return };
                let facts = self.runs.entry((role, *key)).or_default();
                facts.cost = end.cost;
                facts.is_done = match next {
                    AfterRun::Complete | AfterRun::Continue | AfterRun::Retry | AfterRun::Stop => {
                        Some(end.outcome.kind == OutcomeKind::Done)
                    }
                    AfterRun::Park | AfterRun::Raise | AfterRun::Suspend => None,
                };
            }
            WorkflowRecord::ShareRefused { key, .. } => {
                let Some(role) = role(key.phase) else { return };
                self.runs.entry((role, *key)).or_default().is_done = Some(false);
            }
            WorkflowRecord::PhaseEnded { phase, outcome, .. } => {
                if let Some(times) = role(*phase).and_then(|role| self.phases.get_mut(&role)) {
                    times.ended_at = Some(at);
                    times.is_done = outcome.kind == OutcomeKind::Done;
                }
            }
            WorkflowRecord::WorkflowReopened { .. } => self.completed_at = None,
            WorkflowRecord::WorkflowFinished { .. } => self.completed_at = Some(at),
            _ => {}
        }
    }

    /// Returns the number of provers, and of those that did not finish their work.
    pub(super) fn prover_counts(&self) -> (u32, u32) {
        let last = self.last_runs(Role::Prover);
        let failed = last.values().filter(|(_, facts)| facts.is_done != Some(true)).count();
        (last.len() as u32, failed as u32)
    }

    /// Returns the name of each prover in logs, in the order of the items.
    pub(super) fn slugs(&self) -> Vec<String> {
        slugs(self.items.iter().map(String::as_str))
    }

    fn last_runs(&self, role: Role) -> BTreeMap<u32, (RunKey, RunFacts)> {
        // Retries of an item follow each other.
        self.runs_of(role).map(|(key, facts)| (key.item, (key, facts))).collect()
    }

    fn runs_of(&self, role: Role) -> impl Iterator<Item = (RunKey, RunFacts)> {
        let runs = self.runs.iter().filter(move |((of, _), _)| *of == role);
        runs.map(|((_, key), facts)| (*key, *facts))
    }

    fn cost(&self, role: Role, item: Option<u32>) -> Usd {
        let runs = self.runs_of(role).filter(|(key, _)| item.is_none_or(|item| item == key.item));
        runs.map(|(_, facts)| facts.cost).sum()
    }

    /// Returns the record of the iteration. `session` returns the session of a run.
    pub(super) fn meta(
        &self,
        claim: Claim,
        mode: ProverMode,
        session: impl Fn(RunKey, &str) -> Option<SessionId>,
    ) -> IterationMeta {
        let mut meta = IterationMeta::new(claim.number, claim.stage, mode, self.started_at);
        let phase = |role: Role, name: &str| {
            let times = self.phases.get(&role)?;
            let cost = self.cost(role, None);
            let last = self.last_runs(role);
            let phase = match times.ended_at {
                None => PhaseMeta { cost_usd: Some(cost.into()), ..PhaseMeta::running() },
                Some(at) => {
                    let is_done =
                        times.is_done && last.values().all(|(_, facts)| facts.is_done == Some(true));
                    PhaseMeta::ended(is_done, at.since(times.started_at), cost)
                }
            };
            let key = last.into_values().next().map(|(key, _)| key).filter(|_| role != Role::Prover);
            Some(PhaseMeta { session_id: key.and_then(|key| session(key, name)), ..phase })
        };
        meta.plan = phase(Role::Plan, "plan");
        meta.prover = phase(Role::Prover, "prover");
        meta.review = phase(Role::Review, "review");
        let slugs = self.slugs();
        for (item, (key, facts)) in self.last_runs(Role::Prover) {
            let index = item as usize;
            let (Some(file), Some(slug)) = (self.items.get(index), slugs.get(index)) else { continue };
            let prover = ProverMeta {
                file: file.clone(),
                status: facts.is_done.map_or(ArchonStatus::Running, ArchonStatus::from_success),
                session_id: session(key, "prover"),
                cost_usd: Some(self.cost(Role::Prover, Some(item)).into()),
            };
            meta.provers.insert(slug.clone(), prover);
        }
        if let Some(at) = self.completed_at {
            meta.complete(at);
        }
        meta
    }
}
