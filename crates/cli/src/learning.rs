//! Learning with runs: what the flags say, what an agent's hooks call, and what is queued when a run is over.

use crate::args::RunLearnArgs;
use crate::failure::Failure;
use crate::{home, output};
use longhaul::{MARK_VARIABLE, RUN_VARIABLE};
use longhaul_agent::{Learn, Program};
use longhaul_playbook::learning::{Event, JudgeKind, LearningError, Queued};
use longhaul_playbook::{JudgeSettings, Learning, LearningPlace, hooks};
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
pub fn of(args: &RunLearnArgs, agent_args: &[String]) -> Result<Option<Learn>, Failure> {
    if !args.learn {
        return Ok(None);
    }
    // Of two settings the agent takes the later one.
    if agent_args.iter().any(|arg| arg == "--settings" || arg.starts_with("--settings=")) {
        return Err(Failure::usage(
            "`--settings` cannot be passed to the agent together with --learn: it would undo it",
            "put the settings into the agent's own files, or install the hooks there: longhaul playbook install",
        ));
    }
    let hook = hook().ok_or_else(|| {
        Failure::unexpected("have the agent's hooks call longhaul: it does not know where its own program is")
    })?;
    let judge = args.learn_judge.map_or(JudgeKind::Api, JudgeKind::from);
    Ok(Some(Learn { hook, judge: judge.word().to_owned(), tokens_max: args.learn_tokens }))
}

/// Queues what a run that is over leaves to be learnt: its agent may have been killed before its hook could. What its hooks
/// have queued already is not judged twice. A run fails for nothing of this.
pub fn after(run: &Path) {
    let Some(plan) = RunDir::at(run.to_owned()).and_then(|run| Some((run.plan().ok()?, run))) else { return };
    let (Plan { learn: Some(learn), cwd, .. }, run) = plan else { return };
    let judge = if learn.judge == JudgeKind::Claude.word() { JudgeKind::Claude } else { JudgeKind::Api };
    let transcripts = transcripts(&run);
    if transcripts.is_empty() {
        return;
    }
    let api = destination();
    let queued = |(session, transcript): (String, PathBuf)| Queued {
        project: cwd.as_path().to_owned(),
        session: Some(session),
        transcript,
        event: Event::Run,
        reason: None,
        judge,
        destination: api.clone(),
    };
    let Ok(home) = home::locate() else { return };
    let place = LearningPlace::in_home(home.path());
    if let Err(error) = enqueue(&place, transcripts.into_iter().map(queued)) {
        output::warn(&format!("learn from run {}: {error}", run.id()), Some(&error.hint()));
    } else if let Err(error) = start_worker(&place, &api, judge) {
        let hint = "what is queued is learnt by `longhaul playbook learn`";
        output::warn(&format!("learn from run {}: start a worker: {error}", run.id()), Some(hint));
    }
}

/// Starts a worker unless there is one. It leaves the terminal by itself, and is not waited for: who is killed with a hook is
/// its child as long as it lives, and a hook ends at once.
pub fn start_worker(place: &LearningPlace, destination: &str, judge: JudgeKind) -> io::Result<()> {
    if place.has_worker(destination, judge) {
        return Ok(());
    }
    let mut worker = Command::new(env::current_exe()?);
    worker.args(["playbook", "learn", "--worker", "--judge", judge.word()]).current_dir("/");
    // It is no part of a run, and does not end with one.
    for mark in MARKS {
        worker.env_remove(mark);
    }
    worker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
}

fn enqueue(place: &LearningPlace, mut all: impl Iterator<Item = Queued>) -> Result<(), LearningError> {
    let learning = Learning::open(place)?;
    all.try_for_each(|queued| learning.enqueue(output::now(), &queued))
}

/// The sessions of a run, each with its file, as far as they were seen.
fn transcripts(run: &RunDir) -> BTreeSet<(String, PathBuf)> {
    let attempts = run.attempts().unwrap_or_default();
    let sessions = attempts.into_iter().filter_map(|attempt| attempt.session().ok()?);
    let files = sessions.map(|begun| (begun.session.to_string(), begun.file.as_path().to_owned()));
    files.filter(|(_, file)| file.is_file()).collect()
}

/// The API that the agent's sessions talk to, as this process would.
pub fn destination() -> String {
    hooks::destination(&JudgeSettings::from_variables(|name| env::var(name).ok()))
}
