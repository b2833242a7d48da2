//! The last results of all phases, as prompts and conditions see them. Files hold each result; this value is
//! rebuilt from the journal and the files after a takeover.

use longhaul_core::{OutcomeKind, RunId, RunKey, WorkflowPolicy, WorkflowRecord};
use longhaul_store::{StoreError, WorkflowDir, WorkflowResult};
use longhaul_workflow::ResultSchema;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The last result of each phase: with items, a list with `null` for each run without a result.
#[derive(Debug, Default)]
pub(super) struct Results {
    by_phase: BTreeMap<String, Value>,
    /// Phases without items that have a result of the current iteration.
    current: BTreeSet<usize>,
    /// Items of each phase in the current iteration.
    items: BTreeMap<usize, Vec<Value>>,
    /// Problems of runs in the current iteration.
    problems: BTreeMap<RunId, String>,
}

impl Results {
    pub(super) fn by_phase(&self) -> &BTreeMap<String, Value> {
        &self.by_phase
    }

    pub(super) fn item(&self, key: RunKey) -> Option<&Value> {
        self.items.get(&key.phase)?.get(key.item as usize)
    }

    pub(super) fn problem(&self, run: &RunId) -> Option<&String> {
        self.problems.get(run)
    }

    /// Follows a record. A result is in its file before the end of its run is journaled.
    pub(super) fn apply(
        &mut self,
        dir: &WorkflowDir,
        policy: &WorkflowPolicy,
        record: &WorkflowRecord,
    ) -> Result<(), StoreError> {
        if let WorkflowRecord::IterationStarted { .. } = record {
            self.current.clear();
            self.items.clear();
            self.problems.clear();
        } else if let WorkflowRecord::ItemsListed { phase, items, .. } = record {
            self.set_items(*phase, &policy.phases[*phase].name, items);
        } else if let WorkflowRecord::RunEnded { key, end, .. } = record {
            let phase = &policy.phases[key.phase];
            let Some(stored) = dir.result(key.iteration, &phase.name, key.item)? else { return Ok(()) };
            self.problems.remove(&stored.run);
            self.problems.extend(stored.problem.map(|problem| (stored.run, problem)));
            let is_done = end.outcome.kind == OutcomeKind::Done;
            let value = stored.value.filter(|_| is_done).unwrap_or(Value::Null);
            match self.by_phase.get_mut(&phase.name) {
                Some(Value::Array(list)) if phase.has_items => {
                    if let Some(slot) = list.get_mut(key.item as usize) {
                        *slot = value;
                    }
                }
                Some(_) | None if is_done => {
                    self.by_phase.insert(phase.name.clone(), value);
                    self.current.insert(key.phase);
                }
                // The run repeats one of this iteration, whose result no longer holds.
                Some(_) if self.current.remove(&key.phase) => {
                    self.by_phase.remove(&phase.name);
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Sets the items of a phase. An item of an earlier list in this iteration keeps its result if it has the same place,
    /// as it keeps its run.
    fn set_items(&mut self, phase: usize, name: &str, texts: &[String]) {
        let items: Vec<Value> = texts.iter().map(|text| item_value(text)).collect();
        let old_items = self.items.remove(&phase).unwrap_or_default();
        let old_results = self.by_phase.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let result = |(index, item): (usize, &Value)| {
            let is_kept = old_items.get(index) == Some(item);
            old_results.get(index).filter(|_| is_kept).cloned().unwrap_or_default()
        };
        let results: Vec<Value> = items.iter().enumerate().map(result).collect();
        self.by_phase.insert(name.to_owned(), Value::Array(results));
        self.items.insert(phase, items);
    }
}

/// Returns the value of an item that the journal holds as text: JSON objects and lists are stored as JSON.
fn item_value(text: &str) -> Value {
    let is_compound = |value: &Value| value.is_object() || value.is_array();
    serde_json::from_str(text).ok().filter(is_compound).unwrap_or_else(|| Value::from(text))
}

/// Returns the value of a run's answer, or why it is not valid.
pub(super) fn result_of_run(
    run: RunId,
    answer: Option<&str>,
    schema: Option<&ResultSchema>,
) -> WorkflowResult {
    let Some(schema) = schema else {
        return WorkflowResult { run, value: answer.map(Value::from), problem: None };
    };
    let value = answer.and_then(json_in);
    let problem = match value.as_ref().map(|value| schema.validate(value)) {
        None => Some("the agent's answer is not JSON, but the phase has a schema".to_owned()),
        Some(Ok(())) => None,
        Some(Err(problems)) => Some(format!("the result does not match the schema: {}", problems.join("; "))),
    };
    WorkflowResult { run, value, problem }
}

/// Returns the JSON of an answer: the whole text, or its last fenced block.
fn json_in(answer: &str) -> Option<Value> {
    let whole = serde_json::from_str(answer.trim()).ok();
    whole.or_else(|| {
        let (_, block) = answer.trim_end().strip_suffix("```")?.rsplit_once("```")?;
        let block = block.split_once('\n').map_or(block, |(_, block)| block);
        serde_json::from_str(block.trim()).ok()
    })
}

#[cfg(test)]
mod tests;
