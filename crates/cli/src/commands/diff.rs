//! `longhaul diff`: shows what a run changed in its workspace, without earlier changes.
//!
//! Reads the run's files and the repository. Never changes them.

mod patch;
mod text;

use crate::args::{DiffArgs, GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::open_home;
use crate::output::color::Colors;
use crate::output::{self, out, pager, print_status};
use crate::runtime;
use longhaul::GitError;
use longhaul::changes::{
    ChangedFile, ChangesError, Commit, DiffFormat, WorkspaceDiff, diff as workspace_diff,
};
use longhaul_store::{DiffStat, OsText, RunDir, WorkspaceState};
use serde::Serialize;
use std::io::Write;

/// Changes of a run. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiffOutput<'a> {
    /// Id of the run.
    run: &'a str,
    /// Working directory of the agent.
    workspace: OsText,
    /// State when the run started.
    from: &'a WorkspaceState,
    /// State when the run finished, or the current state.
    to: DiffEnd<'a>,
    /// New commits, oldest first. `None` if the history was rewritten or is gone.
    commits: Option<&'a [Commit]>,
    /// Files that differ.
    files: &'a [ChangedFile],
    /// Totals over all files.
    totals: DiffStat,
    /// Files that were not compared.
    omitted: Vec<&'a OsText>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DiffEnd<'a> {
    #[serde(flatten)]
    state: &'a WorkspaceState,
    /// Whether this is the current state, because the run is not finished or its end was not recorded.
    live: bool,
}

pub fn diff(global: &GlobalArgs, args: &DiffArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let dir = open_home::find_run(&home, &args.run)?;
    let runtime = runtime::new()?;
    let diff = runtime.block_on(workspace_diff(&home, &dir, args.paths.clone()));
    let diff = diff.map_err(|error| failure(&dir, error))?;
    // A patch is for people and for `git apply`. Programs request JSON explicitly.
    match global.output_format.unwrap_or(OutputFormat::Text) {
        format @ (OutputFormat::Json | OutputFormat::StreamJson) => print_json(format, &dir, &diff)?,
        OutputFormat::Text => {
            let format = match (args.stat, args.name_only) {
                (true, _) => DiffFormat::Stat { width: output::width() },
                (false, true) => DiffFormat::NameOnly,
                (false, false) => DiffFormat::Patch { binary: !out::stdout_is_terminal() },
            };
            let body = runtime.block_on(diff.render(format)).map_err(|error| failure(&dir, error))?;
            let summary = text::summary(dir.id(), &diff, !args.paths.is_empty());
            print_text(global, &summary, format, &body);
        }
    }
    text::notes(&diff).iter().for_each(|note| print_status(note));
    Ok(0)
}

fn print_text(global: &GlobalArgs, summary: &str, format: DiffFormat, body: &[u8]) {
    let separator = if body.is_empty() { "" } else { "\n" };
    let summary = format!("{summary}\n{separator}");
    let text = match format {
        // Programs read one name on each line.
        DiffFormat::NameOnly => body.to_vec(),
        DiffFormat::Patch { .. } => [summary.as_bytes(), body].concat(),
        // The last line repeats the summary.
        DiffFormat::Stat { .. } => [summary.as_bytes(), without_last_line(body)].concat(),
    };
    let text =
        if out::stdout_is_terminal() { patch::colored(&text, Colors::stdout()).into_bytes() } else { text };
    // The pager keeps a write error until the end of the command.
    let _ = pager::open_for_bytes(global).write_all(&text);
}

fn without_last_line(text: &[u8]) -> &[u8] {
    let last = text.strip_suffix(b"\n").unwrap_or(text).iter().rposition(|byte| *byte == b'\n');
    last.map_or(&[], |end| &text[..=end])
}

fn print_json(format: OutputFormat, dir: &RunDir, diff: &WorkspaceDiff) -> Result<(), Failure> {
    let workspace = dir.plan()?.spec.cwd;
    output::print_json(
        format,
        &DiffOutput {
            run: dir.id().as_str(),
            workspace: workspace.into(),
            from: &diff.from,
            to: DiffEnd { state: &diff.to, live: diff.live.is_some() },
            commits: diff.commits.as_deref(),
            files: &diff.files,
            totals: diff.stat(),
            omitted: text::omitted(diff),
        },
    );
    Ok(())
}

fn failure(dir: &RunDir, error: ChangesError) -> Failure {
    let action = format!("cannot show what run {} changed", dir.id());
    let hint = match error {
        ChangesError::Store(error) => return error.into(),
        ChangesError::Unrecorded(reason) => {
            let (reason, hint) = text::unrecorded(dir, reason);
            return Failure::usage(format!("{action}: {reason}"), hint);
        }
        ChangesError::WorkspaceMoved(_) => {
            "move the repository back if it was moved; `longhaul logs` prints the conversation"
        }
        ChangesError::Git(GitError::NotStarted(_)) => "install git, and make sure that it is on PATH",
        ChangesError::Git(GitError::Failed { .. }) => {
            "fix the problem that git reports; a missing object may belong to commits that git has removed since"
        }
    };
    Failure::not_started(format!("{action}: {error}"), hint)
}
