//! What was said and done, as a seed tells it: each call with its answer, and only what belongs to the
//! work.

use super::render;
use crate::conversation::{
    Conversation, EntryKind, Provenance, ToolArgument, ToolCall, ToolResult, ToolResultKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// More failures than this are a history, not open problems.
const FAILURES_MAX: usize = 5;
/// So many calls without an outcome are a record gone wrong.
const UNKNOWN_MAX: usize = 50;

/// The work.
#[derive(Debug, Default)]
pub(super) struct WorkLog<'a> {
    prompts_sent: Vec<&'a str>,
    summary: Option<&'a str>,
    flow: Vec<WorkItem<'a>>,
}

/// One step of the work.
#[derive(Clone, Copy, Debug)]
pub(super) enum WorkItem<'a> {
    /// The model said something.
    ModelText(&'a str),
    /// The agent's program told the model something.
    Note(&'a str),
    /// A tool was called.
    Called(&'a ToolCall, Option<&'a ToolResult>),
    /// A call that is not on record brought something.
    Answered(&'a ToolResult),
}

impl<'a> WorkLog<'a> {
    pub(super) fn new(transcript: &'a Conversation, task: &str) -> WorkLog<'a> {
        let work = || transcript.entries.iter().filter(|entry| entry.provenance == Provenance::Work);
        let answers = answers(work().map(|entry| &entry.kind));
        let calls: BTreeSet<&str> = work().filter_map(|entry| call_id(&entry.kind)).collect();
        // What was asked later stands behind the task.
        let task = format!("\n{task}\n");
        let is_in_task = |text: &str| task.contains(&format!("\n{}\n", text.trim_matches('\n')));
        let mut told = BTreeSet::new();
        let mut steps = WorkLog::default();
        for entry in work() {
            match &entry.kind {
                EntryKind::Prompt(text) if !is_in_task(text) => steps.prompts_sent.push(text),
                EntryKind::Prompt(_) => {}
                EntryKind::Compaction(text) => steps.summary = Some(text),
                EntryKind::ModelText(text) => steps.flow.push(WorkItem::ModelText(text)),
                EntryKind::AgentNote(text) => steps.flow.push(WorkItem::Note(text)),
                // A session file and the streams of its attempts tell of the same call.
                EntryKind::ToolCall(call) if told.insert(call.id.as_str()) => {
                    steps.flow.push(WorkItem::Called(call, answers.get(call.id.as_str()).copied()));
                }
                EntryKind::ToolResult(answer) if !calls.contains(answer.call.as_str()) => {
                    steps.flow.push(WorkItem::Answered(answer));
                }
                EntryKind::ToolCall(_) | EntryKind::ToolResult(_) => {}
            }
        }
        steps
    }

    pub(super) fn is_empty(&self) -> bool {
        self.prompts_sent.is_empty() && self.summary.is_none() && self.flow.is_empty()
    }

    /// What the person said besides the task.
    pub(super) fn asked(
        &self,
        weight_max: u64,
    ) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        self.prompts_sent.iter().map(move |text| render::block(text, weight_max))
    }

    /// The agent's last summary.
    pub(super) fn summary(
        &self,
        weight_max: u64,
    ) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        self.summary.into_iter().map(move |text| render::block(text, weight_max))
    }

    /// How many steps there are.
    pub(super) fn count(&self) -> usize {
        self.flow.len()
    }

    /// Every step in a line.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.flow.iter().map(|&step| render::line(step))
    }

    /// The first statements of the model, among the first `count` steps.
    pub(super) fn first_said(&self, count: usize, weight_max: u64) -> impl Iterator<Item = String> {
        let said = self.flow.iter().take(count).filter(|step| matches!(step, WorkItem::ModelText(_)));
        said.map(move |&step| render::whole(step, weight_max))
    }

    /// Every step nearly whole.
    pub(super) fn whole(
        &self,
        weight_max: u64,
    ) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        self.flow.iter().map(move |&step| render::whole(step, weight_max))
    }

    /// Failures that nothing has made good, and behind them, because the last count most, calls whose
    /// outcome is not known.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut failed: Vec<(&ToolCall, &ToolResult)> = Vec::new();
        let mut unknown: Vec<&ToolCall> = Vec::new();
        for step in &self.flow {
            let WorkItem::Called(call, answer) = *step else { continue };
            let same = |other: &ToolCall| other.name == call.name && other.argument == call.argument;
            match answer.map(|answer| (answer, answer.kind)) {
                Some((_, ToolResultKind::Ok)) => {
                    failed.retain(|(other, _)| !same(other));
                    unknown.retain(|other| !same(other));
                }
                Some((answer, ToolResultKind::Error)) => {
                    failed.retain(|(other, _)| !same(other));
                    failed.push((call, answer));
                }
                Some((_, ToolResultKind::Unknown)) | None => unknown.push(call),
            }
            failed.drain(..failed.len().saturating_sub(FAILURES_MAX));
            unknown.drain(..unknown.len().saturating_sub(UNKNOWN_MAX));
        }
        let failed = failed.into_iter().map(|(call, answer)| render::failure(call, answer));
        failed.chain(unknown.into_iter().map(render::unknown)).collect()
    }

    /// Files that were changed, each once, in the order of their last change.
    pub(super) fn files(&self, also: &[String]) -> Vec<String> {
        let mut told = BTreeSet::new();
        let mut files = Vec::new();
        for step in self.flow.iter().rev() {
            let WorkItem::Called(call, answer) = *step else { continue };
            let Some(ToolArgument::ChangedFile(path)) = &call.argument else { continue };
            let known = match answer.map(|answer| answer.kind) {
                Some(ToolResultKind::Ok) => true,
                Some(ToolResultKind::Error) => continue,
                Some(ToolResultKind::Unknown) | None => false,
            };
            if told.insert(path.as_str()) {
                files.push(render::file(path, known));
            }
        }
        let also = also.iter().rev().filter(|path| told.insert(path.as_str()));
        files.extend(also.map(|path| render::file(path, true)));
        files.reverse();
        files
    }
}

/// What each call brought. A made-up answer, that the outcome is unknown, gives way to a real one.
fn answers<'a>(work: impl Iterator<Item = &'a EntryKind>) -> BTreeMap<&'a str, &'a ToolResult> {
    let mut answers: BTreeMap<&str, &ToolResult> = BTreeMap::new();
    for what in work {
        let EntryKind::ToolResult(answer) = what else { continue };
        let known =
            answers.get(answer.call.as_str()).is_some_and(|known| known.kind != ToolResultKind::Unknown);
        if !(known && answer.kind == ToolResultKind::Unknown) {
            answers.insert(&answer.call, answer);
        }
    }
    answers
}

fn call_id(what: &EntryKind) -> Option<&str> {
    if let EntryKind::ToolCall(call) = what { Some(&call.id) } else { None }
}
