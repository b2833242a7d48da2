//! What a drill proves: the run's own account held against the API's, and everything against what
//! the scenario expects.

use super::play::DrillResult;
use longhaul_core::{Fault, OutcomeKind, Remedy};
use longhaul_drill::api::Billed;
use longhaul_drill::{RequestLog, Scenario};
use serde::Serialize;
use std::collections::BTreeMap;

// Cut messages are estimated; more than this share of all tokens or money off is wrong.
const ERROR_MAX: f64 = 0.02;

/// The figures of one drill. Nothing in it is typed in: expected values come from the scenario,
/// actual ones from the run, the API and the workspace.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scorecard {
    /// What was played.
    pub scenario: String,
    /// Who played it: `scripted` or `claude`.
    pub agent: &'static str,
    /// What the faults were drawn from.
    pub seed: u64,
    /// The run's id.
    pub run: String,
    /// How it ended.
    pub outcome: Compared<String>,
    /// The fault that decided that.
    pub fault: Compared<Option<String>>,
    /// The same as a number.
    pub exit_code: Compared<u8>,
    /// How often each fault was made.
    pub faults_injected: BTreeMap<String, u32>,
    /// The faults that did not end the run, in their order.
    pub faults_survived: Vec<SurvivedFault>,
    /// Faults that the scenario demands to be met and that were not.
    pub faults_missing: Vec<String>,
    /// How many attempts it had.
    pub attempts: u32,
    /// How often it waited.
    pub waits: u32,
    /// How long, in all.
    pub waited_ms: u64,
    /// How long it took.
    pub wall_ms: u64,
    /// Requests that the API was sent.
    pub requests: usize,
    /// Messages by both accounts.
    pub messages: Messages,
    /// Tokens by both accounts.
    pub tokens: TokenCounts,
    /// Money by both accounts, in millionths of a US dollar.
    pub cost_micro_usd: CountedAndBilled,
    /// Billed for messages that the finished conversation does not need.
    pub wasted_tokens: u64,
    /// What is in the workspace, as one number.
    pub workspace: Option<Compared<String>>,
    /// The files that are not as they should be.
    pub workspace_differences: Vec<String>,
    /// Steps of the work that were not done exactly once.
    pub effect_errors: Vec<String>,
    /// Processes of the run that outlived it.
    pub processes_left: usize,
    /// Whether everything is as the scenario expects, and both accounts are the same.
    pub passed: bool,
}

/// A fault that did not end the run, and what was done.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SurvivedFault {
    /// Which one.
    pub fault: Fault,
    /// What was done about it.
    pub remedy: Remedy,
}

/// An expected and an actual value.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compared<T> {
    /// As the scenario has it.
    pub expected: T,
    /// As it was.
    pub actual: T,
}

impl<T: PartialEq> Compared<T> {
    pub fn agrees(&self) -> bool {
        self.expected == self.actual
    }
}

/// Messages by how sure their usage is.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Messages {
    /// Completed, by the API's account.
    pub completed_billed: u32,
    /// Completed, by ours.
    pub completed_counted: u32,
    /// Cut in mid-flight or never announced to us: estimated.
    pub estimated: u32,
}

/// Tokens by two accounts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenCounts {
    /// Of completed messages, by the API.
    pub completed_billed: u64,
    /// Of completed messages, by us.
    pub completed_counted: u64,
    /// Of all messages.
    pub all: CountedAndBilled,
}

/// One total by two accounts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountedAndBilled {
    /// All that was billed.
    pub billed: u64,
    /// All, estimates included.
    pub counted: u64,
}

impl CountedAndBilled {
    /// The share by which our total is off.
    pub fn error(&self) -> f64 {
        self.counted.abs_diff(self.billed) as f64 / self.billed.max(1) as f64
    }
}

impl Scorecard {
    pub(super) fn new(scenario: &Scenario, seed: u64, real: bool, played: &DrillResult) -> Scorecard {
        let (report, account) = (&played.report, &played.account);
        let survived = &played.survived;
        let not_met = scenario
            .expect
            .survives
            .iter()
            .filter(|word| !survived.iter().any(|survived| survived.fault.word() == word.as_str()));
        let mut card = Scorecard {
            scenario: scenario.name.clone(),
            agent: if real { "claude" } else { "scripted" },
            seed,
            run: report.run.to_string(),
            outcome: Compared {
                expected: scenario.expect.outcome.clone(),
                actual: report.outcome.kind.to_string(),
            },
            fault: Compared {
                expected: scenario.expect.fault.clone(),
                actual: report.outcome.fault.map(|fault| fault.to_string()),
            },
            exit_code: Compared { expected: scenario.expect.exit, actual: report.outcome.exit_code() },
            faults_injected: injected(account),
            faults_survived: survived.clone(),
            faults_missing: not_met.cloned().collect(),
            attempts: report.attempts,
            waits: played.waits,
            waited_ms: report.clocks.waiting.millis(),
            wall_ms: report.wall().millis(),
            requests: account.model_requests(),
            messages: messages(played),
            tokens: tokens(played),
            cost_micro_usd: cost(played),
            wasted_tokens: wasted(account),
            workspace: played
                .expected_hash
                .clone()
                .map(|expected| Compared { expected, actual: played.hash.clone() }),
            workspace_differences: played.differences.clone(),
            effect_errors: played.effect_errors.clone(),
            processes_left: played.leftover_processes,
            passed: false,
        };
        card.passed = card.disagreements().is_empty();
        card
    }

    /// Whether everything is as it should be.
    pub fn agrees(&self) -> bool {
        self.passed
    }

    /// What is not as it should be, in words.
    pub fn disagreements(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut unless = |holds: bool, words: String| {
            if !holds {
                found.push(words);
            }
        };
        unless(
            self.outcome.agrees(),
            format!("outcome {} instead of {}", self.outcome.actual, self.outcome.expected),
        );
        unless(
            self.fault.agrees() || self.outcome.expected == OutcomeKind::Done.as_str(),
            format!(
                "{} instead of {}",
                fault(self.fault.actual.as_deref()),
                fault(self.fault.expected.as_deref())
            ),
        );
        unless(
            self.exit_code.agrees(),
            format!("exit code {} instead of {}", self.exit_code.actual, self.exit_code.expected),
        );
        unless(self.faults_missing.is_empty(), format!("not met: {}", self.faults_missing.join(", ")));
        unless(
            self.messages.completed_counted == self.messages.completed_billed
                && self.tokens.completed_counted == self.tokens.completed_billed,
            "the tokens of completed messages differ from the API's".to_owned(),
        );
        unless(
            self.tokens.all.error() <= ERROR_MAX,
            format!("tokens are off by {:.1} %", self.tokens.all.error() * 100.0),
        );
        unless(
            self.cost_micro_usd.error() <= ERROR_MAX,
            format!("cost is off by {:.1} %", self.cost_micro_usd.error() * 100.0),
        );
        unless(
            self.workspace.as_ref().is_none_or(Compared::agrees),
            format!("workspace: {}", self.workspace_differences.join("; ")),
        );
        unless(self.effect_errors.is_empty(), format!("effects: {}", self.effect_errors.join("; ")));
        unless(self.processes_left == 0, format!("processes left behind: {}", self.processes_left));
        found
    }
}

fn fault(word: Option<&str>) -> String {
    word.map_or_else(|| "no fault".to_owned(), |word| format!("fault {word}"))
}

fn injected(account: &RequestLog) -> BTreeMap<String, u32> {
    let mut faults = BTreeMap::new();
    for injected in &account.injected {
        let name = if injected.detail.is_empty() {
            injected.fault.clone()
        } else {
            format!("{} {}", injected.fault, injected.detail)
        };
        *faults.entry(name).or_default() += 1;
    }
    faults
}

/// Tokens billed beyond one complete message for each turn.
fn wasted(account: &RequestLog) -> u64 {
    let mut needed: BTreeMap<u32, u64> = BTreeMap::new();
    for message in account.messages.iter().filter(|message| message.complete) {
        needed.insert(message.turn, message.tokens.total());
    }
    let billed: u64 = account.messages.iter().map(|message| message.tokens.total()).sum();
    billed.saturating_sub(needed.values().sum())
}

/// The API's completed messages that our streams announced: those that both can know exactly.
fn known(played: &DrillResult) -> impl Iterator<Item = &Billed> {
    played.account.billed().filter(|message| message.complete && played.announced.contains(&message.id))
}

fn messages(played: &DrillResult) -> Messages {
    let completed_by_api = known(played).count() as u32;
    Messages {
        completed_billed: completed_by_api,
        completed_counted: played.report.usage.messages,
        estimated: played.account.billed().count() as u32 - completed_by_api,
    }
}

fn tokens(played: &DrillResult) -> TokenCounts {
    let usage = &played.report.usage;
    TokenCounts {
        completed_billed: known(played).map(|message| message.tokens.total()).sum(),
        completed_counted: usage.tokens.total(),
        all: CountedAndBilled {
            billed: played.account.tokens().total(),
            counted: usage.tokens.total() + usage.truncated_tokens.total(),
        },
    }
}

/// Money, in micro-dollars. Only totals can be compared: an agent's statement covers what it completed and what
/// was cut alike.
fn cost(played: &DrillResult) -> CountedAndBilled {
    let usage = &played.report.usage;
    CountedAndBilled {
        counted: (usage.reported_cost + usage.estimated_cost).0,
        billed: played.account.cost().microdollars(),
    }
}
