//! The report of a finished run: its usage, its result, and the files that record them.

mod errors;

pub use errors::FailedCheck;
use errors::errors;
use longhaul_agent::{AttemptSnapshot, default_dialect};
use longhaul_core::{
    AgentResult, BackgroundTask, Clocks, Fault, Limits, Moment, Outcome, OutcomeKind, Policy, Questions, Run,
    RunId, RunSpec, SessionId, Span, StartupError, State, Usage, Verified,
};
use longhaul_store::{CostBreakdown, CostSummary, Inherited, RunDir, SessionSummary, Status};
use std::path::PathBuf;
use std::process;

/// The report of a finished run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunReport {
    /// The run.
    pub run: RunId,
    /// Its directory.
    pub dir: PathBuf,
    /// How the run finished.
    pub outcome: Outcome,
    /// The agent's last answer, complete or partial.
    pub result: Option<String>,
    /// Errors for people: first the reason for the outcome, then the agent's own messages. Never empty unless
    /// the work is done.
    pub errors: Vec<String>,
    /// The check that failed last, if the outcome is `check_failed`, or whose reviewer gave no verdict.
    pub failed_check: Option<FailedCheck>,
    /// Evidence that the work is done.
    pub verified: Verified,
    /// Session that can be resumed.
    pub session: Option<SessionId>,
    /// Model that answered.
    pub model: Option<String>,
    /// Number of attempts.
    pub attempts: u32,
    /// Fault of the last attempt, even if the run survived it.
    pub fault: Option<Fault>,
    /// Why the agent refused to start, if it did.
    pub startup: Option<StartupError>,
    /// The last result, in wire words.
    pub last_result: Option<AgentResult>,
    /// Usage of the run.
    pub usage: Usage,
    /// Number of tool calls that the guards denied.
    pub denied_calls: u32,
    /// How the agent's questions were answered.
    pub questions: Questions,
    /// Background tasks that ended with the agent of the last attempt.
    pub background_stopped: Vec<BackgroundTask>,
    /// How the run spent its time.
    pub clocks: Clocks,
    /// When the run finished.
    pub finished_at: Moment,
}

impl RunReport {
    /// Creates the report of a run that finished with `outcome`. `snapshot` is the state of its last
    /// attempt's stream; `error` explains why the agent did not start.
    pub(crate) fn new(
        dir: &RunDir,
        run: &Run,
        spec: &RunSpec,
        outcome: Outcome,
        finished_at: Moment,
        snapshot: &AttemptSnapshot,
        error: Option<&str>,
    ) -> RunReport {
        let state = run.state();
        // If the file cannot be read, the report lists no stopped tasks.
        let background_stopped: Vec<BackgroundTask> = dir.attempt(state.attempts()).read_or_default();
        let failed_check = FailedCheck::read(dir, state, outcome);
        let mut errors = errors(state, &spec.policy, outcome, failed_check.as_ref(), snapshot, error);
        if outcome.kind != OutcomeKind::Done {
            errors.extend(background_stopped.iter().map(describe_stopped_task));
            errors.extend(state.startup.and_then(|startup| describe_refused_start(startup, spec)));
        }
        RunReport {
            run: dir.id().clone(),
            dir: dir.path().to_owned(),
            outcome,
            result: last_message(snapshot).map(str::to_owned),
            errors,
            failed_check,
            verified: state.verified(),
            session: state.session.clone(),
            model: snapshot.model.clone(),
            attempts: state.attempts(),
            fault: state.fault,
            startup: state.startup,
            last_result: state.result,
            usage: state.usage,
            denied_calls: state.denied_calls,
            questions: state.questions,
            background_stopped,
            clocks: state.clocks,
            finished_at,
        }
    }

    /// Returns the time from the run's start to its end.
    pub fn wall(&self) -> Span {
        self.clocks.wall(self.finished_at)
    }
}

/// Returns the agent's last message, complete or partial.
pub(crate) fn last_message(snapshot: &AttemptSnapshot) -> Option<&str> {
    snapshot.result.as_deref().or_else(|| Some(snapshot.last_text.as_str()).filter(|text| !text.is_empty()))
}

/// Describes a background task that ended with its agent, in one line.
pub fn describe_stopped_task(task: &BackgroundTask) -> String {
    let last = task.last_lines.as_ref().and_then(|lines| lines.lines().next_back());
    let last = last.map_or_else(String::new, |line| format!(" (last line of its output: {line})"));
    format!("the background work `{}` was stopped{last}", task.command)
}

/// Explains why the agent refused to start, if its own message does not explain it in terms of the run.
fn describe_refused_start(startup: StartupError, spec: &RunSpec) -> Option<String> {
    let program = spec.agent.program.display();
    match startup {
        StartupError::BypassAsRoot => Some(
            "Claude Code refuses bypassPermissions as root, unless IS_SANDBOX=1 states that this machine is a sandbox"
                .to_owned(),
        ),
        StartupError::NotAnAgent => {
            let is_claude = spec.agent.name == default_dialect().name();
            let kind = if is_claude { "not Claude Code" } else { "no agent of the Agent Client Protocol" };
            Some(format!("{program} is {kind}: it exited without a line of the agent's protocol"))
        }
        StartupError::SandboxMissing => {
            let needs = "the run's network rules need the agent's sandbox: install the missing programs that the agent lists";
            spec.network.as_ref().map(|_| needs.to_owned())
        }
        StartupError::UnknownPermissionMode
        | StartupError::ProgramMissing
        | StartupError::Unusable
        | StartupError::SessionUnknown
        | StartupError::SessionInUse
        | StartupError::SessionHeld => None,
    }
}

/// Writes the derived files of a finished run, except its status. A failed write never fails the run, because
/// the files can be derived again.
pub(crate) fn write_summaries(
    dir: &RunDir,
    run: &Run,
    spec: &RunSpec,
    inherited: Option<&Inherited>,
    report: &RunReport,
    breakdown: CostBreakdown,
) {
    let (limits, model, at) = (spec.policy.limits, report.model.clone(), report.finished_at);
    let summary = cost_summary(run.state(), limits, breakdown, model, inherited, at);
    let _ = dir.write_cost_summary(&summary);
    if spec.harness.is_some() {
        let _ = dir.write_metadata(run.state().reopen_count, report.session.clone());
    }
    let (session_id, status) = (report.session.clone(), report.outcome.kind);
    let _ = dir.write_session_summary(&SessionSummary {
        session_id,
        status,
        end_time: report.finished_at.into(),
    });
}

/// Returns the costs of the run in `state`, as of `at`, with the costs that it inherited.
pub(crate) fn cost_summary(
    state: &State,
    limits: Limits,
    breakdown: CostBreakdown,
    model: Option<String>,
    inherited: Option<&Inherited>,
    at: Moment,
) -> CostSummary {
    let summary = CostSummary::new(state, limits, breakdown, model, at);
    match inherited {
        Some(inherited) => summary.with_inherited(inherited),
        None => summary,
    }
}

/// Writes the final status of the run. It comes last, because readers that wait for the outcome then expect
/// all other files.
pub(crate) fn write_final_status(dir: &RunDir, run: &Run, policy: &Policy, report: &RunReport) {
    let status = Status::new(dir.id(), run, policy, process::id(), report.finished_at);
    let _ = dir.write_status(&Status { errors: report.errors.clone(), ..status });
}
