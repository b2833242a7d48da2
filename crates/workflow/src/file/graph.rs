//! Draws the graph of phases as text: layers of phases that can run at the same time, from top to bottom.

use super::{Isolation, PhaseFile, WorkflowFile};
use crate::{Condition, ItemSource};
use longhaul_core::{Reaction, WorkflowPolicy, exact_span};

impl WorkflowFile {
    /// Draws the graph of phases: each below those that it needs.
    pub fn graph(&self) -> String {
        self.draw(|_| None)
    }

    /// Draws the graph as this policy runs it, which may have options of the command line.
    pub fn graph_with(&self, policy: &WorkflowPolicy) -> String {
        let mut file = self.clone();
        (file.iterations_max, file.parallel_max) = (policy.iterations_max, policy.parallel_max);
        file.limits = policy.limits;
        for (phase, own) in file.phases.iter_mut().zip(&policy.phases) {
            phase.parallel_max = phase.parallel_max.map(|_| own.parallel_max);
        }
        file.draw(|phase| skip_note(policy, phase))
    }

    fn draw(&self, skip_note: impl Fn(usize) -> Option<&'static str>) -> String {
        let layers = self.layers();
        let mut text = format!("{}\n", self.repetition());
        for layer in 0..=layers.iter().copied().max().unwrap_or_default() {
            text.push_str(if layer == 0 { "│\n" } else { "▼\n" });
            for (index, phase) in self.phases.iter().enumerate().filter(|(index, _)| layers[*index] == layer)
            {
                let skipped = skip_note(index).map_or_else(String::new, |note| format!(" ({note})"));
                text.push_str(&format!("├─ {}{}{skipped}\n", phase.name, self.needs(phase)));
                for note in self.notes(phase) {
                    text.push_str(&format!("│    {note}\n"));
                }
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
        parts.extend(self.limits.time.map(|time| format!("time limit {}", exact_span(time))));
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
            Condition::Stage(condition) => {
                format!("{} states the stage {}", condition.path.display(), condition.stage)
            }
            Condition::Result(result) => {
                format!("`{}` of {} is {}", result.pointer, result.phase, result.equals)
            }
        };
        format!("done when {condition}, after {}", self.phases[until.after].name)
    }

    fn needs(&self, phase: &PhaseFile) -> String {
        let names: Vec<&str> = phase.needs.iter().map(|needed| self.phases[*needed].name.as_str()).collect();
        if names.is_empty() { String::new() } else { format!(", after {}", names.join(", ")) }
    }

    fn notes(&self, phase: &PhaseFile) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(items) = &phase.fan_out {
            let source = match items {
                ItemSource::List(items) => format!("each of {} items", items.len()),
                ItemSource::Lines(command) => format!("each line of `{}`", first_line(command)),
                ItemSource::Glob(glob) => format!("each file {}", glob.as_str()),
                ItemSource::Objectives(path) => format!("each objective of {}", path.display()),
                ItemSource::Pointer { phase, pointer } => {
                    format!("each item of `{pointer}` of {}", self.phases[*phase].name)
                }
            };
            let parallel = phase.parallel_max.map(|runs| format!(", {runs} at a time")).unwrap_or_default();
            let cap = match items {
                ItemSource::List(items) if items.len() as u64 <= u64::from(phase.items_max) => String::new(),
                ItemSource::List(_)
                | ItemSource::Lines(_)
                | ItemSource::Glob(_)
                | ItemSource::Objectives(_)
                | ItemSource::Pointer { .. } => {
                    format!(", at most {}", phase.items_max)
                }
            };
            notes.push(format!("a run for {source}{cap}{parallel}"));
        }
        notes.extend(
            (phase.isolation == Isolation::Worktree).then(|| "each run in a git worktree".to_owned()),
        );
        notes.extend(
            (!phase.edit_paths.is_empty()).then(|| "each run may edit only its own files".to_owned()),
        );
        notes.extend(phase.schema.is_some().then(|| "result as JSON".to_owned()));
        notes.extend(reactions(phase));
        notes
    }
}

/// Returns whether a policy leaves out this phase, for people. `None` if it takes place.
pub fn skip_note(policy: &WorkflowPolicy, phase: usize) -> Option<&'static str> {
    match (policy.is_skipped(1, phase), policy.is_skipped(2, phase) || policy.iterations_max == 1) {
        (false, _) => None,
        (true, true) => Some("skipped"),
        (true, false) => Some("skipped in iteration 1"),
    }
}

/// Returns one line for each reaction, with its outcomes.
fn reactions(phase: &PhaseFile) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for (outcome, reaction) in &phase.reactions.0 {
        let reaction = match reaction {
            Reaction::Stop => "stop".to_owned(),
            Reaction::Continue => "continue".to_owned(),
            Reaction::Retry(1) => "retry once".to_owned(),
            Reaction::Retry(retries) => format!("retry up to {retries} times"),
            Reaction::Park => "park".to_owned(),
        };
        match lines.iter_mut().find(|(known, _)| *known == reaction) {
            Some((_, outcomes)) => outcomes.push(outcome.as_str()),
            None => lines.push((reaction, vec![outcome.as_str()])),
        }
    }
    lines.into_iter().map(|(reaction, outcomes)| format!("{}: {reaction}", outcomes.join(", "))).collect()
}

/// Returns the first line, for a command of several lines.
fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}
