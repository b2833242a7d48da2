//! The example programs do what they say: each is run as a person would, with the scripted agent as the `claude` that it
//! finds. This program is that agent, too.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod checked;
mod stage;

use expect_test::{Expect, expect};
use longhaul::{RunMarker, processes_with};
use longhaul_store::{Home, RunDir, StoreError};
use stage::Stage;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output};

fn main() -> ExitCode {
    if let Some(code) = stage::agent() {
        return code;
    }
    if let (Some(CHECKED), Some(command)) = (std::env::args().nth(1).as_deref(), std::env::args().nth(2)) {
        return checked::main(command);
    }
    match examples().and_then(|()| checks()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The argument that makes this program use the library itself; the check follows.
const CHECKED: &str = "with a check";

/// A check of a request runs, whether or not the policy bounds it.
fn checks() -> Result<(), Box<dyn Error>> {
    for (command, expected) in [
        ("test -e hello.txt", "done, verified by Checks, 0 errors\n"),
        ("false", "check_failed, verified by None, 2 errors\n$ false\n"),
    ] {
        let Output { stdout, stderr, .. } =
            Stage::new()?.run(&std::env::current_exe()?, &[CHECKED, command])?;
        assert_eq!(String::from_utf8(stdout)?, expected, "{}", String::from_utf8_lossy(&stderr));
        println!("check {command} ... ok");
    }
    Ok(())
}

/// All of them on one stage: the last one tells what the others cost.
fn examples() -> Result<(), Box<dyn Error>> {
    let stage = Stage::new()?;
    check(&stage, "costs", &[], 0, expect!["no runs yet\n"])?;
    assert!(!stage.home().exists(), "looking makes nothing");
    check(&stage, "carry", &[], 2, expect!["usage: carry PROMPT\n"])?;
    check(
        &stage,
        "carry",
        &["Write hello.txt."],
        0,
        expect![[r#"
        All done: hello.txt says hello.
        run RUN: done, attempts: 2, N, N
    "#]],
    )?;
    check(
        &stage,
        "watch",
        &["Write hello.txt."],
        0,
        expect![[r#"
        run RUN begins
        attempt 1 starts
          it ended: unfinished
          the remedy: Nudge(Finish), in N
        attempt 2 starts
          it ended: well
        the run finished: done, after N of work
    "#]],
    )?;
    check(
        &stage,
        "costs",
        &[],
        0,
        expect![[r#"
        RUN  done         N  Write hello.txt.
        RUN  done         N  Write hello.txt.

        claude-sonnet-4-5                N  N tokens
    "#]],
    )?;
    let left = |run: &RunDir| Ok::<usize, StoreError>(processes_with(&RunMarker::load(run)?).len());
    let left: usize = runs(&stage)?.iter().map(left).sum::<Result<_, _>>()?;
    assert_eq!(left, 0, "processes are left");
    Ok(())
}

/// Asserts what an example prints, first on stdout, then on stderr: ids and figures apart, which are new each time.
fn check(
    stage: &Stage,
    example: &str,
    args: &[&str],
    code: i32,
    expected: Expect,
) -> Result<(), Box<dyn Error>> {
    let Output { status, stdout, stderr } = stage.run(&built(example)?, args)?;
    let mut printed = String::from_utf8(stdout)? + &String::from_utf8(stderr)?;
    for run in runs(stage)? {
        printed = printed.replace(run.id().as_str(), "RUN");
    }
    assert!(!printed.contains("$0.0000"), "no request is free: {printed}");
    expected.assert_eq(&without_figures(&printed));
    assert_eq!(status.code(), Some(code), "{example} {args:?}: {printed}");
    println!("example {example} {args:?} ... ok");
    Ok(())
}

/// The same without amounts of money, durations and counts of more than one digit.
fn without_figures(printed: &str) -> String {
    let lines = printed.lines().map(|line| {
        let words = line.split(' ').map(|word| {
            let (figure, comma) = word.strip_suffix(',').map_or((word, ""), |figure| (figure, ","));
            let is_figure = figure.starts_with(|first: char| first == '$' || first.is_ascii_digit());
            if is_figure && figure.len() > 1 { format!("N{comma}") } else { word.to_owned() }
        });
        words.collect::<Vec<_>>().join(" ") + "\n"
    });
    lines.collect()
}

fn runs(stage: &Stage) -> Result<Vec<RunDir>, Box<dyn Error>> {
    let home = Home::locate(Some(stage.home()), |_| None)?;
    Ok(if home.runs_path().exists() { home.runs_newest_first()?.collect() } else { Vec::new() })
}

/// The example as a program, which cargo builds with the tests and puts beside them.
fn built(example: &str) -> Result<PathBuf, Box<dyn Error>> {
    let here = std::env::current_exe()?;
    let folder = here.parent().and_then(Path::parent).ok_or("tests lie in target/<profile>/deps")?;
    let program = folder.join("examples").join(example);
    let hint = || format!("{} is not built; run `cargo test -p longhaul`", program.display());
    if program.is_file() { Ok(program) } else { Err(hint().into()) }
}
