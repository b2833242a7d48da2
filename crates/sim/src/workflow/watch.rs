//! The oracles of workflows: they judge every record before the model takes it in.

use super::model::{Facts, Model};
use super::outcomes::{check_finish, check_reaction};
use crate::coverage::Coverage;
use crate::oracles::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AfterRun, Moment, Outcome, OutcomeKind, RunEnd, RunKey, RunShare, Span, Usd, WorkflowEvent,
    WorkflowRecord,
};

impl Model<'_> {
    /// Returns whether a run must start although memory is short: no event but a start could follow.
    pub(crate) fn must_start(&self, event: &WorkflowEvent) -> bool {
        let model = self;
        let is_short = matches!(event, WorkflowEvent::MemoryMeasured { is_enough: false });
        let is_merging = model.phases.iter().any(|phase| phase.is_merged && phase.outcome.is_none());
        let is_parked = model.parked().next().is_some();
        is_short
            && check_not_stopping(model).is_ok()
            && model.outcome.is_none()
            && !is_merging
            && !is_parked
            && model.live().next().is_none()
            && model.last_start_at.is_some_and(|_| model.policy.start_gap == Span::ZERO)
    }

    /// Judges a record, then takes it in.
    pub(crate) fn on_record(
        &mut self,
        record: &WorkflowRecord,
        facts: &Facts,
        coverage: &mut Coverage,
    ) -> OracleResult {
        let model = self;
        match record {
            WorkflowRecord::WorkflowReopened { limits, iterations_max, continued, .. } => {
                coverage.count("reopened", model.outcome.map_or("", |outcome| outcome.kind.as_str()));
                reopen(model);
                for (key, run) in &mut model.runs {
                    run.is_continued = continued.contains(key);
                }
                model.limits = limits.unwrap_or(model.limits);
                model.iterations_max = iterations_max.unwrap_or(model.iterations_max);
            }
            WorkflowRecord::IterationStarted { iteration } => {
                ensure(
                    *iteration == model.iteration + 1 && *iteration <= model.iterations_max,
                    Oracle::Needs,
                    || format!("iteration {iteration} after {} of {}", model.iteration, model.iterations_max),
                )?;
                ensure(model.iteration == 0 || model.is_iteration_complete(), Oracle::Needs, || {
                    format!("iteration {iteration} starts before all phases have ended")
                })?;
                let is_open = model.policy.until_after.is_none() || model.holds == Some(false);
                ensure(model.iteration == 0 || is_open, Oracle::Needs, || {
                    format!("iteration {iteration} starts, but the condition is {:?}", model.holds)
                })?;
                model.iteration = *iteration;
                model.phases = vec![Default::default(); model.policy.phases.len()];
                model.retries.clear();
                model.holds = None;
            }
            WorkflowRecord::PhaseStarted { phase, .. } => start_phase(model, *phase)?,
            WorkflowRecord::ItemsListed { phase, items, deferred } => {
                let max = model.policy.phases[*phase].items_max * (model.reopens + 1);
                ensure(items.len() <= max as usize, Oracle::Parallel, || format!("{} items", items.len()))?;
                if *deferred > 0 {
                    coverage.count("items", "deferred");
                }
                model.replace_items(*phase, items);
                model.phases[*phase].deferred = *deferred;
            }
            WorkflowRecord::RunPlanned { key, share, resumed } => {
                check_allowed(model, key, facts)?;
                check_key(model, key, *resumed)?;
                check_share(model, key, share, facts)?;
                plan_run(model, *key, *share, facts);
                let is_continued = model.runs.get(key).is_some_and(|run| run.is_continued);
                let start = if *resumed { "resumed" } else { "started" };
                coverage.count("run", if is_continued { "continued by the user" } else { start });
                check_parallel(model)?;
            }
            WorkflowRecord::RunEnded { key, end, next, parked_until } => {
                let is_live = model.runs.get(key).is_some_and(|run| run.is_live);
                ensure(is_live, Oracle::OneEnd, || format!("{key:?} ends, but is not live"))?;
                check_reaction(model, key, end, *next, *parked_until, facts.at)?;
                coverage.count("next", next.into());
                end_run(model, *key, end, *next, *parked_until);
            }
            WorkflowRecord::ShareRefused { key, next } => refuse_share(model, key, *next, coverage)?,
            WorkflowRecord::TimeExhausted => {
                let limit = model.limits.time.unwrap_or(Span(u64::MAX));
                // Less than a hundredth counts as exhausted.
                let is_exhausted =
                    facts.worked.is_none_or(|worked| worked >= limit - Span(limit.0 / 100 + 1));
                ensure(is_exhausted, Oracle::Limits, || format!("{:?} of {limit}", facts.worked))?;
                model.is_time_exhausted = true;
                model.stop = model.stop.or(Some(OutcomeKind::OutOfTime));
            }
            WorkflowRecord::MergeStarted { phase } => {
                ensure(model.policy.phases[*phase].has_worktrees, Oracle::Needs, || {
                    format!("phase {phase} has no worktrees")
                })?;
                check_items_ended(model, *phase)?;
                model.phases[*phase].is_merged = true;
            }
            WorkflowRecord::PhaseEnded { phase, outcome, problem, stops } => {
                end_phase(model, *phase, outcome, problem.as_deref(), *stops)?;
                coverage.count("phase", outcome.kind.as_str());
            }
            WorkflowRecord::UntilStarted => {
                let phase = model.policy.until_after.unwrap_or(usize::MAX);
                let is_due = model.phases.get(phase).is_some_and(|state| {
                    state.outcome.is_some() || model.is_skipped(phase) && model.is_iteration_complete()
                });
                ensure(is_due && model.holds.is_none(), Oracle::Needs, || {
                    "the condition is evaluated before its phase has ended".to_owned()
                })?;
                check_not_stopping(model)?;
                model.is_checking = true;
            }
            WorkflowRecord::UntilEnded { holds, .. } => {
                coverage.count("until", holds.map_or("failed", |holds| if holds { "holds" } else { "open" }));
                model.is_checking = false;
                model.holds = *holds;
                if holds.is_none() {
                    model.stop = model.stop.or(Some(OutcomeKind::Failed));
                }
            }
            WorkflowRecord::ClockStopped => coverage.count("clock", "stopped"),
            WorkflowRecord::ClockStarted => coverage.count("clock", "started"),
            WorkflowRecord::TakenOver { .. } => {
                model.suspended_by = None;
                model.memory = None;
                model.revive_suspended();
            }
            WorkflowRecord::CancelOrdered { source } => {
                model.cancelled_by = Some(*source);
                model.revive_suspended();
            }
            WorkflowRecord::WorkflowSuspendOrdered { source } => model.suspended_by = Some(*source),
            WorkflowRecord::WorkflowSuspended { source } => {
                ensure(model.suspended_by == Some(*source), Oracle::Cancels, || {
                    "the workflow is suspended without a signal".to_owned()
                })?;
                check_no_live(model)?;
                coverage.count("outcome", "suspended");
            }
            WorkflowRecord::WorkflowFinished { outcome } => {
                check_no_live(model)?;
                check_finish(model, outcome, facts)?;
                coverage.count("outcome", outcome.kind.as_str());
                model.outcome = Some(*outcome);
            }
            _ => {}
        }
        Ok(())
    }
}

fn reopen(model: &mut Model<'_>) {
    model.reopens += 1;
    model.outcome = None;
    (model.cancelled_by, model.suspended_by, model.stop) = (None, None, None);
    (model.is_time_exhausted, model.is_checking, model.holds) = (false, false, None);
    model.retries.clear();
    for run in model.runs.values_mut() {
        (run.parks, run.parked_until, run.is_suspended) = (0, None, false);
    }
    // A phase takes place again after each phase that it needs.
    let mut again: Vec<bool> = Vec::new();
    for (index, phase) in model.phases.iter_mut().enumerate() {
        let is_outdated = model.policy.phases[index].needs.iter().any(|need| again[*need]);
        let is_done = phase.outcome.is_some_and(|outcome| outcome.kind == OutcomeKind::Done);
        let must_continue = phase.has_started && (!is_done || phase.deferred > 0);
        again.push(is_outdated || must_continue);
        if is_outdated {
            let of_phase = |key: &RunKey| key.iteration == model.iteration && key.phase == index;
            let runs = model.runs.iter_mut().filter(|(key, _)| of_phase(key));
            runs.for_each(|(_, run)| run.is_replaced = true);
        }
        if is_outdated || must_continue {
            (phase.outcome, phase.is_merged) = (None, false);
            phase.is_started = false;
        }
    }
}

fn start_phase(model: &mut Model<'_>, phase: usize) -> OracleResult {
    ensure(!model.is_skipped(phase) && !model.phases[phase].is_started, Oracle::Needs, || {
        format!("phase {phase} starts, but is skipped or has started")
    })?;
    let needs = &model.policy.phases[phase].needs;
    ensure(needs.iter().all(|need| model.is_complete(*need)), Oracle::Needs, || {
        format!("phase {phase} starts before {needs:?} have ended")
    })?;
    check_not_stopping(model)?;
    (model.phases[phase].is_started, model.phases[phase].has_started) = (true, true);
    if !model.policy.phases[phase].has_items {
        model.phases[phase].items = vec![String::new()];
    }
    Ok(())
}

/// No phase or run starts once the workflow is stopping, or while its condition is evaluated.
fn check_not_stopping(model: &Model<'_>) -> OracleResult {
    let is_stopping = model.cancelled_by.is_some() || model.suspended_by.is_some() || model.stop.is_some();
    ensure(!is_stopping, Oracle::NoStart, || {
        format!("a start after {:?} {:?} {:?}", model.cancelled_by, model.suspended_by, model.stop)
    })?;
    ensure(!model.is_checking && model.holds != Some(true), Oracle::NoStart, || {
        "a start while the condition is evaluated or holds".to_owned()
    })
}

fn check_allowed(model: &Model<'_>, key: &RunKey, facts: &Facts) -> OracleResult {
    check_not_stopping(model)?;
    let own_park = model.runs.get(key).and_then(|run| run.parked_until);
    let is_parked = model.parked().next().is_some();
    ensure(!is_parked || own_park.is_some(), Oracle::NoStart, || {
        format!("{key:?} starts while a run is parked")
    })?;
    ensure(own_park.is_none_or(|until| until <= facts.at), Oracle::NotBefore, || {
        format!("{key:?} is resumed before {own_park:?}")
    })?;
    let gap = model.policy.start_gap;
    let has_gap = model.last_start_at.is_none_or(|last| facts.at < last || facts.at >= last + gap);
    ensure(has_gap, Oracle::NotBefore, || format!("{key:?} starts less than {gap} after another run"))?;
    let has_memory =
        model.memory == Some(true) || model.memory == Some(false) && model.live().next().is_none();
    ensure(has_memory, Oracle::NoStart, || format!("{key:?} starts with memory {:?}", model.memory))?;
    let needs = &model.policy.phases[key.phase].needs;
    ensure(needs.iter().all(|need| model.is_complete(*need)), Oracle::Needs, || {
        format!("{key:?} starts before the phases {needs:?} have ended")
    })?;
    let phase = &model.phases[key.phase];
    let has_item = (key.item as usize) < phase.items.len();
    ensure(phase.is_started && phase.outcome.is_none() && has_item, Oracle::Needs, || {
        format!("{key:?} starts outside its phase {phase:?}")
    })
}

/// Each run starts once, and again only if it is resumed. A new run of an item needs a reason.
fn check_key(model: &Model<'_>, key: &RunKey, resumed: bool) -> OracleResult {
    ensure(key.iteration == model.iteration, Oracle::OneEnd, || format!("{key:?} of another iteration"))?;
    let is_open =
        |next: Option<AfterRun>, reasons: &[AfterRun]| next.is_some_and(|next| reasons.contains(&next));
    if resumed {
        let run = model.runs.get(key).filter(|run| !run.is_live && run.end.is_some());
        let may_resume = run.is_some_and(|run| {
            let is_reopened = run.reopens < model.reopens && !run.is_done() && !run.is_replaced;
            is_reopened || is_open(run.next, &[AfterRun::Park, AfterRun::Raise])
        });
        return ensure(may_resume, Oracle::OneEnd, || {
            format!("{key:?} is resumed without a reason: {run:?}")
        });
    }
    ensure(!model.runs.contains_key(key), Oracle::OneEnd, || format!("{key:?} starts twice"))?;
    let last = model.last_run(key.phase, key.item);
    let may_start = last.is_none_or(|run| {
        // Another list of items may have replaced an item that is done.
        !run.is_live && (run.reopens < model.reopens || is_open(run.next, &[AfterRun::Retry]))
    });
    let is_continued =
        last.is_some_and(|run| run.is_continued && !run.is_replaced && run.reopens < model.reopens);
    ensure(!is_continued, Oracle::OneEnd, || format!("{key:?} replaces a run that the user continued"))?;
    ensure(may_start, Oracle::OneEnd, || format!("{key:?} starts next to {last:?}"))
}

fn check_share(model: &Model<'_>, key: &RunKey, share: &RunShare, facts: &Facts) -> OracleResult {
    let phase = &model.policy.phases[key.phase];
    let is_above =
        |share: Option<u64>, own: Option<u64>| own.is_some_and(|own| share.is_none_or(|share| share > own));
    let money = |money: Option<Usd>| money.map(|money| money.0);
    let span = |span: Option<Span>| span.map(|span| span.0);
    let is_over =
        is_above(money(share.budget), money(phase.budget)) || is_above(span(share.time), span(phase.time));
    ensure(!is_over, Oracle::Shares, || format!("{key:?} gets {share:?}, its phase allows less"))?;
    let own = model.runs.get(key);
    let own_cost = own.map_or(Usd::ZERO, |run| run.cost());
    if let Some(limit) = model.limits.budget {
        let rest = limit.saturating_sub(model.committed());
        let added = share.budget.unwrap_or(limit).saturating_sub(own_cost);
        ensure(added <= rest && rest > Usd::ZERO, Oracle::Shares, || {
            format!("{key:?} gets {added} of {rest}")
        })?;
        let is_new = own.is_none();
        let live = model.live().count() as u32;
        let live_of_phase = model.live().filter(|live| live.phase == key.phase).count() as u32;
        let free = (model.policy.parallel_max - live).min(phase.parallel_max - live_of_phase);
        let sharing = (model.unstarted(key.phase) as u64).min(u64::from(free)).max(1);
        let is_fair = !is_new || added.0 <= (rest.0 / sharing).max(limit.0 / 100).max(1);
        ensure(is_fair, Oracle::Shares, || format!("{key:?} of {sharing} runs gets {added} of {rest}"))?;
        if let Some(AfterRun::Raise) = own.and_then(|run| run.next.filter(|_| run.reopens == model.reopens)) {
            let old = own.and_then(|run| run.share.budget).unwrap_or_default();
            let new = share.budget.unwrap_or_default();
            ensure(new.0 * 2 >= old.0 * 3, Oracle::Shares, || format!("{key:?}: {old} is raised to {new}"))?;
        }
    }
    if let (Some(limit), Some(worked)) = (model.limits.time, facts.worked) {
        let active = own.and_then(|run| run.end).map_or(Span::ZERO, |end| end.active);
        let rest = limit - worked;
        ensure(
            rest > Span::ZERO && share.time.is_some_and(|time| time <= active + rest),
            Oracle::Shares,
            || format!("{key:?} gets {:?} of {rest}", share.time),
        )?;
    }
    Ok(())
}

fn check_parallel(model: &Model<'_>) -> OracleResult {
    let policy = model.policy;
    ensure(model.live().count() <= policy.parallel_max as usize, Oracle::Parallel, || {
        format!("{} runs are live", model.live().count())
    })?;
    for (index, phase) in policy.phases.iter().enumerate() {
        let live = model.live().filter(|key| key.phase == index).count();
        ensure(live <= phase.parallel_max as usize, Oracle::Parallel, || {
            format!("{live} runs of phase {index} are live")
        })?;
    }
    Ok(())
}

fn plan_run(model: &mut Model<'_>, key: RunKey, share: RunShare, facts: &Facts) {
    model.last_start_at = Some(facts.at);
    model.memory = None;
    let run = model.runs.entry(key).or_default();
    (run.is_live, run.share, run.parked_until) = (true, share, None);
}

fn end_run(model: &mut Model<'_>, key: RunKey, end: &RunEnd, next: AfterRun, parked_until: Option<Moment>) {
    let reopens = model.reopens;
    let run = model.runs.entry(key).or_default();
    (run.is_live, run.end, run.next, run.parked_until) = (false, Some(*end), Some(next), parked_until);
    run.reopens = reopens;
    run.is_suspended = next == AfterRun::Suspend;
    run.parks = if next == AfterRun::Park { run.parks + 1 } else { 0 };
    if next == AfterRun::Retry {
        *model.retries.entry((key.phase, key.item)).or_default() += 1;
    }
    if next == AfterRun::Stop {
        let kind = end.outcome.kind;
        let kind = if kind == OutcomeKind::Suspended { OutcomeKind::Incomplete } else { kind };
        model.stop = model.stop.or(Some(kind));
    }
}

fn refuse_share(
    model: &mut Model<'_>,
    key: &RunKey,
    next: AfterRun,
    coverage: &mut Coverage,
) -> OracleResult {
    coverage.count("share", "refused");
    check_no_live(model)?;
    let is_waiting = model.runs.get(key).is_some_and(|run| run.next == Some(AfterRun::Raise));
    ensure(is_waiting, Oracle::Shares, || format!("{key:?} does not wait for a share"))?;
    let limit = model.limits.budget.unwrap_or_default();
    let run = model.runs.entry(*key).or_default();
    run.next = Some(next);
    let (old, cost) = (run.share.budget.unwrap_or_default(), run.cost());
    let rest = limit.saturating_sub(model.committed());
    let own = model.policy.phases[key.phase].budget.unwrap_or(Usd(u64::MAX));
    // With the whole rest, the share would not be half as large again.
    ensure((cost + rest).min(own).0 * 2 < old.0 * 3 || rest.0 < limit.0 / 100, Oracle::Shares, || {
        format!("{key:?} is refused a share although {rest} is left")
    })?;
    if next == AfterRun::Stop {
        model.stop = model.stop.or(Some(OutcomeKind::OverBudget));
    }
    if next == AfterRun::Retry {
        *model.retries.entry((key.phase, key.item)).or_default() += 1;
    }
    Ok(())
}

/// Every item of the phase must have ended for good.
fn check_items_ended(model: &Model<'_>, phase: usize) -> OracleResult {
    // Once the condition holds, no further item starts, and the results are merged.
    let is_cut_short = model.holds == Some(true) && model.policy.phases[phase].has_worktrees;
    let is_final = |item: usize| {
        let last = model.last_run(phase, item as u32);
        if is_cut_short {
            return last.is_none_or(|run| !run.is_live && !run.is_suspended);
        }
        last.is_some_and(|run| !run.is_live && run.is_settled())
    };
    let items = model.phases[phase].items.len();
    ensure((0..items).all(is_final), Oracle::Needs, || format!("phase {phase} ends before its items"))
}

fn end_phase(
    model: &mut Model<'_>,
    phase: usize,
    outcome: &Outcome,
    problem: Option<&str>,
    stops: bool,
) -> OracleResult {
    if problem.is_none() {
        check_items_ended(model, phase)?;
        let items = 0..model.phases[phase].items.len() as u32;
        let ends: Vec<OutcomeKind> = items.map(|item| model.end_of(phase, item)).collect();
        let expected = ends.iter().find(|kind| **kind != OutcomeKind::Done).unwrap_or(&OutcomeKind::Done);
        ensure(outcome.kind == *expected, Oracle::NoFalseSuccess, || {
            format!("phase {phase} ends as {}, its runs as {ends:?}", outcome.kind)
        })?;
        let has_results = ends.contains(&OutcomeKind::Done);
        let is_merged = !model.policy.phases[phase].has_worktrees || model.phases[phase].is_merged;
        ensure(is_merged || !has_results, Oracle::Needs, || format!("phase {phase} ends without a merge"))?;
    }
    model.phases[phase].outcome = Some(*outcome);
    if stops {
        model.stop = model.stop.or(Some(outcome.kind));
    }
    Ok(())
}

fn check_no_live(model: &Model<'_>) -> OracleResult {
    ensure(model.live().next().is_none(), Oracle::OneTree, || {
        format!("{:?} is live at the end", model.live().next())
    })
}
