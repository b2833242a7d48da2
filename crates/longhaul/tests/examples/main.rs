//! Runs each example program as a user would, with the scripted agent as the installed `claude`. This program
//! is also that agent.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod checked;
mod controlled;
mod fixture;

use expect_test::{Expect, expect};
use fixture::Fixture;
use longhaul::RunMarker;
use longhaul_store::{Home, RunDir, StoreError};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitCode, Output};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

fn main() -> ExitCode {
    if let Some(code) = fixture::agent() {
        return code;
    }
    // The library works on any executor, so this one is not tokio's.
    let result = match (std::env::args().nth(1).as_deref(), std::env::args().nth(2)) {
        (Some(WITH_CHECK), Some(command)) => block_on(checked::run(command)),
        (Some(CONTROLLED), _) => block_on(controlled::run()),
        _ => examples().and_then(|()| checks()).and_then(|()| control()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The first argument if this program must use the library itself. The check is the second argument.
const WITH_CHECK: &str = "with a check";

/// The first argument if this program must cancel, resume and follow a run.
const CONTROLLED: &str = "controlled";

/// Waits for a future on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Tests that a library user controls a run through its handle.
fn control() -> Result<(), Box<dyn Error>> {
    let Output { stdout, stderr, .. } = Fixture::new()?.run(&std::env::current_exe()?, &[CONTROLLED])?;
    let expected = "run: cancelled\nresume: done\nattach: done\nrecover: already done\n";
    assert_eq!(String::from_utf8(stdout)?, expected, "{}", String::from_utf8_lossy(&stderr));
    println!("control ... ok");
    Ok(())
}

/// Tests that a request's check runs, whether or not the policy has a check limit.
fn checks() -> Result<(), Box<dyn Error>> {
    for (command, expected) in [
        ("test -e hello.txt", "done, verified by Checks, 0 errors\n"),
        ("false", "check_failed, verified by None, 2 errors\n$ false\n"),
    ] {
        let Output { stdout, stderr, .. } =
            Fixture::new()?.run(&std::env::current_exe()?, &[WITH_CHECK, command])?;
        assert_eq!(String::from_utf8(stdout)?, expected, "{}", String::from_utf8_lossy(&stderr));
        println!("check {command} ... ok");
    }
    Ok(())
}

/// Runs all examples in one fixture. The last example prints the cost of the others.
fn examples() -> Result<(), Box<dyn Error>> {
    let fixture = Fixture::new()?;
    check(&fixture, "costs", &[], 0, expect!["no runs yet\n"])?;
    assert!(!fixture.home().exists(), "the query creates nothing");
    check(&fixture, "run_task", &[], 2, expect!["usage: run_task PROMPT\n"])?;
    check(
        &fixture,
        "run_task",
        &["Write hello.txt."],
        0,
        expect![[r#"
        All done: hello.txt says hello.
        run RUN: done, attempts: 2, N, N
    "#]],
    )?;
    check(
        &fixture,
        "watch",
        &["Write hello.txt."],
        0,
        expect![[r#"
            run RUN starts
            attempt 1 starts
              it ended: unfinished
              the remedy: Nudge(Answer), in N
            attempt 2 starts
              it ended: no fault
            the run finished: done, after N of work
        "#]],
    )?;
    check(
        &fixture,
        "costs",
        &[],
        0,
        expect![[r#"
        RUN  done         N  Write hello.txt.
        RUN  done         N  Write hello.txt.

        claude-sonnet-4-5                N  N tokens
    "#]],
    )?;
    let remaining = |run: &RunDir| Ok::<usize, StoreError>(RunMarker::load(run)?.processes().len());
    let remaining: usize = runs(&fixture)?.iter().map(remaining).sum::<Result<_, _>>()?;
    assert_eq!(remaining, 0, "no processes remain");
    Ok(())
}

/// Asserts the output of an example, stdout before stderr, without ids and figures, which differ each time.
fn check(
    fixture: &Fixture,
    example: &str,
    args: &[&str],
    code: i32,
    expected: Expect,
) -> Result<(), Box<dyn Error>> {
    let Output { status, stdout, stderr } = fixture.run(&built(example)?, args)?;
    let mut printed = String::from_utf8(stdout)? + &String::from_utf8(stderr)?;
    for run in runs(fixture)? {
        printed = printed.replace(run.id().as_str(), "RUN");
    }
    assert!(!printed.contains("$0.0000"), "no request is free: {printed}");
    expected.assert_eq(&without_figures(&printed));
    assert_eq!(status.code(), Some(code), "{example} {args:?}: {printed}");
    println!("example {example} {args:?} ... ok");
    Ok(())
}

/// Replaces amounts of money, durations and counts of more than one digit.
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

fn runs(fixture: &Fixture) -> Result<Vec<RunDir>, Box<dyn Error>> {
    let home = Home::locate(Some(fixture.home()), |_| None)?;
    Ok(if home.runs_path().exists() { home.runs_newest_first()?.collect() } else { Vec::new() })
}

/// Returns the program of an example, which cargo builds with the tests and stores next to them.
fn built(example: &str) -> Result<PathBuf, Box<dyn Error>> {
    let here = std::env::current_exe()?;
    let folder = here.parent().and_then(Path::parent).ok_or("tests are in target/<profile>/deps")?;
    let program = folder.join("examples").join(example);
    let hint = || format!("{} is not built; run `cargo test -p longhaul`", program.display());
    if program.is_file() { Ok(program) } else { Err(hint().into()) }
}
