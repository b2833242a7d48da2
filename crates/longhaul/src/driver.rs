//! The loop between a run and its world: step, append, perform, wait. It makes no decisions.

use crate::failpoints::{self, Failpoint};
use longhaul_core::{Action, Event, Moment, Now, Outcome, Policy, Record, Run, Step};

/// Everything outside a run: the journal, the agent's process, the clock.
pub(crate) trait World {
    type Error;

    /// Returns the time and the random number of the next step.
    fn now(&mut self) -> Now;

    /// Appends one step's records, all or none. They must be on disk before the next action is performed and
    /// before the world waits.
    fn append(&mut self, at: Moment, records: &[Record]) -> Result<(), Self::Error>;

    /// Called after every step, for observers.
    fn on_step(&mut self, _run: &Run, _policy: &Policy, _at: Moment, _step: &Step) {}

    /// Performs one action. Its result arrives later as an event.
    fn perform(&mut self, action: Action) -> impl Future<Output = Result<(), Self::Error>>;

    /// Returns the next event, or [`Event::Ticked`] at `until`.
    fn next(&mut self, until: Option<Moment>) -> impl Future<Output = Result<Event, Self::Error>>;
}

pub(crate) async fn drive<W: World>(
    run: &mut Run,
    policy: &Policy,
    world: &mut W,
    mut event: Event,
) -> Result<Outcome, W::Error> {
    loop {
        failpoints::hit(Failpoint::EventTaken);
        let now = world.now();
        let step = run.step(policy, now, event);
        if !step.records.is_empty() {
            failpoints::hit(Failpoint::Stepped);
            world.append(now.at, &step.records)?;
            failpoints::hit(Failpoint::Appended);
        }
        world.on_step(run, policy, now.at, &step);
        for action in step.actions {
            let outcome = if let Action::Finish(outcome) = action { Some(outcome) } else { None };
            world.perform(action).await?;
            failpoints::hit(Failpoint::Performed);
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
        event = world.next(run.deadline(policy).map(|deadline| deadline.at)).await?;
    }
}

#[cfg(test)]
mod tests;
