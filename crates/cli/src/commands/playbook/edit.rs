//! `longhaul playbook edit`: opens a copy of the playbook in the user's editor and validates it before it
//! replaces the playbook.
//!
//! Never loses the edited text, even if an edit fails.

use super::change_report::ChangeReport;
use super::project;
use crate::args::GlobalArgs;
use crate::args::playbook::EditArgs;
use crate::failure::{Failure, OrFailure, UNEXPECTED_ERROR};
use crate::next_commands::quoted;
use crate::output;
use longhaul_playbook::Playbook;
use longhaul_store::read_regular;
use signal_hook::consts::SIGINT;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{env, fs};
use tempfile::NamedTempFile;

pub fn edit(global: &GlobalArgs, args: &EditArgs) -> Result<u8, Failure> {
    let file = project::file(&args.project)?;
    let editor = editor()?;
    let mut learning = project::learning()?;
    file.complete_interrupted_change(&learning)?;
    let original = file.bytes()?;
    let initial = initial_text(args, original.as_deref())?;
    let copy = copy(&initial)?;
    if let Err(error) = run(&editor, copy.path()) {
        let failure = Failure { exit_code: UNEXPECTED_ERROR, ..Failure::usage(error, "nothing was changed") };
        return Err(keep_copy(args, copy, &initial, failure));
    }
    let edited = fs::read(copy.path()).or_unexpected("cannot read the edited copy")?;
    if edited == initial && args.from.is_none() {
        ChangeReport::unchanged(&file).print(global);
        return Ok(0);
    }
    let playbook = match validate(&edited, &initial) {
        Ok(playbook) => playbook,
        Err(failure) => return Err(keep_copy(args, copy, &initial, failure)),
    };
    match file.replace(&mut learning, original.as_deref(), playbook, output::now()) {
        Ok(changed) => {
            ChangeReport::new(&file, changed, Vec::new()).print(global);
            Ok(0)
        }
        Err(error) => Err(keep_copy(args, copy, &initial, error.into())),
    }
}

/// Returns the user's editor command, as `git` does. Without a terminal there is no default editor.
fn editor() -> Result<String, Failure> {
    let editors = ["VISUAL", "EDITOR"].iter().filter_map(|name| env::var(name).ok());
    let editor = editors.into_iter().find(|editor| !editor.trim().is_empty());
    let default = || io::stdin().is_terminal().then(|| "vi".to_owned());
    editor.or_else(default).ok_or_else(|| {
        Failure::usage("no editor is set, and there is no terminal", "set VISUAL or EDITOR to your editor")
    })
}

/// Returns the text to edit: `--from`, or the current file, even if it is damaged.
fn initial_text(args: &EditArgs, original: Option<&[u8]>) -> Result<Vec<u8>, Failure> {
    match (&args.from, original) {
        (Some(from), _) => {
            read_regular(from).or_usage(format!("cannot read {}", from.display()), "check --from")
        }
        (None, Some(original)) => Ok(original.to_owned()),
        (None, None) => Ok((Playbook::default().text() + "\n").into_bytes()),
    }
}

fn copy(text: &[u8]) -> Result<NamedTempFile, Failure> {
    let file = tempfile::Builder::new().prefix("playbook-").suffix(".json").tempfile();
    let copy = file.and_then(|mut copy| copy.write_all(text).and_then(|()| copy.flush()).map(|()| copy));
    let action = format!("cannot write a copy in {}", env::temp_dir().display());
    copy.or_not_started(action, "set TMPDIR to another directory")
}

/// Runs the editor through a shell. The path is passed as an argument, so the shell does not interpret it.
fn run(editor: &str, copy: &Path) -> Result<(), String> {
    // The editor handles Ctrl-C itself.
    let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    let status = Command::new("/bin/sh").args(["-c", &format!("{editor} \"$@\""), "sh"]).arg(copy).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the editor `{editor}` ended with {status}")),
        Err(error) => Err(format!("cannot start the editor `{editor}`: {error}")),
    }
}

/// Parses the edited text. Returns an error for problems that the initial text did not have.
fn validate(edited: &[u8], initial: &[u8]) -> Result<Playbook, Failure> {
    let invalid = |reason: String| Failure::usage(format!("cannot use the edited playbook: {reason}"), "");
    let text = std::str::from_utf8(edited).map_err(|error| invalid(error.to_string()))?;
    let (playbook, warnings) = Playbook::read(text).map_err(|error| invalid(error.to_string()))?;
    let initial_playbook = std::str::from_utf8(initial)
        .ok()
        .and_then(|initial| Playbook::read(initial).ok())
        .unwrap_or_default();
    let previous_findings = initial_playbook.0.lint();
    let new: Vec<String> =
        playbook.lint().into_iter().filter(|finding| !previous_findings.contains(finding)).collect();
    if !new.is_empty() {
        return Err(invalid(new.join("; ")));
    }
    for warning in warnings {
        output::print_warning(&warning, None);
    }
    Ok(playbook)
}

/// Keeps the edited text, if it differs from the initial one, and adds its path to the failure's hint.
fn keep_copy(args: &EditArgs, copy: NamedTempFile, initial: &[u8], failure: Failure) -> Failure {
    if fs::read(copy.path()).is_ok_and(|edited| edited == initial) {
        return failure;
    }
    let path = copy.path().to_owned();
    let hint = match copy.keep() {
        Ok(_) => {
            let edit = format!("edit --from {}", quoted(&path.display().to_string()));
            format!("your text is kept: {}", project::command_line(&args.project, &edit))
        }
        Err(error) => format!("your text cannot be kept: {error}"),
    };
    let hint = match failure.hint.filter(|hint| !hint.is_empty()) {
        Some(failure_hint) => format!("{failure_hint}; {hint}"),
        None => hint,
    };
    Failure { hint: Some(hint), ..failure }
}
