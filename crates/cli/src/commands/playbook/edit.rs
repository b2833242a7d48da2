//! `longhaul playbook edit`: a copy of the playbook in the user's editor, checked before it takes the playbook's place.
//! Whatever becomes of it, nothing that was typed is lost.

use super::change_report::ChangeReport;
use super::project;
use crate::args::playbook::EditArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::{Failure, UNEXPECTED_ERROR};
use crate::output;
use longhaul::quoted;
use longhaul_playbook::{Playbook, PlaybookFile};
use longhaul_store::read_regular;
use signal_hook::consts::SIGINT;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{env, fs};
use tempfile::NamedTempFile;

/// Carries out the command and returns its exit code.
pub fn edit(global: &GlobalArgs, args: &EditArgs) -> Result<u8, Failure> {
    let file = project::file(&args.project)?;
    let editor = editor()?;
    let mut learning = project::learning()?;
    file.settle(&learning).map_err(|error| project::failure(&error))?;
    let seen = file.bytes().map_err(|error| project::failure(&error))?;
    let started = started_at(args, seen.as_deref())?;
    let copy = copy(&started)?;
    if let Err(why) = run(&editor, copy.path()) {
        let failure = Failure { exit_code: UNEXPECTED_ERROR, ..Failure::usage(why, "nothing was changed") };
        return Err(kept(copy, &started, failure));
    }
    let edited = fs::read(copy.path())
        .map_err(|error| Failure::unexpected(format!("read the edited copy: {error}")))?;
    if edited == started && args.from.is_none() {
        return Ok(unchanged(global, &file));
    }
    let playbook = match checked(&edited, &started) {
        Ok(playbook) => playbook,
        Err(failure) => return Err(kept(copy, &started, failure)),
    };
    match file.replace(&mut learning, seen.as_deref(), playbook, output::now()) {
        Ok(changed) => {
            print(global, &ChangeReport::new(&file, changed, Vec::new()));
            Ok(0)
        }
        Err(error) => Err(kept(copy, &started, project::failure(&error))),
    }
}

/// The user's own words, as `git` takes them; somebody without a terminal is not asked by an editor that he did not name.
fn editor() -> Result<String, Failure> {
    let named = ["VISUAL", "EDITOR"].iter().filter_map(|name| env::var(name).ok());
    let named = named.into_iter().find(|editor| !editor.trim().is_empty());
    let default = || io::stdin().is_terminal().then(|| "vi".to_owned());
    named.or_else(default).ok_or_else(|| {
        Failure::usage("there is no terminal, and no editor is named", "set VISUAL or EDITOR to your editor")
    })
}

/// What the editor begins with: the file as it is, damaged or not.
fn started_at(args: &EditArgs, seen: Option<&[u8]>) -> Result<Vec<u8>, Failure> {
    match (&args.from, seen) {
        (Some(from), _) => read_regular(from)
            .map_err(|error| Failure::usage(format!("read {}: {error}", from.display()), "check --from")),
        (None, Some(seen)) => Ok(seen.to_owned()),
        (None, None) => Ok((Playbook::default().text() + "\n").into_bytes()),
    }
}

fn copy(text: &[u8]) -> Result<NamedTempFile, Failure> {
    let made = tempfile::Builder::new().prefix("playbook-").suffix(".json").tempfile();
    made.and_then(|mut copy| copy.write_all(text).and_then(|()| copy.flush()).map(|()| copy)).map_err(
        |error| {
            let dir = env::temp_dir();
            Failure::not_started(
                format!("write a copy in {}: {error}", dir.display()),
                "set TMPDIR to another directory",
                None,
            )
        },
    )
}

/// The name of the copy is an argument, and nothing that a shell reads.
fn run(editor: &str, copy: &Path) -> Result<(), String> {
    // Ctrl-C is the editor's, which stops what it does with it.
    let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    let ended = Command::new("/bin/sh").args(["-c", &format!("{editor} \"$@\""), "sh"]).arg(copy).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the editor `{editor}` ended with {status}")),
        Err(error) => Err(format!("start the editor `{editor}`: {error}")),
    }
}

/// The playbook that was typed, with nothing wrong in it that was not there before.
fn checked(edited: &[u8], started: &[u8]) -> Result<Playbook, Failure> {
    let refused = |what: String| Failure::usage(format!("use the edited playbook: {what}"), "");
    let text = std::str::from_utf8(edited).map_err(|error| refused(error.to_string()))?;
    let (playbook, warnings) = Playbook::read(text).map_err(|error| refused(error.to_string()))?;
    let before = std::str::from_utf8(started)
        .ok()
        .and_then(|started| Playbook::read(started).ok())
        .unwrap_or_default();
    let before = before.0.lint();
    let new: Vec<String> = playbook.lint().into_iter().filter(|finding| !before.contains(finding)).collect();
    if !new.is_empty() {
        return Err(refused(new.join("; ")));
    }
    for warnings in warnings {
        output::print_warning(&warnings, None);
    }
    Ok(playbook)
}

/// The failure, with where the edited text is, if there is anything to be lost.
fn kept(copy: NamedTempFile, started: &[u8], failure: Failure) -> Failure {
    if fs::read(copy.path()).is_ok_and(|edited| edited == started) {
        return failure;
    }
    let path = copy.path().to_owned();
    let hint = match copy.keep() {
        Ok(_) => {
            let path = quoted(&path.display().to_string());
            format!("your text is kept: longhaul playbook edit --from {path}")
        }
        Err(error) => format!("your text cannot be kept: {error}"),
    };
    let hint = match failure.hint.filter(|hint| !hint.is_empty()) {
        Some(before) => format!("{before}; {hint}"),
        None => hint,
    };
    Failure { hint: Some(hint), ..failure }
}

fn unchanged(global: &GlobalArgs, file: &PlaybookFile) -> u8 {
    print(global, &ChangeReport::nothing(file));
    0
}

fn print(global: &GlobalArgs, printed: &ChangeReport) {
    match output::format(global) {
        OutputFormat::Text => output::print_text(&printed.text()),
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(printed),
    }
}
