//! A stage for one test: its folders, its agents, and the binary with an environment that holds nothing else.
//! It ends only what it started, and looks at its end whether anything is left.

use crate::call::Call;
use crate::skipped::skip_test;
use crate::tidy;
use longhaul_store::{Home, RunDir};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};
use tempfile::TempDir;

/// The binary under test.
pub const LONGHAUL: &str = env!("CARGO_BIN_EXE_longhaul");

/// The real Claude Code: the program that `LONGHAUL_TEST_CLAUDE` names; `cargo xtask test` installs it and sets the variable.
/// Without the variable this test is left out.
pub fn claude_code(test: &str) -> Option<PathBuf> {
    let found = env::var_os("LONGHAUL_TEST_CLAUDE").map(PathBuf::from);
    if found.is_none() {
        let what = format!("{test} with the real Claude Code");
        skip_test(&what, "LONGHAUL_TEST_CLAUDE names none", "run `cargo xtask test`, which installs it");
    }
    found
}

/// The folders of one test, and what is played in them.
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

    /// Holds everything of this test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the agent works.
    pub fn work(&self) -> PathBuf {
        self.folder().join("work")
    }

    /// `HOME`.
    pub fn user_home(&self) -> PathBuf {
        self.folder().join("user")
    }

    /// `LONGHAUL_HOME`; whoever needs it makes it.
    pub fn home(&self) -> PathBuf {
        self.folder().join("longhaul")
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder().join(name);
        fs::write(&path, content).expect("the stage can be written");
        path
    }

    /// A shell script as an agent. A process of its own writes it: a program that some other thread's child still has open
    /// for writing cannot be started.
    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.folder().join(name);
        let mut install = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut stdin = install.stdin.take().expect("stdin is piped");
        write!(stdin, "#!/bin/sh\n{body}\n").expect("the shell reads");
        drop(stdin);
        assert!(install.wait().expect("the shell ends").success());
        path
    }

    /// The scripted agent as a program of its own.
    pub fn agent(&self) -> PathBuf {
        self.script("agent", &format!("exec '{LONGHAUL}' drill-agent \"$@\""))
    }

    /// A session as Claude Code keeps it, with nothing in it.
    pub fn keep_session(&self, id: &str) {
        let project = self.user_home().join(".claude/projects/-elsewhere");
        fs::create_dir_all(&project).expect("the stage can be written");
        fs::write(project.join(format!("{id}.jsonl")), "").expect("the stage can be written");
    }

    /// A call of the binary.
    pub fn longhaul<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Call {
        self.program(LONGHAUL).args(args)
    }

    /// A call of `longhaul run` with this agent, in the work folder.
    pub fn run(&self, agent: &Path, args: &[&str]) -> Call {
        let (run, agent_path) = (["run", "--cwd"], ["--agent-path"]);
        self.longhaul(run).args([self.work()]).args(agent_path).args([agent]).args(args)
    }

    /// A call of any program, in the environment of this stage.
    pub fn program(&self, program: &str) -> Call {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.user_home())
            .env("TMPDIR", self.folder())
            .env("LONGHAUL_HOME", self.home())
            .env("TZ", "UTC")
            // The scripted agent refuses bypassPermissions as root, like the real one, unless in a sandbox.
            .env("IS_SANDBOX", "1")
            .current_dir(self.folder());
        Call::new(command)
    }

    /// Every run that was begun, newest first.
    pub fn runs(&self) -> Vec<RunDir> {
        let home = Home::locate(Some(self.home()), |_| None).expect("an absolute path is a home");
        home.runs_newest_first().expect("the home can be read").collect()
    }

    /// The one run that was begun.
    pub fn only_run(&self) -> RunDir {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A test that failed has said enough.
        if !thread::panicking() {
            tidy::check(self);
        }
    }
}
