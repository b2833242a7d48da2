//! Counts the plans of a phase: on disk, else in the roadmap, else in the state.

use crate::Warning;
use crate::claim::{Claim, Source, reconcile};
use crate::disk::PhaseDir;
use crate::roadmap::RoadmapPhase;

/// Finished and all plans of a phase.
#[derive(Debug, Default)]
pub(crate) struct PlanCounts {
    pub complete: Option<Claim<usize>>,
    pub total: Option<Claim<usize>>,
}

impl PlanCounts {
    pub(crate) fn is_finished(&self) -> bool {
        let counts = self.complete.as_ref().zip(self.total.as_ref());
        counts.is_some_and(|(complete, total)| complete.value >= total.value)
    }

    /// Plans are deleted from some repositories after their execution. Summaries alone are therefore a lower bound.
    pub(crate) fn new(
        dir: Option<&PhaseDir>,
        phase: Option<&RoadmapPhase>,
        state: Option<&Claim<usize>>,
        warnings: &mut Vec<Warning>,
    ) -> PlanCounts {
        let dir = dir.filter(|dir| !dir.plans.is_empty());
        let on_disk = dir.map(|dir| Claim::new(dir.plans.len(), Source::directory(&dir.path)));
        let with_summary = dir.map(|dir| {
            let count = dir.plans.values().filter(|has_summary| **has_summary).count();
            Claim::new(count, Source::directory(&dir.path))
        });
        let has_plans = dir.is_some_and(|dir| dir.has_plans);
        let ratio = phase.and_then(|phase| phase.ratio.as_ref());
        let boxes = phase.and_then(|phase| {
            let first = phase.plans.first()?;
            let ticked = phase.plans.iter().filter(|plan| plan.value).count();
            Some((
                Claim::new(ticked, first.source.clone()),
                Claim::new(phase.plans.len(), first.source.clone()),
            ))
        });

        let in_roadmap = [
            boxes.as_ref().map(|(_, total)| total.clone()),
            ratio.and_then(|ratio| Some(Claim::new(ratio.value.1?, ratio.source.clone()))),
            phase.and_then(|phase| phase.plan_count.clone()),
        ];
        let stated = in_roadmap.into_iter().flatten().chain(state.cloned()).filter(|total| total.value > 0);
        let stated: Vec<Claim<usize>> = stated.collect();
        let is_bound = |disk: &Claim<usize>| has_plans || stated.iter().all(|total| total.value < disk.value);
        let totals = on_disk.filter(is_bound).into_iter().chain(stated.iter().cloned());
        let total = reconcile("the number of plans", totals, warnings);

        let ticked = boxes.map(|(ticked, _)| ticked);
        let counted = ratio.map(|ratio| Claim::new(ratio.value.0, ratio.source.clone()));
        let complete = if has_plans {
            reconcile("the number of finished plans", with_summary.into_iter().chain(counted), warnings)
        } else {
            // Boxes and rows are updated late, never early.
            let most = [ticked, counted, with_summary].into_iter().flatten().max_by_key(|claim| claim.value);
            let all = total.clone().filter(|_| phase.is_some_and(|phase| phase.complete.is_some()));
            let none = || total.as_ref().map(|total| Claim::new(0, total.source.clone()));
            all.or(most).or_else(none)
        };
        PlanCounts { complete, total }
    }
}
