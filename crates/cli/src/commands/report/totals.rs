//! Sums over several runs. Pure.

use super::data::{FaultRow, LostTimeRow, ModelRow, RunInput};
use super::run_timeline::{LostTime, LostTimeCause};
use longhaul_core::{Dollars, Fault, Tokens};
use longhaul_store::LedgerSpend;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the faults that ended attempts, most frequent first.
pub fn faults(inputs: &[RunInput]) -> Vec<FaultRow> {
    let mut rows: BTreeMap<Fault, FaultRow> = BTreeMap::new();
    for timeline in inputs.iter().filter_map(|input| input.timeline.as_ref()) {
        let failed: Vec<Fault> = timeline.attempts.iter().filter_map(|attempt| attempt.fault).collect();
        failed.iter().for_each(|fault| fault_row(&mut rows, *fault).attempts += 1);
        let ended = timeline.outcome.and_then(|outcome| outcome.fault);
        ended.iter().for_each(|fault| fault_row(&mut rows, *fault).ended_runs += 1);
        let kinds: BTreeSet<Fault> = failed.into_iter().chain(ended).collect();
        kinds.into_iter().for_each(|fault| fault_row(&mut rows, fault).runs += 1);
    }
    let mut rows: Vec<FaultRow> = rows.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.attempts));
    rows
}

fn fault_row(rows: &mut BTreeMap<Fault, FaultRow>, fault: Fault) -> &mut FaultRow {
    rows.entry(fault).or_insert(FaultRow { fault, attempts: 0, runs: 0, ended_runs: 0 })
}

/// Returns the causes of lost time, longest first.
pub fn lost_time(inputs: &[RunInput]) -> Vec<LostTimeRow> {
    let mut rows: BTreeMap<LostTimeCause, (LostTime, u32)> = BTreeMap::new();
    for (cause, lost) in
        inputs.iter().filter_map(|input| input.timeline.as_ref()).flat_map(|timeline| &timeline.lost_time)
    {
        let (sum, runs) = rows.entry(*cause).or_default();
        (sum.waiting, sum.wasted) = (sum.waiting + lost.waiting, sum.wasted + lost.wasted);
        *runs += 1;
    }
    let row = |(cause, (lost, runs)): (LostTimeCause, (LostTime, u32))| LostTimeRow {
        cause,
        waiting: lost.waiting,
        wasted: lost.wasted,
        runs,
    };
    let mut rows: Vec<LostTimeRow> = rows.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.waiting + row.wasted));
    rows
}

/// Returns the usage of each model, most expensive first.
pub fn models(spent: &[(u64, &String, LedgerSpend)]) -> Vec<ModelRow> {
    let mut rows: BTreeMap<&str, ModelRow> = BTreeMap::new();
    for (_, model, spend) in spent {
        let row = rows.entry(model.as_str()).or_insert_with(|| ModelRow {
            model: (*model).clone(),
            tokens: Tokens::default(),
            truncated_tokens: 0,
            messages: 0,
            cost: Dollars::default(),
            estimated_cost: Dollars::default(),
            unpriced: false,
        });
        row.tokens += spend.tokens;
        row.truncated_tokens += spend.truncated;
        row.messages += spend.messages;
        row.cost.0 += spend.cost;
        row.estimated_cost.0 += spend.estimated_cost;
        row.unpriced |= spend.unpriced;
    }
    let mut rows: Vec<ModelRow> = rows.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.cost.0 + row.estimated_cost.0));
    rows
}
