//! Counts everything that a swarm reached: faults, remedies, outcomes, deadlines, recoveries and more. It
//! never judges a run.

use crate::fault_mix::FAULTS;
use crate::kill_point::KillPoint;
use longhaul_core::{
    CancelSource, CheckResult, DeadlineKind, Fault, Limit, LimitThreshold, Nudge, Outcome, OutcomeKind,
    Phase, PromptKind, Remedy, ResumeStrategy, SessionFileState, StopCause, StopLevel, SummaryResult,
};
use std::fmt;

/// The phase of a run, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseKind {
    New,
    Starting,
    Summarizing,
    Checking,
    Running,
    Closing,
    Stopping,
    Sweeping,
    Waiting,
    Suspended,
    Finished,
}

impl PhaseKind {
    const WORDS: [&'static str; 11] = [
        "new",
        "starting",
        "summarizing",
        "checking",
        "running",
        "closing",
        "stopping",
        "sweeping",
        "waiting",
        "suspended",
        "finished",
    ];

    pub(crate) fn new(phase: &Phase) -> PhaseKind {
        match phase {
            Phase::New => PhaseKind::New,
            Phase::Starting => PhaseKind::Starting,
            Phase::Summarizing { .. } => PhaseKind::Summarizing,
            Phase::Checking { .. } => PhaseKind::Checking,
            Phase::Running => PhaseKind::Running,
            Phase::Closing { .. } => PhaseKind::Closing,
            Phase::Stopping { .. } => PhaseKind::Stopping,
            Phase::Sweeping { .. } => PhaseKind::Sweeping,
            Phase::Waiting { .. } => PhaseKind::Waiting,
            Phase::Suspended { .. } => PhaseKind::Suspended,
            Phase::Finished { .. } => PhaseKind::Finished,
        }
    }
}

const REMEDIES: usize = 16;
const OUTCOMES: usize = 12;
const DEADLINE_KINDS: [&str; 11] = [
    "next_attempt",
    "summary_timeout",
    "check_timeout",
    "stall",
    "no_progress",
    "attempt_timeout",
    "limit",
    "background_timeout",
    "idle_after_result",
    "exit_timeout",
    "escalate_stop",
];
const STOP_CAUSES: [&str; 12] = [
    "stalled",
    "no_progress",
    "timed_out",
    "auth_rejected",
    "wrong_session",
    "wrap_up",
    "limit_reached",
    "memory_limit",
    "did_not_exit",
    "background_stopped",
    "cancelled",
    "suspended",
];
const THRESHOLDS: [&str; 2] = ["reserve", "exhausted"];
const STOP_LEVELS: [&str; 3] = ["interrupt", "term", "kill"];
const CANCEL_SOURCES: [&str; 4] = ["person", "person_now", "sigterm", "sighup"];
const SESSION_STATES: [&str; 6] = ["ready", "damaged", "stale", "elsewhere", "empty", "missing"];
const CHECK_RESULTS: [&str; 3] = ["passed", "failed", "stopped"];
const SUMMARY_RESULTS: [&str; 3] = ["written", "not_needed", "failed"];
const PROMPTS: [&str; 5] = ["wrap_up", "keep_going", "status", "limit_near", "confirm_done"];
const KEEP_GOING: [&str; 3] = ["stop", "claim", "idle_finish"];
const AGENT_STATES: [&str; 2] = ["running", "gone"];

/// Counts of everything that a swarm reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    pub(crate) faults: [u64; FAULTS],
    pub(crate) remedies: [u64; REMEDIES],
    pub(crate) outcomes: [u64; OUTCOMES],
    pub(crate) deadlines: [u64; DEADLINE_KINDS.len()],
    pub(crate) stops: [u64; STOP_CAUSES.len()],
    pub(crate) levels: [u64; STOP_LEVELS.len()],
    /// Limits, by threshold.
    pub(crate) limits: [[u64; Limit::ALL.len()]; THRESHOLDS.len()],
    /// Prompts in an open session or to a stopped agent, by kind.
    pub(crate) prompts: [u64; PROMPTS.len()],
    /// Stops of agents on their own, with and without a done claim, and runs that finished because of idle
    /// stops.
    pub(crate) keep_going: [u64; KEEP_GOING.len()],
    /// Number of deferred stalls.
    pub(crate) stall_deferrals: u64,
    /// Kills of the supervisor, by point.
    pub(crate) kills: [u64; KillPoint::WORDS.len()],
    /// Resume strategies.
    pub(crate) strategies: [u64; ResumeStrategy::ALL.len()],
    /// States of inspected sessions.
    pub(crate) session_states: [u64; SESSION_STATES.len()],
    /// Results of summaries.
    pub(crate) summaries: [u64; SUMMARY_RESULTS.len()],
    /// Results of checks.
    pub(crate) checks: [u64; CHECK_RESULTS.len()],
    /// Resumed runs, by their earlier outcome.
    pub(crate) reopens: [u64; OUTCOMES],
    /// Recoveries, by the state of the agent and the phase of the run.
    pub(crate) recoveries: [[u64; PhaseKind::WORDS.len()]; AGENT_STATES.len()],
    /// Cancels, by source and phase of the run.
    pub(crate) cancels: [[u64; PhaseKind::WORDS.len()]; CANCEL_SOURCES.len()],
}

impl Coverage {
    pub(crate) fn new() -> Coverage {
        Coverage {
            faults: [0; FAULTS],
            remedies: [0; REMEDIES],
            outcomes: [0; OUTCOMES],
            deadlines: [0; DEADLINE_KINDS.len()],
            stops: [0; STOP_CAUSES.len()],
            levels: [0; STOP_LEVELS.len()],
            limits: [[0; Limit::ALL.len()]; THRESHOLDS.len()],
            prompts: [0; PROMPTS.len()],
            keep_going: [0; KEEP_GOING.len()],
            stall_deferrals: 0,
            kills: [0; KillPoint::WORDS.len()],
            strategies: [0; ResumeStrategy::ALL.len()],
            session_states: [0; SESSION_STATES.len()],
            summaries: [0; SUMMARY_RESULTS.len()],
            checks: [0; CHECK_RESULTS.len()],
            reopens: [0; OUTCOMES],
            recoveries: [[0; PhaseKind::WORDS.len()]; AGENT_STATES.len()],
            cancels: [[0; PhaseKind::WORDS.len()]; CANCEL_SOURCES.len()],
        }
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }

    pub(crate) fn remedy(&mut self, remedy: Remedy) {
        self.remedies[remedy_index(remedy)] += 1;
    }

    pub(crate) fn outcome(&mut self, kind: OutcomeKind) {
        self.outcomes[kind as usize] += 1;
    }

    pub(crate) fn deadline(&mut self, kind: DeadlineKind) {
        self.deadlines[kind as usize] += 1;
    }

    pub(crate) fn stop(&mut self, cause: StopCause, level: StopLevel) {
        self.stops[cause as usize] += 1;
        self.levels[level as usize] += 1;
    }

    pub(crate) fn limit(&mut self, limit: Limit, threshold: LimitThreshold) {
        self.limits[threshold as usize][limit as usize] += 1;
    }

    pub(crate) fn prompt(&mut self, prompt: PromptKind) {
        match prompt {
            PromptKind::WrapUp(_) => self.prompts[0] += 1,
            PromptKind::KeepGoing(prompt) => {
                self.prompts[1] += 1;
                self.prompts[2] += u64::from(prompt.active_time.is_some());
                self.prompts[3] += u64::from(prompt.limit_near);
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

    pub(crate) fn agent_stop(&mut self, claimed_done: bool) {
        self.keep_going[usize::from(claimed_done)] += 1;
    }

    /// Counts the end of a run. `fault` is the fault of its last attempt, if that failed.
    pub(crate) fn finish(&mut self, outcome: &Outcome, fault: Option<Fault>) {
        let idle = outcome.fault == Some(Fault::Unfinished) && fault != outcome.fault;
        self.keep_going[2] += u64::from(idle);
    }

    pub(crate) fn stall_deferral(&mut self) {
        self.stall_deferrals += 1;
    }

    pub(crate) fn kill(&mut self, point: KillPoint) {
        self.kills[point as usize] += 1;
    }

    pub(crate) fn strategy(&mut self, strategy: ResumeStrategy) {
        self.strategies[strategy as usize] += 1;
    }

    pub(crate) fn session_state(&mut self, state: SessionFileState) {
        self.session_states[state as usize] += 1;
    }

    pub(crate) fn summary(&mut self, result: SummaryResult) {
        let index = match result {
            SummaryResult::Written => 0,
            SummaryResult::NotNeeded => 1,
            SummaryResult::Failed(_) => 2,
        };
        self.summaries[index] += 1;
    }

    pub(crate) fn check(&mut self, result: CheckResult) {
        self.checks[result as usize] += 1;
    }

    pub(crate) fn reopen(&mut self, kind: OutcomeKind) {
        self.reopens[kind as usize] += 1;
    }

    pub(crate) fn recovery(&mut self, is_running: bool, phase: PhaseKind) {
        self.recoveries[usize::from(!is_running)][phase as usize] += 1;
    }

    pub(crate) fn cancel(&mut self, source: CancelSource, phase: PhaseKind) {
        self.cancels[source as usize][phase as usize] += 1;
    }

    /// Adds another swarm's counts.
    pub fn add(&mut self, other: &Coverage) {
        let add =
            |into: &mut [u64], from: &[u64]| into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
        add(&mut self.faults, &other.faults);
        add(&mut self.remedies, &other.remedies);
        add(&mut self.outcomes, &other.outcomes);
        add(&mut self.deadlines, &other.deadlines);
        add(&mut self.stops, &other.stops);
        add(&mut self.levels, &other.levels);
        add(self.limits.as_flattened_mut(), other.limits.as_flattened());
        add(&mut self.prompts, &other.prompts);
        add(&mut self.keep_going, &other.keep_going);
        self.stall_deferrals += other.stall_deferrals;
        add(&mut self.kills, &other.kills);
        add(&mut self.strategies, &other.strategies);
        add(&mut self.session_states, &other.session_states);
        add(&mut self.summaries, &other.summaries);
        add(&mut self.checks, &other.checks);
        add(&mut self.reopens, &other.reopens);
        add(self.recoveries.as_flattened_mut(), other.recoveries.as_flattened());
        add(self.cancels.as_flattened_mut(), other.cancels.as_flattened());
    }

    /// Returns the names of everything that should be reached and was not. The list is empty if the swarm
    /// covers the policy.
    pub fn missing(&self) -> Vec<String> {
        // A swarm never counts these: the two remedies lead to no attempt, and the outcome belongs to loops
        // of runs.
        let unreachable = ["remedy end", "remedy end_unless_allowed", "outcome incomplete"];
        // Runs with these outcomes cannot be resumed. A new supervisor stops a summary of its predecessor.
        // Before a run starts and after it finishes, no process runs and no cancel has an effect.
        let impossible = |name: &str| {
            let idle = [" new", " suspended", " finished"];
            let cancel = name.starts_with("cancel") && idle.iter().any(|end| name.ends_with(end));
            let running = ["new", "summarizing", "checking", "sweeping", "waiting", "suspended"]
                .iter()
                .any(|phase| name == format!("recovery running {phase}"));
            let reopened = ["incomplete", "bug", "suspended"]
                .iter()
                .any(|outcome| name == format!("reopened {outcome}"));
            reopened || cancel || running || unreachable.contains(&name)
        };
        self.rows()
            .into_iter()
            .filter(|(name, count)| *count == 0 && !impossible(name))
            .map(|(name, _)| name)
            .collect()
    }

    /// Returns every name and its count, in a fixed order.
    pub fn rows(&self) -> Vec<(String, u64)> {
        let mut rows = Vec::new();
        let mut add = |kind: &str, words: &[&str], counts: &[u64]| {
            rows.extend(words.iter().zip(counts).map(|(word, count)| (format!("{kind} {word}"), *count)));
        };
        let faults: Vec<&str> = Fault::ALL.iter().map(|fault| fault.as_str()).collect();
        let outcomes: Vec<&str> = OutcomeKind::ALL.iter().map(|kind| kind.as_str()).collect();
        add("fault", &faults, &self.faults);
        add("remedy", &REMEDY_WORDS, &self.remedies);
        add("outcome", &outcomes, &self.outcomes);
        add("deadline", &DEADLINE_KINDS, &self.deadlines);
        add("stop", &STOP_CAUSES, &self.stops);
        add("level", &STOP_LEVELS, &self.levels);
        let limits: Vec<&str> = Limit::ALL.iter().map(|limit| limit.as_str()).collect();
        for (threshold, counts) in THRESHOLDS.iter().zip(&self.limits) {
            add(&format!("{threshold} of"), &limits, counts);
        }
        add("prompt", &PROMPTS, &self.prompts);
        add("keep_going", &KEEP_GOING, &self.keep_going);
        add("stall", &["deferred"], &[self.stall_deferrals]);
        add("kill", &KillPoint::WORDS, &self.kills);
        add(
            "strategy",
            &ResumeStrategy::ALL.iter().map(|strategy| strategy.as_str()).collect::<Vec<_>>(),
            &self.strategies,
        );
        add("session", &SESSION_STATES, &self.session_states);
        add("summary", &SUMMARY_RESULTS, &self.summaries);
        add("check", &CHECK_RESULTS, &self.checks);
        add("reopened", &outcomes, &self.reopens);
        for (agent, counts) in AGENT_STATES.iter().zip(&self.recoveries) {
            add(&format!("recovery {agent}"), &PhaseKind::WORDS, counts);
        }
        for (source, counts) in CANCEL_SOURCES.iter().zip(&self.cancels) {
            add(&format!("cancel {source}"), &PhaseKind::WORDS, counts);
        }
        rows
    }
}

/// Prints the names and counts in three aligned columns.
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
    "replace_lost_session",
    "replace_full_session",
    "try_fork",
    "nudge_answer",
    "nudge_smaller_steps",
    "keep_going",
    "retry_once",
    "end",
    "end_unless_allowed",
];

fn remedy_index(remedy: Remedy) -> usize {
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
