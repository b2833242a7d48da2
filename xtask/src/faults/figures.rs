//! The figures of one played case, each held against the API's own account or against the ideal run.

use super::case::{Case, wall};
use super::journal;
use super::play::CaseRun;
use longhaul_drill::Scenario;
use longhaul_drill::api::{Billed, RequestKind};
use serde_json::Value;

/// One row of the table.
pub struct CaseMetrics {
    pub case: Case,
    pub seed: u64,
    /// The outcome as the envelope words it; nothing if no end was told.
    pub outcome: Option<String>,
    /// Faults that attempts ended with.
    pub survived: Vec<String>,
    /// What is missing in the workspace; complete if nothing.
    pub missing: Vec<String>,
    /// What is not clean; clean if nothing.
    pub unclean: Vec<String>,
    /// Whether success was told.
    pub success: bool,
    pub attempts: u64,
    pub seconds: f64,
    /// All tokens that the API billed.
    pub tokens: u64,
    /// What was reported, as a share of what was billed.
    pub cost: Option<f64>,
    /// Whether the reported tokens of completed messages are those that the API billed for them.
    pub ledger: Option<bool>,
    /// From the end of a wall to the first request that was served.
    pub late_s: Option<f64>,
    /// From the last sign of life before a hang to its end.
    pub hung_s: Option<f64>,
    /// Whether the fault struck at all.
    pub struck: bool,
}

impl CaseMetrics {
    pub fn new(case: &Case, scenario: &Scenario, seed: u64, played: &CaseRun) -> CaseMetrics {
        let run = played.envelope.as_ref().map(|envelope| &envelope["run"]);
        CaseMetrics {
            case: case.clone(),
            seed,
            outcome: run.and_then(|run| run["outcome"].as_str()).map(str::to_owned),
            survived: journal::survived(&played.records),
            missing: played.differences.clone(),
            unclean: unclean(played),
            success: played.envelope.as_ref().is_some_and(|envelope| envelope["success"] == true),
            attempts: run.and_then(|run| run["attempts"].as_u64()).unwrap_or(0),
            seconds: played.wall.as_secs_f64(),
            tokens: played.account.tokens().total(),
            cost: usage(played)
                .and_then(|usage| usage["total_cost_usd"].as_f64())
                .map(|reported| reported / played.account.cost().dollars()),
            ledger: usage(played).map(|usage| reported_tokens(usage) == billed_tokens(played)),
            late_s: late_s(scenario, played),
            hung_s: case.idle_s.and_then(|_| hung_s(played)),
            struck: struck(case, scenario, played),
        }
    }

    pub fn completed(&self) -> bool {
        self.missing.is_empty()
    }

    pub fn clean(&self) -> bool {
        self.unclean.is_empty()
    }

    /// Whether success was told if, and only if, the work is complete.
    pub fn honest(&self) -> bool {
        self.success == self.completed()
    }
}

/// Whether every fault found its moment, every signal its process, and every false claim somebody who looked.
fn struck(case: &Case, scenario: &Scenario, played: &CaseRun) -> bool {
    let signals = scenario.faults.iter().any(|fault| fault.kind.name() == "kill");
    let seen_through = case.claim.is_none() || journal::checks_failed(&played.records) > 0;
    played.account.injected.len() >= scenario.faults.len()
        && (!signals || played.struck_ms.is_some())
        && seen_through
}

fn unclean(played: &CaseRun) -> Vec<String> {
    let mut unclean = played.effect_errors.clone();
    if played.leftover_processes > 0 {
        unclean.push(format!("processes left: {}", played.leftover_processes));
    }
    if played.sessions.files != 1 {
        unclean.push(format!("session files: {}", played.sessions.files));
    }
    if played.sessions.branches > 0 {
        unclean.push(format!("branches in the session: {}", played.sessions.branches));
    }
    unclean
}

fn usage(played: &CaseRun) -> Option<&Value> {
    played.envelope.as_ref().map(|envelope| &envelope["usage"])
}

fn reported_tokens(usage: &Value) -> u64 {
    let fields = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    fields.iter().filter_map(|field| usage[*field].as_u64()).sum()
}

/// Of the messages that the agent's streams hold whole: those that both sides can know exactly.
fn billed_tokens(played: &CaseRun) -> u64 {
    let known = |message: &&Billed| message.complete && played.announced.contains(&message.id);
    played.account.billed().filter(known).map(|message| message.tokens.total()).sum()
}

fn late_s(scenario: &Scenario, played: &CaseRun) -> Option<f64> {
    let wall_ms = wall(scenario)?.as_millis() as u64;
    let began_ms = played.account.injected.first()?.at_ms;
    let mut over_ms = began_ms + wall_ms;
    if scenario.faults.iter().any(|fault| fault.kind.name() == "usage_limit") {
        // A reset is told in whole seconds of the clock, rounded up.
        over_ms = (played.started_ms + over_ms).div_ceil(1000) * 1000 - played.started_ms;
    }
    let served = played.account.requests.iter().find(|request| {
        request.kind == RequestKind::Model && request.status == 200 && request.at_ms > began_ms
    })?;
    Some((served.at_ms as f64 - over_ms as f64) / 1e3)
}

fn hung_s(played: &CaseRun) -> Option<f64> {
    let account = &played.account;
    let last_injected = account.injected.last().map(|injected| injected.at_ms);
    let last_billed = || account.messages.last().map(|message| message.at_ms);
    let began_ms = match played.struck_ms {
        Some(struck_ms) => struck_ms,
        None => played.started_ms + last_injected.or_else(last_billed)?,
    };
    let ended_ms = journal::attempt_ended_after(&played.records, began_ms)?;
    Some((ended_ms - began_ms) as f64 / 1e3)
}
