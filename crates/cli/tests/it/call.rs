//! A program being called: started, told things, signalled, waited for, and what it printed. Nothing waits for ever.

use crate::harness::LONGHAUL;
use crate::schemas::Called;
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

// The longest a test waits for anything; a drill on a machine with other work takes more than a minute.
const PATIENCE: Duration = Duration::from_secs(180);

/// Commands for people: they print text, and JSON only with `--json`.
const FOR_PEOPLE: [&str; 15] = [
    "runs", "status", "show", "why", "cost", "doctor", "gc", "ledger", "config", "schema", "export",
    "import", "drill", "simulate", "playbook",
];
/// Flags that say what is printed.
const FORMATS: [&str; 8] =
    ["--output-format", "--json", "--text", "--csv", "--list", "--print-service", "--help", "--version"];

/// A program about to be started.
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

    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Call {
        self.stdin = text.into();
        self
    }

    /// With the address and the dummy key of this server in the environment.
    pub fn against(mut self, server: &Server) -> Call {
        self.command.envs(server.api.environment());
        self
    }

    /// Prints what a person sees: without the `--json` that tests of commands for people need.
    pub fn in_text(mut self) -> Call {
        self.prints_text = true;
        self
    }

    /// Adds `--json` to commands for people, because a test reads objects.
    fn add_json(&mut self) {
        let behind = self.args.iter().position(|arg| arg == "--").unwrap_or(self.args.len());
        let own = &self.args[..behind];
        let command = own.iter().filter_map(|arg| arg.to_str()).find(|arg| !arg.starts_with('-'));
        let is_for_people = command.is_some_and(|command| FOR_PEOPLE.contains(&command));
        let is_formatted = own.iter().filter_map(|arg| arg.to_str()).any(|arg| {
            FORMATS.iter().any(|flag| {
                arg.strip_prefix(flag).is_some_and(|rest| matches!(rest.get(..1), None | Some("=")))
            })
        });
        if is_for_people && !is_formatted && !self.prints_text {
            self.args.insert(behind, "--json".into());
        }
    }

    pub fn start(mut self) -> Started {
        if self.command.get_program() == LONGHAUL {
            self.add_json();
        }
        self.command.args(&self.args);
        let called = (self.command.get_program() == LONGHAUL).then(|| self.called());
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the program can be started");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // One that does not read its input closes it.
        let _ = stdin.write_all(&self.stdin);
        drop(stdin);
        let stdout = collect(child.stdout.take().expect("stdout is piped"));
        let stderr = collect(child.stderr.take().expect("stderr is piped"));
        Started { child: Some(child), stdout: Some(stdout), stderr: Some(stderr), at: Instant::now(), called }
    }

    pub fn end(self) -> Ended {
        self.start().end()
    }

    fn called(&self) -> Called {
        let args = self.command.get_args().map(|arg| arg.to_string_lossy().into_owned());
        Called::new(args, self.command.get_current_dir().unwrap_or(Path::new(".")).to_owned())
    }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

fn text(pipe: Option<JoinHandle<Vec<u8>>>) -> String {
    let bytes = pipe.expect("it is read once").join().expect("reading does not panic");
    String::from_utf8(bytes).expect("everything that is printed is UTF-8")
}

/// A program that runs. It does not outlive its test.
pub struct Started {
    child: Option<Child>,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    at: Instant,
    /// What was called, if that was the binary under test.
    called: Option<Called>,
}

impl Started {
    pub fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it has not been waited for");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a number");
        kill_process(pid, signal).expect("a child that was not waited for keeps its number");
    }

    /// Ends it as a machine without memory would: at once, and without a word. What it started stays.
    pub fn kill(mut self) {
        let mut child = self.child.take().expect("it is waited for once");
        child.kill().expect("a child can be killed");
        child.wait().expect("a killed child ends");
    }

    /// The same, and returns what it had printed on stdout and stderr, once nobody has these pipes any more.
    pub fn killed(mut self) -> (String, String) {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        self.kill();
        let is_finished = |pipe: &Option<JoinHandle<_>>| pipe.as_ref().is_none_or(JoinHandle::is_finished);
        until("its pipes end", || is_finished(&stdout) && is_finished(&stderr));
        (text(stdout), text(stderr))
    }

    pub fn end(self) -> Ended {
        self.end_or_killed().expect("nobody kills it")
    }

    /// Waits for its end; nothing if that was a SIGKILL that the test had it send to itself.
    pub fn end_or_killed(mut self) -> Option<Ended> {
        let mut child = self.child.take().expect("it is waited for once");
        let Some(status) = poll(|| child.try_wait().expect("a child can be waited for")) else {
            child.kill().expect("a child can be killed");
            child.wait().expect("a killed child ends");
            panic!("it did not end in {PATIENCE:?}");
        };
        let duration = self.at.elapsed();
        if status.signal() == Some(Signal::KILL.as_raw()) {
            return None;
        }
        let ended = Ended {
            stdout: text(self.stdout.take()),
            stderr: text(self.stderr.take()),
            code: status.code().unwrap_or(-1),
            duration,
        };
        assert!(status.code().is_some(), "ended by {status} after {duration:?}: {ended:?}");
        if let Some(called) = &self.called {
            called.check(ended.code, &ended.stdout, &ended.stderr);
        }
        Some(ended)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.child.is_some() {
            // A supervisor that is told to end takes its agent with it.
            self.signal(Signal::TERM);
            if let Some(mut child) = self.child.take() {
                let _ = child.wait();
            }
        }
    }
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub duration: Duration,
}

impl Ended {
    /// Asserts the exit code and returns what was printed as one JSON object.
    pub fn envelope(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        let envelope: Value = serde_json::from_str(&self.stdout).expect("an envelope is printed");
        assert_eq!(envelope["run"]["exit_code"], code, "{envelope}");
        assert_eq!(envelope["success"], code == 0, "{envelope}");
        let errors = envelope["errors"].as_array().expect("a list of errors");
        assert_eq!(errors.is_empty(), code == 0, "only a run that is done has no error: {envelope}");
        let is_diagnostic = |error: &Value| {
            ["[ede_diagnostic]", "panic("].iter().any(|marker| error.to_string().contains(marker))
        };
        assert!(!errors.iter().any(is_diagnostic), "{envelope}");
        envelope
    }

    /// Asserts that a refusal says all of this on stderr, an error and a hint among it.
    pub fn says(&self, words: &[&str]) {
        for word in words.iter().chain(&["error:"]) {
            assert!(self.stderr.contains(word), "no `{word}` in {self:?}");
        }
    }
}

/// Looks again and again until there is something, for as long as a test is patient.
pub fn poll<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(found) = look() {
            return Some(found);
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    assert!(poll(|| holds().then_some(())).is_some(), "timed out after {PATIENCE:?} waiting until {what}");
}
