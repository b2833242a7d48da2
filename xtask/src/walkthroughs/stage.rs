//! The environment of a walkthrough: a sandbox with a git repository, a loopback API, and a shell that runs
//! typed lines.

use crate::api::{self, Loopback};
use crate::process::{KillOnDrop, wait_until};
use crate::programs::Programs;
use crate::sandbox::Sandbox;
use crate::{journal, processes};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The command that every walkthrough starts with.
pub const RUN: &str = "longhaul run \"take the three steps\" --permission-mode bypassPermissions";

const TURNS: &str = r#"
[[turn]]
text = "I take the first step."
[[turn.tools]]
bash = { command = "git log --format=%s | grep -qx 'Step one' || { grep -qs one steps || echo one >> steps; git add steps; git commit -qm 'Step one'; }" }
[[turn]]
text = "The second one takes a while."
[[turn.tools]]
bash = { command = "git log --format=%s | grep -qx 'Step two' || { touch ../started; sleep 5; grep -qs two steps || echo two >> steps; git add steps; git commit -qm 'Step two'; }" }
[[turn]]
text = "Now the third."
[[turn.tools]]
bash = { command = "git log --format=%s | grep -qx 'Step three' || { grep -qs three steps || echo three >> steps; git add steps; git commit -qm 'Step three'; }" }
[[turn]]
text = "All three steps are taken."
"#;
const STEPS: [&str; 3] = ["one", "two", "three"];
const COMMITS: [&str; 3] = ["Step one", "Step two", "Step three"];
// Many times the duration of any walkthrough.
const TIMEOUT: Duration = Duration::from_secs(120);
// A killed process has exited by the time a person has typed the next line.
const TYPING: Duration = Duration::from_secs(1);

pub struct WalkthroughRun {
    /// Envelope, indented, with neutral paths.
    pub envelope: String,
    pub commits: Vec<String>,
    pub steps: Vec<String>,
    pub problems: Vec<String>,
}

pub struct WalkthroughRig {
    sandbox: Sandbox,
    loopback: Loopback,
    path: OsString,
}

impl WalkthroughRig {
    pub fn new(programs: &Programs) -> io::Result<WalkthroughRig> {
        let scenario = api::scenario("take the three steps", TURNS)?;
        let sandbox = Sandbox::new()?;
        sandbox.init_repository()?;
        // The shell finds both by name, as a user types them.
        let bin = sandbox.path().join("bin");
        fs::create_dir(&bin)?;
        symlink(&programs.longhaul, bin.join("longhaul"))?;
        symlink(&programs.claude, bin.join("claude"))?;
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        Ok(WalkthroughRig { sandbox, loopback: Loopback::start(&scenario, 1)?, path })
    }

    pub fn play(self, lines: &[&str], final_dir: &str) -> io::Result<WalkthroughRun> {
        let result = self.play_lines(lines, final_dir);
        let leftover = processes::end(&self.sandbox);
        let mut run = result?;
        if leftover > 0 {
            run.problems.push(format!("{leftover} leftover processes"));
        }
        Ok(run)
    }

    fn play_lines(&self, lines: &[&str], final_dir: &str) -> io::Result<WalkthroughRun> {
        let stdout_path = self.sandbox.path().join("stdout");
        // The shell becomes longhaul, so that the child's PID is longhaul's.
        let mut shell = self.shell(&format!("exec {RUN}"));
        let mut run = KillOnDrop(shell.stdout(File::create(&stdout_path)?).spawn()?);
        let is_started = || self.sandbox.path().join("started").exists().then_some(());
        wait_until("the second step", TIMEOUT, is_started)?;
        let agent =
            journal::agent(&self.sandbox).ok_or_else(|| io::Error::other("the journal names no agent"))?;
        let records = journal::records(&self.sandbox);
        let session = records.iter().find_map(|record| record["session"].as_str()).unwrap_or_default();
        let (longhaul, agent) = (run.0.id().to_string(), agent.as_raw_nonzero().to_string());
        let mut printed = Vec::new();
        for line in lines {
            let mut shell = self.shell(line);
            shell.env("longhaul", &longhaul).env("agent", &agent).env("session", session);
            let output = shell.stdout(Stdio::piped()).output()?;
            if !output.status.success() {
                return Err(io::Error::other(format!("`{line}`: {}", output.status)));
            }
            sleep(TYPING);
            if !output.stdout.is_empty() {
                printed = output.stdout;
            }
        }
        run.wait(TIMEOUT, |_| {})?;
        if printed.is_empty() {
            printed = fs::read(stdout_path)?;
        }
        let envelope: Value = serde_json::from_slice(&printed).unwrap_or_default();
        let commits = self.sandbox.commits(final_dir)?;
        let steps = fs::read_to_string(self.sandbox.path().join(final_dir).join("steps")).unwrap_or_default();
        let steps: Vec<String> = steps.lines().map(str::to_owned).collect();
        let mut problems = Vec::new();
        if envelope["run"]["outcome"] != "done" {
            problems.push("the run is not done".to_owned());
        }
        if steps != STEPS || commits != COMMITS {
            problems.push("a step was not done exactly once".to_owned());
        }
        let pretty = serde_json::to_string_pretty(&envelope).unwrap_or_default();
        let envelope = pretty.replace(&*self.sandbox.path().to_string_lossy(), "/sandbox");
        Ok(WalkthroughRun { envelope, commits, steps, problems })
    }

    fn shell(&self, line: &str) -> Command {
        let mut shell = self.sandbox.agent_command("/bin/sh", &self.loopback);
        shell.args(["-c", line]).env("PATH", &self.path);
        shell
    }
}
