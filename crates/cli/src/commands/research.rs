//! `longhaul research`: runs a ResearchGym task, or continues a run of Longhaul or of ResearchGym itself. It
//! equals `longhaul run --preset researchgym` with the options of that harness.

mod prompt;
mod researchgym_run;
mod task;
mod workspace;

use super::supervise::DisplayOptions;
use super::{detach, resume, run};
use crate::args::{
    AgentArgs, ChangeArgs, GlobalArgs, KeepGoingArgs, LimitArgs, NONE, PolicyArgs, PolicyValueArgs,
    ResearchArgs, ResumeArgs, RunArgs, WrapUpArgs, unless_zero,
};
use crate::config::arguments::typed_except;
use crate::failure::{Failure, OrFailure, USAGE};
use crate::next_commands::quoted;
use crate::{changes, guard_flags, open_home, open_ledger, output, table_files};
use clap::ArgMatches;
use longhaul_agent::{Guards, HandoffContext, HandoffReason, UrlPattern, estimated_tokens, handoff_prompt};
use longhaul_core::{HANDOFF_TOKENS_MAX, OutcomeKind, Preset, Remaining, Span, Usd};
use longhaul_store::{Inherited, LedgerRun, Plan, RunDir, RunFilter};
use researchgym_run::ResearchGymRun;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use task::Task;

// ResearchGym's own defaults.
const HOURS: Span = Span::from_mins(15);
const BUDGET: Usd = Usd(10_000_000);

/// Result of a dry run that would resume a run. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResumeDryRun {
    /// The equivalent command.
    command: TypedCommand,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TypedCommand {
    /// Name of the program.
    program: &'static str,
    /// Arguments of the program.
    args: Vec<String>,
}

/// Directory in the run's workspace that the agent works in. ResearchGym uses the same name.
const INPUT: &str = "input";
/// ResearchGym's agents need no permission, and no person can grant any.
const PERMISSION_MODE: &str = "bypassPermissions";
/// Arguments that a resumed run accepts.
const OF_RESUME: [&str; 12] = [
    "resume",
    "task_dir",
    "agent",
    "model",
    "hours",
    "budget",
    "runtime",
    "runs_dir",
    "background_wait",
    "notify",
    "events",
    "dry_run",
];
const TASK_HINT: &str = "name a directory that contains task_description.md or README.md";

pub fn research(global: &GlobalArgs, args: &ResearchArgs, matches: &ArgMatches) -> Result<u8, Failure> {
    check_runtime(args)?;
    if let Some(code) = detach::start_or_leave(global, args.detach)? {
        return Ok(code);
    }
    match &args.resume {
        None => start(global, args),
        Some(selector) => match researchgym_run::directory(selector)? {
            Some(dir) => continue_researchgym_run(global, args, &dir),
            None => resume_own_run(global, args, matches, selector),
        },
    }
}

/// Rejects containers. ResearchGym can start the agent in one; Longhaul starts it in its own environment.
fn check_runtime(args: &ResearchArgs) -> Result<(), Failure> {
    let is_docker = args.runtime.as_deref() == Some("docker");
    let flags = [("--runtime docker", is_docker), ("--image", args.image.is_some()), ("--gpus", args.gpus)];
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(Failure::usage(
            format!("{flag}: Longhaul starts no containers; the agent runs where longhaul was started"),
            "leave it out, or start longhaul inside the container",
        )),
        None => Ok(()),
    }
}

/// Requested limits of a run. The time is always limited.
#[derive(Clone, Copy)]
struct RequestedTotals {
    budget: Option<Usd>,
    time: Span,
}

impl RequestedTotals {
    fn new(args: &ResearchArgs) -> RequestedTotals {
        let budget = args.budget.unwrap_or(BUDGET);
        RequestedTotals {
            budget: Some(budget).filter(|usd| *usd > Usd::ZERO),
            time: args.hours.unwrap_or(HOURS),
        }
    }
}

fn start(global: &GlobalArgs, args: &ResearchArgs) -> Result<u8, Failure> {
    let task_dir = args.task_dir.as_deref().unwrap_or(Path::new(""));
    let task = Task::read(task_dir, args.idea_hint)?;
    let limits = RequestedTotals::new(args);
    let block_urls = blocked_urls(args, task.blocked.clone())?;
    let prompt = prompt::initial(&task, limits, !block_urls.is_empty());
    let run = RunArgs {
        resume: args.resume_session.clone(),
        ..run_args(args, prompt, &task.files, limits, block_urls)
    };
    let mut prepared = run::prepare(&run)?.configured(&global.configured.values);
    let guards = Guards::compile(&prepared.spec.guards, &prepared.spec.cwd)
        .or_usage("cannot block a path", "name it with --block-path")?;
    // The agent works on a copy of the task. A path in the task is blocked in both.
    let paths = &mut prepared.spec.guards.block_paths;
    paths.extend(guards.block_paths.absolute_paths().filter(|path| Path::new(path).starts_with(&task.files)));
    if args.dry_run {
        prepared.spec.cwd = Path::new("<run directory>/workspace").join(INPUT);
        return prepared.print(output::format(global));
    }
    let runs = match &prepared.placement.runs_dir {
        Some(runs) => runs.clone(),
        None => open_home::open()?.runs_path(),
    };
    // Deleted unless the run moves it into its directory.
    let workspace = workspace::prepare(&task, &runs)?;
    prepared.spec.cwd = PathBuf::from(INPUT);
    prepared.placement.workspace = Some(workspace.path().to_owned());
    prepared.start(global, DisplayOptions::open(global, &args.events)?)
}

/// Continues a run of ResearchGym in its workspace, with the remaining amounts of its limits.
fn continue_researchgym_run(global: &GlobalArgs, args: &ResearchArgs, dir: &Path) -> Result<u8, Failure> {
    let past = ResearchGymRun::read(dir)?;
    check_not_continued(&past)?;
    let task = Task::read(args.task_dir.as_deref().unwrap_or(&past.workspace), args.idea_hint)?;
    let remaining = past.remaining(RequestedTotals::new(args))?;
    let block_urls = blocked_urls(args, past.blocked.iter().chain(&task.blocked).cloned().collect())?;
    let prompt = prompt::initial(&task, remaining, !block_urls.is_empty());
    // ResearchGym never continues a session from another run. Without a transcript the work starts from the
    // workspace.
    let prompt = match &args.resume_session {
        Some(_) => prompt,
        None => {
            let context = HandoffContext {
                remaining: Remaining {
                    budget: remaining.budget,
                    time: Some(remaining.time),
                    ..Remaining::default()
                },
                ..HandoffContext::unlimited(&prompt, HandoffReason::Text("it was another harness's"))
            };
            handoff_prompt(&past.transcript, &context, HANDOFF_TOKENS_MAX + estimated_tokens(&prompt), None)
        }
    };
    let run = RunArgs {
        resume: args.resume_session.clone(),
        ..run_args(args, prompt, &past.workspace, remaining, block_urls)
    };
    let mut prepared = run::prepare(&run)?.configured(&global.configured.values);
    prepared.inherited = Some(Inherited {
        from: past.dir.as_path().into(),
        cost: past.cost,
        active: past.active,
        wall: past.wall,
    });
    if args.dry_run {
        return prepared.print(output::format(global));
    }
    prepared.start(global, DisplayOptions::open(global, &args.events)?)
}

/// Rejects a run that a run of Longhaul already continues. Its usage is not in ResearchGym's files, and both would
/// change the same workspace.
fn check_not_continued(past: &ResearchGymRun) -> Result<(), Failure> {
    let project = Some(past.workspace.display().to_string());
    let runs =
        open_ledger::open(&open_home::locate()?)?.runs(&RunFilter { project, ..RunFilter::default() })?;
    let continues = |run: &&LedgerRun| {
        let never_started = run.outcome == Some(OutcomeKind::NotStarted) && run.reopen_count == 0;
        let inherited = run.run_dir().plan().ok().and_then(|plan| plan.inherited);
        !never_started && inherited.is_some_and(|inherited| inherited.from.as_path() == past.dir)
    };
    match runs.iter().find(continues) {
        Some(run) => Err(Failure::usage(
            format!("cannot resume {}: run {} already continues it", past.dir.display(), run.id),
            format!("`longhaul research --resume {}` continues it", run.id),
        )),
        None => Ok(()),
    }
}

fn resume_own_run(
    global: &GlobalArgs,
    args: &ResearchArgs,
    matches: &ArgMatches,
    selector: &str,
) -> Result<u8, Failure> {
    let dir = open_home::find_run(&open_home::locate()?, selector)?;
    let plan = dir.plan()?;
    check_unchanged(args, matches, &dir, &plan)?;
    let (cost, active) =
        plan.inherited.as_ref().map_or((Usd::ZERO, Span::ZERO), |before| (before.cost, before.active));
    let budget = args.budget.filter(|usd| *usd > Usd::ZERO);
    let is_exhausted = budget.is_some_and(|usd| usd <= cost) || args.hours.is_some_and(|time| time <= active);
    if is_exhausted {
        return Err(researchgym_run::exhausted(dir.path(), cost, active));
    }
    let prompt = resume::is_done(&dir)?.then(|| prompt::MORE.to_owned());
    let resume = ResumeArgs {
        run: selector.to_owned(),
        prompt,
        changes: ChangeArgs {
            limits: LimitArgs {
                budget: args.budget.map(|usd| usd.saturating_sub(cost)),
                time_limit: args.hours.map(|time| time - active),
                ..LimitArgs::default()
            },
            policy: policy_values(args),
            notify: args.notify.clone(),
            ..ChangeArgs::default()
        },
        events: args.events.clone(),
        ..ResumeArgs::default()
    };
    // Checked here so that the error names this command's flags.
    let limits = changes::from_flags(&resume.changes, &plan.spec, None)
        .and_then(|spec| resume::require_remaining(&spec.policy, &dir));
    limits.map_err(|failure| match failure.exit_code {
        USAGE => Failure { hint: Some(researchgym_run::TOTALS.to_owned()), ..failure },
        _ => failure,
    })?;
    if args.dry_run { print(&resume, global) } else { resume::resume(global, &resume) }
}

/// Rejects flags that would change the run. Its own model and directory may be repeated.
fn check_unchanged(
    args: &ResearchArgs,
    matches: &ArgMatches,
    dir: &RunDir,
    plan: &Plan,
) -> Result<(), Failure> {
    let model = args.model.as_ref().filter(|model| plan.spec.model.as_ref() != Some(*model));
    if let Some(model) = model {
        return Err(Failure::usage(
            format!(
                "cannot resume the run with another model: it uses {}",
                plan.spec.model.as_deref().unwrap_or("the default")
            ),
            format!("change it with `longhaul resume {} --model {}`", dir.id(), quoted(model)),
        ));
    }
    let is_elsewhere = args.runs_dir.as_deref().is_some_and(|runs| !contains(runs, dir.path()));
    let other = is_elsewhere.then(|| "--runs_dir".to_owned());
    match other.or_else(|| typed_except(&OF_RESUME, "research", matches)) {
        Some(flag) => Err(Failure::usage(
            format!("cannot resume the run: {flag} cannot be changed any more"),
            format!(
                "leave it out; only --claude_hours and --budget_limit can be changed here; `longhaul resume {}` has more flags",
                dir.id()
            ),
        )),
        None => Ok(()),
    }
}

/// Returns whether a run's directory is `runs/<date>/<id>`.
fn contains(runs: &Path, dir: &Path) -> bool {
    match (fs::canonicalize(runs), fs::canonicalize(dir)) {
        (Ok(runs), Ok(dir)) => dir.ancestors().nth(2) == Some(runs.as_path()),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

/// Returns the arguments that `longhaul` takes for the same. A limit of 0 is unlimited.
fn arguments(resume: &ResumeArgs) -> Vec<String> {
    let ChangeArgs { limits, policy, notify, .. } = &resume.changes;
    let none = || NONE.to_owned();
    let dollars = |usd: Usd| unless_zero(usd).map_or_else(none, |usd| usd.as_dollars().to_string());
    let time = |span: Span| unless_zero(span).map_or_else(none, |span| format!("{}ms", span.millis()));
    let mut args = vec!["resume".to_owned(), resume.run.clone()];
    args.extend(limits.budget.map(|usd| format!("--budget={}", dollars(usd))));
    args.extend(limits.time_limit.map(|span| format!("--time-limit={}", time(span))));
    args.extend(policy.background_wait.map(|span| format!("--background-wait={}", time(span))));
    args.extend(notify.notify.iter().map(|channel| format!("--notify={channel}")));
    args.extend(resume.prompt.clone());
    args
}

fn print(resume: &ResumeArgs, global: &GlobalArgs) -> Result<u8, Failure> {
    let printed = ResumeDryRun { command: TypedCommand { program: "longhaul", args: arguments(resume) } };
    output::print_output(global, &printed, || {
        let args: Vec<_> = printed.command.args.iter().map(|word| quoted(word)).collect();
        format!("Command: longhaul {}\n", args.join(" "))
    });
    Ok(0)
}

fn blocked_urls(args: &ResearchArgs, mut patterns: Vec<UrlPattern>) -> Result<Vec<UrlPattern>, Failure> {
    patterns.extend(args.everywhere.block_url.iter().cloned());
    if let Some(list) = &args.blocked_urls {
        patterns.extend(guard_flags::url_list("--blocked-urls", list)?);
    }
    if let Some(path) = &args.blocked_urls_file {
        let list = table_files::read("--blocked-urls-file", path)?;
        patterns.extend(guard_flags::url_list(&path.display().to_string(), &list)?);
    }
    Ok(patterns)
}

fn run_args(
    args: &ResearchArgs,
    prompt: String,
    cwd: &Path,
    limits: RequestedTotals,
    block_url: Vec<UrlPattern>,
) -> RunArgs {
    let mode = args.permission_mode.clone().unwrap_or_else(|| PERMISSION_MODE.to_owned());
    // The preset reserves a minute for the wrap-up, which is too much of a short run.
    let is_short = limits.time <= Span::from_mins(2);
    RunArgs {
        // The record of earlier work is a part of the task from here on. It must leave room for Longhaul's
        // own record.
        handoff_tokens: HANDOFF_TOKENS_MAX + estimated_tokens(&prompt),
        prompt: Some(prompt),
        agent: AgentArgs {
            model: args.model.clone(),
            permission_mode: Some(mode),
            agent_path: args.agent_path.clone(),
            allow_tools: args.everywhere.allow_tools.clone(),
            deny_tools: args.everywhere.deny_tools.clone(),
            check: Vec::new(),
        },
        cwd: Some(cwd.to_owned()),
        block_url,
        network: args.everywhere.network.clone(),
        block_urls_file: args.everywhere.block_urls_file.clone(),
        block_path: args.everywhere.block_path.clone(),
        effects_file: args.everywhere.effects_file.clone(),
        prices_file: args.everywhere.prices_file.clone(),
        diagnostic: args.everywhere.diagnostic,
        runs_dir: args.runs_dir.clone(),
        agent_args: args.agent_args.clone(),
        limits: LimitArgs { budget: limits.budget, time_limit: Some(limits.time), ..LimitArgs::default() },
        wrap_up: WrapUpArgs {
            wrap_up_reserve: is_short.then_some(Span(limits.time.millis() / 2)),
            ..WrapUpArgs::default()
        },
        // Like ResearchGym's loop, keeps the agent working as long as its limits allow.
        keep_going: KeepGoingArgs {
            keep_going: true,
            keep_improving: args.extended_continue,
            max_idle_stops: args.max_idle_stops,
            ..KeepGoingArgs::default()
        },
        handoff_summary: args.handoff_summary.clone(),
        policy: PolicyArgs { preset: Some(Preset::Researchgym), values: policy_values(args) },
        notify: args.notify.clone(),
        ..RunArgs::default()
    }
}

fn policy_values(args: &ResearchArgs) -> PolicyValueArgs {
    PolicyValueArgs { background_wait: args.background_wait, ..PolicyValueArgs::default() }
}

#[cfg(test)]
mod tests {
    use super::arguments;
    use crate::args::{ChangeArgs, LimitArgs, NotifyArgs, PolicyValueArgs, ResumeArgs};
    use clap::Parser;
    use longhaul_core::{Span, Usd};

    #[derive(Parser)]
    struct TestCli {
        #[command(flatten)]
        args: ResumeArgs,
    }

    #[test]
    fn printed_command_is_accepted() {
        let check = |budget: Option<Usd>, time_limit: Option<Span>, wait: Option<Span>, channels: &[&str]| {
            let notify: Vec<String> = channels.iter().map(|channel| (*channel).to_owned()).collect();
            let printed = arguments(&ResumeArgs {
                run: "bcdfgh".to_owned(),
                prompt: Some("More.".to_owned()),
                changes: ChangeArgs {
                    limits: LimitArgs { budget, time_limit, ..LimitArgs::default() },
                    policy: PolicyValueArgs { background_wait: wait, ..PolicyValueArgs::default() },
                    notify: NotifyArgs { notify: notify.clone() },
                    ..ChangeArgs::default()
                },
                ..ResumeArgs::default()
            });
            let args =
                TestCli::try_parse_from(&printed).unwrap_or_else(|error| panic!("{printed:?}: {error}")).args;
            let changes = args.changes;
            assert_eq!((args.run.as_str(), args.prompt.as_deref()), ("bcdfgh", Some("More.")), "{printed:?}");
            assert_eq!(
                (changes.limits.budget, changes.limits.time_limit),
                (budget, time_limit),
                "{printed:?}"
            );
            assert_eq!(
                (changes.policy.background_wait, changes.notify.notify),
                (wait, notify),
                "{printed:?}"
            );
        };
        check(None, None, None, &[]);
        check(Some(Usd::ZERO), None, Some(Span::ZERO), &["desktop", "notify-send 'it ended'"]);
        check(Some(Usd(12_345_678)), Some(Span(5_400_001)), Some(Span::from_mins(2)), &[]);
    }
}
