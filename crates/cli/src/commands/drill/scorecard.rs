//! Compares a drill's result with the scenario, and the run's own accounting with the API's.

use super::play::{DrillResult, SurvivedFault};
use crate::args::DrillAgentKind;
use longhaul_core::{Fault, OutcomeKind};
use longhaul_drill::{RequestLog, Scenario, workspace};
use serde::Serialize;
use std::collections::BTreeMap;

// Usage of truncated messages is estimated. A larger share of all tokens or cost is an error.
const ERROR_MAX: f64 = 0.02;
// The Agent Client Protocol does not state the input of a truncated message.
const ACP_ERROR_MAX: f64 = 0.1;
// Faults that an agent does not tell apart over the Agent Client Protocol, and the fault that it reports.
const ACP_FAULTS: [(Fault, Fault); 4] = [
    (Fault::Overloaded, Fault::ServerError),
    (Fault::Network, Fault::ServerError),
    (Fault::UsageLimit, Fault::RateLimited),
    (Fault::ContextFull, Fault::BadRequest),
];

/// The result of one drill.
///
/// Expected values come from the scenario; actual values come from the run, the API and the workspace.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scorecard {
    /// Name of the scenario.
    pub scenario: String,
    /// The agent: `scripted`, `acp` (the scripted agent over the Agent Client Protocol) or `claude`.
    pub agent: DrillAgentKind,
    /// Seed from which the faults were drawn.
    pub seed: u64,
    /// Id of the run.
    pub run: String,
    /// Outcome of the run.
    pub outcome: Compared<String>,
    /// Fault that caused the outcome.
    pub fault: Compared<Option<String>>,
    /// Exit code of the outcome.
    pub exit_code: Compared<u8>,
    /// Number of injected faults, by kind.
    pub faults_injected: BTreeMap<String, u32>,
    /// Faults that did not finish the run, in order.
    pub faults_survived: Vec<SurvivedFault>,
    /// Faults that the scenario requires and that did not occur.
    pub faults_missing: Vec<String>,
    /// Number of attempts.
    pub attempts: u32,
    /// Number of waits.
    pub waits: u32,
    /// Total duration of the waits.
    pub waited_ms: u64,
    /// Duration of the run.
    pub wall_ms: u64,
    /// Number of requests to the API.
    pub requests: usize,
    /// Messages, as billed and as counted.
    pub messages: MessageCounts,
    /// Tokens, as billed and as counted.
    pub tokens: TokenCounts,
    /// Cost in millionths of a US dollar, as billed and as counted.
    pub cost_micro_usd: CountedAndBilled,
    /// Tokens billed for messages that the finished conversation does not need.
    pub wasted_tokens: u64,
    /// Hash of the workspace.
    pub workspace: Option<Compared<String>>,
    /// Files that differ from the expectation.
    pub workspace_differences: Vec<String>,
    /// Steps of the work that were not done exactly once.
    pub effect_errors: Vec<String>,
    /// Number of processes that outlived the run.
    pub processes_left: usize,
    /// Whether everything is as expected and both accounts agree.
    pub passed: bool,
}

/// An expected and an actual value.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compared<T> {
    /// Value that the scenario expects.
    pub expected: T,
    /// Actual value.
    pub actual: T,
}

impl<T: PartialEq> Compared<T> {
    pub fn matches(&self) -> bool {
        self.expected == self.actual
    }
}

/// Messages by the certainty of their usage.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MessageCounts {
    /// Completed messages billed by the API.
    pub completed_billed: u32,
    /// Completed messages counted by the run.
    pub completed_counted: u32,
    /// Messages that were truncated or never announced. Their usage is estimated.
    pub estimated: u32,
}

/// Tokens, as billed and as counted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenCounts {
    /// Tokens of completed messages billed by the API.
    pub completed_billed: u64,
    /// Tokens of completed messages counted by the run.
    pub completed_counted: u64,
    /// Tokens of completed messages that no stream announced, such as those of a compaction. The agent may report them.
    #[serde(skip)]
    pub unannounced: u64,
    /// Tokens of all messages.
    pub all: CountedAndBilled,
}

/// One total, as billed and as counted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountedAndBilled {
    /// Total billed by the API.
    pub billed: u64,
    /// Total counted by the run, including estimates.
    pub counted: u64,
}

impl CountedAndBilled {
    pub fn error(&self) -> f64 {
        self.counted.abs_diff(self.billed) as f64 / self.billed.max(1) as f64
    }
}

impl Scorecard {
    pub(super) fn new(
        scenario: &Scenario,
        seed: u64,
        agent: DrillAgentKind,
        result: DrillResult,
    ) -> Scorecard {
        let (report, request_log) = (&result.report, &result.request_log);
        let (survived, usage) = (&result.survived, &report.usage);
        let expected_files = scenario.expected_files();
        // Only for the completed messages that the streams announced can both sides know the exact usage.
        let completed = request_log.billed().filter(|message| message.complete);
        let (exact, unannounced): (Vec<_>, Vec<_>) =
            completed.partition(|message| result.announced.contains(&message.id));
        let is_acp = agent == DrillAgentKind::Acp;
        let reported = |word: &String| {
            let reported = ACP_FAULTS.iter().find(|(fault, _)| is_acp && fault.as_str() == word);
            reported.map_or_else(|| word.clone(), |(_, reported)| reported.to_string())
        };
        let missing = scenario.expect.survives.iter().map(reported);
        let is_missing =
            |word: &String| !survived.iter().any(|survived| survived.fault.as_str() == word.as_str());
        let faults_missing: Vec<String> = missing.filter(is_missing).collect();
        let mut card = Scorecard {
            scenario: scenario.name.clone(),
            agent,
            seed,
            run: report.run.to_string(),
            outcome: Compared {
                expected: scenario.expect.outcome.clone(),
                actual: report.outcome.kind.to_string(),
            },
            fault: Compared {
                expected: scenario.expect.fault.as_ref().map(reported),
                actual: report.outcome.fault.map(|fault| fault.to_string()),
            },
            exit_code: Compared { expected: scenario.expect.exit, actual: report.outcome.exit_code() },
            faults_injected: injected(request_log),
            faults_survived: result.survived,
            faults_missing,
            attempts: report.attempts,
            waits: result.waits,
            waited_ms: report.clocks.waiting.millis(),
            wall_ms: report.wall().millis(),
            requests: request_log.model_requests(),
            messages: MessageCounts {
                completed_billed: exact.len() as u32,
                completed_counted: usage.messages,
                estimated: (request_log.billed().count() - exact.len()) as u32,
            },
            tokens: TokenCounts {
                completed_billed: exact.iter().map(|message| message.tokens.total()).sum(),
                completed_counted: usage.tokens.total(),
                unannounced: unannounced.iter().map(|message| message.tokens.total()).sum(),
                all: CountedAndBilled {
                    billed: request_log.tokens().total(),
                    counted: (usage.tokens + usage.truncated_tokens).total(),
                },
            },
            // Only totals can be compared: an agent's report covers completed and truncated messages together.
            cost_micro_usd: CountedAndBilled {
                billed: request_log.cost().microdollars(),
                counted: usage.total_cost().0,
            },
            wasted_tokens: wasted(request_log),
            workspace: expected_files.as_ref().map(|expected| Compared {
                expected: workspace::hash(expected),
                actual: workspace::hash(&result.files),
            }),
            workspace_differences: expected_files
                .map_or_else(Vec::new, |expected| workspace::differences(&expected, &result.files)),
            effect_errors: result.effect_errors,
            processes_left: result.leftover_processes,
            passed: false,
        };
        card.passed = card.failures().is_empty();
        card
    }

    /// Returns whether the run counted the completed messages as the API billed them.
    pub fn are_completed_right(&self) -> bool {
        let TokenCounts { completed_billed, completed_counted, unannounced, .. } = self.tokens;
        self.messages.completed_counted == self.messages.completed_billed
            && (completed_billed..=completed_billed + unannounced).contains(&completed_counted)
    }

    pub fn failures(&self) -> Vec<String> {
        let Scorecard { outcome, fault, exit_code, tokens, .. } = self;
        let is_fault_right = fault.matches() || outcome.expected == OutcomeKind::Done.as_str();
        let (actual, expected) = (fault_name(fault.actual.as_deref()), fault_name(fault.expected.as_deref()));
        let error_max = if self.agent == DrillAgentKind::Acp { ACP_ERROR_MAX } else { ERROR_MAX };
        let (tokens_error, cost_error) = (tokens.all.error(), self.cost_micro_usd.error());
        let is_workspace_right = self.workspace.as_ref().is_none_or(Compared::matches);
        let checks = [
            (outcome.matches(), format!("outcome {} instead of {}", outcome.actual, outcome.expected)),
            (is_fault_right, format!("{actual} instead of {expected}")),
            (
                exit_code.matches(),
                format!("exit code {} instead of {}", exit_code.actual, exit_code.expected),
            ),
            (self.faults_missing.is_empty(), format!("faults missing: {}", self.faults_missing.join(", "))),
            (self.are_completed_right(), "the tokens of completed messages differ from the API's".to_owned()),
            (tokens_error <= error_max, format!("tokens are off by {:.1}%", tokens_error * 100.0)),
            (cost_error <= error_max, format!("cost is off by {:.1}%", cost_error * 100.0)),
            (is_workspace_right, format!("workspace: {}", self.workspace_differences.join("; "))),
            (self.effect_errors.is_empty(), format!("effects: {}", self.effect_errors.join("; "))),
            (self.processes_left == 0, format!("leftover processes: {}", self.processes_left)),
        ];
        checks.into_iter().filter(|(passes, _)| !passes).map(|(_, text)| text).collect()
    }
}

fn fault_name(word: Option<&str>) -> String {
    word.map_or_else(|| "no fault".to_owned(), |word| format!("fault {word}"))
}

fn injected(request_log: &RequestLog) -> BTreeMap<String, u32> {
    let mut faults = BTreeMap::new();
    for injected in &request_log.injected {
        let name = format!("{} {}", injected.fault, injected.detail);
        *faults.entry(name.trim_end().to_owned()).or_default() += 1;
    }
    faults
}

/// Returns the tokens billed beyond one complete message for each turn.
fn wasted(request_log: &RequestLog) -> u64 {
    let mut needed: BTreeMap<u32, u64> = BTreeMap::new();
    for message in request_log.messages.iter().filter(|message| message.complete) {
        needed.insert(message.turn, message.tokens.total());
    }
    let billed: u64 = request_log.messages.iter().map(|message| message.tokens.total()).sum();
    billed.saturating_sub(needed.values().sum())
}
