// A fixture for one program that uses the library: a home, a working directory, a loopback API, and the
// scripted agent as the installed `claude`. The documentation's example includes this file, so the file has
// no inner doc comments.

use longhaul_drill::{Api, Scenario, scripted};
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output};
use tempfile::TempDir;
use tokio::process::Command;

/// The agent writes a file, pauses instead of continuing, and answers when prompted.
const SCENARIO: &str = r#"
name = "examples"
summary = "one file, a pause that only a supervisor notices, then the answer"
prompt = "Write hello.txt."
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "I write the file."
[[turn.tools]]
write = { path = "hello.txt", content = "hello\n" }
[[turn]]
text = "All done: hello.txt says hello."
[[fault]]
turn = 2
pause_turn = {}
"#;

/// Runs this process as the agent if it was started under that name.
pub fn agent() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let name = PathBuf::from(arguments.next()?);
    (name.file_name() == Some(OsStr::new("claude"))).then(|| scripted::main(arguments))
}

/// The directories of one test.
pub struct Fixture {
    folder: TempDir,
}

impl Fixture {
    pub fn new() -> Result<Fixture, Box<dyn Error>> {
        let fixture = Fixture { folder: tempfile::tempdir()? };
        for folder in ["bin", "user", "work"] {
            fs::create_dir(fixture.folder.path().join(folder))?;
        }
        std::os::unix::fs::symlink(std::env::current_exe()?, fixture.folder.path().join("bin/claude"))?;
        Ok(fixture)
    }

    /// Returns the home of the runs.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("longhaul")
    }

    /// Runs a program to its end, without inherited variables.
    pub fn run(&self, program: &Path, args: &[&str]) -> Result<Output, Box<dyn Error>> {
        runtime()?.block_on(async {
            let api = Api::start(&Scenario::parse("the examples'", SCENARIO)?, 1).await?;
            let mut command = Command::new(program);
            command
                .args(args)
                .env_clear()
                .envs(api.environment())
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .env("PATH", self.folder.path().join("bin"))
                .env("HOME", self.folder.path().join("user"))
                .env("TMPDIR", self.folder.path())
                .env("LONGHAUL_HOME", self.home())
                .current_dir(self.folder.path().join("work"));
            Ok(command.output().await?)
        })
    }
}

/// Runs an example that is part of this program, in a fixture and in a separate process.
#[allow(dead_code, reason = "for the example of the documentation")]
pub fn run_example<F: Future<Output = Result<(), Box<dyn Error>>>>(example: impl FnOnce() -> F) -> ExitCode {
    const EXAMPLE: &str = "the example";
    if let Some(code) = agent() {
        return code;
    }
    let result = if std::env::args().nth(1).as_deref() == Some(EXAMPLE) {
        runtime().and_then(|runtime| runtime.block_on(example()))
    } else {
        run_in_child(EXAMPLE)
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[allow(dead_code, reason = "for the example of the documentation")]
fn run_in_child(part: &str) -> Result<(), Box<dyn Error>> {
    let output = Fixture::new()?.run(&std::env::current_exe()?, &[part])?;
    let expected = "done: All done: hello.txt says hello.\n";
    if output.status.success() && output.stdout == expected.as_bytes() {
        Ok(())
    } else {
        Err(format!("{output:?}").into())
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Box<dyn Error>> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
