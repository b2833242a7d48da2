//! The JSON envelope: one object with the result of a run. Keys are only ever added.

use crate::next_commands::commands_of;
use longhaul::RunReport;
use longhaul_core::{
    BackgroundTask, Dollars, Fault, Limit, OutcomeKind, Questions, Rfc3339, Span, Tokens, Usage, Verified,
};
use serde::{Deserialize, Serialize};

/// The JSON output of `longhaul run`, and of the commands of `longhaul gsd`, some of which have another result.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Envelope<R = Option<String>> {
    /// Whether the work is done. False for every outcome but `done`.
    pub success: bool,
    /// The agent's last answer. It is partial if the run did not finish.
    pub result: R,
    /// Errors, for people: first the reason for the outcome, then the last lines of a failed check, then the
    /// agent's own messages. Empty only if the work is done.
    pub errors: Vec<String>,
    /// The session that can be resumed.
    pub session_id: Option<String>,
    pub usage: EnvelopeUsage,
    /// Time from start to finish, waits included.
    pub duration_ms: Span,
    /// Everything specific to Longhaul.
    pub run: RunInfo,
}

/// Tokens, with the keys of Claude Code.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenUsage {
    /// Input tokens that no cache served.
    pub input_tokens: u64,
    /// Output tokens, thinking included.
    pub output_tokens: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read_input_tokens: u64,
    /// Input tokens written to the prompt cache.
    pub cache_creation_input_tokens: u64,
}

impl From<Tokens> for TokenUsage {
    fn from(tokens: Tokens) -> TokenUsage {
        TokenUsage {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_read_input_tokens: tokens.cache_read,
            cache_creation_input_tokens: tokens.cache_write,
        }
    }
}

/// Tokens and cost. Costs appear only here.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EnvelopeUsage {
    #[serde(flatten)]
    pub tokens: TokenUsage,
    /// Reported cost plus estimated cost.
    pub total_cost_usd: Dollars,
    /// The part of the cost that Longhaul estimates, for processes that ended without reporting theirs.
    pub estimated_cost_usd: Dollars,
    /// Estimated tokens of truncated messages. The counts above do not include them.
    pub truncated_tokens: u64,
    /// Whether some tokens have no known price.
    pub unpriced: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunInfo {
    /// Id of the run. `None` if none was started.
    pub id: Option<String>,
    /// Outcome of the run.
    pub outcome: OutcomeKind,
    /// The outcome as the exit code of the command that supervised the run.
    pub exit_code: u8,
    /// The proof that the work is done: `checks`, or `none` if no check was set or the work is not done.
    pub verified: Verified,
    /// Fault that decided the outcome.
    pub fault: Option<Fault>,
    /// Limit that decided the outcome: `budget`, `tokens`, `time`, `wall`, `turns` or `attempts`.
    pub limit: Option<Limit>,
    /// Number of attempts.
    pub attempts: u32,
    /// Number of tool calls that guards denied.
    pub denied_calls: u32,
    /// How the agent's questions were answered.
    pub questions: Questions,
    /// Background commands that were stopped with the agent of the last attempt.
    pub background_stopped: Vec<BackgroundTask>,
    /// When to retry (`retry_later`), as an RFC 3339 time.
    pub retry_at: Option<Rfc3339>,
    /// Time in which the run worked.
    pub active_ms: Span,
    /// Time in which the run waited with no process running.
    pub waiting_ms: Span,
    /// Downtime: the machine slept, or no supervisor was running and the agent was idle.
    pub downtime_ms: Span,
    /// Model that did the work, as the agent reported it.
    pub model: Option<String>,
    /// Directory of the run.
    pub dir: Option<String>,
    /// Command that continues the work, if that makes sense.
    pub resume: Option<String>,
    /// All commands that continue the work, the most likely first. Each works as printed.
    pub next: Vec<String>,
}

impl Envelope {
    pub fn new(report: &RunReport) -> Envelope {
        let (outcome, next) = (report.outcome, commands_of(&report.dir));
        Envelope {
            success: outcome.kind == OutcomeKind::Done,
            result: report.result.clone(),
            errors: report.errors.clone(),
            session_id: report.session.as_ref().map(ToString::to_string),
            usage: usage(report.usage),
            duration_ms: report.wall(),
            run: RunInfo {
                id: Some(report.run.to_string()),
                outcome: outcome.kind,
                exit_code: outcome.exit_code(),
                verified: report.verified,
                fault: outcome.fault,
                limit: outcome.limit,
                attempts: report.attempts,
                denied_calls: report.denied_calls,
                questions: report.questions,
                background_stopped: report.background_stopped.clone(),
                retry_at: outcome.retry_at.map(Rfc3339),
                active_ms: report.clocks.active(report.finished_at),
                waiting_ms: report.clocks.waiting,
                downtime_ms: report.clocks.downtime,
                model: report.model.clone(),
                dir: Some(report.dir.display().to_string()),
                resume: next.first().cloned(),
                next,
            },
        }
    }

    /// Creates the envelope of a command that started no run, or whose run was interrupted, with this exit
    /// code.
    pub fn without_run(outcome: OutcomeKind, exit_code: u8, fault: Option<Fault>, error: String) -> Envelope {
        let run = RunInfo { outcome, exit_code, fault, ..RunInfo::default() };
        Envelope { errors: vec![error], run, ..Envelope::default() }
    }
}

impl<R: Default> Envelope<R> {
    /// Creates the envelope of a command that succeeded without a call of a model.
    pub fn without_model(result: R, duration_ms: Span) -> Envelope<R> {
        let run = RunInfo { outcome: OutcomeKind::Done, ..RunInfo::default() };
        Envelope { success: true, result, duration_ms, run, ..Envelope::default() }
    }
}

fn usage(usage: Usage) -> EnvelopeUsage {
    EnvelopeUsage {
        tokens: usage.tokens.into(),
        total_cost_usd: usage.total_cost().into(),
        estimated_cost_usd: usage.estimated_cost.into(),
        truncated_tokens: usage.truncated_tokens.total(),
        unpriced: usage.unpriced,
    }
}
