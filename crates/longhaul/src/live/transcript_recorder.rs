//! Writes a run's conversation down while it goes on: `logs/transcript.jsonl`, for people and their scripts. It decides
//! nothing, and a line that cannot be written fails nothing.
//!
//! What is written can be derived again: what the agent was asked from the attempts' prompts, all else from their
//! streams, which tell the same messages whenever they are read. So a recorder that finds the file behind, because its
//! writer was killed or had no room, reads those streams again and passes over as many messages as are there already.

use super::tail::Tail;
use longhaul_agent::transcript_message::{EventKind, MessageOrigin, TranscriptMessage};
use longhaul_agent::{Dialect, TranscriptDecoder, task_with_follow_ups};
use longhaul_core::{AttemptPlan, Moment, PromptKind, Record, ResumeRequest};
use longhaul_store::{ArrayFile, Harness, Journal, LineLog, RunDir, StoreError, rfc3339};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::{fs, io, mem};
use thiserror::Error;

/// Writes down one run.
pub(crate) struct TranscriptRecorder {
    dir: RunDir,
    dialect: Arc<dyn Dialect>,
    /// Who reads it as one array.
    harness: Option<Harness>,
    /// Nothing before there is anything to write, and after a failure: then it is begun anew with the next attempt.
    file: Option<TranscriptFile>,
    /// The attempt under way.
    following: Option<OpenAttempt>,
}

/// The file, and what it has.
struct TranscriptFile {
    file: LineLog,
    /// The same as one array, for a harness. It is made again at the end of an attempt if it could not be written.
    array: Option<ArrayFile>,
    attempts: BTreeMap<u32, RecordedCounts>,
    /// All attempts up to this one are written down to their ends.
    complete: u32,
}

/// What is written down of one attempt.
#[derive(Clone, Copy, Default)]
struct RecordedCounts {
    /// Whether it says what the agent was asked.
    prompted: bool,
    /// How many messages of its stream.
    streamed: usize,
}

/// An attempt whose stream is being read.
struct OpenAttempt {
    attempt: u32,
    scribe: Box<dyn TranscriptDecoder>,
    /// How many of its messages are written down already.
    known: usize,
    /// How many of its turns are over, and after how many the agent was told to save its work, if it was.
    turns: u32,
    wraps_up_after: Option<u32>,
}

/// Why something could not be written down. Nobody is told: the next attempt tries again.
#[derive(Debug, Error)]
enum RecordError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl TranscriptRecorder {
    pub(crate) fn new(
        dir: RunDir,
        dialect: Arc<dyn Dialect>,
        harness: Option<Harness>,
    ) -> TranscriptRecorder {
        TranscriptRecorder { dir, dialect, harness, file: None, following: None }
    }

    /// The agent of this attempt was started, and told this.
    pub(crate) fn begin(&mut self, plan: &AttemptPlan, prompt: String, at: Moment) {
        self.attend(|own| {
            own.prepare(plan.attempt - 1)?;
            own.ask(plan, Some(prompt), at)?;
            own.follow(plan.attempt)
        });
    }

    /// The agent was told this in the session that it has open.
    pub(crate) fn counts(&mut self, say: PromptKind, prompt: String, at: Moment) {
        self.attend(|own| {
            let Some(mut following) = own.following.take() else { return Ok(()) };
            if matches!(say, PromptKind::WrapUp(_)) {
                following.wraps_up_after.get_or_insert(following.turns);
            }
            let told = TranscriptMessage {
                timestamp: Some(rfc3339(at)),
                content: Some(prompt),
                wrap_up: matches!(say, PromptKind::WrapUp(_)),
                ..TranscriptMessage::new(EventKind::Prompt, origin(say), following.attempt)
            };
            own.following = Some(following);
            own.file()?.add(&[told])
        });
    }

    /// The agent of this attempt was found alive. Its stream is about to be read from its beginning.
    pub(crate) fn adopt(&mut self, attempt: u32) {
        self.attend(|own| {
            own.prepare(attempt - 1)?;
            own.ask_again(attempt, true)?;
            own.follow(attempt)
        });
    }

    /// Takes in some bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.attend(|own| {
            let Some(mut following) = own.following.take() else { return Ok(()) };
            let mut messages = Vec::new();
            following.scribe.feed(bytes, &mut messages);
            own.write(&mut following, messages)?;
            own.following = Some(following);
            Ok(())
        });
    }

    /// The attempt is over, and its stream is read to the end.
    pub(crate) fn end(&mut self) {
        self.attend(|own| {
            let Some(following) = own.following.take() else { return Ok(()) };
            own.finish(following)
        });
    }

    /// Brings the file up to date with so many attempts, of which none is under way.
    pub(crate) fn complete(&mut self, attempts: u32) {
        self.attend(|own| own.prepare(attempts));
    }

    /// After a failure nothing is written until the file is opened anew: it may end with half a line.
    fn attend(&mut self, attempt: impl FnOnce(&mut TranscriptRecorder) -> Result<(), RecordError>) {
        if attempt(self).is_err() {
            (self.file, self.following) = (None, None);
        }
    }

    fn follow(&mut self, attempt: u32) -> Result<(), RecordError> {
        let known = self.file()?.new(attempt).streamed;
        let scribe = self.dialect.transcript_decoder(attempt);
        let wraps_up_after = self.wraps_up_after(attempt)?;
        self.following = Some(OpenAttempt { attempt, scribe, known, turns: 0, wraps_up_after });
        Ok(())
    }

    fn finish(&mut self, mut following: OpenAttempt) -> Result<(), RecordError> {
        let mut messages = Vec::new();
        following.scribe.finish(&mut messages);
        self.write(&mut following, messages)?;
        let array = self.array();
        let file = self.file()?;
        (file.complete, file.array) = (following.attempt, array);
        Ok(())
    }

    /// Adds what the file does not have yet.
    fn write(
        &mut self,
        following: &mut OpenAttempt,
        mut messages: Vec<TranscriptMessage>,
    ) -> Result<(), RecordError> {
        for message in &mut messages {
            message.wrap_up = following.wraps_up_after.is_some_and(|turns| following.turns >= turns);
            following.turns += u32::from(message.kind == EventKind::Result);
        }
        let known = following.known.min(messages.len());
        following.known -= known;
        let Some(new) = messages.get(known..).filter(|new| !new.is_empty()) else { return Ok(()) };
        self.file()?.add(new)
    }

    /// The file, opened when it is first needed.
    fn file(&mut self) -> Result<&mut TranscriptFile, RecordError> {
        if self.file.is_none() {
            let file = TranscriptFile::open(&self.dir)?;
            self.file = Some(TranscriptFile { array: self.array(), ..file });
        }
        Ok(self.file.as_mut().expect("it was just opened"))
    }

    /// The array of all that is written down so far, if a harness reads it and it can be written.
    fn array(&self) -> Option<ArrayFile> {
        self.harness?;
        ArrayFile::create(&self.dir.transcript_path(), &self.dir.transcript_array_path()).ok()
    }

    /// Writes down what is missing of the first `attempts` attempts.
    fn prepare(&mut self, attempts: u32) -> Result<(), RecordError> {
        for attempt in self.file()?.complete + 1..=attempts {
            self.ask_again(attempt, self.has_spoken(attempt))?;
            self.follow(attempt)?;
            let Some(following) = self.following.take() else { continue };
            self.read(following)?;
        }
        Ok(())
    }

    /// Reads the stream of an attempt that is over. One that is gone is silent.
    fn read(&mut self, mut following: OpenAttempt) -> Result<(), RecordError> {
        let tail = Tail::open(&self.dir.attempt(following.attempt).stream_path());
        let mut messages = Vec::new();
        if let Ok(mut tail) = tail {
            loop {
                let bytes = tail.read()?;
                if bytes.is_empty() {
                    break;
                }
                following.scribe.feed(bytes, &mut messages);
                self.write(&mut following, mem::take(&mut messages))?;
            }
        }
        self.finish(following)
    }

    /// Writes down what the agent was asked, unless it is there.
    fn ask(&mut self, plan: &AttemptPlan, prompt: Option<String>, at: Moment) -> Result<(), RecordError> {
        let file = self.file()?;
        if file.new(plan.attempt).prompted {
            return Ok(());
        }
        let asked = TranscriptMessage {
            timestamp: Some(rfc3339(at)),
            session_id: Some(plan.session.id().to_string()),
            content: prompt,
            wrap_up: matches!(plan.prompt, PromptKind::WrapUp(_)),
            ..TranscriptMessage::new(EventKind::Prompt, origin(plan.prompt), plan.attempt)
        };
        file.add(&[asked])
    }

    /// The same for an attempt whose supervisor died before it did so.
    fn ask_again(&mut self, attempt: u32, is_started: bool) -> Result<(), RecordError> {
        if self.file()?.new(attempt).prompted {
            return Ok(());
        }
        let history = Journal::load(&self.dir.journal_path())?;
        let (mut asked, mut ordered, mut is_started) = (Vec::new(), None, is_started);
        for record in history.records() {
            match record {
                Record::RunReopened { request: ResumeRequest::Prompt(text), .. } => asked.push(text.clone()),
                Record::AttemptStarted { at, plan } if plan.attempt <= attempt => ordered = Some((plan, *at)),
                // What follows is no concern of it.
                Record::AttemptStarted { .. } => break,
                Record::AttemptSpawned { .. } => {
                    is_started |= ordered.is_some_and(|(plan, _)| plan.attempt == attempt);
                }
                _ => {}
            }
        }
        let ordered = ordered.filter(|(plan, _)| is_started && plan.attempt == attempt);
        let Some((plan, at)) = ordered else { return Ok(()) };
        let prompt = match self.dir.attempt(attempt).prompt()? {
            Some(prompt) => Some(prompt),
            None => self.known_words(plan, &asked)?,
        };
        self.ask(plan, prompt, at)
    }

    /// After how many turns the agent of this attempt was told to save its work, if it was.
    fn wraps_up_after(&self, attempt: u32) -> Result<Option<u32>, RecordError> {
        let history = Journal::load(&self.dir.journal_path())?;
        let (mut current, mut after) = (0, None);
        for record in history.records() {
            match record {
                Record::AttemptStarted { plan, .. } => {
                    current = plan.attempt;
                    if current == attempt && matches!(plan.prompt, PromptKind::WrapUp(_)) {
                        after = Some(0);
                    }
                }
                Record::PromptSent { prompt: PromptKind::WrapUp(_), results: turns, .. }
                    if current == attempt =>
                {
                    after.get_or_insert(*turns);
                }
                _ => {}
            }
        }
        Ok(after)
    }

    /// Whether the agent of this attempt said anything: then there was one, also where no record tells.
    fn has_spoken(&self, attempt: u32) -> bool {
        fs::metadata(self.dir.attempt(attempt).stream_path()).is_ok_and(|stream| stream.len() > 0)
    }

    /// What an agent was told whose prompt is lost, as after a power cut: a person's words are known, ours are not.
    fn known_words(&self, plan: &AttemptPlan, asked: &[String]) -> Result<Option<String>, RecordError> {
        Ok(match plan.prompt {
            PromptKind::Task => Some(task_with_follow_ups(&self.dir.plan()?.prompt.text, asked).into_owned()),
            PromptKind::FollowUp => asked.last().cloned(),
            PromptKind::TaskAfterLoss(_)
            | PromptKind::Continue(_)
            | PromptKind::Nudge(_)
            | PromptKind::WrapUp(_)
            | PromptKind::LimitRaised(_)
            | PromptKind::KeepGoing(_)
            | PromptKind::ConfirmDone
            | PromptKind::CheckFailed(_) => None,
        })
    }
}

impl TranscriptFile {
    fn open(dir: &RunDir) -> Result<TranscriptFile, RecordError> {
        let mut attempts: BTreeMap<u32, RecordedCounts> = BTreeMap::new();
        let file = LineLog::open(&dir.transcript_path(), |line| {
            // What is no line of ours is nobody's.
            let Ok(sign) = serde_json::from_slice::<MessageHeader>(line) else { return };
            count(attempts.entry(sign.attempt).or_default(), sign.kind);
        })?;
        // The last one may lack its end.
        let complete = attempts.last_key_value().map_or(0, |(last, _)| last.saturating_sub(1));
        Ok(TranscriptFile { file, array: None, attempts, complete })
    }

    fn new(&self, attempt: u32) -> RecordedCounts {
        self.attempts.get(&attempt).copied().unwrap_or_default()
    }

    fn add(&mut self, messages: &[TranscriptMessage]) -> Result<(), RecordError> {
        let mut lines = Vec::new();
        for message in messages {
            serde_json::to_writer(&mut lines, message)?;
            lines.push(b'\n');
        }
        self.file.add(&lines)?;
        // The lines are what counts: an array that cannot be written is left out until the attempt ends.
        if self.array.as_mut().is_some_and(|array| array.add(&lines).is_err()) {
            self.array = None;
        }
        for message in messages {
            count(self.attempts.entry(message.attempt).or_default(), message.kind);
        }
        Ok(())
    }
}

/// What tells which message a line is.
#[derive(Deserialize)]
struct MessageHeader {
    attempt: u32,
    kind: EventKind,
}

fn count(written: &mut RecordedCounts, kind: EventKind) {
    if kind.comes_from_stream() {
        written.streamed += 1;
    } else {
        written.prompted = true;
    }
}

/// Whose words the agent is told at its start.
fn origin(say: PromptKind) -> MessageOrigin {
    match say {
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
