//! Tells which runs of an iteration were live at the same time. Pure.

use longhaul_core::{RunKey, WorkflowRecord};
use std::collections::BTreeMap;

/// The time in which each run of the iteration was live, in the order of the journal.
#[derive(Default)]
pub(super) struct RunSpans {
    record_count: u64,
    /// First start and last end of each run. A live run has no end.
    spans: BTreeMap<RunKey, (u64, Option<u64>)>,
}

impl RunSpans {
    pub(super) fn apply(&mut self, record: &WorkflowRecord) {
        self.record_count += 1;
        if let WorkflowRecord::IterationStarted { .. } = record {
            self.spans.clear();
        } else if let WorkflowRecord::RunPlanned { key, .. } = record {
            self.spans.entry(*key).or_insert((self.record_count, None)).1 = None;
        } else if let WorkflowRecord::RunEnded { key, .. } = record
            && let Some((_, end)) = self.spans.get_mut(key)
        {
            *end = Some(self.record_count);
        }
    }

    /// Returns a live run and the runs that were live at the same time.
    pub(super) fn overlapping(&self, key: RunKey) -> Vec<RunKey> {
        let Some((start, _)) = self.spans.get(&key) else { return vec![key] };
        let is_later = |end: Option<u64>| end.is_none_or(|end| end > *start);
        self.spans.iter().filter(|(_, (_, end))| is_later(*end)).map(|(key, _)| *key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::RunSpans;
    use longhaul_core::{AfterRun, Outcome, RunEnd, RunKey, RunShare, WorkflowRecord};

    #[test]
    fn runs_overlap_from_the_first_start_to_the_last_end() {
        let key = |item: u32| RunKey { iteration: 1, phase: 0, item, retry: 0 };
        let mut spans = RunSpans::default();
        // `+` starts or resumes a run, and `-` ends it.
        let mut apply = |steps: &str| {
            for step in steps.split(' ') {
                let key = key(step[1..].parse().expect("a number"));
                let end =
                    RunEnd { outcome: Outcome::DONE, cost: Default::default(), active: Default::default() };
                spans.apply(&if step.starts_with('+') {
                    WorkflowRecord::RunPlanned { key, share: RunShare::default(), resumed: false }
                } else {
                    WorkflowRecord::RunEnded { key, end, next: AfterRun::Complete, parked_until: None }
                });
            }
        };
        apply("+0 -0 +1 +2 -1 +3");
        let overlapping = |spans: &RunSpans, item: u32| {
            spans.overlapping(key(item)).into_iter().map(|key| key.item).collect::<Vec<_>>()
        };
        apply("-3 +4");
        assert_eq!(overlapping(&spans, 4), [2, 4]);
        assert_eq!(overlapping(&spans, 2), [1, 2, 3, 4]);
    }
}
