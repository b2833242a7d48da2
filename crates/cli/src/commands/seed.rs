//! `longhaul seed`: what a fresh session would be told of a run's work, or of any session's. It changes nothing.

use super::run::failure;
use crate::args::SeedArgs;
use crate::failure::Failure;
use crate::{home, output};
use longhaul::{RunError, SeedError, seed_from, seed_of};
use longhaul_agent::claude::Claude;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// Carries out the command and returns its exit code.
pub fn seed(args: &SeedArgs) -> Result<u8, Failure> {
    let seed = match &args.run {
        Some(asked) => {
            let dir = home::find_run(&home::locate()?, asked)?;
            seed_of(&dir, args.seed_tokens).map_err(|error| failure(RunError::Refused(error)))?
        }
        None => of_files(args)?,
    };
    output::print_text(&seed);
    Ok(0)
}

fn of_files(args: &SeedArgs) -> Result<String, Failure> {
    let files = &args.from_transcript;
    let named = match &args.task_file {
        Some(file) => Some(fs::read_to_string(file).map_err(|error| {
            Failure::usage(format!("read the task file {}: {error}", file.display()), "check --task-file")
        })?),
        None => args.task.clone(),
    };
    let task = named.or_else(|| files.first().and_then(|file| planned(file)));
    seed_from(files, &Claude::new(), task.as_deref(), args.seed_tokens).map_err(|error| {
        let hint = match error {
            SeedError::Io { .. } => "check --from-transcript",
            SeedError::Foreign(_) => {
                "sessions are in ~/.claude/projects/*/*.jsonl, streams in attempts/*/stream.jsonl of a run"
            }
            SeedError::NoTask(_) => "say what was to be done with --task or --task-file",
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
    let plan: Plan = serde_json::from_slice(&fs::read(run.join("plan.json")).ok()?).ok()?;
    Some(plan.prompt.text)
}
