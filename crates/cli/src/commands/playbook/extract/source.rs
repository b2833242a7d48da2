//! Reads a transcript completely and parses it before any other step.

use crate::args::playbook::ExtractArgs;
use crate::commands::playbook::transcript::{TRANSCRIPT_BYTES_MAX, excerpt, read_transcript};
use crate::failure::{Failure, OrFailure};
use crate::open_home;
use longhaul_playbook::judging::Excerpt;
use longhaul_store::read_at_most;
use std::io;
use std::path::PathBuf;

pub struct Source {
    /// Path of the file. `None` if it came from stdin.
    pub path: Option<PathBuf>,
    /// Content of the transcript.
    pub bytes: Vec<u8>,
    pub slice: Excerpt,
    /// Working directory of the run, if the transcript belongs to one.
    pub run_directory: Option<PathBuf>,
}

impl Source {
    pub fn read(args: &ExtractArgs) -> Result<Source, Failure> {
        let (path, run_directory) = match (&args.run, &args.transcript) {
            (Some(run), _) => run_transcript(run)?,
            (None, Some(path)) if path.as_os_str() == "-" => return from_stdin(),
            (None, Some(path)) => (path.clone(), None),
            (None, None) => unreachable!("clap requires one of the two"),
        };
        let (bytes, slice) = read_transcript(&path)?;
        // Other processes read the queue, in other directories.
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(Source { path: Some(path), bytes, slice, run_directory })
    }
}

/// Returns the most complete transcript of a run, and the run's working directory.
fn run_transcript(selector: &str) -> Result<(PathBuf, Option<PathBuf>), Failure> {
    let run = open_home::find_run(&open_home::locate()?, selector)?;
    let path = open_home::best_transcript(&run).ok_or_else(|| {
        let error = format!(
            "cannot find the transcript of run {}: it has neither a session file nor a stream",
            run.id()
        );
        Failure::usage(error, "name another run: `longhaul runs` lists them")
    })?;
    let directory = run.plan().ok().map(|plan| plan.spec.cwd);
    Ok((path, directory))
}

fn from_stdin() -> Result<Source, Failure> {
    let bytes = read_at_most(io::stdin().lock(), TRANSCRIPT_BYTES_MAX)
        .or_usage("cannot read the transcript from stdin", "name its file instead of `-`")?;
    let slice = excerpt(&bytes, "stdin")?;
    Ok(Source { path: None, bytes, slice, run_directory: None })
}
