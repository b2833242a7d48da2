//! `longhaul run`: one request, carried to an honest end.

mod keyed;

use super::finish_tool;
use super::runs::table::outcome_meaning;
use super::show::{finish, print_end};
use crate::args::{GlobalArgs, OutputFormat, RunArgs};
use crate::config::ConfiguredValues;
use crate::failure::{Failure, USAGE};
use crate::output::color::Style;
use crate::output::events::{self, Events, Writer};
use crate::output::lifecycle::Lifecycle;
use crate::output::progress::ProgressDisplay;
use crate::output::stream::Stream;
use crate::output::{self, phrases};
use crate::policy_flags::{ResolvedPolicy, resolve};
use crate::telemetry::{TelemetryHandle, telling};
use crate::{
    agent_settings, check_flags, guard_flags, keep_going_flags, limit_flags, network_flag, notify_flag,
    open_home, prompt_arg, run_learning, runtime, signals, table_files,
};
use longhaul::find_agent::{AgentError, claude_config_dir, claude_sessions, find_claude};
use longhaul::{
    Observer, PlanChanges, ResumeOptions, RunError, RunReport, RunRequest, SessionChoice, SuperviseError,
    supervise,
};
use longhaul_agent::claude::{Claude, RESERVED};
use longhaul_agent::{AgentSpec, Program, did_you_mean, researchgym};
use longhaul_core::{
    CancelSource, Fault, OutcomeKind, Policy, Preset, ResumeRequest, Run, RunId, SessionId, SessionLoss,
};
use longhaul_store::{Harness, Home, Inherited, Journal, Placement, RunDir};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};
use tokio::sync::mpsc;

// A live run is among the newest ones, and each costs an attempt to lock its journal.
const NEIGHBORS_MAX: usize = 100;
/// What asks for texts on noteworthy events without a flag.
const DIAGNOSTIC: &str = "LONGHAUL_DIAGNOSTIC";

/// Carries out the command and returns its exit code.
pub fn run(global: &GlobalArgs, args: &RunArgs) -> Result<u8, Failure> {
    if !args.dry_run && !args.detached && args.key.is_none() && !global.quiet {
        warn_of_neighbor(&cwd(args)?, None);
    }
    if args.detach {
        return super::detach::start(global);
    }
    if args.detached {
        super::detach::leave_terminal();
    }
    match args.key.as_deref().filter(|_| !args.dry_run) {
        Some(key) => keyed::run(global, args, key),
        None => start(global, args),
    }
}

/// Starts a new run.
fn start(global: &GlobalArgs, args: &RunArgs) -> Result<u8, Failure> {
    let format = output::format(global);
    let lifecycle =
        |prompt: &str| Lifecycle::of_run(global, args, prompt).filter(|_| !args.detached && !args.dry_run);
    let prepared = prepare(args).inspect_err(|failure| {
        let wanted = lifecycle(args.prompt.as_deref().unwrap_or_default());
        // Wrong usage is no life.
        if let Some(lifecycle) = wanted.filter(|_| failure.exit_code != USAGE) {
            lifecycle.begins();
            lifecycle.failed(failure);
        }
    })?;
    let prepared = prepared.configured(&global.configured.values);
    if args.dry_run {
        return prepared.print(format);
    }
    let events = events::open(&args.events, global, args.detached)?;
    let lifecycle = lifecycle(&prepared.order.prompt);
    prepared.start(global, DisplayOptions { lifecycle, ..DisplayOptions::to(args.detached, events) })
}

/// Warns of another run that works in this directory: both change the same files.
pub fn warn_of_neighbor(cwd: &Path, own: Option<&RunId>) {
    let Ok(runs) = open_home::locate()
        .and_then(|home| home.runs_newest_first().map_err(|error| open_home::of_store(&error)))
    else {
        return;
    };
    let is_here = |run: &RunDir| {
        own != Some(run.id())
            && Journal::is_locked(&run.journal_path()).unwrap_or(false)
            && run.plan().is_ok_and(|plan| plan.cwd.as_path() == cwd)
    };
    if let Some(other) = runs.take(NEIGHBORS_MAX).find(is_here) {
        let hint = format!(
            "follow it with `longhaul logs {0} --follow`, end it with `longhaul cancel {0}`",
            other.id()
        );
        output::print_warning(&format!("another run, {}, works in this directory", other.id()), Some(&hint));
    }
}

/// All that a run needs, and nothing started.
pub struct PreparedRun {
    pub order: AgentSpec,
    pub session: SessionChoice,
    pub placement: Placement,
    pub inherited: Option<Inherited>,
    resolved: ResolvedPolicy,
    notify: Vec<String>,
    dialect: Claude,
    keep_partial_messages: bool,
    diagnostic: bool,
    permission_named: bool,
}

impl PreparedRun {
    /// Says of each value where it really comes from: what is configured looks as if it were typed.
    pub fn configured(mut self, configured: &ConfiguredValues) -> PreparedRun {
        configured.name(&mut self.resolved.origins);
        self
    }

    /// Prints what the run would do, and starts nothing.
    pub fn print(&self, format: OutputFormat) -> Result<u8, Failure> {
        super::dry_run::print(&self.order, &self.session, &self.resolved, format)
    }

    /// Carries it out and returns its exit code.
    pub fn start(self, global: &GlobalArgs, shown: DisplayOptions) -> Result<u8, Failure> {
        let shown = DisplayOptions { permission_named: self.permission_named, ..shown };
        let request = RunRequest {
            home: open_home::open()?,
            placement: self.placement,
            dialect: Arc::new(self.dialect),
            agent: self.order,
            environment: super::watchdog::environment(),
            session: self.session,
            harness: harness(self.resolved.preset),
            inherited: self.inherited,
            notify: self.notify,
            policy: self.resolved.policy,
            origins: self.resolved.origins,
            keep_partial_messages: self.keep_partial_messages,
            diagnostic: self.diagnostic,
        };
        let supervised =
            async |observer: &mut dyn Observer, cancels| supervise(request, observer, cancels).await;
        supervise_and_print(global, shown, supervised)
    }
}

/// Resumes a finished run of the same call, under the limits of the call.
fn resume_prepared(global: &GlobalArgs, args: &RunArgs, home: &Home, dir: &RunDir) -> Result<u8, Failure> {
    let limits = prepare(args)?.resolved.policy.limits;
    let plan = dir.plan().map_err(|error| open_home::of_store(&error))?;
    let history = Journal::load(&dir.journal_path()).map_err(|error| open_home::of_store(&error))?;
    let run = Run::replay(history.records());
    let policy = Policy { limits, ..plan.policy.clone() };
    limit_flags::require_remaining(dir.id(), &run, &policy, &plan.policy)?;
    let events = events::open(&args.events, global, args.detached)?;
    let changes =
        PlanChanges { notify: args.notify.commands(), policy: Some(policy), ..PlanChanges::default() };
    let going_on = ResumeOptions { request: ResumeRequest::Continue, changes };
    let resumed = async |observer: &mut dyn Observer, cancels| {
        let environment = super::watchdog::environment();
        longhaul::resume(home, dir.clone(), going_on, environment, observer, cancels).await
    };
    supervise_and_print(global, DisplayOptions::to(args.detached, events), resumed)
}

/// Reads the flags, and refuses whatever is wrong with them.
pub fn prepare(args: &RunArgs) -> Result<PreparedRun, Failure> {
    let mut resolved = resolve(&args.policy, None, args.resume_or_new.is_some());
    for (name, table) in [("prices", &args.prices_file), ("effects", &args.effects_file)] {
        resolved.origins.extend(table.as_ref().map(|_| (name.to_owned(), "flag".to_owned())));
    }
    resolved.policy.summarize = args.handoff_summary.is_some();
    limit_flags::apply(&args.limits, &args.wrap_up, &mut resolved)?;
    check_flags::apply(args, &mut resolved)?;
    keep_going_flags::apply(args, &mut resolved)?;
    let diagnostic = diagnostic(args, &mut resolved)?;
    let order = order(args, &resolved)?;
    notify_flag::check(&args.notify, Some(&order.cwd))?;
    Ok(PreparedRun {
        order,
        notify: args.notify.notify.clone(),
        placement: placement(args)?,
        session: session(args, &resolved)?,
        inherited: None,
        dialect: table_files::claude(args)?,
        resolved,
        keep_partial_messages: args.keep_partial_messages,
        diagnostic,
        permission_named: args.agent.permission_mode.is_some(),
    })
}

/// To whom a run is shown besides the person who sees what is printed.
pub struct DisplayOptions {
    /// It is its own supervisor's, that nobody sees.
    pub detached: bool,
    pub permission_named: bool,
    pub events: Option<Writer>,
    pub lifecycle: Option<Lifecycle>,
}

impl DisplayOptions {
    pub fn to(detached: bool, events: Option<Writer>) -> DisplayOptions {
        DisplayOptions { detached, permission_named: true, events, lifecycle: None }
    }

    /// Whether stdout is for the run's events alone.
    fn is_stdout_taken(&self) -> bool {
        self.events.as_ref().is_some_and(Writer::is_on_stdout)
    }
}

/// Supervises one run on this thread, shows it, prints how it ended, and returns its exit code. The signals of
/// this process are its cancels.
pub fn supervise_and_print(
    global: &GlobalArgs,
    shown: DisplayOptions,
    supervised: impl AsyncFnOnce(&mut dyn Observer, mpsc::Receiver<CancelSource>) -> Result<RunReport, RunError>,
) -> Result<u8, Failure> {
    let format = output::format(global);
    let prints = !shown.is_stdout_taken();
    let DisplayOptions { detached, permission_named, events, lifecycle } = shown;
    let queue = events.as_ref().map(Writer::queue);
    let sending = TelemetryHandle::start(global);
    let voice = sending.exporter();
    let supervised = |observer: &mut dyn Observer| -> Result<RunReport, Failure> {
        runtime::new()?.block_on(async {
            let cancels = signals::cancels()
                .map_err(|error| Failure::unexpected(format!("listen to signals: {error}")))?;
            let observer: &mut dyn Observer = &mut telling(observer, voice);
            let ended = match queue {
                Some(queue) => supervised(&mut Events::new(observer, queue), cancels).await,
                None => supervised(observer, cancels).await,
            };
            ended.map_err(failure)
        })
    };
    if detached {
        // Whoever reads what became of it, attaches.
        let ended = supervised(&mut super::detach::DetachObserver::default());
        ended.iter().for_each(|report| run_learning::after(&report.dir));
        events::close(events, global);
        sending.close(global);
        return ended.map(|report| report.outcome.exit_code());
    }
    lifecycle.iter().for_each(Lifecycle::begins);
    let mut screen = ProgressDisplay::new(global, permission_named);
    let ended = match format {
        OutputFormat::StreamJson => supervised(&mut Stream::new(&mut screen)),
        OutputFormat::Json | OutputFormat::Text => supervised(&mut screen),
    };
    screen.close();
    // A warning of it is printed below what the live view has left.
    ended.iter().for_each(|report| run_learning::after(&report.dir));
    if let Some(lifecycle) = lifecycle {
        lifecycle.emit_end(&ended);
    }
    let told = ended.map(|report| {
        if prints {
            print_end(&report, format);
        }
        if format != OutputFormat::Text || !prints {
            print_outcome(global, &report);
        }
        report.outcome.exit_code()
    });
    events::close(events, global);
    sending.close(global);
    told
}

/// What a run that was not begun, or that broke off, is to the person who wanted it.
pub fn failure(error: RunError) -> Failure {
    match error {
        RunError::NotStarted(source) => {
            let hint = match &source {
                SuperviseError::Store(error) => open_home::hint(error),
                _ => source.hint(),
            };
            Failure { hint, ..Failure::not_started(source.to_string(), "", None) }
        }
        RunError::Aborted { ref run, ref source } => {
            let first = if source.is_full() { "make room" } else { "see to the cause" };
            let hint = format!("{first}, and go on with it by `longhaul recover {run}`");
            Failure::aborted(run.clone(), error.to_string(), hint)
        }
    }
}

/// Whether each noteworthy event is to leave a text, by the flag or by the environment.
fn diagnostic(args: &RunArgs, resolved: &mut ResolvedPolicy) -> Result<bool, Failure> {
    let variable = env::var_os(DIAGNOSTIC).unwrap_or_default();
    let by_variable = match variable.to_str() {
        Some("" | "0") => false,
        Some("1") => true,
        Some(_) | None => {
            let words = variable.to_string_lossy();
            return Err(Failure::usage(
                format!("read {DIAGNOSTIC}: `{words}` is neither 1 nor 0"),
                "set it to 1, or unset it",
            ));
        }
    };
    let origin = if args.diagnostic { Some("flag") } else { by_variable.then_some(DIAGNOSTIC) };
    resolved.origins.extend(origin.map(|origin| ("diagnostic".to_owned(), origin.to_owned())));
    Ok(origin.is_some())
}

/// The agent's own arguments may be anything but those by which we hold and read its conversation.
fn check_agent_args(args: &[String]) -> Result<(), Failure> {
    let name = |arg: &String| arg.split('=').next().unwrap_or_default().to_owned();
    match args.iter().map(name).find(|name| RESERVED.contains(&name.as_str())) {
        Some(name) => Err(Failure::usage(
            format!("`{name}` cannot be passed to the agent: longhaul sets it itself"),
            "sessions are chosen with --resume, --resume-or-new and --session-id in front of `--`",
        )),
        None => Ok(()),
    }
}

/// The agent's program: the named one, or the one that is installed.
pub fn agent_program(named: Option<&Path>) -> Result<PathBuf, Failure> {
    find_claude(named).map_err(|error| {
        let fault = match &error {
            AgentError::NotFound { .. } | AgentError::Missing(_) => Fault::AgentMissing,
            AgentError::NotExecutable(_) => Fault::AgentUnusable,
        };
        Failure::not_started(error.to_string(), error.hint(), Some(fault))
    })
}

fn order(args: &RunArgs, resolved: &ResolvedPolicy) -> Result<AgentSpec, Failure> {
    let prompt = prompt_arg::read(args.prompt.as_deref(), args.prompt_file.as_deref())?;
    check_agent_args(&args.agent_args)?;
    let network = network_flag::of(args)?;
    let learn = run_learning::of(&args.learn)?;
    let cwd = cwd(args)?;
    let guards = guard_flags::of(args, &cwd)?;
    agent_settings::check("--network", network.is_some(), &args.agent_args)?;
    agent_settings::check("--learn", learn.is_some(), &args.agent_args)?;
    agent_settings::check("guards of commands", guards.disable_skill_commands(), &args.agent_args)?;
    let path = agent_program(args.agent.agent_path.as_deref())?;
    Ok(AgentSpec {
        program: Program { path, leading_args: Vec::new() },
        cwd,
        prompt,
        follow_ups: Vec::new(),
        model: args.agent.model.clone(),
        permission_mode: args.agent.permission_mode.clone(),
        needs_supervisor: resolved.policy.needs_supervisor(),
        checks: args.agent.check.clone(),
        finish_tool: resolved.policy.keep_going.and_then(|_| finish_tool::program()),
        done_when: args.keep_going.done_when.clone(),
        wrap_up_prompt: wrap_up_prompt(args, resolved.preset),
        network,
        learn,
        guards,
        extra_args: args.agent_args.clone(),
        handoff_tokens: args.handoff_tokens,
        handoff_summary: args.handoff_summary.clone(),
        inner_retries: resolved.policy.inner_retries,
        // Given when the run has its directory.
        run_id: RunId::from(""),
    })
}

/// The words of the preset's own system, where the user has none.
fn wrap_up_prompt(args: &RunArgs, preset: Preset) -> Option<String> {
    let preset = (preset == Preset::Researchgym).then_some(researchgym::WRAP_UP);
    args.wrap_up.wrap_up_prompt.clone().or_else(|| preset.map(str::to_owned))
}

/// The harness whose users ask for its policy by name.
fn harness(preset: Preset) -> Option<Harness> {
    match preset {
        Preset::Researchgym => Some(Harness::Researchgym),
        Preset::Default | Preset::Openclawpack | Preset::Archon | Preset::Keypoints | Preset::Drill => None,
    }
}

/// Where the run's directory goes. It is made with the first run.
fn placement(args: &RunArgs) -> Result<Placement, Failure> {
    let runs_dir = args.runs_dir.as_deref().map(|named| {
        // A link's target may change while the run goes on.
        let place = std::path::absolute(named).map(|place| fs::canonicalize(&place).unwrap_or(place));
        let refused = |why: String| {
            Failure::usage(
                format!("keep runs in {}: {why}", named.display()),
                "name a directory with --runs-dir",
            )
        };
        match place {
            Ok(place) if place.exists() && !place.is_dir() => {
                Err(refused("it is not a directory".to_owned()))
            }
            Ok(place) => Ok(place),
            Err(error) => Err(refused(error.to_string())),
        }
    });
    Ok(Placement {
        runs_dir: runs_dir.transpose()?,
        id: args.run_id.as_deref().or(args.key.as_deref()).map(RunId::from),
        name: args.name.clone(),
        workspace: None,
    })
}

fn cwd(args: &RunArgs) -> Result<PathBuf, Failure> {
    if let Some(named) = &args.cwd {
        return prompt_arg::directory(named);
    }
    let named = env::current_dir();
    let usable = named.and_then(|dir| {
        let dir = fs::canonicalize(dir)?;
        fs::read_dir(&dir)?;
        Ok(dir)
    });
    usable.map_err(|error| {
        Failure::usage(
            format!("work in the current directory: {error}"),
            "name an existing directory with --cwd",
        )
    })
}

fn session(args: &RunArgs, resolved: &ResolvedPolicy) -> Result<SessionChoice, Failure> {
    if let Some(id) = &args.session_id {
        return Ok(SessionChoice::NewWithId(SessionId::from(id.as_str())));
    }
    let Some(id) = args.resume.as_ref().or(args.resume_or_new.as_ref()) else {
        return Ok(SessionChoice::New);
    };
    // Refused before anything is started. A title, which is no UUID, only the agent can look up.
    let looks_up =
        SessionId::from(id.as_str()).is_uuid() && resolved.policy.session_loss == SessionLoss::FallBack;
    if looks_up && let Some(config) = claude_config_dir() {
        let known = claude_sessions(&config);
        if !known.contains(id) {
            let near = did_you_mean(id, known.iter().map(String::as_str));
            let hint = if near.is_empty() {
                "list sessions with `claude --resume`, or begin a new one with --resume-or-new".to_owned()
            } else {
                format!("did you mean {}?", near.join(" or "))
            };
            let error = format!("resume session {id}: there is none of this id under {}", config.display());
            return Err(Failure::not_started(error, hint, Some(Fault::SessionLost)));
        }
    }
    Ok(SessionChoice::Resume(SessionId::from(id.as_str())))
}

/// On a terminal, a person reads stderr while stdout goes to a program.
fn print_outcome(global: &GlobalArgs, report: &RunReport) {
    let outcome = report.outcome;
    if global.quiet || outcome.kind == OutcomeKind::Done {
        return;
    }
    let commands: Vec<String> = report.next.iter().map(|command| format!("`{command}`")).collect();
    let commands = Some(commands.join(" or ")).filter(|commands| !commands.is_empty());
    let advice = outcome.fault.and_then(phrases::advice).map(str::to_owned);
    let hint = advice.into_iter().chain(commands).collect::<Vec<_>>().join(": ");
    let hint = Some(hint.as_str()).filter(|hint| !hint.is_empty());
    let text = format!("run {} finished: {}", report.run, finish(report));
    // A run that a person stopped, or that needs one, has not failed.
    match outcome_meaning(outcome.kind) {
        Some(Style::Bad) => output::print_error(&text, hint),
        Some(Style::Good | Style::Warning | Style::Hint | Style::Heading) | None => {
            output::print_warning(&text, hint)
        }
    }
}
