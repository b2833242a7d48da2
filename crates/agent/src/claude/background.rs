//! Tracks background commands and sub-agents: which of them run, and which ended with the process. The result
//! is for people and prompts. No decision uses it.

use super::vendor_terms;
use super::wire::{Block, Note};
use crate::tool_input::ToolInput;
use longhaul_core::{BackgroundTask, shorten_line};
use std::collections::VecDeque;

// An agent starts a handful of tasks; a hostile stream could invent more.
const TASKS_MAX: usize = 64;
// The command of a call is needed only until the next event names its task.
const CALLS_MAX: usize = 16;
const TEXT_CHARS_MAX: usize = 200;
/// Marks the result of a call that the agent put into the background (2.1.330).
const OUTPUT: &str = "Output is being written to: ";
const OUTPUT_SUFFIX: &str = ".output";

#[derive(Debug, Default)]
pub(super) struct Background {
    tasks: Vec<TrackedTask>,
    /// Recent calls that request the background: their ids and commands.
    calls: VecDeque<(String, String)>,
}

#[derive(Debug)]
struct TrackedTask {
    id: String,
    is_running: bool,
    is_sub_agent: bool,
    info: BackgroundTask,
}

impl Background {
    pub(super) fn on_call(&mut self, call: &str, input: &ToolInput<'_>) {
        if input.is_true("run_in_background")
            && let Some(command) = input.text("command")
        {
            self.calls.truncate(CALLS_MAX - 1);
            self.calls.push_front((call.to_owned(), shorten_line(&command, TEXT_CHARS_MAX)));
        }
    }

    /// Records the list of running tasks. A task that left the list is kept until the stream states how it
    /// ended.
    pub(super) fn on_change(&mut self, note: &Note<'_>) {
        for task in &mut self.tasks {
            task.is_running = note.tasks.0.iter().any(|listed| listed.task_id.is(&task.id));
        }
        for listed in note.tasks.0.iter().filter(|listed| listed.task_id.non_empty().is_some()) {
            let is_known = self.tasks.iter().any(|task| listed.task_id.is(&task.id));
            if !is_known && self.tasks.len() < TASKS_MAX {
                let info = BackgroundTask {
                    command: shorten_line(listed.description.as_str(), TEXT_CHARS_MAX),
                    ..BackgroundTask::default()
                };
                self.tasks.push(TrackedTask {
                    id: listed.task_id.as_str().to_owned(),
                    is_running: true,
                    is_sub_agent: vendor_terms::is_sub_agent(listed.task_type.as_str()),
                    info,
                });
            }
        }
    }

    /// Records the start of a task. The command of its call is more informative than its description.
    pub(super) fn on_start(&mut self, note: &Note<'_>) {
        let Some(task) = self.tasks.iter_mut().find(|task| note.task_id.is(&task.id)) else { return };
        note.tool_use_id.as_str().clone_into(&mut task.info.call);
        if let Some((_, command)) = self.calls.iter().find(|(call, _)| note.tool_use_id.is(call)) {
            task.info.command.clone_from(command);
        }
    }

    pub(super) fn awaits_output(&self) -> bool {
        self.tasks.iter().any(|task| task.is_running && task.info.output_file.is_none())
    }

    /// Records the results of calls. The result of a background call states where its output goes.
    pub(super) fn on_results(&mut self, blocks: &[Block<'_>]) {
        for result in blocks {
            let mut waiting = self.tasks.iter_mut().filter(|task| task.info.output_file.is_none());
            if let Some(task) = waiting.find(|task| result.tool_use_id.is(&task.info.call)) {
                task.info.output_file =
                    result.content.text().as_deref().and_then(output_path).map(str::to_owned);
            }
        }
    }

    /// Records the end of a task. A stopped one is kept, because it may have ended with the process.
    pub(super) fn on_end(&mut self, note: &Note<'_>) {
        if note.status.is("completed") || note.status.is("failed") {
            self.tasks.retain(|task| !note.task_id.is(&task.id));
        }
    }

    /// Records that the agent continues, so earlier stopped tasks did not end with the process. Returns
    /// whether there were any.
    pub(super) fn on_continue(&mut self) -> bool {
        let count = self.tasks.len();
        self.tasks.retain(|task| task.is_running);
        self.tasks.len() < count
    }

    /// Returns the number of tasks that did not end on their own.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// Returns whether a sub-agent did not end on its own.
    pub(super) fn has_sub_agents(&self) -> bool {
        self.tasks.iter().any(|task| task.is_sub_agent)
    }

    /// Returns the tasks that did not end on their own, oldest first.
    pub(super) fn tasks(&self) -> Vec<BackgroundTask> {
        self.tasks.iter().map(|task| task.info.clone()).collect()
    }
}

fn output_path(text: &str) -> Option<&str> {
    let rest = &text[text.find(OUTPUT)? + OUTPUT.len()..];
    let path = &rest[..rest.find(OUTPUT_SUFFIX)? + OUTPUT_SUFFIX.len()];
    (path.starts_with('/') && !path.contains(char::is_control)).then_some(path)
}

#[cfg(test)]
mod tests;
