//! Learning from runs: the flags, the program that an agent's hooks call, and the queue that a finished run
//! adds to.

use crate::args::learn::RunLearnArgs;
use crate::failure::Failure;
use crate::next_commands::quoted;
use crate::{api_judge, open_home, output, own_program};
use longhaul::{MARKER_VARIABLE, RUN_VARIABLE};
use longhaul_agent::Program;
use longhaul_core::LearnOptions;
use longhaul_playbook::database::{JudgeKind, Queued, QueuedEvent};
use longhaul_playbook::{LearningDb, LearningPaths, hooks};
use longhaul_store::{DatabaseError, Home, Journal, Plan, RunDir, SessionBaseline};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

/// Variables that mark a process as part of a run. A process with them ends with the run.
const MARKER_VARIABLES: [&str; 3] = [RUN_VARIABLE, MARKER_VARIABLE, "LONGHAUL_ATTEMPT"];

/// Returns this program as the agent's hooks call it, or `None` if its own path is unknown.
pub fn hook() -> Option<Program> {
    own_program::subcommand("hook")
}

pub fn options(args: &RunLearnArgs) -> Result<Option<LearnOptions>, Failure> {
    if !args.learn {
        return Ok(None);
    }
    if hook().is_none_or(|hook| hook.path.to_str().is_none()) {
        let error = "cannot let the agent's hooks call longhaul: the path of this program is not valid UTF-8";
        let hint = "move it to a directory whose path is valid UTF-8";
        return Err(Failure::not_started(error, hint));
    }
    let judge = args.learn_judge.unwrap_or(JudgeKind::Api);
    let mut options = LearnOptions::new(judge.as_str());
    options.tokens_max = args.learn_tokens;
    Ok(Some(options))
}

/// Warns if a judge of these runs cannot be asked, because a background worker reports it nowhere else.
pub fn warn_if_unusable<'a>(learn: impl IntoIterator<Item = &'a LearnOptions>) {
    let uses_api = learn.into_iter().any(|learn| learn.judge == JudgeKind::Api.as_str());
    if let Some(reason) = uses_api.then(api_judge::unusable_reason).flatten() {
        let hint =
            "until then the sessions stay queued; --learn-judge claude uses Claude Code's login instead";
        output::print_warning(&format!("--learn cannot judge sessions: {reason}"), Some(hint));
    }
}

/// Returns whether [`queue_sessions`] will queue this session of the run: it has a supervisor, which may still continue
/// the session. The supervisor of a workflow queues the runs late and not all of them.
pub fn will_queue(home: &Home, run: &RunDir, session: &str) -> bool {
    run.plan().is_ok_and(|plan| plan.spec.learn.is_some() && plan.workflow.is_none())
        && Journal::is_locked(&run.journal_path()).unwrap_or(false)
        && hooks::session_api(&LearningPaths::in_home(home.path()), session).is_some()
        && transcripts(run).iter().any(|(id, _)| id == session)
}

/// Queues the sessions of a finished run for learning. Its agent's hooks leave this to the supervisor if there is one.
///
/// A session that its hooks have already queued is not judged twice. A session for which no hook recorded an
/// API has no messages and is skipped. A run never fails because of this.
pub fn queue_sessions(run: &Path) {
    let Some((plan, run)) = RunDir::from_path(run.to_owned()).and_then(|run| Some((run.plan().ok()?, run)))
    else {
        return;
    };
    let Some(learn) = &plan.spec.learn else { return };
    // A judge that only a later version knows is not replaced by another.
    let Ok(judge) = learn.judge.parse::<JudgeKind>() else { return };
    let Ok(home) = open_home::locate() else { return };
    let project = workflow_project(&home, &plan).unwrap_or_else(|| plan.spec.cwd.clone());
    let paths = LearningPaths::in_home(home.path());
    let queued = |(session, transcript): (String, PathBuf)| {
        let destination = hooks::session_api(&paths, &session)?;
        Some(Queued {
            project: project.clone(),
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
    // A session sent to another API waits for a worker that uses that API.
    let uses_this_api = all.iter().any(|queued| queued.destination == api);
    if all.is_empty() {
        return;
    }
    if let Err(error) = enqueue(&paths, &all) {
        let hint = format!("{}; then: {}", error.hint(), learn_command(judge, &project, &all));
        output::print_warning(&format!("cannot learn from run {}: {error}", run.id()), Some(&hint));
    } else if uses_this_api && let Err(error) = start_worker(&paths, &api, judge) {
        let hint = format!("learn from the queue with `longhaul playbook learn --judge {}`", judge.as_str());
        output::print_warning(
            &format!("cannot learn from run {}: cannot start a worker: {error}", run.id()),
            Some(&hint),
        );
    }
}

/// Returns the command that learns from these transcripts.
fn learn_command(judge: JudgeKind, project: &Path, all: &[Queued]) -> String {
    let paths = [project].into_iter().chain(all.iter().map(|queued| queued.transcript.as_path()));
    let paths: Vec<String> = paths.map(|path| quoted(&path.to_string_lossy())).collect();
    format!("longhaul playbook learn --judge {judge} --project {}", paths.join(" "))
}

/// Returns the project of the workflow that started a run: a worktree does not outlive its run. `None` if no workflow
/// started the run.
pub fn workflow_project(home: &Home, plan: &Plan) -> Option<PathBuf> {
    let id = &plan.workflow.as_ref()?.id;
    let workflow = home.find_workflow(id.as_str()).ok()?.filter(|workflow| workflow.id() == id)?;
    Some(workflow.plan().ok()?.project_dir.as_path().to_owned())
}

/// Starts a worker unless one is running, and does not wait for it. The worker leaves the terminal on its
/// own. It can be killed with the hook only while it is the hook's child, and a hook exits at once.
pub fn start_worker(paths: &LearningPaths, destination: &str, judge: JudgeKind) -> io::Result<()> {
    if paths.has_worker(destination, judge) {
        return Ok(());
    }
    let mut worker = Command::new(env::current_exe()?);
    worker.args(["playbook", "learn", "--worker", "--judge", judge.as_str()]).current_dir("/");
    // The worker is not part of a run and does not end with one.
    for marker in MARKER_VARIABLES {
        worker.env_remove(marker);
    }
    worker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
}

fn enqueue(paths: &LearningPaths, all: &[Queued]) -> Result<(), DatabaseError> {
    let learning = LearningDb::open(paths)?;
    all.iter().try_for_each(|queued| learning.enqueue(output::now(), queued))
}

fn transcripts(run: &RunDir) -> BTreeSet<(String, PathBuf)> {
    let attempts = run.attempts().unwrap_or_default();
    let sessions = attempts.into_iter().filter_map(|attempt| attempt.read::<SessionBaseline>().ok()?);
    let files = sessions.map(|started| (started.session.to_string(), started.file.as_path().to_owned()));
    files.filter(|(_, file)| file.is_file()).collect()
}

pub fn destination() -> String {
    hooks::destination(&api_judge::settings())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_names_transcripts() {
        let queued = |transcript: &str| Queued {
            project: "/my project".into(),
            session: None,
            transcript: transcript.into(),
            event: QueuedEvent::Run,
            reason: None,
            judge: JudgeKind::Claude,
            destination: String::new(),
        };
        let command =
            learn_command(JudgeKind::Claude, Path::new("/my project"), &[queued("/a.jsonl"), queued("/b c")]);
        assert_eq!(command, "longhaul playbook learn --judge claude --project '/my project' /a.jsonl '/b c'");
    }
}
