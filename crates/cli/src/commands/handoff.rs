//! `longhaul seed`: what a fresh session would be told of a run's work, or of any session's. It changes nothing.

use super::run::failure;
use crate::args::HandoffArgs;
use crate::failure::Failure;
use crate::output::phrases;
use crate::{open_home, output, runtime, signals};
use longhaul::find_agent::find_claude;
use longhaul::{HandoffError, RecordedWork, RunError, SummarizeError, summarize};
use longhaul_agent::claude::Claude;
use longhaul_agent::{AgentSpec, Guards, Program, Summary};
use longhaul_core::{CancelSource, Outcome, Preset, RunId};
use longhaul_store::{read_regular, read_regular_to_string};
use serde::Deserialize;
use std::path::Path;
use std::{env, fs};

// What a model's program said is for one line.
const SAID_CHARS_MAX: usize = 200;

/// Carries out the command and returns its exit code.
pub fn seed(args: &HandoffArgs) -> Result<u8, Failure> {
    let work = match &args.run {
        Some(asked) => {
            let dir = open_home::find_run(&open_home::locate()?, asked)?;
            RecordedWork::of_run(&dir).map_err(|error| failure(RunError::NotStarted(error)))?
        }
        None => of_files(args)?,
    };
    let summary = match &args.handoff_summary {
        Some(model) => match summary(args, model, &work)? {
            SummaryOutcome::Written(summary) => summary,
            SummaryOutcome::Cancelled(by) => return Ok(Outcome::cancelled(by).exit_code()),
        },
        None => None,
    };
    output::print_text(&work.handoff_prompt(args.handoff_tokens, summary.as_ref()));
    Ok(0)
}

/// What came of asking for a summary.
enum SummaryOutcome {
    /// It, or nothing if there is none, which is then said.
    Written(Option<Summary>),
    /// Somebody wanted the end.
    Cancelled(CancelSource),
}

fn summary(args: &HandoffArgs, model: &str, work: &RecordedWork) -> Result<SummaryOutcome, Failure> {
    let Some(prompt) = work.summary_prompt(args.handoff_tokens) else {
        return Ok(SummaryOutcome::Written(None));
    };
    let without = |why: &str| {
        output::print_status(&format!("no summary by {model}: {why}; older work is told in a line each"));
        Ok(SummaryOutcome::Written(None))
    };
    let order = match order(args) {
        Ok(order) => order,
        Err(error) => return without(&error),
    };
    let policy = Preset::Default.policy();
    let asked = runtime::new()?.block_on(async {
        let mut cancels =
            signals::cancels().map_err(|error| Failure::unexpected(format!("listen to signals: {error}")))?;
        let (asked, timeout) = ((model, prompt.as_str()), policy.summary_timeout);
        Ok(summarize(&order, &Claude::new(), asked, timeout, &mut cancels).await)
    })?;
    match asked {
        Ok(summary) => Ok(SummaryOutcome::Written(Some(summary))),
        Err(SummarizeError::Cancelled(by)) => Ok(SummaryOutcome::Cancelled(by)),
        Err(SummarizeError::TimedOut(timeout)) => without(&format!("it gave no answer within {timeout}")),
        Err(SummarizeError::Failed { fault, message: said }) => {
            let said = said.map(|said| format!(" ({})", one_line(&said))).unwrap_or_default();
            without(&format!("{}{said}", phrases::fault_text(fault)))
        }
        Err(error @ (SummarizeError::Io(_) | SummarizeError::Start { .. })) => without(&error.to_string()),
    }
}

/// Who is asked, here.
fn order(args: &HandoffArgs) -> Result<AgentSpec, String> {
    let path = find_claude(args.agent_path.as_deref()).map_err(|error| error.to_string())?;
    let cwd = env::current_dir().map_err(|error| format!("work in the current directory: {error}"))?;
    Ok(AgentSpec {
        program: Program { path, leading_args: Vec::new() },
        cwd,
        prompt: String::new(),
        follow_ups: Vec::new(),
        model: None,
        permission_mode: None,
        guards: Guards::default(),
        needs_supervisor: false,
        checks: Vec::new(),
        finish_tool: None,
        done_when: None,
        wrap_up_prompt: None,
        network: None,
        learn: None,
        extra_args: Vec::new(),
        handoff_tokens: args.handoff_tokens,
        handoff_summary: args.handoff_summary.clone(),
        inner_retries: Preset::Default.policy().inner_retries,
        run_id: RunId::from(""),
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SAID_CHARS_MAX).collect()
}

fn of_files(args: &HandoffArgs) -> Result<RecordedWork, Failure> {
    let files = &args.from_transcript;
    let named = match &args.task_file {
        Some(file) => Some(read_regular_to_string(file).map_err(|error| {
            Failure::usage(format!("read the task file {}: {error}", file.display()), "check --task-file")
        })?),
        None => args.task.clone(),
    };
    let task = named.or_else(|| files.first().and_then(|file| planned(file)));
    RecordedWork::of_files(files, &Claude::new(), task.as_deref()).map_err(|error| {
        let hint = match error {
            HandoffError::Io { .. } => "check --from-transcript",
            HandoffError::UnknownFormat(_) => {
                "sessions are in ~/.claude/projects/*/*.jsonl, streams in attempts/*/stream.jsonl of a run"
            }
            HandoffError::NoTask(_) => "say what was to be done with --task or --task-file",
        };
        Failure::usage(error.to_string(), hint)
    })
}

/// The task of the run whose stream this is: the stream itself does not tell it. Nothing else of the plan needs
/// to be understood.
fn planned(stream: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Plan {
        prompt: Prompt,
    }
    #[derive(Deserialize)]
    struct Prompt {
        text: String,
    }
    let stream = fs::canonicalize(stream).ok()?;
    let run = stream.ancestors().nth(3).filter(|_| stream.ends_with("stream.jsonl"))?;
    let plan: Plan = serde_json::from_slice(&read_regular(&run.join("plan.json")).ok()?).ok()?;
    Some(plan.prompt.text)
}
