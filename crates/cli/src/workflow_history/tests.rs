//! A workflow waits if all its live runs do.

use super::{Rfc3339, first_wait};
use longhaul_core::{Fault, Moment, Policy, Preset, Run, RunId};
use longhaul_store::Status;

/// A run that waits until this moment, or works.
fn run(until: Option<u64>) -> Status {
    let (id, policy): (RunId, Policy) = ("bcdfgh".into(), Preset::Default.policy());
    let mut status = Status::new(&id, &Run::new(), &policy, 11, Moment(1));
    let word = if until.is_some() { "waiting" } else { "running" };
    (status.status, status.fault) = (word.to_owned(), until.map(|_| Fault::UsageLimit));
    status.deadline_at = until.map(|at| Rfc3339(Moment(at)));
    status
}

#[test]
fn workflow_waits_for_the_first_of_its_waiting_runs() {
    let wait = Some((Rfc3339(Moment(20)), Some(Fault::UsageLimit)));
    assert_eq!(first_wait(&[run(Some(30)), run(Some(20))]), wait);
    assert_eq!(first_wait(&[run(Some(30)), run(None)]), None, "one works");
    assert_eq!(first_wait(&[]), None);
}
