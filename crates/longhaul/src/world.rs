//! What the core needs from everything that is not the core.

use longhaul_core::{Action, Event, Moment, Now, Policy, Record, Run, Step};

/// All that a run touches: the journal, the agent's process, the clock.
pub trait World {
    /// What can go wrong so badly that the run cannot go on: the journal cannot be written.
    type Error;

    /// The time and the chance of the next step.
    fn now(&mut self) -> Now;

    /// Takes one step's records, whole or not at all. They are on disk when the next action is
    /// performed and whenever the world waits.
    fn append(&mut self, at: Moment, records: &[Record]) -> Result<(), Self::Error>;

    /// Is shown every step after it was taken in; for those who watch.
    fn on_step(&mut self, _run: &Run, _policy: &Policy, _at: Moment, _step: &Step) {}

    /// Carries out one order. What it leads to comes back as an event.
    fn perform(&mut self, action: Action) -> impl Future<Output = Result<(), Self::Error>>;

    /// The next thing that happened, or [`Event::Ticked`] at `until`.
    fn next(&mut self, until: Option<Moment>) -> impl Future<Output = Result<Event, Self::Error>>;
}
