//! Collects the record of work for a handoff prompt: each call with its result. Contains only work.

use super::render;
use super::work_item::WorkItem;
use crate::conversation::{
    Conversation, EntryKind, Provenance, ToolArgument, ToolCall, ToolResult, ToolResultKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// More failures than this are history, not open problems.
const FAILURES_MAX: usize = 5;
/// More calls without an outcome than this indicate a damaged record.
const UNKNOWN_MAX: usize = 50;

/// The record of work.
#[derive(Debug, Default)]
pub(super) struct WorkLog<'a> {
    prompts: Vec<&'a str>,
    summary: Option<&'a str>,
    steps: Vec<WorkItem<'a>>,
}

impl<'a> WorkLog<'a> {
    pub(super) fn new(conversation: &'a Conversation, task: &str) -> WorkLog<'a> {
        let work = || conversation.entries.iter().filter(|entry| entry.provenance == Provenance::Work);
        let results = results(work().map(|entry| &entry.kind));
        let calls: BTreeSet<&str> = work().filter_map(|entry| call_id(&entry.kind)).collect();
        // The task includes later requests.
        let task = format!("\n{task}\n");
        let is_in_task = |text: &str| task.contains(&format!("\n{}\n", text.trim_matches('\n')));
        let mut seen = BTreeSet::new();
        let mut log = WorkLog::default();
        for entry in work() {
            match &entry.kind {
                EntryKind::Prompt(text) if !is_in_task(text) => log.prompts.push(text),
                EntryKind::Prompt(_) => {}
                EntryKind::Compaction(text) => log.summary = Some(text),
                EntryKind::ModelText(text) => log.steps.push(WorkItem::ModelText(text)),
                EntryKind::AgentNote(text) => log.steps.push(WorkItem::Note(text)),
                // A session file and the streams of its attempts may contain the same call.
                EntryKind::ToolCall(call) if seen.insert(call.id.as_str()) => {
                    log.steps.push(WorkItem::Call(call, results.get(call.id.as_str()).copied()));
                }
                EntryKind::ToolResult(result) if !calls.contains(result.call.as_str()) => {
                    log.steps.push(WorkItem::OrphanResult(result));
                }
                EntryKind::ToolCall(_) | EntryKind::ToolResult(_) => {}
            }
        }
        log
    }

    pub(super) fn is_empty(&self) -> bool {
        self.prompts.is_empty() && self.summary.is_none() && self.steps.is_empty()
    }

    /// Returns the user's prompts other than the task.
    pub(super) fn prompts(
        &self,
        weight_max: u64,
    ) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        self.prompts.iter().map(move |text| render::block(text, weight_max))
    }

    /// Returns the agent's last summary.
    pub(super) fn summary(
        &self,
        weight_max: u64,
    ) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        self.summary.into_iter().map(move |text| render::block(text, weight_max))
    }

    /// Returns the number of steps.
    pub(super) fn count(&self) -> usize {
        self.steps.len()
    }

    /// Returns each step on one line.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.steps.iter().map(|&step| render::line(step))
    }

    /// Returns the first texts of the model, among the first `count` steps.
    pub(super) fn first_texts(&self, count: usize, weight_max: u64) -> impl Iterator<Item = String> {
        let texts = self.steps.iter().take(count).filter(|step| matches!(step, WorkItem::ModelText(_)));
        texts.map(move |&step| render::whole(step, weight_max))
    }

    /// Returns each step nearly in full.
    pub(super) fn whole(
        &self,
        weight_max: u64,
    ) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        self.steps.iter().map(move |&step| render::whole(step, weight_max))
    }

    /// Returns failures that were not repeated with success, followed by calls with an unknown outcome. The
    /// latter come last because the last items matter most.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut failed: Vec<(&ToolCall, &ToolResult)> = Vec::new();
        let mut unknown: Vec<&ToolCall> = Vec::new();
        for step in &self.steps {
            let WorkItem::Call(call, result) = *step else { continue };
            let same = |other: &ToolCall| other.name == call.name && other.argument == call.argument;
            match result.map(|result| (result, result.kind)) {
                Some((_, ToolResultKind::Ok)) => {
                    failed.retain(|(other, _)| !same(other));
                    unknown.retain(|other| !same(other));
                }
                Some((result, ToolResultKind::Error)) => {
                    failed.retain(|(other, _)| !same(other));
                    failed.push((call, result));
                }
                Some((_, ToolResultKind::Unknown)) | None => unknown.push(call),
            }
            failed.drain(..failed.len().saturating_sub(FAILURES_MAX));
            unknown.drain(..unknown.len().saturating_sub(UNKNOWN_MAX));
        }
        let failed = failed.into_iter().map(|(call, result)| render::failure(call, result));
        failed.chain(unknown.into_iter().map(render::unknown)).collect()
    }

    /// Returns the changed files, each once, in the order of their last change.
    pub(super) fn files(&self, extra_files: &[String]) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut files = Vec::new();
        for step in self.steps.iter().rev() {
            let WorkItem::Call(call, result) = *step else { continue };
            let Some(ToolArgument::ChangedFile(path)) = &call.argument else { continue };
            let is_certain = match result.map(|result| result.kind) {
                Some(ToolResultKind::Ok) => true,
                Some(ToolResultKind::Error) => continue,
                Some(ToolResultKind::Unknown) | None => false,
            };
            if seen.insert(path.as_str()) {
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
fn results<'a>(work: impl Iterator<Item = &'a EntryKind>) -> BTreeMap<&'a str, &'a ToolResult> {
    let mut results: BTreeMap<&str, &ToolResult> = BTreeMap::new();
    for kind in work {
        let EntryKind::ToolResult(result) = kind else { continue };
        let has_outcome = results
            .get(result.call.as_str())
            .is_some_and(|existing| existing.kind != ToolResultKind::Unknown);
        if !(has_outcome && result.kind == ToolResultKind::Unknown) {
            results.insert(&result.call, result);
        }
    }
    results
}

fn call_id(kind: &EntryKind) -> Option<&str> {
    if let EntryKind::ToolCall(call) = kind { Some(&call.id) } else { None }
}
