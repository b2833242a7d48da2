//! Runs the tests that failed once more, alone, as `cargo nextest run --retries 1` does. A test that then passes is
//! reported as flaky: on a machine that stalls for seconds, one of a thousand tests can miss its time limit.

use std::io::{self, Read, Write};
use std::process::{Command, ExitStatus, Stdio};

/// More failures are a defect of the change.
const RETRIED_MAX: usize = 3;

#[derive(Debug, PartialEq, Eq)]
pub enum Tested {
    Passed,
    /// These tests failed, and passed alone.
    Flaky(Vec<String>),
    Failed(ExitStatus),
}

/// Runs a test command of cargo, whose arguments for the tests follow `--`. `cargo` makes a command of arguments.
pub fn run(args: &[&str], cargo: impl Fn(&[&str]) -> Command) -> io::Result<Tested> {
    let (status, output) = run_and_print(cargo(args))?;
    if status.success() {
        return Ok(Tested::Passed);
    }
    let failed = failed_tests(&output);
    if failed.is_empty() || failed.len() > RETRIED_MAX {
        return Ok(Tested::Failed(status));
    }
    println!("\n▶ again, alone: {}", failed.join(", "));
    let targets = args.split(|arg| *arg == "--").next().unwrap_or_default();
    let names = failed.iter().map(String::as_str);
    let again = targets.iter().copied().chain(["--", "--test-threads", "1", "--exact"]).chain(names);
    let (status, output) = run_and_print(cargo(&again.collect::<Vec<_>>()))?;
    let has_passed = status.success() && passed_count(&output) >= failed.len();
    Ok(if has_passed { Tested::Flaky(failed) } else { Tested::Failed(status) })
}

/// Prints the command's stdout as it comes, and returns it.
fn run_and_print(mut command: Command) -> io::Result<(ExitStatus, String)> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let (mut output, mut part) = (Vec::new(), [0; 4096]);
    if let Some(mut stdout) = child.stdout.take() {
        loop {
            let length = stdout.read(&mut part)?;
            if length == 0 {
                break;
            }
            io::stdout().write_all(&part[..length])?;
            // Tests in progress are dots without an end of line.
            io::stdout().flush()?;
            output.extend_from_slice(&part[..length]);
        }
    }
    Ok((child.wait()?, String::from_utf8_lossy(&output).into_owned()))
}

/// Returns the tests that the closing lists of the test runner name as failed.
fn failed_tests(output: &str) -> Vec<String> {
    let mut failed = Vec::new();
    let mut is_list = false;
    for line in output.lines() {
        match line.strip_prefix("    ").filter(|_| is_list) {
            Some(name) => failed.push(name.to_owned()),
            None => is_list = line == "failures:",
        }
    }
    failed
}

/// Returns how many tests passed, by the closing lines of the test runner.
fn passed_count(output: &str) -> usize {
    let counts = output.lines().filter_map(|line| {
        line.strip_prefix("test result: ok. ")?
            .split_once(" passed")
            .and_then(|(count, _)| count.parse::<usize>().ok())
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs shell commands instead of cargo: the first for all tests, the second for the failed ones.
    fn run_shell(all: &str, again: &str) -> Tested {
        let shell = |args: &[&str]| {
            let mut command = Command::new("sh");
            let is_again =
                args == ["test", "--lib", "--", "--test-threads", "1", "--exact", "a::one", "b - (line 9)"];
            assert!(is_again || args == ["test", "--lib", "--", "a::"], "{args:?}");
            command.args(["-c", if is_again { again } else { all }]);
            command
        };
        run(&["test", "--lib", "--", "a::"], shell).expect("the shell starts")
    }

    /// The output of the test runner of Rust 1.91, shortened.
    const FAILURES: &str = "printf '%s\n' 'running 3 tests' 'a::one --- FAILED' 'failures:' '' '---- a::one stdout ----' \
        '    a line of the test' '' 'failures:' '    a::one' '' 'test result: FAILED. 2 passed; 1 failed' \
        'failures:' '    b - (line 9)' '' 'test result: FAILED. 0 passed; 1 failed'; exit 101";

    #[test]
    fn a_test_that_passes_alone_is_flaky() {
        let again = "echo 'test result: ok. 1 passed; 0 failed'; echo 'test result: ok. 0 passed';
            echo 'test result: ok. 1 passed; 0 failed'";
        assert_eq!(run_shell(FAILURES, again), Tested::Flaky(vec!["a::one".into(), "b - (line 9)".into()]));
        assert_eq!(run_shell("true", "exit 9"), Tested::Passed);
    }

    #[test]
    fn other_failures_stay_failures() {
        for (all, again) in [
            (FAILURES, FAILURES),
            // The names were not found, or not all of them.
            (FAILURES, "echo 'test result: ok. 1 passed; 0 failed'"),
            // The build failed, or a test program crashed.
            ("exit 101", "true"),
            ("printf '%s\n' 'failures:' '    a' '    b' '    c' '    d'; exit 101", "true"),
        ] {
            assert!(matches!(run_shell(all, again), Tested::Failed(_)), "{all}");
        }
    }
}
