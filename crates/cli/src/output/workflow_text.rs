//! Formats the decisions of a workflow as sentences, for its progress and its timeline.

use super::phrases::{self, counted};
use super::time::TimeFormat;
use longhaul_core::{
    AfterRun, CancelSource, ItemStatus, Moment, OutcomeKind, RunId, RunKey, Usd, WorkflowPolicy,
    WorkflowRecord, WorkflowState,
};

/// The workflow whose records are described, after the step of the record.
#[derive(Clone, Copy)]
pub struct WorkflowContext<'a> {
    pub id: &'a RunId,
    pub policy: &'a WorkflowPolicy,
    pub state: &'a WorkflowState,
    /// Time of the step. Moments of another day are printed with their date.
    pub at: Moment,
    pub clock: &'a TimeFormat,
    /// Problem of the run that ended. It is more precise than the fault, which can be that of a reviewer.
    pub problem: Option<&'a str>,
}

impl WorkflowContext<'_> {
    fn phase(&self, index: usize) -> &str {
        &self.policy.phases[index].name
    }

    pub fn run(&self, key: RunKey) -> RunId {
        key.run_id(self.id, self.phase(key.phase))
    }

    /// `, $0.12`, and with items `, 198 of 200 runs done, $4.20`. Empty if nothing ran.
    fn phase_runs(&self, phase: usize) -> String {
        let runs: Vec<_> = self.state.items(phase).filter(|(_, item)| item.share.is_some()).collect();
        if runs.is_empty() {
            return String::new();
        }
        let is_done =
            |status| matches!(status, ItemStatus::Ended { outcome } if outcome.kind == OutcomeKind::Done);
        let done = runs.iter().filter(|(_, item)| is_done(item.status)).count();
        // Also of runs that a retry replaced.
        let cost = self.state.phases.get(phase).map_or(Usd::ZERO, |state| state.cost).to_string();
        if self.policy.phases[phase].has_items {
            format!(", {done} of {} done, {cost}", counted(runs.len() as u64, "run"))
        } else {
            format!(", {cost}")
        }
    }

    /// ` (Algebra.lean)`, if the phase has items.
    fn item(&self, key: RunKey) -> String {
        let item = self.state.items(key.phase).nth(key.item as usize).map(|(_, item)| &item.name);
        let item = item.filter(|_| self.policy.phases[key.phase].has_items);
        item.map_or_else(String::new, |name| format!(" ({})", phrases::one_line(name)))
    }
}

/// Describes a record. `None` if it only prepares another one.
pub fn sentence(record: &WorkflowRecord, context: WorkflowContext<'_>) -> Option<String> {
    let phase = |index: &usize| context.phase(*index);
    let text = match record {
        WorkflowRecord::WorkflowStarted => "started".to_owned(),
        WorkflowRecord::WorkflowReopened { limits, iterations_max, .. } => {
            let budget = limits.and_then(|limits| limits.budget);
            let time = limits.and_then(|limits| limits.time);
            let changes = [
                budget.map(|budget| format!("budget {budget}")),
                time.map(|time| format!("time limit {time}")),
                iterations_max.map(|max| format!("at most {}", counted(max.into(), "iteration"))),
            ];
            let changes: Vec<String> = changes.into_iter().flatten().collect();
            let changes =
                if changes.is_empty() { String::new() } else { format!(": {}", changes.join(", ")) };
            format!("workflow {} resumed{changes}", context.id)
        }
        WorkflowRecord::IterationStarted { iteration } => {
            let max = context.state.iterations_max(context.policy);
            if max == 1 {
                return None;
            }
            format!("iteration {iteration} of {max}")
        }
        WorkflowRecord::PhaseStarted { phase: index, has_items: true } => {
            format!("{}: listing items", phase(index))
        }
        WorkflowRecord::ItemsListed { phase: index, items, deferred } => {
            let deferred =
                if *deferred > 0 { format!(", {deferred} more are deferred") } else { String::new() };
            format!("{}: {}{deferred}", phase(index), counted(items.len() as u64, "item"))
        }
        WorkflowRecord::RunPlanned { key, resumed, .. } => {
            let verb = if *resumed { "resumed" } else { "started" };
            format!("{}: {verb}{}", context.run(*key), context.item(*key))
        }
        WorkflowRecord::RunEnded { key, end, next, parked_until } => {
            let fault = end.outcome.fault.filter(|_| end.outcome.kind != OutcomeKind::Done);
            let reason =
                context.problem.map(phrases::one_line).or(fault.map(|fault| fault.describe().to_owned()));
            let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            let next = describe_next(*next, *parked_until, context);
            let cost = end.cost.to_string();
            format!("{}: {}{reason}, {cost}{next}", context.run(*key), end.outcome.kind)
        }
        WorkflowRecord::ShareRefused { key, .. } => {
            format!("{}: too little of the budget is left to continue it", context.run(*key))
        }
        WorkflowRecord::TimeExhausted => "the time limit is exhausted".to_owned(),
        WorkflowRecord::MergeStarted { phase: index } => format!("{}: merging worktrees", phase(index)),
        WorkflowRecord::PhaseEnded { phase: index, outcome, problem, .. } => {
            let problem = problem.as_ref().map_or_else(String::new, |problem| format!(": {problem}"));
            format!("{}: {}{}{problem}", phase(index), outcome.kind, context.phase_runs(*index))
        }
        WorkflowRecord::UntilEnded { holds, problem } => match holds {
            Some(true) => "the condition holds".to_owned(),
            Some(false) => "the condition does not hold yet".to_owned(),
            None => {
                let problem = problem.as_ref().map_or_else(String::new, |problem| format!(": {problem}"));
                format!("the condition could not be evaluated{problem}")
            }
        },
        WorkflowRecord::WorkflowDowntime { duration } => phrases::downtime(*duration),
        WorkflowRecord::TakenOver { idle_since } => {
            let idle = context.at.since(*idle_since);
            format!("workflow {} recovered, after up to {idle} without a supervisor", context.id)
        }
        WorkflowRecord::CancelOrdered { source } => match source {
            CancelSource::PersonNow => {
                "the user cancelled the workflow: stopping all runs at once".to_owned()
            }
            CancelSource::Person | CancelSource::Sigterm | CancelSource::Sighup => {
                format!("{} cancelled the workflow: stopping all runs", source.actor())
            }
        },
        WorkflowRecord::WorkflowSuspendOrdered { source } => {
            format!("{}: stopping all runs", source.signal())
        }
        WorkflowRecord::WorkflowSuspended { source } => {
            format!("{} suspended the workflow", source.signal())
        }
        WorkflowRecord::WorkflowFinished { outcome } => format!("finished: {}", outcome.kind),
        _ => return None,
    };
    Some(text)
}

fn describe_next(next: AfterRun, parked_until: Option<Moment>, context: WorkflowContext<'_>) -> String {
    match next {
        AfterRun::Complete | AfterRun::Suspend => String::new(),
        AfterRun::Continue => "; continuing without it".to_owned(),
        AfterRun::Retry => "; running it again".to_owned(),
        AfterRun::Park => {
            let until = parked_until.map(|until| context.clock.near(until, context.at));
            format!("; waiting{}", until.map_or_else(String::new, |until| format!(" until {until}")))
        }
        AfterRun::Raise => "; waiting for a larger share of the budget".to_owned(),
        AfterRun::Stop => "; no further run starts".to_owned(),
    }
}
