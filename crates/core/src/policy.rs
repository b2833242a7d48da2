//! Limits and schedules of a run, as data. Parsed and checked once at the edge; inside it is always valid.

use crate::{CheckPolicy, KeepGoing, Limits, Span, WrapUp};
use serde::{Deserialize, Serialize};

/// How a run behaves. It is fixed when the run starts and written into its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Policy {
    /// What the run may use, in all its attempts together.
    #[serde(default)]
    pub limits: Limits,
    /// What is held back of that for the agent to save its work; nothing: it is ended without a word. Plans of
    /// versions that had no limits need none.
    #[serde(default)]
    pub wrap_up: Option<WrapUp>,
    /// How the work is judged when the agent says that it is done; nothing: it is believed.
    #[serde(default)]
    pub check: Option<CheckPolicy>,
    /// How the run is kept going when its agent stops by itself; nothing: then it is done.
    #[serde(default)]
    pub keep_going: Option<KeepGoing>,
    /// Failed attempts in a row, without progress, after which one more is not tried.
    pub retries_max: u32,
    /// Attempts of the run, whatever progress they make, after which one more is not begun. A person who resumes it gives
    /// it as many again.
    #[serde(default = "attempts_max")]
    pub attempts_max: u32,
    /// Whether progress (a completed turn or tool call) forgives the failures before it.
    pub progress_resets_retries: bool,
    /// Waits between attempts.
    pub backoff: Backoff,
    /// The cap on waits against an overloaded API while its wall is young: most are short.
    pub early_overload_cap: Span,
    /// How long a wall counts as young.
    pub early_overload_period: Span,
    /// What bounds the waiting against 429, 5xx, 529 and network faults.
    pub outage_bound: OutageBound,
    /// The longest wait for the reset of a usage window; nothing is unlimited.
    pub max_reset_wait: Option<Span>,
    /// Random lateness after a known reset, so that a fleet does not return in one instant.
    pub reset_jitter: Span,
    /// How long one attempt may take; nothing is unlimited.
    pub attempt_timeout: Option<Span>,
    /// What an attempt's timeout means for the run.
    pub attempt_timeout_action: TimeoutAction,
    /// How long an agent may be silent with no tool running; nothing is unlimited.
    pub stall_timeout: Option<Span>,
    /// How long an agent may go on without finishing a message or a tool call, whatever else it says, with no tool
    /// running; nothing is unlimited, as in plans of versions that had no such limit.
    #[serde(default)]
    pub progress_timeout: Option<Span>,
    /// How long an agent may be silent whose supervisor died and for whom nobody has come back: then a watchdog ends
    /// it. Nothing is unlimited, and no watchdog is started. The core decides nothing by it. Plans of versions that
    /// had no watchdog have none: nobody was told of one when they were made.
    #[serde(default)]
    pub orphan_timeout: Option<Span>,
    /// How long background shells may outlive the result.
    pub background_wait: Span,
    /// How long an agent without a turn may take to end by itself.
    pub exit_timeout: Span,
    /// How long an agent may take to heed a stop before a harder one.
    pub stop_grace: Span,
    /// What SIGTERM and SIGHUP to the supervisor do to the run.
    #[serde(default)]
    pub on_terminate: OnTerminate,
    /// Whether denied tools are accepted as part of the work.
    pub allow_denials: bool,
    /// What happens when a session named by the user, or one in use, is not there.
    pub session_loss: SessionLoss,
    /// Whether a model condenses older work for a new session that is told the record. Which one, the plan says.
    #[serde(default)]
    pub summarize: bool,
    /// How long that may take; then the record is told without it.
    #[serde(default = "condense_timeout")]
    pub summary_timeout: Span,
    /// Retries inside the agent for one request, set in its environment.
    pub inner_retries: u32,
}

impl Policy {
    /// Whether somebody must be there while the agent works, to keep count of what it uses or to keep it going.
    pub fn needs_supervisor(&self) -> bool {
        self.limits.can_end_run() || self.keep_going.is_some()
    }
}

/// At one attempt in five minutes, three and a half days; a run that needs more is not getting anywhere.
pub(crate) const fn attempts_max() -> u32 {
    1_000
}

/// Three thousand tokens are written in 20 to 40 s; the run can do without them, and waits no longer.
pub(crate) const fn condense_timeout() -> Span {
    Span::from_secs(60)
}

/// A schedule of waits: `jitter(min(cap, base · 2^n))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Backoff {
    /// The first wait.
    pub base: Span,
    /// The longest wait.
    pub cap: Span,
    /// How chance spreads it.
    pub jitter: Jitter,
}

/// How chance spreads a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// Anywhere from nothing to the whole: a fleet spreads best.
    Full,
    /// Up to so many percent less or more, never below zero.
    Percent(u8),
    /// Not at all.
    None,
}

/// What bounds the waiting against a server that does not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutageBound {
    /// The time since the wall began, progress ending a wall; nothing is unlimited.
    Time(Option<Span>),
    /// The same count of retries as for other faults.
    Retries,
}

/// What happens when the agent does not know a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionLoss {
    /// One that the user named is refused; one lost during the run follows the resume ladder.
    FallBack,
    /// A new session takes its place, and the user is warned.
    FreshWithWarning,
    /// A new session takes its place.
    Fresh,
    /// The failing resume spends an attempt, and the same is tried again until they run out.
    SpendAttempt,
}

/// What SIGTERM and SIGHUP to the supervisor do to a run. They come from the system: a reboot, `systemctl stop`, a
/// preempted job, a closed terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnTerminate {
    /// The run is suspended: `longhaul recover` continues it, at boot too.
    #[default]
    Suspend,
    /// The run is cancelled, as by Ctrl-C: only a person continues it.
    Cancel,
}

/// What an attempt's timeout means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeoutAction {
    /// The run goes on as long as each attempt makes progress.
    WhileProgressing,
    /// The run goes on as after any failed attempt.
    Retry,
    /// The run ends.
    Final,
}
