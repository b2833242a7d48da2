//! `longhaul playbook bootstrap`: learns from the past sessions of a project, one after another.
//!
//! Uses the same queue and worker as any other learning. An interrupted bootstrap continues where it stopped.

mod output;
mod progress;

use super::learn::{WorkerTarget, judge};
use super::project;
use crate::api_judge::SystemClock;
use crate::args::GlobalArgs;
use crate::args::playbook::{BootstrapArgs, OrderArg};
use crate::failure::{Failure, OrFailure};
use crate::open_home;
use crate::output::phrases::counted;
use crate::run_learning::destination;
use longhaul::find_agent::claude_config_dir;
use longhaul_agent::{Prices, estimated_tokens};
use longhaul_core::Usd;
use longhaul_playbook::bootstrap::{
    BootstrapPlan, BootstrapSettings, BootstrapState, Estimator, SessionFilter, folder_sessions, plan,
    project_sessions,
};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::{Judge, LearningDb, LearningPaths, PlaybookFile};
use progress::BootstrapLearner;
use std::env;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use output::BootstrapOutput;

pub fn bootstrap(global: &GlobalArgs, args: &BootstrapArgs) -> Result<u8, Failure> {
    let settings =
        BootstrapSettings::from_variables(|name| env::var(name).ok()).map_err(super::settings::usage)?;
    let kind = args.judge;
    let budget = args.budget.filter(|budget| *budget > Usd::ZERO);
    if budget.is_some() && kind == JudgeKind::Claude {
        let hint = "limit the sessions with --limit; `longhaul cost` shows the cost of its runs";
        return Err(Failure::usage("--budget does not work with --judge claude", hint));
    }
    let project = PathBuf::from(project::file(&args.project)?.project());
    let home = LearningPaths::in_home(open_home::open()?.path());
    let clock = Arc::new(SystemClock::new());
    let judge = judge::create(kind, &home, &clock);
    let state = BootstrapState::read(&project)?;
    let plan = make_plan(&project, args, &settings, &state, &home, &*judge)?;
    let mut command_output = BootstrapOutput::new(&project, args, &*judge, &plan);
    if args.dry_run || plan.included.is_empty() {
        command_output.print(global);
        return Ok(0);
    }
    if budget.is_some() && plan.estimate.cost.is_none() {
        let error = format!("--budget does not work with {}: its price is unknown", judge.model());
        let hint = "use --limit, or set AGENTIC_CONTEXT_MODEL to another model";
        return Err(Failure::usage(error, hint));
    }
    // A budget implies consent to its cost.
    if !args.yes && budget.is_none() {
        confirm_cost(&plan)?;
    }
    let target = WorkerTarget { home, kind, destination: destination() };
    let learner = BootstrapLearner { target, project, judge, clock, delay: settings.delay, budget };
    let exit_code = learner.learn(state, &plan, &mut command_output)?;
    command_output.print(global);
    Ok(exit_code)
}

fn make_plan(
    project: &Path,
    args: &BootstrapArgs,
    settings: &BootstrapSettings,
    state: &BootstrapState,
    home: &LearningPaths,
    judge: &dyn Judge,
) -> Result<BootstrapPlan, Failure> {
    let (dir, found) = match &settings.transcript_dir {
        Some(folder) if !folder.is_dir() => {
            let error = format!("cannot look for transcripts in {}: it is not a directory", folder.display());
            return Err(Failure::usage(error, "correct AGENTIC_CONTEXT_TRANSCRIPT_DIR, or unset it"));
        }
        Some(folder) => (folder.clone(), folder_sessions(folder)),
        None => {
            let config_dir = claude_config_dir().ok_or_else(|| {
                let hint = "set HOME or CLAUDE_CONFIG_DIR, or set AGENTIC_CONTEXT_TRANSCRIPT_DIR";
                Failure::not_started("cannot find Claude Code's sessions: their directory is unknown", hint)
            })?;
            (config_dir.join("projects"), project_sessions(&config_dir, project))
        }
    };
    let past_sessions = found.or_not_started(
        format!("cannot look for past sessions in {}", dir.display()),
        "check that the directory is readable",
    )?;
    let filter = SessionFilter {
        limit: args.limit.map(Into::into),
        newest_first: args.order == OrderArg::Newest,
        since: args.since,
        force: args.force,
        skip_sub_agents: settings.skip_sub_agents,
        bytes_max: settings.bytes_max,
    };
    // The worker reports an unreadable playbook.
    let playbook = PlaybookFile::in_project(project).read().ok().and_then(|loaded| loaded.text);
    let estimator = Estimator {
        prices: Prices::bundled(),
        model: judge.model(),
        prompt_tokens_max: judge.prompt_tokens_max(),
        playbook_tokens: playbook.map_or(0, |text| estimated_tokens(&text)),
    };
    let learning = LearningDb::open_existing(home)?;
    Ok(plan(past_sessions, &filter, state, learning.as_ref(), &estimator)?)
}

/// Asks the user to confirm the planned cost. Without a terminal, confirmation must be given by a flag.
fn confirm_cost(plan: &BootstrapPlan) -> Result<(), Failure> {
    let sessions = counted(plan.included.len() as u64, "session");
    let cost = output::cost(plan.estimate.cost);
    if !(io::stdin().is_terminal() && crate::output::out::stderr_is_terminal()) {
        let hint = "pass --yes, or a limit with --budget; --dry-run prints the plan";
        let error = format!("cannot learn from {sessions} for {cost}: no terminal to confirm");
        return Err(Failure::usage(error, hint));
    }
    crate::output::out::print_stderr(&format!("Learn from {sessions} for {cost}? [y/N]\n"));
    let mut answer = String::new();
    let result = io::stdin().read_line(&mut answer);
    if result.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::not_started(
        "nothing was learned: not confirmed",
        "--limit and --since select fewer sessions",
    ))
}
