//! A stage for one test: its directories, its agents, and the binary in a clean environment. A stage only
//! stops processes that it started, and checks on drop that none is left.

use crate::call::Call;
use crate::skipped::skip_test;
use crate::tidy;
use longhaul_store::{Home, RunDir, WorkflowDir};
use signal_hook::consts::SIGHUP;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Once};
use std::{env, fs, thread};
use tempfile::TempDir;

/// The binary under test.
pub const LONGHAUL: &str = env!("CARGO_BIN_EXE_longhaul");

/// Returns the real Claude Code, which `LONGHAUL_TEST_CLAUDE` names. `cargo xtask test` installs it and sets
/// the variable. If the variable is not set, skips the test and returns `None`.
pub fn claude_code(test: &str) -> Option<PathBuf> {
    let found = env::var_os("LONGHAUL_TEST_CLAUDE").map(PathBuf::from);
    if found.is_none() {
        let name = format!("{test} with the real Claude Code");
        skip_test(
            &name,
            "LONGHAUL_TEST_CLAUDE is not set",
            "run `cargo xtask test`, which installs Claude Code",
        );
    }
    found
}

/// Runs a test with the scripted agent and with the real one, each on a stage of its own.
pub fn with_each_agent(description: &str, new_stage: impl Fn() -> Stage, test: impl Fn(&Stage, &Path)) {
    let stage = new_stage();
    test(&stage, &stage.agent());
    if let Some(claude) = claude_code(description) {
        test(&new_stage(), &claude);
    }
}

/// The directories of one test.
pub struct Stage {
    folder: TempDir,
}

impl Stage {
    pub fn new() -> Stage {
        let stage = Stage { folder: tempfile::tempdir().expect("there is a temporary folder") };
        for folder in [stage.work(), stage.user_home()] {
            fs::create_dir(folder).expect("the stage is new");
        }
        stage
    }

    /// Root directory of this test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The agent's working directory.
    pub fn work(&self) -> PathBuf {
        self.folder().join("work")
    }

    /// `HOME`.
    pub fn user_home(&self) -> PathBuf {
        self.folder().join("user")
    }

    /// `LONGHAUL_HOME`. Longhaul creates it when needed.
    pub fn home(&self) -> PathBuf {
        self.folder().join("longhaul")
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder().join(name);
        fs::write(&path, content).expect("the stage is writable");
        path
    }

    /// Writes a shell script and returns its path. A separate process writes it, because a program cannot be
    /// started while a child of another thread still has it open for writing.
    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.folder().join(name);
        let mut install = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut stdin = install.stdin.take().expect("stdin is piped");
        write!(stdin, "#!/bin/sh\n{body}\n").expect("the shell reads its input");
        drop(stdin);
        assert!(install.wait().expect("the shell exits").success());
        path
    }

    /// Returns the scripted agent as a separate program.
    pub fn agent(&self) -> PathBuf {
        self.script("agent", &format!("exec '{LONGHAUL}' drill-agent \"$@\""))
    }

    /// Creates an empty session file, as Claude Code stores it.
    pub fn write_session(&self, id: &str) {
        let project = self.user_home().join(".claude/projects/-elsewhere");
        fs::create_dir_all(&project).expect("the stage is writable");
        fs::write(project.join(format!("{id}.jsonl")), "").expect("the stage is writable");
    }

    /// A call of the binary.
    pub fn longhaul<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Call {
        self.program(LONGHAUL).args(args)
    }

    /// A call of `longhaul run` with this agent, in the work directory.
    pub fn run(&self, agent: &Path, args: &[&str]) -> Call {
        let (run, agent_path) = (["run", "--cwd"], ["--agent-path"]);
        self.longhaul(run).args([self.work()]).args(agent_path).args([agent]).args(args)
    }

    /// Asserts that `longhaul run` rejects these arguments, with these texts in its error.
    pub fn assert_rejected(&self, args: &[&str], fragments: &[&str]) {
        let output = self.run(&self.agent(), &["p"]).args(args).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        output.assert_error(fragments);
    }

    /// A call of any program, in the environment of this stage.
    pub fn program(&self, program: &str) -> Call {
        // These tests may run under `nohup`. Unlike an ignored signal, a handler is not inherited.
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| drop(signal_hook::flag::register(SIGHUP, Arc::default())));
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.user_home())
            .env("TMPDIR", self.folder())
            .env("LONGHAUL_HOME", self.home())
            .env("TZ", "UTC")
            // Like the real agent, the scripted agent rejects bypassPermissions as root outside a sandbox.
            .env("IS_SANDBOX", "1")
            .current_dir(self.folder());
        Call::new(command)
    }

    /// Returns all runs, newest first.
    pub fn runs(&self) -> Vec<RunDir> {
        let home = Home::locate(Some(self.home()), |_| None).expect("an absolute path is a home");
        home.runs_newest_first().expect("the home can be read").collect()
    }

    /// Returns all workflows, newest first.
    pub fn workflows(&self) -> Vec<WorkflowDir> {
        let home = Home::locate(Some(self.home()), |_| None).expect("an absolute path is a home");
        home.workflows_newest_first().expect("the home can be read")
    }

    /// Returns the only run. Panics if there is none or more than one.
    pub fn only_run(&self) -> RunDir {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A failed test needs no second failure.
        if !thread::panicking() {
            tidy::check(self);
        }
    }
}
