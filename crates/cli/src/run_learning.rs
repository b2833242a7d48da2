//! Learning with runs: what the flags say, what an agent's hooks call, and what is queued when a run is over.

use crate::args::RunLearnArgs;
use crate::failure::Failure;
use crate::{open_home, output};
use longhaul::{MARK_VARIABLE, RUN_VARIABLE};
use longhaul_agent::{LearnSpec, Program};
use longhaul_playbook::database::{JudgeKind, LearningError, Queued, QueuedEvent};
use longhaul_playbook::{JudgeSettings, LearningDb, LearningPaths, hooks};
use longhaul_store::{Plan, RunDir};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

/// By what a process is known as one of a run's, which ends with it.
const MARKS: [&str; 3] = [RUN_VARIABLE, MARK_VARIABLE, "LONGHAUL_ATTEMPT"];

/// This program as what an agent's hooks call; nothing where it does not know its own file.
pub fn hook() -> Option<Program> {
    let path = env::current_exe().ok()?;
    Some(Program { path, leading_args: vec!["hook".to_owned()] })
}

/// What the flags say.
pub fn of(args: &RunLearnArgs) -> Result<Option<LearnSpec>, Failure> {
    if !args.learn {
        return Ok(None);
    }
    let hook = hook().filter(|hook| hook.path.to_str().is_some()).ok_or_else(|| {
        let what = "have the agent's hooks call longhaul: where its program is cannot be said in a command";
        Failure::not_started(what, "put it where every directory has a name that is text", None)
    })?;
    let judge = args.learn_judge.map_or(JudgeKind::Api, JudgeKind::from);
    Ok(Some(LearnSpec { hook, judge: judge.as_str().to_owned(), tokens_max: args.learn_tokens }))
}

/// Queues what a run that is over leaves to be learnt: its agent may have been killed before its hook could. What its hooks
/// have queued already is not judged twice, and a session of which no hook said where it is sent is left alone: nothing was
/// said in it. A run fails for nothing of this.
pub fn after(run: &Path) {
    let Some(plan) = RunDir::at(run.to_owned()).and_then(|run| Some((run.plan().ok()?, run))) else { return };
    let (Plan { learn: Some(learn), cwd, .. }, run) = plan else { return };
    // One that only a later version knows is not ours to take another one for.
    let Some(judge) = JudgeKind::parse(&learn.judge) else { return };
    let Ok(home) = open_home::locate() else { return };
    let place = LearningPaths::in_home(home.path());
    let queued = |(session, transcript): (String, PathBuf)| {
        let destination = hooks::session_api(&place, &session)?;
        Some(Queued {
            project: cwd.as_path().to_owned(),
            session: Some(session),
            transcript,
            event: QueuedEvent::Run,
            reason: None,
            judge,
            destination,
        })
    };
    let all: Vec<Queued> = transcripts(&run).into_iter().filter_map(queued).collect();
    let api = destination();
    // What was sent elsewhere waits for a worker of a session that is sent there.
    let is_ours = all.iter().any(|queued| queued.destination == api);
    if all.is_empty() {
        return;
    }
    if let Err(error) = enqueue(&place, &all) {
        output::print_warning(&format!("learn from run {}: {error}", run.id()), Some(&error.hint()));
    } else if is_ours && let Err(error) = start_worker(&place, &api, judge) {
        let hint = "what is queued is learnt by `longhaul playbook learn`";
        output::print_warning(&format!("learn from run {}: start a worker: {error}", run.id()), Some(hint));
    }
}

/// Starts a worker unless there is one. It leaves the terminal by itself, and is not waited for: who is killed with a hook is
/// its child as long as it lives, and a hook ends at once.
pub fn start_worker(place: &LearningPaths, destination: &str, judge: JudgeKind) -> io::Result<()> {
    if place.has_worker(destination, judge) {
        return Ok(());
    }
    let mut worker = Command::new(env::current_exe()?);
    worker.args(["playbook", "learn", "--worker", "--judge", judge.as_str()]).current_dir("/");
    // It is no part of a run, and does not end with one.
    for marker in MARKS {
        worker.env_remove(marker);
    }
    worker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
}

fn enqueue(place: &LearningPaths, all: &[Queued]) -> Result<(), LearningError> {
    let learning = LearningDb::open(place)?;
    all.iter().try_for_each(|queued| learning.enqueue(output::now(), queued))
}

/// The sessions of a run, each with its file, as far as they were seen.
fn transcripts(run: &RunDir) -> BTreeSet<(String, PathBuf)> {
    let attempts = run.attempts().unwrap_or_default();
    let sessions = attempts.into_iter().filter_map(|attempt| attempt.session().ok()?);
    let files = sessions.map(|started| (started.session.to_string(), started.file.as_path().to_owned()));
    files.filter(|(_, file)| file.is_file()).collect()
}

/// The API that a session in this process's environment talks to.
pub fn destination() -> String {
    hooks::destination(&JudgeSettings::from_variables(|name| env::var(name).ok()))
}
