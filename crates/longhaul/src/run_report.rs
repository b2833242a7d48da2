//! What is told when a run is over: the run in figures, its result, and the files that say so too.

mod errors;

use crate::cost_breakdown::SpendingReader;
use crate::next_commands::next_commands;
pub use errors::FailedCheck;
use errors::errors;
use longhaul_agent::AttemptSnapshot;
use longhaul_core::{
    AgentResult, Clocks, Fault, Limits, Moment, Outcome, OutcomeKind, Policy, Questions, Run, RunId,
    SessionId, Span, StartupError, State, Usage, Verified,
};
use longhaul_store::{
    CostBreakdown, CostSummary, Harness, Plan, RunDir, SessionSummary, Status, StoppedTask,
};
use std::path::PathBuf;
use std::process;

/// A finished run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The run.
    pub run: RunId,
    /// Its directory.
    pub dir: PathBuf,
    /// How it ended.
    pub outcome: Outcome,
    /// The agent's last answer, whole or partial.
    pub result: Option<String>,
    /// What went wrong, for people: first the reason for the outcome, then the agent's own messages. Never empty unless
    /// the work is done.
    pub errors: Vec<String>,
    /// The check that failed last, if the outcome is `check_failed`.
    pub failed_check: Option<FailedCheck>,
    /// The proof that the work is done.
    pub verified: Verified,
    /// The session that can be continued.
    pub session: Option<SessionId>,
    /// The model that answered.
    pub model: Option<String>,
    /// How many attempts were made.
    pub attempts: u32,
    /// The last attempt's fault, survived or not.
    pub fault: Option<Fault>,
    /// Why the agent refused to start, if it did.
    pub startup: Option<StartupError>,
    /// Commands that continue the run, the likeliest first; each works as printed.
    pub next: Vec<String>,
    /// The last result in closed words.
    pub last_result: Option<AgentResult>,
    /// What the run used.
    pub usage: Usage,
    /// How many tool calls its guards denied.
    pub denied_calls: u32,
    /// How the agent's questions were answered.
    pub questions: Questions,
    /// Background tasks that ended with the agent of the last attempt.
    pub background_stopped: Vec<StoppedTask>,
    /// How it spent its time.
    pub clocks: Clocks,
    /// When it ended.
    pub finished_at: Moment,
}

impl RunReport {
    /// The report of a run that ended with `outcome`: its last attempt's stream said `glance`, and there
    /// was this complaint about the agent's start.
    pub(crate) fn new(
        dir: &RunDir,
        run: &Run,
        (outcome, ended): (Outcome, Moment),
        snapshot: &AttemptSnapshot,
        error: Option<&str>,
    ) -> RunReport {
        let state = run.state();
        let plan = dir.plan().ok();
        // People learn of a file that cannot be read where they look for it.
        let background_stopped = dir.attempt(state.attempts()).stopped_tasks().unwrap_or_default();
        let failed_check = FailedCheck::read(dir, state, outcome);
        let mut errors = errors(state, outcome, failed_check.as_ref(), snapshot, error);
        if outcome.kind != OutcomeKind::Done {
            errors.extend(background_stopped.iter().map(stopped_words));
            errors.extend(plan.as_ref().and_then(|plan| refused_start(state.startup?, plan)));
        }
        RunReport {
            run: dir.id().clone(),
            dir: dir.path().to_owned(),
            outcome,
            result: snapshot
                .result
                .clone()
                .or_else(|| Some(snapshot.last_text.clone()).filter(|said| !said.is_empty())),
            errors,
            failed_check,
            verified: state.verified(),
            session: state.session.clone(),
            model: snapshot.model.clone(),
            attempts: state.attempts(),
            fault: state.fault,
            startup: state.startup,
            next: plan.map_or_else(Vec::new, |plan| next_commands(dir.id(), run, &plan)),
            last_result: state.result,
            usage: state.usage,
            denied_calls: state.denied_calls,
            questions: state.questions,
            background_stopped,
            clocks: state.clocks,
            finished_at: ended,
        }
    }

    /// The likeliest command that continues the run, or `None` if nothing needs to be done.
    pub fn resume_command(&self) -> Option<String> {
        self.next.first().cloned()
    }

    /// How long the run took, from its start to its end.
    pub fn wall(&self) -> Span {
        self.clocks.wall(self.finished_at)
    }
}

/// Describes a background task that ended with its agent, in one line.
pub fn stopped_words(task: &StoppedTask) -> String {
    let last = task.last_lines.as_ref().and_then(|lines| lines.lines().next_back());
    let last = last.map_or_else(String::new, |line| format!(" (last line of its output: {line})"));
    format!("the background command `{}` was stopped{last}", task.command)
}

/// Why the agent refused to start, where its own message does not say it in the terms of a run.
fn refused_start(startup: StartupError, plan: &Plan) -> Option<String> {
    let program = plan.agent.program.as_path().display();
    match startup {
        StartupError::BypassAsRoot => Some(
            "Claude Code refuses bypassPermissions as root, unless IS_SANDBOX=1 says that this machine is a sandbox"
                .to_owned(),
        ),
        StartupError::NotAnAgent => {
            Some(format!("{program} is not Claude Code: it ended without a line of its protocol"))
        }
        StartupError::SandboxMissing => {
            let needs = "the run's --network needs the agent's sandbox: install what the agent names";
            plan.network.as_ref().map(|_| needs.to_owned())
        }
        StartupError::UnknownPermissionMode
        | StartupError::ProgramMissing
        | StartupError::Unusable
        | StartupError::SessionUnknown
        | StartupError::SessionInUse
        | StartupError::SessionHeld => None,
    }
}

/// Writes what is derived when a run is over, but for its status. None of it can fail the run: all of it can be derived
/// again.
pub(crate) fn write_summaries(
    dir: &RunDir,
    run: &Run,
    policy: &Policy,
    harness: Option<Harness>,
    report: &RunReport,
) {
    let spending = SpendingReader::new().read(dir);
    let summary =
        cost_summary(dir, run.state(), policy.limits, spending, report.model.clone(), report.finished_at);
    let _ = dir.write_cost_summary(&summary);
    if harness.is_some() {
        let _ = dir.write_metadata(run.state().reopen_count, report.session.clone());
    }
    let (session_id, status) = (report.session.clone(), report.outcome.kind);
    let _ = dir.write_session_summary(&SessionSummary { session_id, status, end_time: report.finished_at });
}

/// Returns the costs of the run in `state`, as of `at`, with the costs that its plan inherited.
pub(crate) fn cost_summary(
    dir: &RunDir,
    state: &State,
    limits: Limits,
    spending: CostBreakdown,
    model: Option<String>,
    at: Moment,
) -> CostSummary {
    let summary = CostSummary::new(state, limits, spending, model, at);
    match dir.plan().ok().and_then(|plan| plan.inherited) {
        Some(inherited) => summary.with_inherited(&inherited),
        None => summary,
    }
}

/// Says that the run is over. Last: whoever waits for the end of a run looks here, and finds all else.
pub(crate) fn write_final_status(dir: &RunDir, run: &Run, policy: &Policy, report: &RunReport) {
    let _ = dir.write_status(&Status::new(dir.id(), run, policy, process::id(), report.finished_at));
}
