//! A host for the agent: starts it in its own folders, writes lines to it and reads its events. It makes no
//! decisions.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{fs, thread};

use longhaul_drill::{Api, Scenario, scenario};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub type TestResult = Result<(), Box<dyn Error>>;

/// Time limit of the wait for one event or for the agent's exit.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A scenario that is being played, with folders for the agent.
pub struct Drill {
    pub api: Api,
    pub scenario: Scenario,
    folder: TempDir,
    _runtime: Runtime,
}

/// A running agent.
pub struct Agent {
    child: Child,
    lines: Receiver<String>,
    pub events: Vec<Value>,
}

/// An agent that exited.
pub struct ExitedAgent {
    pub status: ExitStatus,
    pub events: Vec<Value>,
    pub stderr: String,
}

impl Drill {
    pub fn find(name: &str) -> Result<Self, Box<dyn Error>> {
        Self::new(scenario::find(name)?)
    }

    pub fn new(scenario: Scenario) -> Result<Self, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let api = runtime.block_on(Api::start(&scenario, 11))?;
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join("work"))?;
        Ok(Self { api, scenario, folder, _runtime: runtime })
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Starts the agent with these additional arguments and variables.
    pub fn start(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Agent, Box<dyn Error>> {
        let mut command = Command::new(program()?);
        command
            .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
            .args(["--include-partial-messages", "--model", &self.scenario.model])
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("IS_SANDBOX", "1")
            .env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1")
            .envs(self.api.environment())
            .env("LONGHAUL_DRILL_TIME_SCALE", "20")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(self.folder.path().join("stderr"))?);
        if let Some(settings) = &self.scenario.run.settings {
            command.args(["--settings", settings]);
        }
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("stdout is piped")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Agent { child, lines, events: Vec::new() })
    }

    /// Starts the agent on a new session with all permissions, and sends the scenario's prompt.
    pub fn prompt(&self, session: &str) -> Result<Agent, Box<dyn Error>> {
        let mut agent =
            self.start(&["--session-id", session, "--permission-mode", "bypassPermissions"], &[])?;
        agent.send_prompt(&self.scenario.prompt)?;
        Ok(agent)
    }

    pub fn resume(&self, session: &str) -> Result<Agent, Box<dyn Error>> {
        let mut agent = self.start(&["--resume", session, "--permission-mode", "bypassPermissions"], &[])?;
        agent.send_prompt("Continue.")?;
        Ok(agent)
    }

    pub fn end(&self, mut agent: Agent) -> Result<ExitedAgent, Box<dyn Error>> {
        drop(agent.child.stdin.take());
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            match agent.child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    agent.child.kill()?;
                    return Err("the agent did not exit".into());
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        while let Ok(line) = agent.lines.recv_timeout(TIMEOUT) {
            agent.events.push(serde_json::from_str(&line)?);
        }
        let stderr = fs::read_to_string(self.folder.path().join("stderr"))?;
        Ok(ExitedAgent { status, events: agent.events, stderr })
    }
}

impl Agent {
    pub fn send_prompt(&mut self, text: &str) -> TestResult {
        self.send(
            &json!({"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": null,
            "session_id": ""}),
        )
    }

    pub fn control(&mut self, id: &str, request: Value) -> TestResult {
        self.send(&json!({"type": "control_request", "request_id": id, "request": request}))
    }

    pub fn send(&mut self, line: &Value) -> TestResult {
        self.write(&format!("{line}\n"))
    }

    pub fn write(&mut self, text: &str) -> TestResult {
        let stdin = self.child.stdin.as_mut().ok_or("stdin is open")?;
        Ok(stdin.write_all(text.as_bytes())?)
    }

    /// Reads events until one satisfies `matches`, and returns it.
    pub fn read_until(&mut self, matches: impl Fn(&Value) -> bool) -> Result<Value, Box<dyn Error>> {
        loop {
            let line = self
                .lines
                .recv_timeout(TIMEOUT)
                .map_err(|_| format!("no such event in {:?}", event_kinds(&self.events)))?;
            let event: Value = serde_json::from_str(&line)?;
            self.events.push(event.clone());
            if matches(&event) {
                return Ok(event);
            }
        }
    }

    /// Reads up to the next result.
    pub fn result(&mut self) -> Result<Value, Box<dyn Error>> {
        self.read_until(|event| event["type"] == "result")
    }

    /// Waits for the call of `tool`, and until the running tool has written this file.
    pub fn wait_for_tool(&mut self, tool: &str, written: &Path) -> TestResult {
        let tool = tool.to_owned();
        self.read_until(|event| event["message"]["content"][0]["name"] == tool.as_str())?;
        self.read_until(|event| event["event"]["type"] == "message_stop")?;
        let deadline = Instant::now() + TIMEOUT;
        while fs::metadata(written).map_or(true, |file| file.len() == 0) {
            if Instant::now() > deadline {
                return Err(format!("the tool did not write {}", written.display()).into());
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    pub fn signal(&self, signal: rustix::process::Signal) -> TestResult {
        let pid = rustix::process::Pid::from_raw(self.child.id().cast_signed()).ok_or("a child has a pid")?;
        Ok(rustix::process::kill_process(pid, signal)?)
    }
}

impl ExitedAgent {
    pub fn results(&self) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == "result").collect()
    }

    pub fn last(&self) -> Result<&Value, Box<dyn Error>> {
        self.results().pop().ok_or_else(|| {
            format!("no result in {:?}, stderr {}", event_kinds(&self.events), self.stderr).into()
        })
    }
}

/// Returns the type and subtype of each event. Equal neighbors are listed once.
pub fn event_kinds(events: &[Value]) -> Vec<String> {
    let mut kinds: Vec<String> = events
        .iter()
        .map(|event| {
            let kind = event["type"].as_str().unwrap_or("?");
            match event["subtype"].as_str() {
                Some(subtype) => format!("{kind}/{subtype}"),
                None => kind.to_owned(),
            }
        })
        .collect();
    kinds.dedup();
    kinds
}

/// Returns the hash of the files in `folder`.
pub fn hash(folder: &Path) -> Result<String, Box<dyn Error>> {
    Ok(longhaul_drill::workspace::hash(&longhaul_drill::workspace::read(folder)?))
}

/// Returns the example program `agent`, which cargo builds with the tests.
fn program() -> Result<PathBuf, Box<dyn Error>> {
    let test_binary = std::env::current_exe()?;
    let folder =
        test_binary.parent().and_then(Path::parent).ok_or("test binaries are in target/<profile>/deps")?;
    let program = folder.join("examples/agent");
    if program.is_file() { Ok(program) } else { Err(format!("{} is not built", program.display()).into()) }
}
