//! `longhaul handoff`: prints the handoff prompt for the work of a run or of any session. It changes nothing.

use crate::args::HandoffArgs;
use crate::failure::{Failure, OrFailure};
use crate::output::envelope_text::cut;
use crate::output::phrases::one_line;
use crate::{open_home, output, runtime, signals};
use longhaul::find_agent::find_claude;
use longhaul::{HandoffError, RecordedWork, SummarizeError, WrittenSummary, summarize};
use longhaul_core::{CancelSource, HANDOFF_TOKENS_MAX, HandoffSummary, Preset, RunSpec};
use longhaul_store::{read_regular, read_regular_to_string};
use serde::Deserialize;
use std::future::pending;
use std::path::Path;
use std::{env, fs};

// An error message of a model's program must fit one line.
const MESSAGE_CHARS_MAX: usize = 200;

pub fn handoff(args: &HandoffArgs) -> Result<u8, Failure> {
    let latest = args.from_transcript.is_empty().then_some("@");
    let (work, default_tokens) = match args.run.as_deref().or(latest) {
        Some(selector) => {
            let dir = open_home::find_run(&open_home::locate()?, selector)?;
            (RecordedWork::from_run(&dir)?, dir.plan()?.spec.handoff_tokens)
        }
        None => (from_files(args)?, HANDOFF_TOKENS_MAX),
    };
    let tokens_max = args.handoff_tokens.unwrap_or(default_tokens);
    let summary = match &args.handoff_summary {
        Some(model) => match summary(args, model, &work, tokens_max)? {
            Ok(summary) => summary,
            Err(by) => return Ok(by.exit_code()),
        },
        None => None,
    };
    output::print_text(&work.handoff_prompt(tokens_max, summary.as_ref()));
    Ok(0)
}

/// Returns the summary, or `None` after printing why there is none. The inner error is the source of a cancellation.
fn summary(
    args: &HandoffArgs,
    model: &str,
    work: &RecordedWork,
    tokens_max: u64,
) -> Result<Result<Option<WrittenSummary>, CancelSource>, Failure> {
    let Some(prompt) = work.summary_prompt(tokens_max) else { return Ok(Ok(None)) };
    let no_summary = |reason: &str| {
        output::print_status(&format!(
            "no summary by {model}: {reason}; older work is listed in one line per step"
        ));
        Ok(Ok(None))
    };
    let spec = match spec(args) {
        Ok(spec) => spec,
        Err(error) => return no_summary(&error),
    };
    let summary = HandoffSummary::new(model, Preset::Default.summary_timeout());
    let result = runtime::new()?.block_on(async {
        let mut cancels = signals::cancels()?;
        let cancelled = async {
            match cancels.recv().await {
                Some(source) => source,
                None => pending().await,
            }
        };
        Ok::<_, Failure>(summarize(spec, &summary, &prompt, cancelled).await)
    })?;
    match result {
        Ok(summary) => Ok(Ok(Some(summary))),
        Err(SummarizeError::Cancelled(by)) => Ok(Err(by)),
        Err(SummarizeError::TimedOut(timeout)) => no_summary(&format!("no answer within {timeout}")),
        Err(SummarizeError::Failed { fault, message }) => {
            let message = message.map(|message| cut(&one_line(&message), MESSAGE_CHARS_MAX));
            let message = message.map(|message| format!(" ({message})")).unwrap_or_default();
            no_summary(&format!("{}{message}", fault.describe()))
        }
        Err(
            error @ (SummarizeError::Io(_)
            | SummarizeError::Spec(_)
            | SummarizeError::Start { .. }
            | SummarizeError::NotPossible(_)),
        ) => no_summary(&error.to_string()),
    }
}

fn spec(args: &HandoffArgs) -> Result<RunSpec, String> {
    let path = find_claude(args.agent_path.as_deref()).map_err(|error| error.to_string())?;
    let cwd = env::current_dir().map_err(|error| format!("cannot use the current directory: {error}"))?;
    Ok(RunSpec::new(path, cwd, "", Preset::Default.policy()))
}

fn from_files(args: &HandoffArgs) -> Result<RecordedWork, Failure> {
    let files = &args.from_transcript;
    let task = match &args.task_file {
        Some(file) => Some(
            read_regular_to_string(file)
                .or_usage(format!("cannot read the task file {}", file.display()), "check --task-file")?,
        ),
        None => args.task.clone(),
    };
    let task = task.or_else(|| files.first().and_then(|file| task_of_stream(file)));
    RecordedWork::from_files(files, task.as_deref()).map_err(|error| {
        let hint = match error {
            HandoffError::Io { .. } => "check --from-transcript",
            HandoffError::UnknownFormat(_) => {
                "sessions are in ~/.claude/projects/*/*.jsonl, streams in attempts/*/stream.jsonl of a run"
            }
            HandoffError::NoTask(_) => "pass the task with --task or --task-file",
        };
        Failure::usage(error.to_string(), hint)
    })
}

/// Returns the task of the run that this stream belongs to, because the stream does not contain it. Reads
/// nothing else from the plan.
fn task_of_stream(stream: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Plan {
        prompt: String,
    }
    let stream = fs::canonicalize(stream).ok()?;
    let run = stream.ancestors().nth(3).filter(|_| stream.ends_with("stream.jsonl"))?;
    let plan: Plan = serde_json::from_slice(&read_regular(&run.join("plan.json")).ok()?).ok()?;
    Some(plan.prompt)
}
