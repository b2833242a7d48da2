//! Collects the record of work for a handoff prompt: each call with its result. Contains only work.

use super::render;
use super::work_item::{RecordedCall, WorkItem};
use crate::transcript_message::{EventKind, ToolResultKind, TranscriptMessage};
use crate::{Conversation, ToolArgument};
use std::collections::{BTreeMap, BTreeSet};

/// More failures than this are history, not open problems.
const FAILURES_MAX: usize = 5;
/// More calls without an outcome than this indicate a damaged record.
const UNKNOWN_MAX: usize = 50;

#[derive(Clone, Debug, Default)]
pub(super) struct WorkLog<'a> {
    prompts: Vec<&'a str>,
    summary: Option<&'a str>,
    steps: Vec<WorkItem<'a>>,
}

impl<'a> WorkLog<'a> {
    pub(super) fn new(conversation: &'a Conversation, task: &str) -> WorkLog<'a> {
        let work = || conversation.messages.iter().filter(|message| message.is_work());
        let results = results(work());
        let is_end = |note: &&TranscriptMessage| note.kind == EventKind::Note && note.tool_use_id.is_some();
        let ends: BTreeMap<&str, &TranscriptMessage> =
            work().filter(is_end).map(|end| (call_id(end), end)).collect();
        let is_call = |message: &&TranscriptMessage| message.kind == EventKind::ToolCall;
        let calls: BTreeSet<&str> = work().filter(is_call).map(call_id).collect();
        // The task includes later requests.
        let task = format!("\n{task}\n");
        let is_in_task = |text: &str| task.contains(&format!("\n{}\n", text.trim_matches('\n')));
        let mut seen = BTreeSet::new();
        let mut log = WorkLog::default();
        let mut is_wrapping_up = false;
        for message in work() {
            if message.wrap_up && !is_wrapping_up {
                log.steps.push(WorkItem::WrapUp);
            }
            is_wrapping_up = message.wrap_up;
            let (text, call) = (message.text(), call_id(message));
            match message.kind {
                EventKind::Prompt if !is_in_task(text) => log.prompts.push(text),
                EventKind::Summary => log.summary = Some(text),
                EventKind::Text => log.steps.push(WorkItem::ModelText(text)),
                EventKind::Note => log.steps.push(WorkItem::Note(text)),
                // A session file and the streams of its attempts may contain the same call.
                EventKind::ToolCall if seen.insert(call) => {
                    let (result, end) = (results.get(call).copied(), ends.get(call).copied());
                    log.steps.push(WorkItem::Call(RecordedCall::new(message, result, end)));
                }
                EventKind::ToolResult if !calls.contains(call) => {
                    log.steps.push(WorkItem::OrphanResult(message));
                }
                EventKind::Prompt
                | EventKind::ToolCall
                | EventKind::ToolResult
                | EventKind::Thinking
                | EventKind::Result => {}
            }
        }
        log
    }

    pub(super) fn is_empty(&self) -> bool {
        self.prompts.is_empty() && self.summary.is_none() && self.steps.is_empty()
    }

    pub(super) fn prompts(&self, weight_max: u64) -> Vec<String> {
        self.prompts.iter().map(|text| render::block(text, weight_max)).collect()
    }

    pub(super) fn summary(&self, weight_max: u64) -> Option<String> {
        self.summary.map(|text| render::block(text, weight_max))
    }

    pub(super) fn count(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.steps.iter().map(render::line)
    }

    pub(super) fn first_texts(&self, count: usize, weight_max: u64) -> impl Iterator<Item = String> {
        let texts = self.steps.iter().take(count).filter(|step| matches!(step, WorkItem::ModelText(_)));
        texts.map(move |step| render::whole(step, weight_max))
    }

    pub(super) fn whole(
        &self,
        weight_max: u64,
    ) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        self.steps.iter().map(move |step| render::whole(step, weight_max))
    }

    /// Returns failures that were not repeated with success, followed by calls with an unknown outcome among the
    /// first `older_count` steps. The latter come last because the last items matter most.
    pub(super) fn problems(&self, older_count: usize) -> Vec<String> {
        let mut failed: Vec<&RecordedCall<'_>> = Vec::new();
        let mut unknown: Vec<&RecordedCall<'_>> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let WorkItem::Call(call) = step else { continue };
            let differs =
                |other: &&RecordedCall<'_>| other.tool != call.tool || other.argument != call.argument;
            match call.outcome() {
                ToolResultKind::Ok => {
                    failed.retain(differs);
                    unknown.retain(differs);
                }
                ToolResultKind::Error => {
                    failed.retain(differs);
                    failed.push(call);
                }
                ToolResultKind::Unknown if index < older_count => unknown.push(call),
                ToolResultKind::Unknown => {}
            }
            failed.drain(..failed.len().saturating_sub(FAILURES_MAX));
            unknown.drain(..unknown.len().saturating_sub(UNKNOWN_MAX));
        }
        failed.into_iter().map(render::failure).chain(unknown.into_iter().map(render::unknown)).collect()
    }

    pub(super) fn files(&self, extra_files: &[String]) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut files = Vec::new();
        for step in self.steps.iter().rev() {
            let WorkItem::Call(call) = step else { continue };
            let Some(ToolArgument::ChangedFile(path)) = &call.argument else { continue };
            let is_certain = match call.outcome() {
                ToolResultKind::Ok => true,
                ToolResultKind::Error => continue,
                ToolResultKind::Unknown => false,
            };
            if seen.insert(path.as_ref()) {
                files.push(render::file(path, is_certain));
            }
        }
        let extra_files = extra_files.iter().rev().filter(|path| seen.insert(path.as_str()));
        files.extend(extra_files.map(|path| render::file(path, true)));
        files.reverse();
        files
    }
}

/// Maps each call to its result. A real result replaces a placeholder for an unknown outcome.
fn results<'a>(
    work: impl Iterator<Item = &'a TranscriptMessage>,
) -> BTreeMap<&'a str, &'a TranscriptMessage> {
    let mut results: BTreeMap<&str, &TranscriptMessage> = BTreeMap::new();
    let is_unknown = |result: &TranscriptMessage| result.result_kind() == ToolResultKind::Unknown;
    for result in work.filter(|message| message.kind == EventKind::ToolResult) {
        let has_outcome = results.get(call_id(result)).is_some_and(|existing| !is_unknown(existing));
        if !(has_outcome && is_unknown(result)) {
            results.insert(call_id(result), result);
        }
    }
    results
}

fn call_id(message: &TranscriptMessage) -> &str {
    message.tool_use_id.as_deref().unwrap_or_default()
}
