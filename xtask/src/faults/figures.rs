//! The figures of one played case, compared with the API's own counts or with the ideal run.

use super::case::{Case, outage};
use super::journal;
use super::play::CaseRun;
use longhaul_drill::Scenario;
use longhaul_drill::api::{Billed, RequestKind};
use serde_json::Value;

/// One row of the table.
pub struct CaseMetrics {
    pub case: Case,
    pub seed: u64,
    /// Outcome in the envelope. `None` if there was no envelope.
    pub outcome: Option<String>,
    /// Faults that ended attempts.
    pub survived: Vec<String>,
    /// Differences of the workspace; empty if the work is complete.
    pub missing: Vec<String>,
    /// Leftovers and repeated effects; empty if the run was clean.
    pub unclean: Vec<String>,
    /// Whether the run reported success.
    pub success: bool,
    pub attempts: u64,
    pub seconds: f64,
    /// Billed tokens in total.
    pub tokens: u64,
    /// Reported cost as a share of the billed cost.
    pub cost: Option<f64>,
    /// Whether the reported tokens of completed messages equal those that the API billed for them.
    pub ledger: Option<bool>,
    /// Time from the end of an outage to the first request that was served.
    pub late_s: Option<f64>,
    /// Time from the last activity before a hang to the end of the attempt.
    pub hung_s: Option<f64>,
    /// Whether every fault was injected.
    pub struck: bool,
}

impl CaseMetrics {
    pub fn new(case: &Case, scenario: &Scenario, seed: u64, case_run: &CaseRun) -> CaseMetrics {
        let run = case_run.envelope.as_ref().map(|envelope| &envelope["run"]);
        CaseMetrics {
            case: case.clone(),
            seed,
            outcome: run.and_then(|run| run["outcome"].as_str()).map(str::to_owned),
            survived: journal::survived(&case_run.records),
            missing: case_run.differences.clone(),
            unclean: unclean(case_run),
            success: case_run.envelope.as_ref().is_some_and(|envelope| envelope["success"] == true),
            attempts: run.and_then(|run| run["attempts"].as_u64()).unwrap_or(0),
            seconds: case_run.wall.as_secs_f64(),
            tokens: case_run.request_log.tokens().total(),
            cost: usage(case_run)
                .and_then(|usage| usage["total_cost_usd"].as_f64())
                .map(|reported| reported / case_run.request_log.cost().dollars()),
            ledger: usage(case_run).map(|usage| reported_tokens(usage) == billed_tokens(case_run)),
            late_s: late_s(scenario, case_run),
            hung_s: case.idle_s.and_then(|_| hung_s(case_run)),
            struck: struck(case, scenario, case_run),
        }
    }

    pub fn is_completed(&self) -> bool {
        self.missing.is_empty()
    }

    pub fn is_clean(&self) -> bool {
        self.unclean.is_empty()
    }

    /// Returns whether the run reported success exactly if the work is complete.
    pub fn is_honest(&self) -> bool {
        self.success == self.is_completed()
    }
}

/// Returns whether every fault was injected, every signal was sent, and every false claim failed a check.
fn struck(case: &Case, scenario: &Scenario, case_run: &CaseRun) -> bool {
    let signals = scenario.faults.iter().any(|fault| fault.kind.name() == "kill");
    let claim_detected = case.claim.is_none() || journal::checks_failed(&case_run.records) > 0;
    case_run.request_log.injected.len() >= scenario.faults.len()
        && (!signals || case_run.struck_ms.is_some())
        && claim_detected
}

fn unclean(case_run: &CaseRun) -> Vec<String> {
    let mut unclean = case_run.effect_errors.clone();
    if case_run.leftover_processes > 0 {
        unclean.push(format!("leftover processes: {}", case_run.leftover_processes));
    }
    if case_run.sessions.files != 1 {
        unclean.push(format!("session files: {}", case_run.sessions.files));
    }
    if case_run.sessions.branches > 0 {
        unclean.push(format!("branches in the session: {}", case_run.sessions.branches));
    }
    unclean
}

fn usage(case_run: &CaseRun) -> Option<&Value> {
    case_run.envelope.as_ref().map(|envelope| &envelope["usage"])
}

fn reported_tokens(usage: &Value) -> u64 {
    let fields = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    fields.iter().filter_map(|field| usage[*field].as_u64()).sum()
}

/// Returns the tokens of the messages that the agent's streams contain completely, which both sides know
/// exactly.
fn billed_tokens(case_run: &CaseRun) -> u64 {
    let is_complete = |message: &&Billed| message.complete && case_run.announced.contains(&message.id);
    case_run.request_log.billed().filter(is_complete).map(|message| message.tokens.total()).sum()
}

fn late_s(scenario: &Scenario, case_run: &CaseRun) -> Option<f64> {
    let outage_ms = outage(scenario)?.as_millis() as u64;
    let start_ms = case_run.request_log.injected.first()?.at_ms;
    let mut end_ms = start_ms + outage_ms;
    if scenario.faults.iter().any(|fault| fault.kind.name() == "usage_limit") {
        // A reset time has whole seconds, rounded up.
        end_ms = (case_run.started_ms + end_ms).div_ceil(1000) * 1000 - case_run.started_ms;
    }
    let served = case_run.request_log.requests.iter().find(|request| {
        request.kind == RequestKind::Model && request.status == 200 && request.at_ms > start_ms
    })?;
    Some((served.at_ms as f64 - end_ms as f64) / 1e3)
}

fn hung_s(case_run: &CaseRun) -> Option<f64> {
    let request_log = &case_run.request_log;
    let last_injected = request_log.injected.last().map(|injected| injected.at_ms);
    let last_billed = || request_log.messages.last().map(|message| message.at_ms);
    let start_ms = match case_run.struck_ms {
        Some(struck_ms) => struck_ms,
        None => case_run.started_ms + last_injected.or_else(last_billed)?,
    };
    let ended_ms = journal::attempt_ended_after(&case_run.records, start_ms)?;
    Some((ended_ms - start_ms) as f64 / 1e3)
}
