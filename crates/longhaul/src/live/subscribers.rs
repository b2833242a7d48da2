//! The subscribers of one live run, in the order in which they are called.

use super::diagnostic::Diagnostic;
use super::ledger_writer::LedgerWriter;
use super::notifier::Notifier;
use super::publisher::Publisher;
use super::subscriber::{Subscriber, WorldView};
use super::transcript_recorder::TranscriptRecorder;
use super::world_config::WorldConfig;
use crate::observer::{Observer, StepView};
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{CancelSource, Moment, Policy, Run, Step};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc;

pub(crate) struct Subscribers<'a> {
    publisher: Publisher<'a>,
    ledger: LedgerWriter,
    diagnostic: Diagnostic,
    observer: ObserverSubscriber<'a>,
    pub(crate) recorder: TranscriptRecorder,
    pub(crate) notifier: Notifier<'a>,
}

impl<'a> Subscribers<'a> {
    pub(crate) fn new(config: &Rc<WorldConfig<'a>>, observer: &'a mut dyn Observer) -> Subscribers<'a> {
        let (dir, spec) = (&config.dir, config.spec());
        Subscribers {
            publisher: Publisher::new(Rc::clone(config)),
            ledger: LedgerWriter::new(config.home, dir),
            diagnostic: Diagnostic::new(spec.diagnostic, dir, &spec.cwd, &config.environment),
            observer: ObserverSubscriber(observer),
            recorder: TranscriptRecorder::new(dir.clone(), Arc::clone(&config.dialect), spec.harness),
            notifier: Notifier::new(Rc::clone(config)),
        }
    }

    pub(crate) fn each(&mut self, mut call: impl FnMut(&mut dyn Subscriber)) {
        call(&mut self.publisher);
        // A row of the ledger is as old as the files that it was read from.
        call(&mut self.ledger);
        call(&mut self.diagnostic);
        call(&mut self.observer);
        call(&mut self.recorder);
        call(&mut self.notifier);
    }

    pub(crate) fn on_bytes(&mut self, bytes: &[u8]) {
        self.observer.0.on_bytes(bytes);
    }

    /// Called when all steps so far are on disk. `is_new` is `false` if they already were at the last call.
    pub(crate) fn on_sync(&mut self, view: &WorldView<'_>, is_new: bool) {
        self.each(|each| each.on_sync(view));
        if is_new {
            self.observer.0.on_sync();
        }
        self.report_notify_failures();
    }

    /// Returns the earliest moment at which a subscriber must be called again.
    pub(crate) fn on_idle(&mut self, view: &WorldView<'_>) -> Option<Moment> {
        let mut until = None;
        self.each(|each| until = until.into_iter().chain(each.on_idle(view)).min());
        until
    }

    /// Waits for the running notification commands until they exit or time out, or until a user cancels
    /// again.
    pub(crate) async fn finish_calls(&mut self, cancels: &mut mpsc::Receiver<CancelSource>) {
        while self.notifier.sender.wait_for_call(cancels).await {
            self.report_notify_failures();
        }
    }

    fn report_notify_failures(&mut self) {
        for failure in self.notifier.sender.take_failures() {
            self.observer.0.on_notify_failure(&failure);
        }
    }
}

struct ObserverSubscriber<'a>(&'a mut dyn Observer);

impl Subscriber for ObserverSubscriber<'_> {
    fn on_step(&mut self, run: &Run, policy: &Policy, view: &WorldView<'_>, step: &Step) {
        let snapshot = view.attempt.map(|attempt| attempt.decoder.snapshot());
        self.0.on_step(StepView { run, policy, at: view.at, snapshot }, step);
    }

    fn on_messages(&mut self, messages: &[TranscriptMessage]) {
        self.0.on_messages(messages);
    }
}
