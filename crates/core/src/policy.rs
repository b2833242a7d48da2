//! Limits and schedules of a run, as data. A policy is parsed and validated once at the edge; inside the
//! program it is always valid.

use crate::amounts::NONE;
use crate::words::stored_enum;
use crate::{Checks, HandoffSummary, KeepGoing, Limits, Span, SpecError, WrapUp, exact_span};
use serde::{Deserialize, Serialize};

/// The behavior of a run. It is fixed when the run starts and stored in its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Policy {
    /// Limits over all attempts.
    #[serde(default)]
    pub limits: Limits,
    /// Reserve for the wrap-up. `None` stops the agent without a wrap-up, as in plans of versions without
    /// limits.
    #[serde(default)]
    pub wrap_up: Option<WrapUp>,
    /// Checks after a done claim. `None` accepts the claim without a check.
    #[serde(default)]
    pub checks: Option<Checks>,
    /// Keep-going settings for an agent that stops on its own. `None` finishes the run after such a stop.
    #[serde(default)]
    pub keep_going: Option<KeepGoing>,
    /// Number of failed attempts in a row, without progress, before the run gives up.
    pub retries_max: u32,
    /// Number of attempts before the run gives up, regardless of progress. A user who resumes the run grants
    /// as many again.
    #[serde(default = "attempts_max")]
    pub attempts_max: u32,
    /// Whether progress (a completed exchange or tool call) resets the count of failures.
    pub progress_resets_retries: bool,
    /// Schedule of waits between attempts.
    pub backoff: Backoff,
    /// Cap on waits early in an outage of an overloaded API. Most such outages are short.
    pub early_overload_cap: Span,
    /// Length of the early part of an outage.
    pub early_overload_period: Span,
    /// Bound on waiting for 429, 5xx, 529 and network faults.
    pub outage_bound: OutageBound,
    /// Longest wait for the reset of a usage window. `None` if unlimited.
    pub max_reset_wait: Option<Span>,
    /// Jitter after a known reset, so that many runs do not resume at the same moment.
    pub reset_jitter: Span,
    /// Timeout of one attempt. `None` if unlimited.
    pub attempt_timeout: Option<Span>,
    /// Effect of an attempt's timeout on the run.
    pub attempt_timeout_action: TimeoutAction,
    /// Longest silence of an agent with no tool running. `None` if unlimited.
    pub stall_timeout: Option<Span>,
    /// Longest time without a completed message or tool call and with no tool running, whatever else the
    /// agent sends. `None` if unlimited, as in plans of versions without this timeout.
    #[serde(default)]
    pub progress_timeout: Option<Span>,
    /// Longest silence of an agent without a supervisor, after which a watchdog stops it. `None` starts no
    /// watchdog, as in plans of versions without one. The core makes no decision from it.
    #[serde(default)]
    pub orphan_timeout: Option<Span>,
    /// Longest time that background shells may outlive the result.
    pub background_wait: Span,
    /// Grace period for an agent without an open exchange to exit on its own.
    pub exit_timeout: Span,
    /// Grace period after a stop before the next, harder one.
    pub stop_grace: Span,
    /// Effect on the run if its supervisor receives SIGTERM or SIGHUP.
    #[serde(default)]
    pub on_terminate: OnTerminate,
    /// Whether denied tools are accepted as part of the work.
    pub allow_denials: bool,
    /// Reaction to a missing session, named by the user or lost during the run.
    pub session_loss: SessionLoss,
    /// Summary of older work in a handoff prompt. `None` lists older work in one line per step.
    #[serde(default)]
    pub handoff_summary: Option<HandoffSummary>,
    /// Number of the agent's own retries of one request, set in its environment.
    pub inner_retries: u32,
}

impl Policy {
    /// Returns whether a supervisor must run while the agent works, to enforce limits or for keep-going.
    pub fn needs_supervisor(&self) -> bool {
        self.limits.can_end_run() || self.keep_going.is_some()
    }

    /// Returns the policy's settings by name, with their values as text. A value is `None` if the setting does not
    /// apply.
    pub fn settings(&self) -> Vec<(&'static str, Option<String>)> {
        let none = || NONE.to_owned();
        let time = |span: Option<Span>| Some(span.map_or_else(none, exact_span));
        let limits = &self.limits;
        let outage = match self.outage_bound {
            OutageBound::Time(limit) => time(limit),
            OutageBound::Retries => None,
        };
        let jitter = match self.backoff.jitter {
            Jitter::Full => "full".to_owned(),
            Jitter::None => "none".to_owned(),
            Jitter::Percent(percent) => percent.to_string(),
        };
        vec![
            ("budget", Some(limits.budget.map_or_else(none, |usd| usd.as_dollars().to_string()))),
            ("max_tokens", Some(limits.tokens.map_or_else(none, |tokens| tokens.to_string()))),
            ("time_limit", time(limits.time)),
            ("wall_limit", time(limits.wall)),
            ("max_turns", Some(limits.turns.map_or_else(none, |turns| turns.to_string()))),
            ("memory_limit", Some(limits.memory.map_or_else(none, |bytes| format!("{}M", bytes >> 20)))),
            ("max_retries", Some(self.retries_max.to_string())),
            ("max_attempts", Some(self.attempts_max.to_string())),
            ("retry_base", Some(exact_span(self.backoff.base))),
            ("retry_cap", Some(exact_span(self.backoff.cap))),
            ("retry_jitter", Some(jitter)),
            ("outage_limit", outage),
            ("attempt_timeout", time(self.attempt_timeout)),
            ("stall_timeout", time(self.stall_timeout)),
            ("progress_timeout", time(self.progress_timeout)),
            ("orphan_timeout", time(self.orphan_timeout)),
            ("max_reset_wait", time(self.max_reset_wait)),
            ("background_wait", time(Some(self.background_wait).filter(|wait| *wait < Span(u64::MAX)))),
            ("inner_retries", Some(self.inner_retries.to_string())),
            ("on_terminate", Some(self.on_terminate.to_string())),
        ]
    }

    /// Returns the policy after `edit` changed it.
    #[must_use]
    pub fn with(mut self, edit: impl FnOnce(&mut Policy)) -> Policy {
        edit(&mut self);
        self
    }

    /// Checks that the settings do not contradict each other.
    ///
    /// # Errors
    /// Returns the first contradiction.
    pub fn validate(&self) -> Result<(), SpecError> {
        let Policy { limits, wrap_up, checks, keep_going, .. } = self;
        if let (Some(time), Some(wall)) = (limits.time, limits.wall)
            && time > wall
        {
            return Err(SpecError::TimeExceedsWall { time, wall });
        }
        let shortest = limits.time.into_iter().chain(limits.wall).min();
        if let (Some(WrapUp { reserve: Some(reserve) }), Some(limit)) = (wrap_up, shortest)
            && *reserve >= limit
        {
            return Err(SpecError::ReserveExceedsLimit { reserve: *reserve, limit });
        }
        if checks.as_ref().is_some_and(|checks| checks.commands.is_empty() && checks.review.is_none()) {
            return Err(SpecError::NoCheckCommand);
        }
        if checks.is_some() && keep_going.is_some() {
            return Err(SpecError::KeepGoingWithChecks);
        }
        let done_when = keep_going.as_ref().and_then(|keep_going| keep_going.done_when.as_deref());
        match done_when.map(str::trim) {
            Some(line) if line.is_empty() || line.contains('\n') => Err(SpecError::DoneWhenNotOneLine),
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the default limit on attempts. At one attempt in five minutes, a run reaches it after three and a
/// half days. A run that needs more makes no real progress.
pub(crate) const fn attempts_max() -> u32 {
    1_000
}

/// A schedule of waits: `jitter(min(cap, base · 2^n))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Backoff {
    /// The first wait.
    pub base: Span,
    /// The longest wait.
    pub cap: Span,
    /// Random spread of each wait.
    pub jitter: Jitter,
}

/// The random spread of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// Anywhere from zero to the full wait. It spreads many clients best.
    Full,
    /// Up to this many percent less or more.
    Percent(u8),
    /// No spread.
    None,
}

/// The bound on waiting while the API fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutageBound {
    /// Time since the outage started. Progress ends an outage. `None` if unlimited.
    Time(Option<Span>),
    /// The same number of retries as for other faults.
    Retries,
}

/// The reaction to a session that the agent does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionLoss {
    /// Reject a session that the user named. Apply the next resume strategy to one lost during the run.
    FallBack,
    /// Start a new session and warn the user.
    FreshWithWarning,
    /// Start a new session.
    Fresh,
    /// Count the failed resume as an attempt, and retry until the attempts are exhausted.
    SpendAttempt,
}

stored_enum! {
    /// The effect on a run if its supervisor receives SIGTERM or SIGHUP. The system sends these signals: a
    /// reboot, `systemctl stop`, a preempted job, a closed terminal.
    #[derive(Default)]
    pub enum OnTerminate {
        /// The run is suspended: `longhaul recover` continues it, also at boot.
        #[default]
        Suspend = "suspend",
        /// The run is cancelled, as by Ctrl-C: only the user can resume it.
        Cancel = "cancel",
    }
}

/// The effect of an attempt's timeout on the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeoutAction {
    /// The run continues as long as each attempt makes progress.
    WhileProgressing,
    /// The run continues as after any failed attempt.
    Retry,
    /// The run finishes.
    Final,
}
