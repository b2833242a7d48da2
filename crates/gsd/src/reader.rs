//! Puts the claims of state, roadmap and disk together to phases and a status.

use crate::claim::{Claim, REQUIREMENTS, ROADMAP, STATE, Source, reconcile};
use crate::disk::{PhaseDir, phase_dirs};
use crate::markdown::letters;
use crate::plans::PlanCounts;
use crate::read::Files;
use crate::requirements;
use crate::roadmap::{PHASES_MAX, Roadmap, RoadmapPhase};
use crate::state::State;
use crate::{PhaseId, PhasePlan, ProjectPhase, ProjectStatus, Warning};

/// Phases that the status counts: those of the milestone with this index, or those without a milestone.
type Scope = Option<usize>;

pub(crate) struct Reader {
    state: State,
    roadmap: Roadmap,
    dirs: Vec<PhaseDir>,
    requirements: Option<String>,
    status: ProjectStatus,
    /// First reason why phases of the roadmap may be missing.
    pub(crate) unread: Option<Warning>,
}

impl Reader {
    pub(crate) fn new(files: Files) -> Reader {
        let mut warnings = files.warnings;
        let missing = |name: &str| Source::directory(name).warning("the file is missing");
        warnings.extend(files.state.is_none().then(|| missing(STATE)));
        let roadmap = Roadmap::parse(files.roadmap.as_deref().unwrap_or_default());
        let mut unread = Vec::from_iter(files.roadmap.is_none().then(|| missing(ROADMAP)));
        unread.extend(roadmap.unreadable.iter().map(|id| {
            let text = format!("phase {} cannot be read: its id is no number such as 2, 2.1 or 2A", id.value);
            id.source.warning(text)
        }));
        unread.extend(roadmap.end.iter().map(|end| {
            end.warning(format!("the roadmap has more than {PHASES_MAX} phases; the rest is ignored"))
        }));
        warnings.extend_from_slice(&unread);
        Reader {
            state: State::parse(files.state.as_deref().unwrap_or_default(), &mut warnings),
            roadmap,
            dirs: phase_dirs(&files.paths),
            requirements: files.requirements,
            status: ProjectStatus { warnings, ..ProjectStatus::default() },
            unread: unread.into_iter().next(),
        }
    }

    pub(crate) fn read(mut self) -> (ProjectStatus, Vec<ProjectPhase>) {
        self.current_phase();
        let scope = self.scope();
        let phases = self.phases(scope);
        self.count_phases(&phases);
        self.milestone(scope);
        if let Some(id) = self.status.current_phase.clone() {
            let phase = self.roadmap.phases.iter().find(|phase| phase.id == id && self.is_in(scope, phase));
            let (name, dir, mut warnings) = (self.name(&id, phase), self.dir(&id, phase), Vec::new());
            let plans = PlanCounts::new(dir, phase, self.state.plan_count.as_ref(), &mut warnings);
            self.status.warnings.append(&mut warnings);
            self.set("current_phase_name", name, |status, name| status.current_phase_name = Some(name));
            self.count_plans(plans);
        }
        self.requirements();
        self.status.blockers = std::mem::take(&mut self.state.blockers);
        (self.status, phases)
    }

    /// Stores the value of a field and its source.
    fn set<T>(&mut self, field: &str, claim: Option<Claim<T>>, store: impl FnOnce(&mut ProjectStatus, T)) {
        if let Some(claim) = claim {
            self.status.sources.insert(field.to_owned(), claim.source.to_string());
            store(&mut self.status, claim.value);
        }
    }

    /// If the claims of the state differ, the one wins whose phase the roadmap has open. Else none wins.
    fn current_phase(&mut self) {
        let mut claims = Vec::new();
        for claim in &self.state.phases {
            match &claim.value.id {
                Some(id) => claims.push(Claim::new(id.to_string(), claim.source.clone())),
                None if claim.value.is_none => {
                    claims.push(Claim::new("none".to_owned(), claim.source.clone()))
                }
                None => {
                    let text = "the current phase is unclear: the text does not start with one number";
                    self.status.warnings.push(claim.source.warning(text));
                }
            }
        }
        let is_open = |claim: &Claim<String>| {
            let id = claim.value.parse::<PhaseId>().ok();
            let phase = self.roadmap.phases.iter().rfind(|phase| Some(&phase.id) == id.as_ref());
            phase.is_some_and(|phase| !self.is_complete(phase))
        };
        let open: Vec<Claim<String>> = claims.iter().filter(|claim| is_open(claim)).cloned().collect();
        let differ = |claims: &[Claim<String>]| claims.iter().any(|claim| claim.value != claims[0].value);
        let is_decided = !differ(&claims) || !(open.is_empty() || differ(&open));
        let claims = if is_decided { open.into_iter().take(1).chain(claims).collect() } else { claims };
        let winner = reconcile("the current phase", claims, &mut self.status.warnings);
        let winner = winner.filter(|_| is_decided);
        self.set("current_phase", winner, |status, id| status.current_phase = id.parse().ok());
    }

    /// Returns the milestone of the current phase, else the one that the state names, else the open or the last one.
    fn scope(&self) -> Scope {
        let Roadmap { phases, milestones, .. } = &self.roadmap;
        let current = self.status.current_phase.as_ref();
        let same = || phases.iter().filter(|phase| Some(&phase.id) == current);
        let is_shipped =
            |phase: &&RoadmapPhase| phase.milestone.is_some_and(|index| milestones[index].is_shipped);
        if let Some(phase) = same().rfind(|phase| !is_shipped(phase)).or_else(|| same().next_back()) {
            return phase.milestone;
        }
        let with_phases: Vec<usize> = (0..milestones.len())
            .filter(|index| phases.iter().any(|phase| phase.milestone == Some(*index)))
            .collect();
        let named = self.state.milestones.iter().find_map(|claim| {
            with_phases.iter().find(|index| milestones[**index].version.eq_ignore_ascii_case(&claim.value))
        });
        let open = || with_phases.iter().find(|index| !milestones[**index].is_shipped);
        if named.is_none() && open().is_none() && phases.iter().any(|phase| self.is_in(None, phase)) {
            return None;
        }
        let last = || {
            let phases = phases.iter().filter(|phase| phase.milestone.is_some());
            phases.max_by(|a, b| a.id.cmp(&b.id)).and_then(|phase| phase.milestone)
        };
        named.or_else(open).copied().or_else(last)
    }

    fn is_in(&self, scope: Scope, phase: &RoadmapPhase) -> bool {
        phase.milestone == scope && !phase.id.is_backlog()
    }

    /// Whether the roadmap says that the phase is complete, or each of its plans is finished.
    fn is_complete(&self, phase: &RoadmapPhase) -> bool {
        let plans = PlanCounts::new(self.dir(&phase.id, Some(phase)), Some(phase), None, &mut Vec::new());
        phase.complete.is_some() || plans.is_finished()
    }

    /// Returns the directory of a phase. If several share its number, the one whose name fits.
    fn dir(&self, id: &PhaseId, phase: Option<&RoadmapPhase>) -> Option<&PhaseDir> {
        let same: Vec<&PhaseDir> = self.dirs.iter().filter(|dir| dir.id == *id).collect();
        match same[..] {
            [dir] => Some(dir),
            _ => {
                let name = letters(&phase?.name.as_ref()?.value);
                same.into_iter().find(|dir| !dir.slug.is_empty() && name.starts_with(&letters(&dir.slug)))
            }
        }
    }

    /// Returns the phases of the roadmap. Without any, those on disk.
    fn phases(&mut self, scope: Scope) -> Vec<ProjectPhase> {
        let mut warnings = Vec::new();
        let mut phases = Vec::new();
        for phase in &self.roadmap.phases {
            let on_disk = phase_on_disk(&phase.id, self.dir(&phase.id, Some(phase)));
            let plans = on_disk.unfinished_plans().join(", ");
            let is_in_milestone = self.is_in(scope, phase);
            if let Some(source) = &phase.complete
                && is_in_milestone
                && !plans.is_empty()
            {
                let text = format!("phase {} is complete here, but plans have no summary: {plans}", phase.id);
                warnings.push(source.warning(text));
            }
            phases.push(ProjectPhase {
                name: phase.name.as_ref().map(|name| name.value.clone()),
                is_complete: self.is_complete(phase),
                is_complete_in_roadmap: phase.complete.is_some(),
                is_in_milestone,
                ..on_disk
            });
        }
        if phases.is_empty() {
            phases.extend(self.dirs.iter().map(|dir| phase_on_disk(&dir.id, Some(dir))));
        }
        self.status.warnings.extend(warnings);
        phases
    }

    fn count_phases(&mut self, phases: &[ProjectPhase]) {
        let counted = || phases.iter().filter(|phase| phase.is_in_milestone);
        let Some(first) = counted().next().filter(|_| self.roadmap.end.is_none()) else { return };
        let Some(first) = self.roadmap.phases.iter().find(|phase| phase.id == first.id) else { return };
        let claim = |count: usize| Claim::new(count.to_string(), first.source.clone());
        let of_state = |key: &str| self.state.front_matter.get(key).cloned();
        let totals = [claim(counted().count())].into_iter().chain(of_state("progress.total_phases"));
        let complete = claim(counted().filter(|phase| phase.is_complete).count());
        let complete = [complete].into_iter().chain(of_state("progress.completed_phases"));
        let warnings = &mut self.status.warnings;
        let total = reconcile("the number of phases", totals, warnings);
        let complete = reconcile("the number of complete phases", complete, warnings);
        self.set("phases_total", total, |status, count| status.phases_total = count.parse().ok());
        self.set("phases_complete", complete, |status, count| status.phases_complete = count.parse().ok());
    }

    fn milestone(&mut self, scope: Scope) {
        let Roadmap { phases, milestones, .. } = &self.roadmap;
        let of_roadmap = scope.and_then(|index| {
            let phase = phases.iter().find(|phase| phase.milestone == scope)?;
            Some(Claim::new(milestones[index].version.clone(), phase.source.clone()))
        });
        let claims = of_roadmap.into_iter().chain(self.state.milestones.iter().cloned());
        let milestone = reconcile("the milestone", claims, &mut self.status.warnings);
        self.set("milestone", milestone, |status, version| status.milestone = Some(version));
    }

    /// Returns the name in the roadmap, else in the state. Differences of style are no contradiction.
    fn name(&self, id: &PhaseId, phase: Option<&RoadmapPhase>) -> Option<Claim<String>> {
        let of_state = self.state.phases.iter().filter(|claim| claim.value.id.as_ref() == Some(id));
        let mut of_state =
            of_state.filter_map(|claim| Some(Claim::new(claim.value.name.clone()?, claim.source.clone())));
        phase.and_then(|phase| phase.name.clone()).or_else(|| of_state.next())
    }

    fn count_plans(&mut self, counts: PlanCounts) {
        let number = |count: usize| u32::try_from(count).ok();
        let ratio = counts.complete.as_ref().zip(counts.total.as_ref());
        let percent = ratio.map(|(complete, total)| {
            Claim::new(complete.value as f64 * 100.0 / total.value as f64, complete.source.clone())
        });
        self.set("progress_percent", percent, |status, percent| status.progress_percent = Some(percent));
        self.set("plans_complete", counts.complete, |status, count| status.plans_complete = number(count));
        self.set("plans_total", counts.total, |status, count| status.plans_total = number(count));
    }

    fn requirements(&mut self) {
        let Some(text) = &self.requirements else { return };
        let Some(counts) = requirements::count(text) else {
            let text = "the file has no requirements in a form that can be counted";
            return self.status.warnings.push(Source::directory(REQUIREMENTS).warning(text));
        };
        let claim = |count| Some(Claim::new(count, counts.source.clone()));
        let (complete, total) = (claim(counts.value.complete), claim(counts.value.total));
        self.set("requirements_complete", complete, |status, count| {
            status.requirements_complete = Some(count)
        });
        self.set("requirements_total", total, |status, count| status.requirements_total = Some(count));
    }
}

fn phase_on_disk(id: &PhaseId, dir: Option<&PhaseDir>) -> ProjectPhase {
    let plans = dir.into_iter().flat_map(|dir| &dir.plans);
    let plan = |(id, has_summary): (&String, &bool)| PhasePlan { id: id.clone(), has_summary: *has_summary };
    let plans: Vec<PhasePlan> = plans.map(plan).collect();
    ProjectPhase {
        id: id.clone(),
        name: None,
        is_complete: !plans.is_empty() && plans.iter().all(|plan| plan.has_summary),
        is_complete_in_roadmap: false,
        is_in_milestone: false,
        report: dir.and_then(|dir| dir.report.clone()),
        plans,
    }
}
