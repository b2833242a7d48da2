//! Sums over several runs. Pure.

use super::run_timeline::{LostTimeCause, RunTimeline};
use longhaul_core::{Dollars, Fault, Span, Tokens};
use longhaul_store::LedgerSpend;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A fault that ended attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FaultRow {
    /// The fault.
    pub fault: Fault,
    /// Number of attempts that the fault ended.
    pub attempts: u32,
    /// Number of runs with such attempts.
    pub runs: u32,
    /// Number of runs that the fault finished.
    pub ended_runs: u32,
}

/// A cause of lost time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LostTimeRow {
    /// The cause.
    #[serde(serialize_with = "cause")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub cause: LostTimeCause,
    /// Time lost between attempts.
    #[serde(rename = "waiting_ms")]
    pub waiting: Span,
    /// Time lost in attempts without progress and in stalls.
    #[serde(rename = "wasted_ms")]
    pub wasted: Span,
    /// Number of runs that lost time to this cause.
    pub runs: u32,
}

/// Usage of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelRow {
    /// Name of the model. Empty if unknown.
    pub model: String,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Estimated output tokens of truncated messages.
    pub truncated_tokens: u64,
    /// Number of completed messages.
    pub messages: u64,
    /// Cost reported by the agent.
    #[serde(rename = "reported_cost_usd")]
    pub cost: Dollars,
    /// Cost estimated by Longhaul, in addition to the reported cost.
    #[serde(rename = "estimated_cost_usd")]
    pub estimated_cost: Dollars,
    /// Whether some usage has no known price.
    pub unpriced: bool,
}

/// Returns the faults that ended attempts, most frequent first.
pub fn faults(timelines: &[&RunTimeline]) -> Vec<FaultRow> {
    let mut rows: BTreeMap<Fault, FaultRow> = BTreeMap::new();
    for timeline in timelines {
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

pub fn lost_time(timelines: &[&RunTimeline]) -> Vec<LostTimeRow> {
    let mut rows: BTreeMap<LostTimeCause, LostTimeRow> = BTreeMap::new();
    for (cause, lost) in timelines.iter().flat_map(|timeline| &timeline.lost_time) {
        let empty = LostTimeRow { cause: *cause, waiting: Span::ZERO, wasted: Span::ZERO, runs: 0 };
        let row = rows.entry(*cause).or_insert(empty);
        (row.waiting, row.wasted) = (row.waiting + lost.waiting, row.wasted + lost.wasted);
        row.runs += 1;
    }
    let mut rows: Vec<LostTimeRow> = rows.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.waiting + row.wasted));
    rows
}

/// Returns the usage of each model, most expensive first.
pub fn models(spent: &[(u64, &String, LedgerSpend)]) -> Vec<ModelRow> {
    let mut sums: BTreeMap<&str, LedgerSpend> = BTreeMap::new();
    for (_, model, spend) in spent {
        *sums.entry(model.as_str()).or_default() += *spend;
    }
    let row = |(model, spend): (&str, LedgerSpend)| ModelRow {
        model: model.to_owned(),
        tokens: spend.tokens,
        truncated_tokens: spend.truncated,
        messages: spend.messages,
        cost: spend.cost.into(),
        estimated_cost: spend.estimated_cost.into(),
        unpriced: spend.unpriced,
    };
    let mut rows: Vec<ModelRow> = sums.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.cost.0 + row.estimated_cost.0));
    rows
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn cause<S: Serializer>(cause: &LostTimeCause, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(cause.as_str())
}
