//! The loop between a run and its world: step, append, perform, wait. It makes no decisions.

use crate::World;
use crate::failpoints::{self, Failpoint};
use longhaul_core::{Action, Event, Outcome, Policy, Run};

/// Drives a run from `event` to its outcome.
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
