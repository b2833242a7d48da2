//! What a swarm has reached: every fault, remedy, deadline reason, recovery point and ending,
//! counted. It judges nothing.

use crate::fault_mix::FAULTS;
use crate::sim_run::kill::KillPoint;
use longhaul_core::{
    CancelSource, CheckResult, DeadlineKind, Fault, Limit, LimitThreshold, Nudge, Outcome, OutcomeKind,
    Phase, PromptKind, Remedy, ResumeStrategy, SessionFileState, StopCause, StopLevel, SummaryResult,
};
use std::fmt;

/// Where a run stands, without what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseKind {
    New,
    Launching,
    Summarizing,
    Checking,
    Live,
    Closing,
    Stopping,
    Sweeping,
    Waiting,
    Suspended,
    Over,
}

impl PhaseKind {
    const WORDS: [&'static str; 11] = [
        "new",
        "launching",
        "condensing",
        "checking",
        "live",
        "closing",
        "stopping",
        "sweeping",
        "waiting",
        "suspended",
        "over",
    ];

    pub(crate) fn new(phase: &Phase) -> PhaseKind {
        match phase {
            Phase::New => PhaseKind::New,
            Phase::Starting => PhaseKind::Launching,
            Phase::Summarizing { .. } => PhaseKind::Summarizing,
            Phase::Checking { .. } => PhaseKind::Checking,
            Phase::Running => PhaseKind::Live,
            Phase::Closing { .. } => PhaseKind::Closing,
            Phase::Stopping { .. } => PhaseKind::Stopping,
            Phase::Sweeping { .. } => PhaseKind::Sweeping,
            Phase::Waiting { .. } => PhaseKind::Waiting,
            Phase::Suspended { .. } => PhaseKind::Suspended,
            Phase::Finished { .. } => PhaseKind::Over,
        }
    }
}

const REMEDIES: usize = 16;
const OUTCOMES: usize = 12;
const WHYS: [&str; 11] = [
    "next_attempt",
    "condense_timeout",
    "check_timeout",
    "stall",
    "no_progress",
    "attempt_timeout",
    "limit",
    "background_over",
    "settle",
    "linger",
    "stop_harder",
];
const STOPS: [&str; 12] = [
    "stalled",
    "no_progress",
    "attempt_timeout",
    "auth_rejected",
    "other_session",
    "reserve",
    "limit_reached",
    "memory",
    "lingered",
    "background_stopped",
    "cancelled",
    "suspended",
];
const REACHES: [&str; 2] = ["reserve", "all"];
const LEVELS: [&str; 3] = ["interrupt", "term", "kill"];
const BYS: [&str; 4] = ["person", "person_now", "sigterm", "sighup"];
const SESSIONS: [&str; 6] = ["ready", "damaged", "behind", "elsewhere", "empty", "missing"];
const CHECKED: [&str; 3] = ["passed", "failed", "stopped"];
const CONDENSED: [&str; 3] = ["written", "not_needed", "failed"];
const SAID: [&str; 5] = ["wrap_up", "keep_going", "status", "last_warning", "confirm"];
const KEPT: [&str; 3] = ["stop", "claim", "idle_end"];
const FOUND: [&str; 2] = ["live", "gone"];

/// Counts of everything reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    pub(crate) faults: [u64; FAULTS],
    pub(crate) remedies: [u64; REMEDIES],
    pub(crate) outcomes: [u64; OUTCOMES],
    pub(crate) whys: [u64; WHYS.len()],
    pub(crate) stops: [u64; STOPS.len()],
    pub(crate) levels: [u64; LEVELS.len()],
    /// Limits by how far they were reached.
    pub(crate) limits: [[u64; Limit::ALL.len()]; REACHES.len()],
    /// How often an agent was told something because it had stopped, or in the session that it had open.
    pub(crate) prompts: [u64; SAID.len()],
    /// What came of agents that stopped by themselves.
    pub(crate) kept: [u64; KEPT.len()],
    /// Silences that something excused.
    pub(crate) stall_deferrals: u64,
    /// Kills of the supervisor by point.
    pub(crate) kills: [u64; KillPoint::WORDS.len()],
    /// Rungs of the ladder.
    pub(crate) strategies: [u64; ResumeStrategy::ALL.len()],
    /// What was found of sessions.
    pub(crate) findings: [u64; SESSIONS.len()],
    /// What came of orders to condense.
    pub(crate) on_summary: [u64; CONDENSED.len()],
    /// What came of checks.
    pub(crate) checked: [u64; CHECKED.len()],
    /// Runs that went on, by how they had ended.
    pub(crate) reopen_count: [u64; OUTCOMES],
    /// Recoveries by what was found and where the run stood.
    pub(crate) recoveries: [[u64; PhaseKind::WORDS.len()]; FOUND.len()],
    /// Cancels by who and where the run stood.
    pub(crate) cancels: [[u64; PhaseKind::WORDS.len()]; BYS.len()],
}

impl Coverage {
    pub(crate) fn new() -> Coverage {
        Coverage {
            faults: [0; FAULTS],
            remedies: [0; REMEDIES],
            outcomes: [0; OUTCOMES],
            whys: [0; WHYS.len()],
            stops: [0; STOPS.len()],
            levels: [0; LEVELS.len()],
            limits: [[0; Limit::ALL.len()]; REACHES.len()],
            prompts: [0; SAID.len()],
            kept: [0; KEPT.len()],
            stall_deferrals: 0,
            kills: [0; KillPoint::WORDS.len()],
            strategies: [0; ResumeStrategy::ALL.len()],
            findings: [0; SESSIONS.len()],
            on_summary: [0; CONDENSED.len()],
            checked: [0; CHECKED.len()],
            reopen_count: [0; OUTCOMES],
            recoveries: [[0; PhaseKind::WORDS.len()]; FOUND.len()],
            cancels: [[0; PhaseKind::WORDS.len()]; BYS.len()],
        }
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }

    pub(crate) fn remedy(&mut self, remedy: Remedy) {
        self.remedies[remedy_place(remedy)] += 1;
    }

    pub(crate) fn outcome(&mut self, kind: OutcomeKind) {
        self.outcomes[kind as usize] += 1;
    }

    pub(crate) fn why(&mut self, why: DeadlineKind) {
        self.whys[why as usize] += 1;
    }

    pub(crate) fn stop(&mut self, why: StopCause, level: StopLevel) {
        self.stops[why as usize] += 1;
        self.levels[level as usize] += 1;
    }

    pub(crate) fn limit(&mut self, limit: Limit, reach: LimitThreshold) {
        self.limits[reach as usize][limit as usize] += 1;
    }

    pub(crate) fn said(&mut self, say: PromptKind) {
        match say {
            PromptKind::WrapUp(_) => self.prompts[0] += 1,
            PromptKind::KeepGoing(push) => {
                self.prompts[1] += 1;
                self.prompts[2] += u64::from(push.active_time.is_some());
                self.prompts[3] += u64::from(push.limit_near);
            }
            PromptKind::ConfirmDone => self.prompts[4] += 1,
            PromptKind::Task
            | PromptKind::TaskAfterLoss(_)
            | PromptKind::Continue(_)
            | PromptKind::FollowUp
            | PromptKind::Nudge(_)
            | PromptKind::LimitRaised(_)
            | PromptKind::CheckFailed(_) => {}
        }
    }

    pub(crate) fn stopped(&mut self, claimed: bool) {
        self.kept[usize::from(claimed)] += 1;
    }

    /// A run that is over; `fault` is why its last attempt failed, if it did.
    pub(crate) fn finished(&mut self, outcome: &Outcome, fault: Option<Fault>) {
        let idle = outcome.fault == Some(Fault::Unfinished) && fault != outcome.fault;
        self.kept[2] += u64::from(idle);
    }

    pub(crate) fn excused(&mut self) {
        self.stall_deferrals += 1;
    }

    pub(crate) fn kill(&mut self, point: KillPoint) {
        self.kills[point as usize] += 1;
    }

    pub(crate) fn on_strategy(&mut self, strategy: ResumeStrategy) {
        self.strategies[strategy as usize] += 1;
    }

    pub(crate) fn found(&mut self, found: SessionFileState) {
        self.findings[found as usize] += 1;
    }

    pub(crate) fn on_summary(&mut self, outcome: SummaryResult) {
        let place = match outcome {
            SummaryResult::Written => 0,
            SummaryResult::NotNeeded => 1,
            SummaryResult::Failed(_) => 2,
        };
        self.on_summary[place] += 1;
    }

    pub(crate) fn checked(&mut self, result: CheckResult) {
        self.checked[result as usize] += 1;
    }

    pub(crate) fn reopened(&mut self, kind: OutcomeKind) {
        self.reopen_count[kind as usize] += 1;
    }

    pub(crate) fn recovery(&mut self, live: bool, health: PhaseKind) {
        self.recoveries[usize::from(!live)][health as usize] += 1;
    }

    pub(crate) fn cancel(&mut self, by: CancelSource, health: PhaseKind) {
        self.cancels[by as usize][health as usize] += 1;
    }

    /// Adds another swarm's counts.
    pub fn add(&mut self, other: &Coverage) {
        let add =
            |into: &mut [u64], from: &[u64]| into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
        add(&mut self.faults, &other.faults);
        add(&mut self.remedies, &other.remedies);
        add(&mut self.outcomes, &other.outcomes);
        add(&mut self.whys, &other.whys);
        add(&mut self.stops, &other.stops);
        add(&mut self.levels, &other.levels);
        add(self.limits.as_flattened_mut(), other.limits.as_flattened());
        add(&mut self.prompts, &other.prompts);
        add(&mut self.kept, &other.kept);
        self.stall_deferrals += other.stall_deferrals;
        add(&mut self.kills, &other.kills);
        add(&mut self.strategies, &other.strategies);
        add(&mut self.findings, &other.findings);
        add(&mut self.on_summary, &other.on_summary);
        add(&mut self.checked, &other.checked);
        add(&mut self.reopen_count, &other.reopen_count);
        add(self.recoveries.as_flattened_mut(), other.recoveries.as_flattened());
        add(self.cancels.as_flattened_mut(), other.cancels.as_flattened());
    }

    /// What should be reached and was not, by name. Nothing when the swarm covers the policy.
    pub fn missing(&self) -> Vec<String> {
        // No decision names these: they end a run, or belong to checks and loops of runs.
        let unnamed = ["remedy end", "remedy end_unless_allowed", "outcome incomplete"];
        // The same outcomes cannot be reopened; a process that nothing ends is left alone.
        // A supervisor that comes back ends what was condensing; no process lives, and nobody cancels, before a run starts and after it ended.
        let impossible = |name: &str| {
            let idle = [" new", " suspended", " over"];
            let cancel = name.starts_with("cancel") && idle.iter().any(|end| name.ends_with(end));
            let live = ["new", "condensing", "checking", "sweeping", "waiting", "suspended"]
                .iter()
                .any(|end| name == format!("found live {end}"));
            let reopened =
                ["incomplete", "bug", "suspended"].iter().any(|end| name == format!("reopened {end}"));
            reopened || cancel || live || unnamed.contains(&name)
        };
        self.rows()
            .into_iter()
            .filter(|(name, count)| *count == 0 && !impossible(name))
            .map(|(name, _)| name)
            .collect()
    }

    /// Every name and its count, in a fixed order.
    pub fn rows(&self) -> Vec<(String, u64)> {
        let mut rows = Vec::new();
        let mut add = |kind: &str, words: &[&str], counts: &[u64]| {
            rows.extend(words.iter().zip(counts).map(|(word, count)| (format!("{kind} {word}"), *count)));
        };
        let faults: Vec<&str> = Fault::ALL.iter().map(|fault| fault.word()).collect();
        let outcomes: Vec<&str> = OutcomeKind::ALL.iter().map(|kind| kind.as_str()).collect();
        add("fault", &faults, &self.faults);
        add("remedy", &REMEDY_WORDS, &self.remedies);
        add("outcome", &outcomes, &self.outcomes);
        add("deadline", &WHYS, &self.whys);
        add("stop", &STOPS, &self.stops);
        add("level", &LEVELS, &self.levels);
        let limits: Vec<&str> = Limit::ALL.iter().map(|limit| limit.as_str()).collect();
        for (reach, counts) in REACHES.iter().zip(&self.limits) {
            add(&format!("{reach} of"), &limits, counts);
        }
        add("said", &SAID, &self.prompts);
        add("kept", &KEPT, &self.kept);
        add("silence", &["excused"], &[self.stall_deferrals]);
        add("kill", &KillPoint::WORDS, &self.kills);
        add(
            "rung",
            &ResumeStrategy::ALL.iter().map(|strategy| strategy.as_str()).collect::<Vec<_>>(),
            &self.strategies,
        );
        add("session", &SESSIONS, &self.findings);
        add("condensed", &CONDENSED, &self.on_summary);
        add("checked", &CHECKED, &self.checked);
        add("reopened", &outcomes, &self.reopen_count);
        for (found, counts) in FOUND.iter().zip(&self.recoveries) {
            add(&format!("found {found}"), &PhaseKind::WORDS, counts);
        }
        for (by, counts) in BYS.iter().zip(&self.cancels) {
            add(&format!("cancel {by}"), &PhaseKind::WORDS, counts);
        }
        rows
    }
}

/// Aligned, three to a line.
impl fmt::Display for Coverage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rows in self.rows().chunks(3) {
            for (name, count) in rows {
                write!(out, "{name:<30}{count:>10}  ")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

const REMEDY_WORDS: [&str; REMEDIES] = [
    "wait_out",
    "park",
    "resume",
    "resume_once",
    "resume_while_progressing",
    "resume_within_limit",
    "resume_existing",
    "next_rung",
    "fresh_session",
    "other_session",
    "nudge_finish",
    "nudge_smaller_steps",
    "keep_going",
    "retry_once",
    "end",
    "end_unless_allowed",
];

fn remedy_place(remedy: Remedy) -> usize {
    match remedy {
        Remedy::WaitOut => 0,
        Remedy::Park => 1,
        Remedy::Resume => 2,
        Remedy::ResumeOnce => 3,
        Remedy::ResumeWhileProgressing => 4,
        Remedy::ResumeWithinLimit => 5,
        Remedy::ResumeExisting => 6,
        Remedy::ReplaceLostSession => 7,
        Remedy::ReplaceFullSession => 8,
        Remedy::TryFork => 9,
        Remedy::Nudge(Nudge::Answer) => 10,
        Remedy::Nudge(Nudge::SmallerSteps) => 11,
        Remedy::KeepGoing => 12,
        Remedy::RetryOnce => 13,
        Remedy::End => 14,
        Remedy::EndUnlessAllowed => 15,
    }
}
