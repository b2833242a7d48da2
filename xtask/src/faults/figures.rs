//! The figures of one played case, compared with the API's own counts or with the ideal run.

use super::play::CaseRun;
use crate::journal;
use longhaul_drill::api::{Billed, RequestKind};
use serde_json::Value;

impl CaseRun {
    /// Returns a field of the envelope, or null if there is no envelope.
    pub fn field(&self, pointer: &str) -> &Value {
        self.envelope.as_ref().and_then(|envelope| envelope.pointer(pointer)).unwrap_or(&Value::Null)
    }

    pub fn is_success(&self) -> bool {
        *self.field("/success") == true
    }

    pub fn is_completed(&self) -> bool {
        self.differences.is_empty()
    }

    /// Returns leftovers and repeated effects. There are none if the run was clean.
    pub fn unclean(&self) -> Vec<String> {
        let mut unclean = self.effect_errors.clone();
        if self.leftover_processes > 0 {
            unclean.push(format!("leftover processes: {}", self.leftover_processes));
        }
        if self.sessions.files != 1 {
            unclean.push(format!("session files: {}", self.sessions.files));
        }
        if self.sessions.branches > 0 {
            unclean.push(format!("branches in the session: {}", self.sessions.branches));
        }
        unclean
    }

    /// Returns whether the run reported success exactly if the work is complete.
    pub fn is_honest(&self) -> bool {
        self.is_success() == self.is_completed()
    }

    /// Returns whether every fault was injected, every signal was sent, and every false claim failed a check.
    pub fn is_struck(&self) -> bool {
        let has_signals = self.scenario.faults.iter().any(|fault| fault.kind.name() == "kill");
        let is_claim_detected = self.case.claim.is_none() || journal::checks_failed(&self.records) > 0;
        self.request_log.injected.len() >= self.scenario.faults.len()
            && (!has_signals || self.struck_ms.is_some())
            && is_claim_detected
    }

    /// Returns the billed tokens as a multiple of the ideal ones.
    pub fn tokens_by_ideal(&self) -> Option<f64> {
        self.ideal.map(|(tokens, _)| self.request_log.tokens().total() as f64 / tokens as f64)
    }

    /// Returns the reported cost as a share of the billed cost.
    pub fn cost(&self) -> Option<f64> {
        let reported = self.field("/usage/total_cost_usd").as_f64()?;
        Some(reported / self.request_log.cost().dollars())
    }

    /// Returns whether the reported tokens equal those that the API billed for the messages that the agent's
    /// streams contain completely. Both sides know these exactly.
    pub fn is_ledger_equal(&self) -> Option<bool> {
        let usage = self.field("/usage").as_object()?;
        let fields =
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let reported: u64 = fields.iter().filter_map(|field| usage.get(*field)?.as_u64()).sum();
        let is_complete = |message: &&Billed| message.complete && self.announced.contains(&message.id);
        let billed = self.request_log.billed().filter(is_complete);
        Some(reported == billed.map(|message| message.tokens.total()).sum::<u64>())
    }

    /// Returns the time from the end of an outage to the first request that was served.
    pub fn late_s(&self) -> Option<f64> {
        let outage_ms = self.scenario.outage()?.as_millis() as u64;
        let start_ms = self.request_log.injected.first()?.at_ms;
        let mut end_ms = start_ms + outage_ms;
        if self.scenario.faults.iter().any(|fault| fault.kind.name() == "usage_limit") {
            // A reset time has whole seconds, rounded up.
            end_ms = (self.started_ms + end_ms).div_ceil(1000) * 1000 - self.started_ms;
        }
        let served = self.request_log.requests.iter().find(|request| {
            request.kind == RequestKind::Model && request.status == 200 && request.at_ms > start_ms
        })?;
        Some((served.at_ms as f64 - end_ms as f64) / 1e3)
    }

    /// Returns the time from the last activity before a hang to the end of the attempt.
    pub fn hung_s(&self) -> Option<f64> {
        self.case.idle_s?;
        let last_injected = self.request_log.injected.last().map(|injected| injected.at_ms);
        let last_billed = || self.request_log.messages.last().map(|message| message.at_ms);
        let start_ms = match self.struck_ms {
            Some(struck_ms) => struck_ms,
            None => self.started_ms + last_injected.or_else(last_billed)?,
        };
        let ended_ms = journal::attempt_ended_after(&self.records, start_ms)?;
        Some((ended_ms - start_ms) as f64 / 1e3)
    }
}
