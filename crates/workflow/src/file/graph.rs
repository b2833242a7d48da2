//! Draws the graph of phases as text: layers of phases that can run at the same time, from top to bottom.

use super::{Isolation, PhaseFile, WorkflowFile};
use crate::{Condition, ItemSource};
use longhaul_core::{Reaction, flag_span};

impl WorkflowFile {
    /// Draws the graph of phases: one line for each, below those that it needs.
    pub fn graph(&self) -> String {
        let layers = self.layers();
        let width = self.phases.iter().map(|phase| phase.name.len()).max().unwrap_or_default();
        let mut text = format!("{}\n", self.repetition());
        for layer in 0..=layers.iter().copied().max().unwrap_or_default() {
            text.push_str(if layer == 0 { "│\n" } else { "▼\n" });
            for (phase, _) in self.phases.iter().zip(&layers).filter(|(_, at)| **at == layer) {
                let line = format!("├─ {:width$}  {}", phase.name, self.notes(phase).join("; "));
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        text.push_str(&format!("╰ {}\n", self.end()));
        text
    }

    /// Returns the layer of each phase: one below the lowest that it needs.
    fn layers(&self) -> Vec<usize> {
        let mut layers: Vec<usize> = Vec::with_capacity(self.phases.len());
        for phase in &self.phases {
            layers.push(phase.needs.iter().map(|needed| layers[*needed] + 1).max().unwrap_or_default());
        }
        layers
    }

    fn repetition(&self) -> String {
        let mut parts = vec![match self.iterations_max {
            1 => "once".to_owned(),
            iterations => format!("up to {iterations} iterations"),
        }];
        parts.push(match self.parallel_max {
            1 => "one run at a time".to_owned(),
            runs => format!("at most {runs} runs at a time"),
        });
        parts.extend(self.limits.budget.map(|budget| format!("budget {budget}")));
        parts.extend(self.limits.time.map(|time| format!("time limit {}", flag_span(time))));
        parts.join(", ")
    }

    fn end(&self) -> String {
        let Some(until) = &self.until else {
            return match self.iterations_max {
                1 => "done when every phase is complete".to_owned(),
                iterations => format!("done after {iterations} iterations"),
            };
        };
        let condition = match &until.condition {
            Condition::Command(command) => format!("`{}` exits with 0", first_line(command)),
            Condition::FileMatches(file) => {
                format!("{} matches `{}`", file.path.display(), first_line(file.regex.as_str()))
            }
            Condition::Result(result) => {
                format!("`{}` of {} is {}", result.pointer, result.phase, result.equals)
            }
        };
        format!("done when {condition}, after {}", self.phases[until.after].name)
    }

    fn notes(&self, phase: &PhaseFile) -> Vec<String> {
        let mut notes = Vec::new();
        if !phase.needs.is_empty() {
            let names: Vec<&str> = phase.needs.iter().map(|needed| self.phases[*needed].name.as_str()).collect();
            notes.push(format!("after {}", names.join(", ")));
        }
        if let Some(items) = &phase.fan_out {
            let source = match items {
                ItemSource::List(items) => format!("each of {} items", items.len()),
                ItemSource::Lines(command) => format!("each line of `{}`", first_line(command)),
                ItemSource::Glob(glob) => format!("each file {}", glob.as_str()),
                ItemSource::Pointer { phase, pointer } => {
                    format!("each item of `{pointer}` of {}", self.phases[*phase].name)
                }
            };
            let parallel = phase.parallel_max.map(|runs| format!(", {runs} at a time")).unwrap_or_default();
            notes.push(format!("a run for {source}, at most {}{parallel}", phase.items_max));
        }
        notes.extend((phase.isolation == Isolation::Worktree).then(|| "in worktrees".to_owned()));
        notes.extend(phase.schema.is_some().then(|| "result as JSON".to_owned()));
        for (outcome, reaction) in &phase.reactions.0 {
            notes.push(match reaction {
                Reaction::Stop => format!("{outcome} stops"),
                Reaction::Continue => format!("{outcome} continues"),
                Reaction::Retry(retries) => format!("{outcome} is retried up to {retries} times"),
                Reaction::Park => format!("{outcome} parks"),
            });
        }
        notes
    }
}

/// Returns the first line, for a command of several lines.
fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}
