//! Shell completions: prints the script for a shell, and answers that script, which calls this program at
//! each Tab.
//!
//! Completions come from the command tree and the ledger. They change nothing and report no error, because an
//! error would disturb the prompt.

use crate::args::{Cli, CompletionsArgs};
use crate::failure::{Failure, OrFailure};
use crate::output::{envelope_text, phrases};
use crate::{open_home, output, visible_commands};
use clap::{Arg, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use longhaul_store::{Ledger, LedgerRun, RunFilter};
use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::time::Duration;

/// Variable that a script sets to ask for completions. Its value is the shell.
const VARIABLE: &str = "LONGHAUL_COMPLETE";
// More do not fit on a screen, and older runs are rarely needed.
const RUNS_MAX: u64 = 100;
// The user waits for each Tab.
const LEDGER_WAIT: Duration = Duration::from_millis(50);
// Long enough to distinguish two runs.
const TASK_CHARS_MAX: usize = 50;

pub fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let (shells, action) = (Shells::builtins(), "cannot write completions");
    let shell = shells.completer(&args.shell.to_string());
    let shell = shell.ok_or("there is no script").or_unexpected(action)?;
    let mut script = Vec::new();
    let result = shell.write_registration(VARIABLE, "longhaul", "longhaul", "longhaul", &mut script);
    result.or_unexpected(action)?;
    // The printer keeps a write error until the end of the command.
    let _ = output::out::printer_of_bytes().write_all(&script);
    Ok(0)
}

/// Answers a completion script. Returns `false` if this process was not started by one.
pub fn answer() -> bool {
    let dir = env::current_dir().ok();
    let answered = CompleteEnv::with_factory(tree).var(VARIABLE).try_complete(env::args_os(), dir.as_deref());
    answered.unwrap_or(true)
}

fn tree() -> Command {
    with_runs(visible_commands::tree(&Cli::command()).disable_help_subcommand(false))
}

fn with_runs(command: Command) -> Command {
    let takes_run = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.first().is_some_and(|name| name.as_str() == "RUN")
    };
    let add_runs = move |arg: Arg| if takes_run(&arg) { arg.add(ArgValueCompleter::new(runs)) } else { arg };
    command.mut_args(add_runs).mut_subcommands(with_runs)
}

fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(current), Ok(home)) = (current.to_str(), open_home::locate()) else { return Vec::new() };
    let filter = RunFilter { limit: Some(RUNS_MAX), ..RunFilter::default() };
    let found = Ledger::open_read_only(&home, LEDGER_WAIT).and_then(|ledger| ledger.stored_runs(&filter));
    let mut candidates = Vec::new();
    for run in found.unwrap_or_default() {
        let about = about(&run);
        // The library prints names unescaped, so names with control characters are omitted.
        let name = run.name.filter(|name| envelope_text::one_line(name) == *name);
        let names = [Some(run.id.to_string()), name].into_iter().flatten();
        candidates.extend(names.filter(|name| name.starts_with(current)).map(|name| (name, about.clone())));
    }
    // A name refers to the newest run that has it.
    let mut seen = std::collections::BTreeSet::new();
    candidates.retain(|(name, _)| seen.insert(name.clone()));
    let numbered = candidates.into_iter().enumerate();
    numbered
        .map(|(number, (name, about))| {
            CompletionCandidate::new(name).help(Some(about.into())).display_order(Some(number))
        })
        .collect()
}

fn about(run: &LedgerRun) -> String {
    let state = run.outcome.map_or(run.state.as_str(), |outcome| outcome.as_str());
    format!("{state}: {}", envelope_text::cut(&phrases::one_line(&run.task), TASK_CHARS_MAX))
}
