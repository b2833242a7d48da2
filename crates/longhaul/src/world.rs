//! The interface between the core and everything outside it.

use longhaul_core::{Action, Event, Moment, Now, Policy, Record, Run, Step};

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
