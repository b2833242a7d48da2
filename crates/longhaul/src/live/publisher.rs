//! Publishes the state of a live run: `status.json`, the attempts' usage by model and answers, and a
//! harness's logs and cost summary. The files are derived. A failed write does not fail the run, and no
//! decision depends on them.

use super::attempt_process::AttemptProcess;
use super::subscriber::{Subscriber, WorldView};
use super::world_config::WorldConfig;
use crate::cost_breakdown::CostBreakdownReader;
use crate::run_report::cost_summary;
use longhaul_agent::{AttemptSnapshot, Decoder};
use longhaul_core::{BlockedCall, Limits, Moment, Phase, Policy, Run, Span, State, Step, Usage};
use longhaul_store::{AttemptDir, BlockedUrl, ModelUsage, RunDir, Status, StoreError, add_section};
use std::process;
use std::rc::Rc;

// Readers see new usage within two seconds, and the disk gets at most one write per second.
const INTERVAL: Span = Span(1_000);

pub(crate) struct Publisher<'a> {
    config: Rc<WorldConfig<'a>>,
    /// `None` before the first step and after the last one.
    published: Option<Published>,
    /// Whether the files name this supervisor. They are written even if the first step records nothing, because a
    /// dead supervisor's watchdog waits for a change.
    names_this_supervisor: bool,
    /// The attempt whose usage was written last, and that usage.
    written_usage: Option<(u32, Usage)>,
    cost_reader: CostBreakdownReader,
    model: Option<String>,
}

struct Published {
    status: Status,
    state: State,
    limits: Limits,
    usage: Usage,
    at: Moment,
    /// Whether the files do not show the last step yet.
    is_due: bool,
}

impl<'a> Publisher<'a> {
    pub(crate) fn new(config: Rc<WorldConfig<'a>>) -> Publisher<'a> {
        Publisher {
            config,
            published: None,
            names_this_supervisor: false,
            written_usage: None,
            cost_reader: CostBreakdownReader::default(),
            model: None,
        }
    }

    fn publish(&mut self, view: &WorldView<'_>) {
        let Some(published) = &mut self.published else { return };
        (published.usage, published.at) = (usage_of(view.attempt, &published.state), view.at);
        published.is_due = false;
        self.names_this_supervisor = true;
        published.status.background = background_of(view.attempt);
        let dir = &self.config.dir;
        let _ = dir.write_status(&published.status.clone().with_usage(published.usage, view.at));
        let attempt = view.attempt.map(|attempt| (&attempt.dir, attempt.decoder.as_ref()));
        if let Some((attempt, decoder)) = attempt {
            let usage = Some((attempt.number(), decoder.snapshot().usage));
            if self.written_usage != usage {
                write_usage(attempt, decoder);
                self.written_usage = usage;
            }
        }
        if self.config.spec().harness.is_some() {
            if let Some((attempt, decoder)) = attempt {
                let _ = write_blocked(dir, attempt.number(), decoder.snapshot(), view.at);
            }
            let state = State { usage: published.usage, ..published.state.clone() };
            let model = attempt.map_or(&self.model, |(_, decoder)| &decoder.snapshot().model).clone();
            let breakdown = self.cost_reader.read(dir);
            let inherited = self.config.inherited.as_ref();
            let summary = cost_summary(&state, published.limits, breakdown, model, inherited, view.at);
            let _ = dir.write_cost_summary(&summary);
        }
    }

    /// Appends the agent's output to the logs that a harness reads, without partial messages.
    fn log_exec(&self, attempt: &AttemptDir, decoder: &dyn Decoder) -> Result<(), StoreError> {
        let (dir, number) = (&self.config.dir, attempt.number());
        let (stdout, stderr) = dir.exec_paths();
        add_section(dir, &stdout, number, &attempt.stream_path(), &decoder.droppable())?;
        add_section(dir, &stderr, number, &attempt.stderr_path(), &[])
    }
}

impl Subscriber for Publisher<'_> {
    /// Prepares the status after a step that recorded something. The final status is written last, by
    /// `write_final_status`.
    fn on_step(&mut self, run: &Run, policy: &Policy, view: &WorldView<'_>, step: &Step) {
        if run.state().outcome().is_some() {
            self.published = None;
            return;
        }
        if step.records.is_empty() && self.published.is_some() {
            return;
        }
        let status = Status::new(self.config.dir.id(), run, policy, process::id(), view.at);
        let (state, limits) = (run.state().clone(), policy.limits);
        let usage = state.usage;
        self.published = Some(Published { status, state, limits, usage, at: view.at, is_due: true });
    }

    /// Publishes the first step, so that no agent works while the files show an earlier outcome, and a long wait, which
    /// notified commands and readers of events may look up.
    fn on_sync(&mut self, view: &WorldView<'_>) {
        let is_wait = |published: &Published| matches!(published.state.phase, Phase::Waiting { .. });
        let is_due =
            |published: &Published| published.is_due && (!self.names_this_supervisor || is_wait(published));
        if self.published.as_ref().is_some_and(is_due) {
            self.publish(view);
        }
    }

    /// Publishes the last steps, which are on disk now: several at once if nothing was waited for in between, because
    /// on ext4, each replaced file can wait for the disk. Without a step, publishes the usage and the background
    /// commands of the running attempt if they changed, at most once a second. If a change is too early, returns
    /// the time to publish it.
    fn on_idle(&mut self, view: &WorldView<'_>) -> Option<Moment> {
        let published = self.published.as_ref()?;
        if published.is_due {
            self.publish(view);
            return None;
        }
        if usage_of(view.attempt, &published.state) == published.usage
            && background_of(view.attempt) == published.status.background
        {
            return None;
        }
        let due = published.at + INTERVAL;
        if view.at < due {
            return Some(due);
        }
        self.publish(view);
        None
    }

    /// Writes the files of an attempt that are for people and for a harness. Only the evidence affects
    /// decisions.
    fn on_attempt_ended(&mut self, dir: &AttemptDir, decoder: &dyn Decoder, at: Moment) {
        let snapshot = decoder.snapshot();
        self.model.clone_from(&snapshot.model);
        if !snapshot.answers.is_empty() {
            let _ = dir.write(&snapshot.answers);
        }
        write_usage(dir, decoder);
        if self.config.spec().harness.is_some() {
            let _ = self.log_exec(dir, decoder);
            let _ = write_blocked(&self.config.dir, dir.number(), snapshot, at);
        }
    }
}

fn usage_of(attempt: Option<&AttemptProcess>, state: &State) -> Usage {
    let live = attempt.map(|attempt| attempt.decoder.snapshot().usage);
    state.usage.plus(live.unwrap_or_default())
}

fn background_of(attempt: Option<&AttemptProcess>) -> Vec<String> {
    let running = attempt.map(|attempt| attempt.decoder.snapshot().background.as_slice());
    running.unwrap_or_default().iter().map(|task| task.command.clone()).collect()
}

pub(super) fn write_usage(dir: &AttemptDir, decoder: &dyn Decoder) {
    let disk_was_full = dir.disk_was_full();
    let by_model = decoder.usage_by_model().into_iter();
    let entries = by_model.map(|(model, usage)| {
        ModelUsage::new(model, &Usage { unpriced: usage.unpriced || disk_was_full, ..usage })
    });
    let _ = dir.write(&entries.collect::<Vec<_>>());
}

fn write_blocked(
    dir: &RunDir,
    attempt: u32,
    snapshot: &AttemptSnapshot,
    now: Moment,
) -> Result<(), StoreError> {
    let entry =
        |call: &BlockedCall| BlockedUrl { call: call.clone(), timestamp: now.0 as f64 / 1000.0, attempt };
    match snapshot.blocked.as_slice() {
        [] => Ok(()),
        calls => dir.write_blocked_urls(attempt, calls.iter().map(entry).collect()),
    }
}
