//! `longhaul diff`: what a run changed in its workspace, whatever was changed there before. It reads the run's files and
//! the repository, and changes nothing.

mod patch;
mod text;

use crate::args::{DiffArgs, GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::open_home::{self, of_store};
use crate::output::color::Colors;
use crate::output::{self, out, pager, print_status};
use crate::runtime;
use longhaul::changes::{
    ChangedFile, ChangesError, Commit, DiffFormat, WorkspaceDiff, diff as workspace_diff,
};
use longhaul_store::{DiffStat, OsText, RunDir, WorkspaceState, rfc3339};
use serde::Serialize;
use std::io::Write;

/// What a run changed, as it is printed. Keys are only ever added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiffOutput<'a> {
    /// The run's id.
    run: &'a str,
    /// The directory that the agent works in.
    workspace: OsText,
    /// What it was when the run began.
    from: DiffState<'a>,
    /// What it was when the run was over, or is now.
    to: DiffEnd<'a>,
    /// The commits that came, the oldest first; nothing if the history is another one, or is gone.
    commits: Option<&'a [Commit]>,
    /// The files that differ.
    files: &'a [ChangedFile],
    /// The same in figures.
    totals: DiffStat,
    /// Files that were not compared.
    omitted: Vec<&'a OsText>,
}

/// A state of the workspace.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DiffState<'a> {
    /// When it was looked at.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    at: String,
    /// The commit that was checked out; nothing before the first one.
    head: Option<&'a str>,
    /// The branch that was checked out; nothing for a detached head.
    branch: Option<&'a str>,
    /// The tree of all files as they were, but for ignored ones, as git names it.
    tree: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DiffEnd<'a> {
    #[serde(flatten)]
    state: DiffState<'a>,
    /// Whether that is now, because the run is not over or its end is not on record.
    live: bool,
}

/// Carries out the command and returns its exit code.
pub fn diff(global: &GlobalArgs, args: &DiffArgs) -> Result<u8, Failure> {
    let dir = open_home::find_run(&open_home::locate()?, &args.run)?;
    let home = open_home::locate()?;
    let runtime = runtime::new()?;
    let viewed = runtime.block_on(workspace_diff(&home, &dir, args.paths.clone()));
    let viewed = viewed.map_err(|error| failure(&dir, error))?;
    // A patch is for people and for `git apply`: programs that want figures say so.
    match global.output_format.unwrap_or(OutputFormat::Text) {
        OutputFormat::Json | OutputFormat::StreamJson => print_json(&dir, &viewed)?,
        OutputFormat::Text => {
            let form = match (args.stat, args.name_only) {
                (true, _) => DiffFormat::Stat { width: output::width() },
                (false, true) => DiffFormat::NameOnly,
                (false, false) => DiffFormat::Patch { binary: !out::stdout_is_terminal() },
            };
            let printed = runtime.block_on(viewed.printed(form)).map_err(|error| failure(&dir, error))?;
            print_text(global, &dir, &viewed, (form, &printed));
        }
    }
    if !global.quiet {
        text::notes(&viewed).iter().for_each(|remark| print_status(remark));
    }
    Ok(0)
}

fn print_text(
    global: &GlobalArgs,
    dir: &RunDir,
    viewed: &WorkspaceDiff,
    (form, printed): (DiffFormat, &[u8]),
) {
    let mut text = match form {
        // Read by programs, a name a line.
        DiffFormat::NameOnly => Vec::new(),
        DiffFormat::Patch { .. } | DiffFormat::Stat { .. } => {
            format!("{}\n", text::summary(dir.id(), viewed)).into_bytes()
        }
    };
    if !text.is_empty() && !printed.is_empty() {
        text.push(b'\n');
    }
    let body = match form {
        // Its last line says what the summary says.
        DiffFormat::Stat { .. } => without_last_line(printed),
        DiffFormat::Patch { .. } | DiffFormat::NameOnly => printed,
    };
    text.extend_from_slice(body);
    let text =
        if out::stdout_is_terminal() { patch::painted(&text, Colors::stdout()).into_bytes() } else { text };
    // An error is kept for the end of the command.
    let _ = pager::open_for_bytes(global).write_all(&text);
}

fn without_last_line(text: &[u8]) -> &[u8] {
    let last = text.strip_suffix(b"\n").unwrap_or(text).iter().rposition(|byte| *byte == b'\n');
    last.map_or(&[], |end| &text[..=end])
}

fn print_json(dir: &RunDir, viewed: &WorkspaceDiff) -> Result<(), Failure> {
    let workspace = dir.plan().map_err(|error| of_store(&error))?.cwd;
    let omitted = text::left_out(viewed);
    output::print_json(&DiffOutput {
        run: dir.id().as_str(),
        workspace,
        from: state(&viewed.from),
        to: DiffEnd { state: state(&viewed.to), live: viewed.live.is_some() },
        commits: viewed.commits.as_deref(),
        files: &viewed.files,
        totals: viewed.figures(),
        omitted,
    });
    Ok(())
}

fn state(state: &WorkspaceState) -> DiffState<'_> {
    DiffState {
        at: rfc3339(state.at),
        head: state.head.as_deref(),
        branch: state.branch.as_deref(),
        tree: state.tree.as_deref(),
    }
}

/// Why nothing can be told, and what to do instead.
fn failure(dir: &RunDir, error: ChangesError) -> Failure {
    let doing = format!("tell what run {} changed", dir.id());
    match &error {
        ChangesError::Store(error) => of_store(error),
        ChangesError::Unrecorded(why) => {
            let (why, hint) = text::unrecorded(dir, *why);
            Failure::usage(format!("{doing}: {why}"), hint)
        }
        ChangesError::WorkspaceMoved(_) => Failure::not_started(
            format!("{doing}: {error}"),
            "put the repository back where it was; what was said and done is told by `longhaul logs`",
            None,
        ),
        ChangesError::NoGit(_) => {
            Failure::not_started(format!("{doing}: {error}"), "install git, and see that it is on PATH", None)
        }
        ChangesError::Git { .. } => Failure::not_started(
            format!("{doing}: {error}"),
            "mend what git says; an object that is missing may have been in commits that git has removed since",
            None,
        ),
        ChangesError::Io { .. } => {
            Failure::not_started(format!("{doing}: {error}"), "see that it can be read and written", None)
        }
    }
}
