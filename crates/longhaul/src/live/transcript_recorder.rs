//! Records a run's conversation while it runs: `logs/transcript.jsonl`, for people and their scripts. It
//! never decides anything, and a failed write never fails the run.
//!
//! The file is derived: prompts come from the attempts' prompt files, and all other messages from their
//! streams, which always yield the same messages. The file lacks messages if its writer was killed or the
//! disk was full. The recorder then reads the streams again and skips the messages that are already recorded.

use super::subscriber::Subscriber;
use super::tail::decode;
use crate::cost_breakdown::CostBreakdownReader;
use crate::handoff::user_prompt;
use longhaul_agent::transcript_message::{EventKind, MessageHeader, MessageOrigin, TranscriptMessage};
use longhaul_agent::{Decoder, Dialect, DoneSignals, Guards};
use longhaul_core::{AttemptPlan, Exit, Harness, Moment, PromptKind, SessionId};
use longhaul_store::{ArrayFile, AttemptDir, CostBreakdown, Journal, LineLog, RunDir, open_regular, rfc3339};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::sync::Arc;

pub(crate) struct TranscriptRecorder {
    dir: RunDir,
    dialect: Arc<dyn Dialect>,
    harness: Option<Harness>,
    /// `None` before the first write, and after a failure until the next attempt opens it again.
    file: Option<TranscriptFile>,
    open_attempt: Option<OpenAttempt>,
}

struct TranscriptFile {
    file: LineLog,
    /// The transcript as one array, for a harness. It is rebuilt at the end of an attempt if a write failed.
    array: Option<ArrayFile>,
    attempts: BTreeMap<u32, RecordedCounts>,
    costs: CostBreakdownReader,
    /// All attempts up to this one are recorded to their end.
    complete: u32,
}

#[derive(Clone, Copy, Default)]
struct RecordedCounts {
    has_prompt: bool,
    streamed: usize,
}

struct OpenAttempt {
    attempt: u32,
    /// Number of messages that are recorded already.
    recorded: usize,
    exchanges: u32,
    /// Number of ended exchanges when the wrap-up was requested. `None` if it was not requested.
    wrap_up_after: Option<u32>,
}

/// A failed write. It is not reported, because the next attempt tries again.
type RecordError = Box<dyn Error>;

impl TranscriptRecorder {
    pub(crate) fn new(
        dir: RunDir,
        dialect: Arc<dyn Dialect>,
        harness: Option<Harness>,
    ) -> TranscriptRecorder {
        TranscriptRecorder { dir, dialect, harness, file: None, open_attempt: None }
    }

    pub(crate) fn costs(&self) -> CostBreakdown {
        match &self.file {
            Some(file) => file.costs.breakdown().clone(),
            None => CostBreakdownReader::default().read(&self.dir),
        }
    }

    /// Runs a write. After a failure the file is closed, because it may end within a line, and opened again
    /// later.
    fn record(&mut self, write: impl FnOnce(&mut TranscriptRecorder) -> Result<(), RecordError>) {
        if write(self).is_err() {
            (self.file, self.open_attempt) = (None, None);
        }
    }

    /// Prepares to record the stream of an attempt from its start.
    fn open(&mut self, attempt: u32, wrap_up_after: Option<u32>) -> Result<OpenAttempt, RecordError> {
        let recorded = self.file()?.counts(attempt).streamed;
        Ok(OpenAttempt { attempt, recorded, exchanges: 0, wrap_up_after })
    }

    fn finish(&mut self, open: &OpenAttempt) -> Result<(), RecordError> {
        let array = self.array();
        let file = self.file()?;
        (file.complete, file.array) = (open.attempt, array);
        Ok(())
    }

    fn write(&mut self, open: &mut OpenAttempt, messages: &[TranscriptMessage]) -> Result<(), RecordError> {
        let mut messages = Cow::Borrowed(messages);
        if let Some(wrap_up_after) = open.wrap_up_after {
            for message in messages.to_mut() {
                message.wrap_up = open.exchanges >= wrap_up_after;
                open.exchanges += u32::from(message.kind == EventKind::Result);
            }
        } else {
            let results = messages.iter().filter(|message| message.kind == EventKind::Result);
            open.exchanges += results.count() as u32;
        }
        let recorded = open.recorded.min(messages.len());
        open.recorded -= recorded;
        let Some(new) = messages.get(recorded..).filter(|new| !new.is_empty()) else { return Ok(()) };
        self.file()?.add(new)
    }

    fn file(&mut self) -> Result<&mut TranscriptFile, RecordError> {
        if self.file.is_none() {
            let file = TranscriptFile::open(&self.dir)?;
            self.file = Some(TranscriptFile { array: self.array(), ..file });
        }
        Ok(self.file.as_mut().expect("the file was just opened"))
    }

    /// Creates the array of the transcript so far. Returns `None` if no harness reads it or the write fails.
    fn array(&self) -> Option<ArrayFile> {
        self.harness?;
        ArrayFile::create(&self.dir.transcript_path(), &self.dir.transcript_array_path()).ok()
    }

    fn prepare(&mut self, attempts: u32) -> Result<(), RecordError> {
        for attempt in self.file()?.complete + 1..=attempts {
            let open = self.restore(attempt, self.has_output(attempt))?;
            self.read(open)?;
        }
        Ok(())
    }

    /// Records the stream of an ended attempt. A missing stream adds nothing.
    fn read(&mut self, mut open: OpenAttempt) -> Result<(), RecordError> {
        let stream = self.dir.attempt(open.attempt).stream_path();
        if open_regular(&stream).is_ok() {
            // Guards and done signals do not affect messages.
            let mut decoder = self.dialect.decoder(&Guards::default(), &DoneSignals::default());
            decoder.collect_messages(open.attempt);
            let mut written = Ok(());
            decode(&stream, decoder.as_mut(), |messages| {
                if written.is_ok() {
                    written = self.write(&mut open, &messages);
                }
            })?;
            written?;
            decoder.evidence(Exit::Unobserved, "");
            self.write(&mut open, &decoder.take_messages())?;
        }
        self.finish(&open)
    }

    /// Records the prompt of an attempt, unless it is recorded already.
    fn record_prompt(
        &mut self,
        attempt: u32,
        kind: PromptKind,
        session: &SessionId,
        prompt: Option<String>,
        at: Moment,
    ) -> Result<(), RecordError> {
        let file = self.file()?;
        if file.counts(attempt).has_prompt {
            return Ok(());
        }
        let session_id = Some(session.to_string());
        file.add(&[TranscriptMessage { session_id, ..prompt_message(kind, attempt, prompt, at) }])
    }

    /// Opens an attempt of an earlier supervisor. Records its prompt if that supervisor died before it did.
    fn restore(&mut self, number: u32, is_started: bool) -> Result<OpenAttempt, RecordError> {
        let history = Journal::load(&self.dir.journal_path())?.history();
        let attempt = history.attempt(number);
        let has_prompt = self.file()?.counts(number).has_prompt;
        if let Some(attempt) = attempt.filter(|attempt| is_started || attempt.spawned_at.is_some())
            && !has_prompt
        {
            let prompt = match self.dir.attempt(number).prompt()? {
                Some(prompt) => Some(prompt),
                // The file is lost, for example after a power cut. A handoff prompt cannot be restored.
                None if matches!(attempt.prompt, PromptKind::TaskAfterLoss(_)) => None,
                None => user_prompt(&history, attempt, &self.dir.plan()?.spec.prompt),
            };
            self.record_prompt(number, attempt.prompt, attempt.session.id(), prompt, attempt.started_at)?;
        }
        self.open(number, attempt.and_then(|attempt| attempt.wrap_up_after_results))
    }

    /// Returns `true` if the agent of this attempt wrote any output. It was then started, even if the start
    /// is not journaled.
    fn has_output(&self, attempt: u32) -> bool {
        fs::metadata(self.dir.attempt(attempt).stream_path()).is_ok_and(|stream| stream.len() > 0)
    }
}

impl Subscriber for TranscriptRecorder {
    fn on_attempt_started(&mut self, plan: &AttemptPlan, prompt: &str, at: Moment) {
        self.record(|this| {
            this.prepare(plan.attempt - 1)?;
            let prompt = Some(prompt.to_owned());
            this.record_prompt(plan.attempt, plan.prompt, plan.session.id(), prompt, at)?;
            let wrap_up_after = matches!(plan.prompt, PromptKind::WrapUp(_)).then_some(0);
            this.open_attempt = Some(this.open(plan.attempt, wrap_up_after)?);
            Ok(())
        });
    }

    fn on_attempt_adopted(&mut self, attempt: u32) {
        self.record(|this| {
            this.prepare(attempt - 1)?;
            this.open_attempt = Some(this.restore(attempt, true)?);
            Ok(())
        });
    }

    fn on_prompt_sent(&mut self, kind: PromptKind, prompt: &str, at: Moment) {
        self.record(|this| {
            let Some(mut open) = this.open_attempt.take() else { return Ok(()) };
            if matches!(kind, PromptKind::WrapUp(_)) {
                open.wrap_up_after.get_or_insert(open.exchanges);
            }
            let message = prompt_message(kind, open.attempt, Some(prompt.to_owned()), at);
            this.open_attempt = Some(open);
            this.file()?.add(&[message])
        });
    }

    fn on_messages(&mut self, messages: &[TranscriptMessage]) {
        if messages.is_empty() {
            return;
        }
        self.record(|this| {
            let Some(mut open) = this.open_attempt.take() else { return Ok(()) };
            this.write(&mut open, messages)?;
            this.open_attempt = Some(open);
            Ok(())
        });
    }

    fn on_attempt_ended(&mut self, _dir: &AttemptDir, _decoder: &dyn Decoder, _at: Moment) {
        self.record(|this| {
            let Some(open) = this.open_attempt.take() else { return Ok(()) };
            this.finish(&open)
        });
    }

    fn on_attempts_complete(&mut self, attempts: u32) {
        self.record(|this| this.prepare(attempts));
    }
}

impl TranscriptFile {
    fn open(dir: &RunDir) -> Result<TranscriptFile, RecordError> {
        let mut attempts: BTreeMap<u32, RecordedCounts> = BTreeMap::new();
        let mut costs = CostBreakdownReader::default();
        let file = LineLog::open(&dir.transcript_path(), |line| {
            costs.add_line(line);
            // A line of unknown form belongs to no attempt.
            let Some(header) = MessageHeader::parse(line) else { return };
            count(attempts.entry(header.attempt).or_default(), header.kind);
        })?;
        // The last attempt may be incomplete.
        let complete = attempts.last_key_value().map_or(0, |(last, _)| last.saturating_sub(1));
        Ok(TranscriptFile { file, array: None, attempts, costs, complete })
    }

    fn counts(&self, attempt: u32) -> RecordedCounts {
        self.attempts.get(&attempt).copied().unwrap_or_default()
    }

    fn add(&mut self, messages: &[TranscriptMessage]) -> Result<(), RecordError> {
        let mut lines = Vec::new();
        for message in messages {
            message.write_line(&mut lines)?;
        }
        self.file.add(&lines)?;
        // Only the lines must be complete. After a failed write the array is dropped until the attempt ends.
        if self.array.as_mut().is_some_and(|array| array.add(&lines).is_err()) {
            self.array = None;
        }
        for message in messages {
            count(self.attempts.entry(message.attempt).or_default(), message.kind);
            self.costs.add(message);
        }
        Ok(())
    }
}

fn count(counts: &mut RecordedCounts, kind: EventKind) {
    if kind.comes_from_stream() {
        counts.streamed += 1;
    } else {
        counts.has_prompt = true;
    }
}

fn prompt_message(kind: PromptKind, attempt: u32, prompt: Option<String>, at: Moment) -> TranscriptMessage {
    TranscriptMessage {
        timestamp: Some(rfc3339(at)),
        content: prompt,
        wrap_up: matches!(kind, PromptKind::WrapUp(_)),
        ..TranscriptMessage::new(EventKind::Prompt, origin(kind), attempt)
    }
}

/// Returns the author of a prompt.
fn origin(kind: PromptKind) -> MessageOrigin {
    match kind {
        PromptKind::Task | PromptKind::FollowUp => MessageOrigin::Person,
        PromptKind::TaskAfterLoss(_)
        | PromptKind::Continue(_)
        | PromptKind::Nudge(_)
        | PromptKind::WrapUp(_)
        | PromptKind::LimitRaised(_)
        | PromptKind::KeepGoing(_)
        | PromptKind::ConfirmDone
        | PromptKind::CheckFailed(_) => MessageOrigin::Longhaul,
    }
}
