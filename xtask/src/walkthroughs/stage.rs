//! The environment of a walkthrough: a sandbox with a git repository, a loopback API, and a shell that runs
//! typed lines.

use crate::bench::sandbox::Sandbox;
use crate::faults::{journal, processes};
use longhaul_drill::{Api, Scenario};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The command that every walkthrough starts with.
pub const RUN: &str = "longhaul run \"take the three steps\" --permission-mode bypassPermissions";

const WORK: &str = r#"
name = "steps"
summary = "three commits"
prompt = "take the three steps"
[expect]
outcome = "done"
exit = 0
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
const PROBE_INTERVAL: Duration = Duration::from_millis(20);
// A killed process has exited by the time a person has typed the next line.
const TYPING: Duration = Duration::from_secs(1);

/// The end of a walkthrough.
pub struct WalkthroughRun {
    /// Envelope, indented, with neutral paths.
    pub envelope: String,
    pub commits: Vec<String>,
    pub steps: Vec<String>,
    /// Unexpected results.
    pub problems: Vec<String>,
}

/// The environment of one walkthrough.
pub struct WalkthroughRig {
    sandbox: Sandbox,
    api: Api,
    path: OsString,
    /// Serves the API until it is dropped.
    _runtime: tokio::runtime::Runtime,
}

impl WalkthroughRig {
    pub fn new(longhaul: &Path, claude: &Path) -> io::Result<WalkthroughRig> {
        let scenario = Scenario::parse("walkthrough", WORK).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let api = runtime.block_on(Api::start(&scenario, 1)).map_err(io::Error::other)?;
        let sandbox = Sandbox::new()?;
        // The shell finds both by name, as a user types them.
        let bin = sandbox.path().join("bin");
        fs::create_dir(&bin)?;
        symlink(longhaul, bin.join("longhaul"))?;
        symlink(claude, bin.join("claude"))?;
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let identity = "[user]\n\tname = Test\n\temail = test@localhost\n[init]\n\tdefaultBranch = main\n";
        fs::write(sandbox.home().join(".gitconfig"), identity)?;
        let rig = WalkthroughRig { sandbox, api, path, _runtime: runtime };
        rig.type_line("git init -q && git commit -q --allow-empty -m Start", &[])?;
        Ok(rig)
    }

    /// Plays the walkthrough to its end and kills leftover processes.
    pub fn play(self, lines: &[&str], final_dir: &str) -> io::Result<WalkthroughRun> {
        let result = self.play_lines(lines, final_dir);
        let leftover = processes::matching(&self.sandbox).len();
        processes::end(&self.sandbox);
        let mut run = result?;
        if leftover > 0 {
            run.problems.push(format!("{leftover} leftover processes"));
        }
        Ok(run)
    }

    fn play_lines(&self, lines: &[&str], final_dir: &str) -> io::Result<WalkthroughRun> {
        let stdout_path = self.sandbox.path().join("stdout");
        // The shell becomes longhaul, so that the child's PID is longhaul's.
        let mut run = self.shell(&format!("exec {RUN}"), &[]).stdout(File::create(&stdout_path)?).spawn()?;
        self.wait_for("the second step", || self.sandbox.path().join("started").exists())?;
        let agent =
            journal::agent(&self.sandbox).ok_or_else(|| io::Error::other("the journal names no agent"))?;
        let session = session(&journal::records(&self.sandbox)).unwrap_or_default();
        let names = [
            ("longhaul", run.id().to_string()),
            ("agent", agent.as_raw_nonzero().to_string()),
            ("session", session),
        ];
        let mut printed = Vec::new();
        for line in lines {
            let output = self.type_line(line, &names)?;
            sleep(TYPING);
            if !output.is_empty() {
                printed = output;
            }
        }
        self.wait_for("the run's end", || run.try_wait().is_ok_and(|status| status.is_some()))?;
        if printed.is_empty() {
            printed = fs::read(stdout_path)?;
        }
        let envelope: Value = serde_json::from_slice(&printed).unwrap_or_default();
        let commits = self.type_line(&format!("git -C ../{final_dir} log --reverse --format=%s"), &[])?;
        let commits: Vec<String> = text_lines(&commits).into_iter().filter(|line| line != "Start").collect();
        let steps = text_lines(
            &fs::read(self.sandbox.work().with_file_name(final_dir).join("steps")).unwrap_or_default(),
        );
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

    /// Types a line and returns its output.
    fn type_line(&self, line: &str, names: &[(&str, String)]) -> io::Result<Vec<u8>> {
        let output = self.shell(line, names).stdout(Stdio::piped()).output()?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(io::Error::other(format!("`{line}`: {}", output.status)))
        }
    }

    fn shell(&self, line: &str, names: &[(&str, String)]) -> Command {
        let mut shell = self.sandbox.command("/bin/sh");
        shell.args(["-c", line]).env("PATH", &self.path).envs(self.api.environment());
        // As root the real agent refuses bypassPermissions unless this variable says that it runs in a
        // sandbox.
        shell.env("IS_SANDBOX", "1").envs(names.iter().map(|(name, value)| (name, value)));
        shell
    }

    fn wait_for(&self, description: &str, mut condition: impl FnMut() -> bool) -> io::Result<()> {
        let started = Instant::now();
        while !condition() {
            if started.elapsed() > TIMEOUT {
                return Err(io::Error::other(format!(
                    "timed out after {TIMEOUT:?} waiting for {description}"
                )));
            }
            sleep(PROBE_INTERVAL);
        }
        Ok(())
    }
}

fn session(records: &[Value]) -> Option<String> {
    let opened = records.iter().find(|record| record["record"] == "session_opened")?;
    Some(opened["session"].as_str()?.to_owned())
}

fn text_lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}
