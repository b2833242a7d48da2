//! Named policies.
//!
//! Four of them reproduce the numbers and the semantics of existing systems, for users who migrate from them.

use crate::policy::attempts_max;
use crate::{
    Backoff, Jitter, Limits, OnTerminate, OutageBound, Policy, SessionLoss, Span, TimeoutAction, WrapUp,
    words::stored_enum,
};
use std::str::FromStr;

stored_enum! {
    /// A named policy.
    pub enum Preset {
        /// Waits for as long as needed and resumes whenever possible.
        Default = "default",
        /// 3 retries, 2 s doubling to 60 s, ±50 %; a timeout is final; a lost session is replaced by a new one.
        Openclawpack = "openclawpack",
        /// 2 retries after 30 s and 60 s; a failed resume counts as an attempt.
        Archon = "archon",
        /// 5 retries in a run, 30 s doubling to 300 s, without jitter.
        Researchgym = "researchgym",
        /// 3 attempts, 2 s and 4 s apart, ±25 %: for short API calls.
        Keypoints = "keypoints",
        /// `default` with shorter times, for drills and tests.
        Drill = "drill",
    }
}

impl Preset {
    /// Returns the timeout of a summary. A model writes three thousand tokens in 20 to 40 s. The summary is
    /// optional, so the run waits no longer than a minute.
    pub fn summary_timeout(self) -> Span {
        if self == Preset::Drill { Span::from_secs(10) } else { Span::from_secs(60) }
    }

    /// Returns the policy with this name.
    pub fn policy(self) -> Policy {
        match self {
            Preset::Default => default(),
            Preset::Openclawpack => Policy {
                retries_max: 3,
                progress_resets_retries: false,
                backoff: backoff(2, 60, Jitter::Percent(50)),
                outage_bound: OutageBound::Retries,
                attempt_timeout_action: TimeoutAction::Final,
                session_loss: SessionLoss::FreshWithWarning,
                ..counted_retries()
            },
            Preset::Archon => Policy {
                retries_max: 2,
                // The delays used are 30 s and 60 s. The original has no jitter, so its parallel provers
                // retry at the same moment. ±25 % spreads them.
                backoff: backoff(30, 120, Jitter::Percent(25)),
                session_loss: SessionLoss::SpendAttempt,
                ..counted_retries()
            },
            Preset::Researchgym => Policy {
                wrap_up: Some(WrapUp { reserve: Some(Span::from_secs(60)) }),
                retries_max: 5,
                backoff: backoff(30, 300, Jitter::None),
                ..counted_retries()
            },
            Preset::Keypoints => Policy {
                retries_max: 2,
                backoff: backoff(2, 4, Jitter::Percent(25)),
                // The timeout is per request, and a request that timed out is retried like any other.
                attempt_timeout: Some(Span::from_secs(30)),
                attempt_timeout_action: TimeoutAction::Retry,
                ..counted_retries()
            },
            Preset::Drill => drill(),
        }
    }
}

fn backoff(base_s: u64, cap_s: u64, jitter: Jitter) -> Backoff {
    Backoff { base: Span::from_secs(base_s), cap: Span::from_secs(cap_s), jitter }
}

fn default() -> Policy {
    Policy {
        limits: Limits::default(),
        wrap_up: Some(WrapUp { reserve: None }),
        checks: None,
        keep_going: None,
        retries_max: 5,
        attempts_max: attempts_max(),
        progress_resets_retries: true,
        backoff: backoff(2, 300, Jitter::Full),
        early_overload_cap: Span::from_secs(15),
        early_overload_period: Span::from_mins(3),
        outage_bound: OutageBound::Time(Some(Span::from_hours(6))),
        // A weekly window resets within seven days. A later reset is a vendor's mistake.
        max_reset_wait: Some(Span::from_hours(8 * 24)),
        reset_jitter: Span::from_secs(10),
        attempt_timeout: None,
        attempt_timeout_action: TimeoutAction::WhileProgressing,
        // The agent may be silent for six minutes during a network fault, by design. A longer silence is a
        // hang.
        stall_timeout: Some(Span::from_mins(7)),
        // The longest response, 128k tokens, takes 70 minutes at 30 tokens a second. Half of that speed is no
        // hang.
        progress_timeout: Some(Span::from_mins(140)),
        // A silent tool cannot be observed without a supervisor, so this must outlast most tools.
        orphan_timeout: Some(Span::from_hours(1)),
        background_wait: Span::from_mins(10),
        exit_timeout: Span::from_secs(10),
        // SIGTERM during a tool call takes up to 1.6 s, and several times that on a loaded machine.
        stop_grace: Span::from_secs(10),
        on_terminate: OnTerminate::Suspend,
        allow_denials: false,
        session_loss: SessionLoss::FallBack,
        handoff_summary: None,
        // Five requests span about eight seconds and keep the prompt cache warm.
        inner_retries: 4,
    }
}

/// Returns the common part of the systems that count every retry and never reset the count.
fn counted_retries() -> Policy {
    Policy {
        progress_resets_retries: false,
        outage_bound: OutageBound::Retries,
        // One schedule for all faults: an overload has no separate cap.
        early_overload_cap: Span(u64::MAX),
        ..default()
    }
}

fn drill() -> Policy {
    Policy {
        backoff: Backoff { base: Span(200), cap: Span::from_secs(2), jitter: Jitter::Full },
        early_overload_cap: Span::from_secs(1),
        early_overload_period: Span::from_secs(10),
        outage_bound: OutageBound::Time(Some(Span::from_secs(60))),
        reset_jitter: Span(500),
        stall_timeout: Some(Span::from_secs(20)),
        progress_timeout: Some(Span::from_mins(2)),
        orphan_timeout: Some(Span::from_mins(1)),
        background_wait: Span::from_secs(5),
        exit_timeout: Span::from_secs(5),
        stop_grace: Span::from_secs(3),
        inner_retries: 1,
        ..default()
    }
}

impl FromStr for Preset {
    type Err = String;
    fn from_str(word: &str) -> Result<Preset, String> {
        let preset = Preset::ALL.iter().copied().find(|preset| preset.as_str() == word);
        preset.ok_or_else(|| format!("`{word}` is not a preset; the presets are default, openclawpack, archon, researchgym, keypoints and drill"))
    }
}
