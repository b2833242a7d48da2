//! The handle of a run on the supervisor's thread: its events, its cancellation and its outcome.

use crate::{Canceller, NotifyFailure, Observer, RunError, RunReport, StepView};
use futures_core::Stream;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{Moment, Record, RunId, Step};
use longhaul_store::JournalEntry;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::{mpsc, oneshot};

// The decisions and messages of hours, in a few megabytes.
const EVENTS_MAX: usize = 16_384;

/// A run on the thread of a [`Supervisor`](crate::Supervisor). Dropping the handle does not stop the run.
#[derive(Debug)]
pub struct RunHandle {
    canceller: Canceller,
    events: Option<mpsc::Receiver<RunEvent>>,
    outcome: oneshot::Receiver<Result<RunReport, RunError>>,
}

type OutcomeSender = oneshot::Sender<Result<RunReport, RunError>>;

impl RunHandle {
    pub(crate) fn new(canceller: Canceller) -> (RunHandle, EventSender, OutcomeSender) {
        let (event_sender, events) = mpsc::channel(EVENTS_MAX);
        let (outcome_sender, outcome) = oneshot::channel();
        let event_sender = EventSender { events: event_sender, is_missing: false };
        (RunHandle { canceller, events: Some(events), outcome }, event_sender, outcome_sender)
    }

    /// Returns the run's events from its start. A second call returns a stream without events.
    ///
    /// Events wait in memory until they are read, or until the stream and the handle are dropped. At most
    /// 16,384 wait: of those that arrive later, a reader only receives [`RunEvent::Missed`].
    pub fn events(&mut self) -> RunEvents {
        RunEvents(self.events.take())
    }

    /// Cancels the run: its agent is interrupted and keeps its work. A second call, and a call after the run
    /// finished, do nothing.
    pub fn cancel(&self) {
        self.canceller.cancel();
    }

    /// Returns what cancels the run while another task waits for its outcome.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Waits until the run finishes, on any executor.
    ///
    /// # Errors
    /// - [`RunError::NotStarted`] if the run could not start, continue or be followed
    /// - [`RunError::Aborted`] if its journal could no longer be written; its agent was stopped first
    /// - [`RunError::ThreadEnded`] if the supervisor's thread panicked
    ///
    /// Every other failure is an outcome.
    pub async fn outcome(self) -> Result<RunReport, RunError> {
        // Without a stream, the remaining events have no reader.
        drop(self.events);
        self.outcome.await.unwrap_or(Err(RunError::ThreadEnded))
    }
}

/// A decision or fact of a run, in the order of the run.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// The run has an id and a directory.
    Started {
        /// Id of the run.
        run: RunId,
        /// Its directory.
        dir: PathBuf,
    },
    /// A step that an earlier supervisor of the run made.
    Replayed(JournalEntry),
    /// A step that is in the journal. [`Run::apply`](longhaul_core::Run::apply) folds its records into a state.
    Stepped {
        /// When the core made the step.
        at: Moment,
        /// Records of the step; never empty.
        records: Vec<Record>,
    },
    /// Messages of the conversation, complete.
    Messages(Vec<TranscriptMessage>),
    /// A notification command could not be started, or failed. The run continues.
    NotifyFailed(NotifyFailure),
    /// Here, the reader missed events because too many were waiting. The journal and the transcript have them.
    Missed,
}

/// The events of a run: a stream that ends with the run.
#[derive(Debug)]
pub struct RunEvents(Option<mpsc::Receiver<RunEvent>>);

impl RunEvents {
    /// Waits for the next event, on any executor. Returns `None` if the run has finished.
    pub async fn next(&mut self) -> Option<RunEvent> {
        self.0.as_mut()?.recv().await
    }
}

impl Stream for RunEvents {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        match &mut self.0 {
            Some(events) => events.poll_recv(context),
            None => Poll::Ready(None),
        }
    }
}

pub(crate) struct EventSender {
    events: mpsc::Sender<RunEvent>,
    /// Whether the last event that was sent is [`RunEvent::Missed`].
    is_missing: bool,
}

impl EventSender {
    fn send(&mut self, event: impl FnOnce() -> RunEvent) {
        // The last place is for the notice that events are missing.
        let is_full = self.events.capacity() <= 1;
        let is_noted = is_full && self.is_missing;
        if !is_noted && !self.events.is_closed() {
            // The reader may leave meanwhile.
            let _ = self.events.try_send(if is_full { RunEvent::Missed } else { event() });
        }
        self.is_missing = is_full;
    }
}

impl Observer for EventSender {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.send(|| RunEvent::Started { run: run.clone(), dir: dir.to_owned() });
    }

    fn on_replay(&mut self, entry: &JournalEntry) {
        self.send(|| RunEvent::Replayed(entry.clone()));
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        if !step.records.is_empty() {
            self.send(|| RunEvent::Stepped { at: view.at, records: step.records.clone() });
        }
    }

    fn on_notify_failure(&mut self, failure: &NotifyFailure) {
        self.send(|| RunEvent::NotifyFailed(failure.clone()));
    }

    fn on_messages(&mut self, messages: &[TranscriptMessage]) {
        if !messages.is_empty() {
            self.send(|| RunEvent::Messages(messages.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests;
