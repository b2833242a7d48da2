//! Publishes the state of a live run: `status.json`, the running attempt's usage by model, and a harness's
//! cost summary. The files are derived. A failed write does not fail the run, and no decision depends on
//! them.

use super::LiveWorld;
use super::ending::usage_entries;
use crate::cost_breakdown::CostBreakdownReader;
use crate::run_report::cost_summary;
use longhaul_agent::{AttemptSnapshot, BlockedCall};
use longhaul_core::{Limits, Moment, Policy, Run, Span, State, Usage};
use longhaul_store::{BlockedUrl, RunDir, Status, StoreError};
use std::process;

// Readers see new usage within two seconds, and the disk gets at most one write per second.
const INTERVAL: Span = Span(1_000);

/// The state that was published last.
pub(super) struct Published {
    status: Status,
    state: State,
    limits: Limits,
    usage: Usage,
    at: Moment,
}

impl LiveWorld<'_> {
    /// Publishes the run after a step that recorded something.
    pub(super) fn publish(&mut self, run: &Run, policy: &Policy, at: Moment) {
        let status = Status::new(self.setup.dir.id(), run, policy, process::id(), at);
        let (state, limits) = (run.state().clone(), policy.limits);
        let usage = state.usage;
        self.published = Some(Published { status, state, limits, usage, at });
        self.write_published(at);
    }

    /// Publishes the usage and the background commands of the running attempt if they changed, at most once a
    /// second. If a change is too early, returns the time to publish it.
    pub(super) fn publish_usage(&mut self) -> Option<Moment> {
        let published = self.published.as_ref()?;
        if self.usage(&published.state) == published.usage && self.background() == published.status.background
        {
            return None;
        }
        let (now, due) = (self.clock.at(), published.at + INTERVAL);
        if now < due {
            return Some(due);
        }
        self.write_published(now);
        None
    }

    /// Returns the usage of the run in `state`, including the running attempt.
    fn usage(&self, state: &State) -> Usage {
        let live = self.attempt.as_ref().map(|attempt| attempt.decoder.snapshot().usage);
        state.usage.plus(live.unwrap_or_default())
    }

    /// Returns the commands that the agent runs in the background.
    fn background(&self) -> Vec<String> {
        let snapshot = self.attempt.as_ref().map(|attempt| attempt.decoder.snapshot());
        let running = snapshot.map(|snapshot| snapshot.background.as_slice()).unwrap_or_default();
        running.iter().map(|task| task.command.clone()).collect()
    }

    fn write_published(&mut self, now: Moment) {
        let Some(mut published) = self.published.take() else { return };
        (published.usage, published.at) = (self.usage(&published.state), now);
        published.status.background = self.background();
        let dir = &self.setup.dir;
        let _ = dir.write_status(&published.status.clone().with_usage(published.usage, now));
        let snapshot = self.attempt.as_ref().map(|attempt| {
            let _ = attempt.dir.write_model_usage(&usage_entries(attempt.decoder.usage_by_model()));
            attempt.decoder.snapshot()
        });
        if self.spec().harness.is_some() {
            if let Some(attempt) = &self.attempt {
                let _ = write_blocked(dir, attempt.dir.number(), attempt.decoder.snapshot(), now);
            }
            let state = State { usage: published.usage, ..published.state.clone() };
            let model = snapshot.unwrap_or(&self.snapshot).model.clone();
            let breakdown = self.cost_reader.get_or_insert_with(CostBreakdownReader::new).read(dir);
            let _ =
                dir.write_cost_summary(&cost_summary(dir, &state, published.limits, breakdown, model, now));
        }
        self.published = Some(published);
    }
}

/// Writes the calls of an attempt that were denied because of a URL.
pub(super) fn write_blocked(
    dir: &RunDir,
    attempt: u32,
    snapshot: &AttemptSnapshot,
    now: Moment,
) -> Result<(), StoreError> {
    let entry = |call: &BlockedCall| BlockedUrl {
        tool: call.tool.clone(),
        url: call.target.clone(),
        pattern: call.pattern.clone(),
        timestamp: now.0 as f64 / 1000.0,
        attempt,
    };
    match snapshot.blocked.as_slice() {
        [] => Ok(()),
        calls => dir.write_blocked_urls(attempt, calls.iter().map(entry).collect()),
    }
}
