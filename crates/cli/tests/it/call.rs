//! Calls to programs: starts them, writes their stdin, sends signals, waits, and reads their output. Every
//! wait has a timeout.

use crate::harness::LONGHAUL;
use crate::schemas::Invocation;
use crate::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

// A drill on a busy machine takes more than a minute.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Commands for people. They print text, and JSON only with `--json`.
const FOR_PEOPLE: [&str; 15] = [
    "runs", "status", "show", "why", "cost", "doctor", "gc", "ledger", "config", "schema", "export",
    "import", "drill", "simulate", "playbook",
];
/// Flags that select the output format.
const FORMATS: [&str; 8] =
    ["--output-format", "--json", "--format", "--csv", "--list", "--print-service", "--help", "--version"];

/// A program to start.
pub struct Call {
    command: Command,
    args: Vec<OsString>,
    stdin: Vec<u8>,
    prints_text: bool,
}

impl Call {
    pub fn new(command: Command) -> Call {
        Call { command, args: Vec::new(), stdin: Vec::new(), prints_text: false }
    }

    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Call {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Call {
        self.command.env(name, value);
        self
    }

    pub fn without_env(mut self, name: &str) -> Call {
        self.command.env_remove(name);
        self
    }

    pub fn in_dir(mut self, dir: &Path) -> Call {
        self.command.current_dir(dir);
        self
    }

    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Call {
        self.stdin = text.into();
        self
    }

    /// Sets the address and the dummy key of this server in the environment.
    pub fn against(mut self, server: &Server) -> Call {
        self.command.envs(server.api.environment());
        self
    }

    /// Omits the `--json` that [`Call::start`] otherwise adds to commands for people.
    pub fn with_text_output(mut self) -> Call {
        self.prints_text = true;
        self
    }

    /// Adds `--json` to commands for people, because tests read JSON.
    fn add_json(&mut self) {
        let separator = self.args.iter().position(|arg| arg == "--").unwrap_or(self.args.len());
        let before_separator = &self.args[..separator];
        let command =
            before_separator.iter().filter_map(|arg| arg.to_str()).find(|arg| !arg.starts_with('-'));
        let is_for_people = command.is_some_and(|command| FOR_PEOPLE.contains(&command));
        let is_formatted = before_separator.iter().filter_map(|arg| arg.to_str()).any(|arg| {
            FORMATS.iter().any(|flag| {
                arg.strip_prefix(flag).is_some_and(|rest| matches!(rest.get(..1), None | Some("=")))
            })
        });
        if is_for_people && !is_formatted && !self.prints_text {
            self.args.insert(separator, "--json".into());
        }
    }

    pub fn start(mut self) -> Running {
        if self.command.get_program() == LONGHAUL {
            self.add_json();
        }
        self.command.args(&self.args);
        let called = (self.command.get_program() == LONGHAUL).then(|| self.called());
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started_at = Instant::now();
        let mut child = self.command.spawn().expect("the program can be started");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A program that does not read its input closes it.
        let _ = stdin.write_all(&self.stdin);
        drop(stdin);
        let stdout = read_to_end_in_thread(child.stdout.take().expect("stdout is piped"));
        let stderr = read_to_end_in_thread(child.stderr.take().expect("stderr is piped"));
        Running { child: Some(child), stdout: Some(stdout), stderr: Some(stderr), started_at, called }
    }

    pub fn output(self) -> Output {
        self.start().output()
    }

    fn called(&self) -> Invocation {
        let args = self.command.get_args().map(|arg| arg.to_string_lossy().into_owned());
        Invocation::new(args, self.command.get_current_dir().unwrap_or(Path::new(".")).to_owned())
    }
}

fn read_to_end_in_thread(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn text(pipe: Option<JoinHandle<Vec<u8>>>) -> String {
    let bytes = pipe.expect("the pipe is read once").join().expect("reading does not panic");
    String::from_utf8(bytes).expect("all output is UTF-8")
}

/// A running program. It does not outlive its test.
pub struct Running {
    child: Option<Child>,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    started_at: Instant,
    /// The call, if the program is the binary under test.
    called: Option<Invocation>,
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("the program has not been awaited");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a PID");
        kill_process(pid, signal).expect("an unreaped child keeps its PID");
    }

    /// Kills the program with SIGKILL, as an out-of-memory killer does. Its child processes keep running.
    pub fn kill(mut self) {
        let mut child = self.child.take().expect("the program is awaited once");
        child.kill().expect("a child can be killed");
        child.wait().expect("a killed child exits");
    }

    /// Kills the program and returns its stdout and stderr once no process holds these pipes.
    pub fn kill_and_read(mut self) -> (String, String) {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        self.kill();
        let is_finished = |pipe: &Option<JoinHandle<_>>| pipe.as_ref().is_none_or(JoinHandle::is_finished);
        wait_until("the pipes are closed", || is_finished(&stdout) && is_finished(&stderr));
        (text(stdout), text(stderr))
    }

    pub fn output(self) -> Output {
        self.output_unless_killed().expect("nothing kills the program")
    }

    /// Waits for the program to exit. Returns `None` if a failpoint ended it with SIGKILL.
    pub fn output_unless_killed(mut self) -> Option<Output> {
        let mut child = self.child.take().expect("the program is awaited once");
        let Some(status) = poll(|| child.try_wait().expect("a child can be awaited")) else {
            child.kill().expect("a child can be killed");
            child.wait().expect("a killed child exits");
            panic!("the program did not exit within {TIMEOUT:?}");
        };
        let duration = self.started_at.elapsed();
        if status.signal() == Some(Signal::KILL.as_raw()) {
            return None;
        }
        let output = Output {
            stdout: text(self.stdout.take()),
            stderr: text(self.stderr.take()),
            code: status.code().unwrap_or(-1),
            duration,
        };
        assert!(status.code().is_some(), "ended by {status} after {duration:?}: {output:?}");
        if let Some(called) = &self.called {
            called.check(output.code, &output.stdout, &output.stderr);
        }
        Some(output)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.is_some() {
            // A supervisor that receives SIGTERM stops its agent too.
            self.signal(Signal::TERM);
            if let Some(mut child) = self.child.take() {
                let _ = child.wait();
            }
        }
    }
}

/// A finished program.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub duration: Duration,
}

impl Output {
    /// Asserts the exit code and returns what was printed as one JSON object.
    pub fn envelope(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        let envelope: Value = serde_json::from_str(&self.stdout).expect("an envelope is printed");
        assert_eq!(envelope["run"]["exit_code"], code, "{envelope}");
        assert_eq!(envelope["success"], code == 0, "{envelope}");
        let errors = envelope["errors"].as_array().expect("a list of errors");
        assert_eq!(errors.is_empty(), code == 0, "only a done run has no error: {envelope}");
        let is_diagnostic = |error: &Value| {
            ["[ede_diagnostic]", "panic("].iter().any(|marker| error.to_string().contains(marker))
        };
        assert!(!errors.iter().any(is_diagnostic), "{envelope}");
        envelope
    }

    /// Asserts that stderr contains an error and all of these fragments.
    pub fn assert_error(&self, fragments: &[&str]) {
        for fragment in fragments.iter().chain(&["error:"]) {
            assert!(self.stderr.contains(fragment), "no `{fragment}` in {self:?}");
        }
    }
}

/// Calls `probe` until it returns a value. Returns `None` after a timeout.
pub fn poll<T>(mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + TIMEOUT;
    while Instant::now() < end {
        if let Some(found) = probe() {
            return Some(found);
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Waits until a condition holds. Panics after a timeout.
pub fn wait_until(condition: &str, mut holds: impl FnMut() -> bool) {
    assert!(
        poll(|| holds().then_some(())).is_some(),
        "timed out after {TIMEOUT:?} waiting until {condition}"
    );
}
