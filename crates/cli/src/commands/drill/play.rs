//! Plays one scenario: starts a loopback API and an agent in a temporary workspace, supervises the agent, and
//! signals it at the moments that the scenario defines.

use super::unexpected;
use crate::args::{AgentKind, DrillAgentKind, DrillArgs, GlobalArgs};
use crate::commands::watchdog;
use crate::failure::Failure;
use crate::output::progress::ProgressDisplay;
use crate::{runtime, signals};
use longhaul::{Environment, Observer, RunMarker, RunReport, RunRequest, StepView, Supervisor};
use longhaul_agent::{Program, default_environment};
use longhaul_core::{
    AfterAttempt, AttemptEnd, Fault, OutageBound, Policy, Preset, Record, Remedy, RunId, RunSpec, Span, Step,
};
use longhaul_drill::workspace::{self, WorkspaceFiles};
use longhaul_drill::{Api, RequestLog, Scenario, announced_message_ids};
use longhaul_store::{Home, RunDir, StoreError};
use rustix::process::{Pid, kill_process};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs};

/// Hidden subcommand that acts as the scripted agent.
pub const AGENT_SUBCOMMAND: &str = "drill-agent";
/// Directory of the run, in the temporary directory.
pub const HOME: &str = "longhaul";

/// Plays one scenario to its end. Also returns its directory if `--keep` is set.
pub fn play(
    global: &GlobalArgs,
    args: &DrillArgs,
    scenario: &Scenario,
    program: &Program,
) -> Result<(DrillResult, Option<PathBuf>), Failure> {
    let dir = tempfile::Builder::new().prefix("longhaul-drill-").tempdir().map_err(unexpected)?;
    let played = run_scenario(global, args, scenario, program, dir.path());
    let result = runtime::supervise(played)??;
    let kept_dir = args.keep.then(|| dir.keep());
    Ok((result, kept_dir))
}

/// A fault that did not finish the run, and its remedy.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SurvivedFault {
    /// The fault.
    pub fault: Fault,
    /// The remedy.
    pub remedy: Remedy,
}

pub(super) struct DrillResult {
    pub(super) report: RunReport,
    pub(super) request_log: RequestLog,
    /// Ids of messages whose final usage is in the agent's streams.
    pub(super) announced: BTreeSet<String>,
    pub(super) survived: Vec<SurvivedFault>,
    pub(super) waits: u32,
    /// Content of the workspace.
    pub(super) files: WorkspaceFiles,
    /// Steps of the work that were not done exactly once.
    pub(super) effect_errors: Vec<String>,
    /// Number of processes that still carry the run marker.
    pub(super) leftover_processes: usize,
}

async fn run_scenario(
    global: &GlobalArgs,
    args: &DrillArgs,
    scenario: &Scenario,
    program: &Program,
    dir: &Path,
) -> Result<DrillResult, Failure> {
    let (home, work) = (dir.join("home"), dir.join("work"));
    for dir in [&home, &work] {
        fs::create_dir(dir).map_err(unexpected)?;
    }
    let api = Api::start(scenario, args.seed).await.map_err(unexpected)?;
    let spec = RunSpec::new(&program.path, &work, &scenario.prompt, policy(scenario)).with(|spec| {
        if args.agent == DrillAgentKind::Acp {
            AgentKind::Acp.as_str().clone_into(&mut spec.agent.name);
        }
        spec.agent.leading_args.clone_from(&program.leading_args);
        let settings = scenario.run.settings.iter();
        spec.agent.args = settings.flat_map(|json| ["--settings".to_owned(), json.clone()]).collect();
        spec.model = Some(scenario.model.clone());
        spec.permission_mode = Some("bypassPermissions".to_owned());
    });
    let runs = Home::open(Some(dir.join(HOME)), |_| None).map_err(unexpected)?;
    let environment = environment(&api, &home, spec.policy.inner_retries);
    let mut request = RunRequest::from(spec);
    request.origins = BTreeMap::from([("preset".to_owned(), "drill".to_owned())]);
    let pid = Arc::new(AtomicU32::new(0));
    let killer = tokio::spawn(kill_at_moments(api.signal_points(), Arc::clone(&pid)));
    let mut watcher =
        Watcher { screen: ProgressDisplay::new(global, true), pid, survived: Vec::new(), waits: 0 };
    let supervisor = Supervisor::from(runs).with_environment(environment);
    let run = supervisor.observe(request.into(), &mut watcher);
    signals::cancel(run.canceller())?;
    let report = run.await.map_err(unexpected)?;
    killer.abort();
    watcher.screen.close();

    let mut files = workspace::read(&work).map_err(unexpected)?;
    let effect_errors = workspace::effect_errors(&mut files, scenario.expected_effects());
    Ok(DrillResult {
        leftover_processes: leftover_processes(&report.dir).map_err(unexpected)?,
        announced: announced_message_ids(&report.dir).map_err(unexpected)?,
        report,
        request_log: api.request_log(),
        survived: watcher.survived,
        waits: watcher.waits,
        files,
        effect_errors,
    })
}

fn leftover_processes(dir: &Path) -> Result<usize, StoreError> {
    let dir = RunDir::from_path(dir.to_owned()).expect("a run's directory is absolute and has its name");
    Ok(RunMarker::load(&dir)?.processes().len())
}

fn policy(scenario: &Scenario) -> Policy {
    let run = &scenario.run;
    let mut policy = Preset::Drill.policy();
    let span = |duration: Duration| Span(duration.as_millis() as u64);
    policy.inner_retries = run.inner_retries.unwrap_or(policy.inner_retries);
    policy.stall_timeout = run.stall_timeout.map(span).or(policy.stall_timeout);
    policy.max_reset_wait = run.max_reset_wait.map(span).or(policy.max_reset_wait);
    if let OutageBound::Time(Some(limit)) = &mut policy.outage_bound {
        // The real agent's own retry-after waits take a minute. The supervisor does not control them.
        *limit = Span::from_mins(3).max(*limit);
    }
    policy
}

/// Contains nothing of the user's: no credentials, no settings, and no API except the loopback API.
fn environment(api: &Api, home: &Path, inner_retries: u32) -> Environment {
    let mut set: BTreeMap<String, String> = api.environment().into_iter().collect();
    set.insert("HOME".to_owned(), home.display().to_string());
    set.insert("PATH".to_owned(), env::var("PATH").unwrap_or_default());
    set.insert("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".to_owned(), "1".to_owned());
    // The real agent refuses bypassPermissions as root unless this variable declares a sandbox.
    set.insert("IS_SANDBOX".to_owned(), "1".to_owned());
    // The Agent Client Protocol has no such setting.
    let retries = default_environment().max_retries;
    set.insert(retries.to_owned(), inner_retries.to_string());
    let mut environment = watchdog::environment();
    (environment.clear, environment.set) = (true, set);
    environment
}

/// Sends the agent, and no other process, each signal at its moment.
async fn kill_at_moments(
    mut moments: tokio::sync::broadcast::Receiver<longhaul_drill::scenario::Signal>,
    pid: Arc<AtomicU32>,
) {
    while let Ok(signal) = moments.recv().await {
        if let Some(pid) = Pid::from_raw(pid.load(Ordering::Relaxed) as i32) {
            // If the process is already gone, the moment was missed, and the scorecard shows it.
            let _ = kill_process(pid, signal.into());
        }
    }
}

struct Watcher {
    screen: ProgressDisplay,
    pid: Arc<AtomicU32>,
    survived: Vec<SurvivedFault>,
    waits: u32,
}

impl Observer for Watcher {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.screen.on_start(run, dir);
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        let process = view.run.state().process;
        self.pid.store(process.map_or(0, |process| process.pid), Ordering::Relaxed);
        for record in &step.records {
            if let Record::AttemptEnded(AttemptEnd {
                fault: Some(fault),
                next: AfterAttempt::Attempt { at: until, remedy, .. },
                ..
            }) = record
            {
                self.survived.push(SurvivedFault { fault: *fault, remedy: *remedy });
                self.waits += u32::from(*until > view.at);
            }
        }
        self.screen.on_step(view, step);
    }
}
