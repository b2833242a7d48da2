// A stage for one program that uses the library: a home, a directory to work in, a loopback API, and the scripted agent as
// the `claude` that it finds. The example of the documentation includes this file, which is why it has no inner comments.

use longhaul_drill::{Api, Scenario, scripted};
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output};
use tempfile::TempDir;
use tokio::process::Command;

/// The agent writes a file, pauses instead of going on, and answers when it is asked to.
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

/// This process as the agent, if it was started under that name.
pub fn agent() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let name = PathBuf::from(arguments.next()?);
    (name.file_name() == Some(OsStr::new("claude"))).then(|| scripted::main(arguments))
}

/// The folders of one test.
pub struct Stage {
    folder: TempDir,
}

impl Stage {
    pub fn new() -> Result<Stage, Box<dyn Error>> {
        let stage = Stage { folder: tempfile::tempdir()? };
        for folder in ["bin", "user", "work"] {
            fs::create_dir(stage.folder.path().join(folder))?;
        }
        std::os::unix::fs::symlink(std::env::current_exe()?, stage.folder.path().join("bin/claude"))?;
        Ok(stage)
    }

    /// Where the runs are.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("longhaul")
    }

    /// Runs a program to its end, with nothing of ours in its environment.
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

/// Plays an example that is a part of this program: on a stage, in a process of its own.
#[allow(dead_code, reason = "for the example of the documentation")]
pub fn play<F: Future<Output = Result<(), Box<dyn Error>>>>(example: impl FnOnce() -> F) -> ExitCode {
    const PART: &str = "the example";
    if let Some(code) = agent() {
        return code;
    }
    let ended = if std::env::args().nth(1).as_deref() == Some(PART) {
        runtime().and_then(|runtime| runtime.block_on(example()))
    } else {
        played_apart(PART)
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[allow(dead_code, reason = "for the example of the documentation")]
fn played_apart(part: &str) -> Result<(), Box<dyn Error>> {
    let output = Stage::new()?.run(&std::env::current_exe()?, &[part])?;
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
