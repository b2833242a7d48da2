//! An agent process. It writes its output to files and receives prompts over a pipe or FIFO. It has its own
//! process group and is stopped by signals.

use super::run_marker::RunMarker;
use super::system::{AdoptedProcess, StartNote, start_ticks};
use crate::Environment;
use longhaul_agent::Invocation;
use longhaul_core::{Exit, ProcessId, SpawnError, StopLevel};
use longhaul_store::{Argv, EnvNames};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

// Linux reads no more of a script to find its interpreter.
const INTERPRETER_BYTES_MAX: usize = 256;

pub(crate) struct LaunchSpec {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) env_clear: bool,
    pub(crate) env_set: BTreeMap<String, String>,
    pub(crate) env_remove: Vec<String>,
    pub(crate) stdout: File,
    pub(crate) stderr: File,
    /// Input that outlives the supervisor. `None` for a pipe.
    pub(crate) input: Option<InputFifo>,
    pub(crate) marker: Option<RunMarker>,
}

/// An input that outlives its writer: a FIFO that the agent itself holds open for writing.
pub(crate) struct InputFifo {
    pub(crate) end: File,
    pub(crate) path: PathBuf,
}

impl LaunchSpec {
    pub(crate) fn new(
        invocation: &Invocation,
        environment: &Environment,
        marker: &RunMarker,
        stdout: File,
        stderr: File,
    ) -> LaunchSpec {
        let Invocation { program, args, cwd, env_set, env_remove, .. } = invocation;
        let mut launch = LaunchSpec::command(program, args, cwd, environment, stdout, stderr);
        launch.env_set.extend(env_set.iter().cloned());
        launch.env_remove = env_remove.iter().map(ToString::to_string).collect();
        launch.with_marker(marker)
    }

    /// Prepares a user's command. It carries the markers of enclosing runs, so that only their sweeps stop its process.
    pub(crate) fn command(
        program: impl Into<PathBuf>,
        args: &[impl AsRef<OsStr>],
        cwd: &Path,
        environment: &Environment,
        stdout: File,
        stderr: File,
    ) -> LaunchSpec {
        LaunchSpec {
            program: program.into(),
            args: args.iter().map(|arg| arg.as_ref().to_owned()).collect(),
            cwd: cwd.to_owned(),
            env_clear: environment.clear,
            env_set: environment.set.clone(),
            env_remove: Vec::new(),
            stdout,
            stderr,
            input: None,
            marker: None,
        }
    }

    /// Adds the marker of a run, whose sweeps then stop the process.
    pub(crate) fn with_marker(mut self, marker: &RunMarker) -> LaunchSpec {
        self.env_set.extend(marker.variables().map(|(name, value)| (name.to_owned(), value)));
        self.marker = Some(marker.clone());
        self
    }

    /// Returns the command for the attempt's records. It contains no values of variables, because they may be
    /// secret.
    pub(crate) fn argv(&self) -> Argv {
        let (set, removed) = (self.env_set.keys(), self.env_remove.iter());
        Argv {
            program: self.program.as_path().into(),
            args: self.args.iter().cloned().map(Into::into).collect(),
            cwd: self.cwd.as_path().into(),
            env: EnvNames::new(set.map(String::as_str), removed.map(String::as_str)),
        }
    }
}

pub(crate) struct AgentProcess {
    process: Process,
    pid: Pid,
    /// Channel to the only writer of the standard input. Dropping it closes the input after the last write.
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    /// Whether the input outlives the supervisor, so that the agent must be asked to exit.
    input_outlives_supervisor: bool,
}

enum Process {
    /// A process that this supervisor started.
    Child(Child),
    /// A process that a dead supervisor started.
    Adopted(AdoptedProcess),
}

impl AgentProcess {
    /// Adopts a process that a dead supervisor started. Its input ended with that supervisor, unless it is
    /// this FIFO.
    pub(crate) fn adopt(process_id: ProcessId, input: &Path) -> io::Result<AgentProcess> {
        let pid = Pid::from_raw(process_id.pid as i32).ok_or(io::ErrorKind::NotFound)?;
        let process = Process::Adopted(AdoptedProcess::new(pid)?);
        let input = pipe::OpenOptions::new().open_sender(input).ok();
        let input = input.map(|input| writer(input, Vec::new()));
        Ok(AgentProcess { process, pid, input_outlives_supervisor: input.is_some(), input })
    }

    pub(crate) fn start(
        launch: LaunchSpec,
        first: Vec<u8>,
    ) -> Result<(AgentProcess, ProcessId), (SpawnError, io::Error)> {
        let mut command = Command::new(&launch.program);
        if launch.env_clear {
            command.env_clear();
        }
        let (stdin, fifo) = match launch.input {
            None => (Stdio::piped(), Err(first)),
            Some(input) => {
                let filled =
                    fill_input(&input.path, first).map_err(|error| (SpawnError::NoResources, error))?;
                (Stdio::from(input.end), Ok(filled))
            }
        };
        let note = StartNote::new(launch.marker.as_ref(), &launch.stdout);
        command
            .args(&launch.args)
            .current_dir(&launch.cwd)
            .stdin(stdin)
            .stdout(launch.stdout)
            .stderr(launch.stderr)
            .process_group(0)
            .envs(&launch.env_set);
        for name in &launch.env_remove {
            command.env_remove(name);
        }
        let mut child = command.spawn().map_err(|error| spawn_error(error, &launch.program, &launch.cwd))?;
        let exited =
            || (SpawnError::NoResources, io::Error::other("the process exited before its id was read"));
        let raw_pid = child.id().ok_or_else(exited)?;
        let pid = Pid::from_raw(raw_pid as i32).ok_or_else(exited)?;
        let process = ProcessId { pid: raw_pid, start_ticks: start_ticks(raw_pid).unwrap_or(0) };
        note.write(process);
        let input_outlives_supervisor = fifo.is_ok();
        let input = match fifo {
            Ok((sender, rest)) => Some(writer(sender, rest)),
            Err(first) => child.stdin.take().map(|pipe| writer(pipe, first)),
        };
        Ok((AgentProcess { process: Process::Child(child), pid, input, input_outlives_supervisor }, process))
    }

    /// Asks the agent to end its exchange with a result. Sends this line, or SIGINT if its input has no
    /// writer. Both have the same effect (Claude Code 2.1.330).
    pub(crate) fn interrupt(&self, line: Vec<u8>) {
        if matches!(self.process, Process::Adopted(_)) && !self.input_outlives_supervisor {
            // A process that has exited needs no interrupt.
            let _ = kill_process(self.pid, Signal::INT);
        } else {
            self.send_line(line);
        }
    }

    /// Writes a line to the agent. After the input is closed, the line is dropped.
    pub(crate) fn send_line(&self, line: Vec<u8>) {
        if let Some(input) = &self.input {
            // The send fails only if the agent closed its input.
            let _ = input.send(line);
        }
    }

    /// Closes the agent's input after everything is written. If the input outlives the supervisor, it cannot
    /// be closed, and this line asks the agent to exit. SIGTERM replaces a missing line.
    pub(crate) fn close_input(&mut self, exit_line: Option<Vec<u8>>) {
        match exit_line {
            _ if !self.input_outlives_supervisor => self.input = None,
            Some(line) => self.send_line(line),
            None => self.signal(StopLevel::Term),
        }
    }

    pub(crate) fn signal(&self, level: StopLevel) {
        let signal = match level {
            StopLevel::Interrupt => return,
            StopLevel::Term => Signal::TERM,
            StopLevel::Kill => Signal::KILL,
        };
        // A failure means that the group no longer exists.
        let _ = kill_process_group(self.pid, signal);
    }

    pub(crate) async fn wait_for_exit(&mut self) -> io::Result<Exit> {
        match &mut self.process {
            Process::Child(child) => child.wait().await.map(exit),
            // Only a parent receives the exit status.
            Process::Adopted(adopted) => adopted.wait_for_exit().await.map(|()| Exit::Unobserved),
        }
    }
}

/// Opens the input of an agent before its start and fills it as far as possible. The agent then has its
/// prompt even if the supervisor dies now. Returns the rest, which the caller must write.
fn fill_input(path: &Path, mut first: Vec<u8>) -> io::Result<(pipe::Sender, Vec<u8>)> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut fifo = File::options().write(true).custom_flags(flags).open(path)?;
    while !first.is_empty() {
        match fifo.write(&first) {
            Ok(written) => drop(first.drain(..written)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok((pipe::Sender::from_file(fifo)?, first))
}

fn writer(
    mut stdin: impl AsyncWrite + Unpin + Send + 'static,
    first: Vec<u8>,
) -> mpsc::UnboundedSender<Vec<u8>> {
    let (sender, mut lines) = mpsc::unbounded_channel::<Vec<u8>>();
    tokio::spawn(async move {
        let mut next = Some(first);
        while let Some(line) = next {
            // An agent that closed its input reads no more. Its exit shows the reason.
            if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
                return;
            }
            next = lines.recv().await;
        }
    });
    sender
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unobserved,
    }
}

/// Returns whether a script names an interpreter that does not exist: `#!/no/such/sh`.
fn has_missing_interpreter(program: &Path) -> bool {
    let mut start = [0; INTERPRETER_BYTES_MAX];
    let length = File::open(program).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let line = start[..length].split(|byte| *byte == b'\n').next().and_then(|line| line.strip_prefix(b"#!"));
    let mut words = line.into_iter().flat_map(|line| line.trim_ascii().split(u8::is_ascii_whitespace));
    words.next().is_some_and(|name| !Path::new(OsStr::from_bytes(name)).exists())
}

fn spawn_error(error: io::Error, program: &Path, cwd: &Path) -> (SpawnError, io::Error) {
    let kind = match error.kind() {
        // The system reports a missing directory as it reports a missing program. It may be mounted again.
        io::ErrorKind::NotFound if !cwd.exists() => {
            let text = format!("the working directory {} does not exist", cwd.display());
            return (SpawnError::NoResources, io::Error::other(text));
        }
        // The system reports a missing interpreter like that, too.
        io::ErrorKind::NotFound if has_missing_interpreter(program) => {
            return (
                SpawnError::NotRunnable,
                io::Error::other("the interpreter that it names does not exist"),
            );
        }
        io::ErrorKind::NotFound => SpawnError::NotFound,
        io::ErrorKind::PermissionDenied => SpawnError::NotRunnable,
        io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock => SpawnError::NoResources,
        // ENOEXEC, ENOTDIR, ELOOP: the file is not a program.
        _ if matches!(error.raw_os_error(), Some(8 | 20 | 40)) => SpawnError::NotRunnable,
        _ => SpawnError::NoResources,
    };
    (kind, error)
}
