//! Runs shell commands. Each has its own process group, so that it survives the agent's death, and so that
//! the agent can kill all of its processes. Output goes to a file.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};

use super::inbox::InboxEvent;

/// Limit of the output in a tool result. The real agent truncates at about this length.
const OUTPUT_CHARS_MAX: usize = 30_000;

#[derive(Debug)]
pub(super) struct Shell {
    pub serial: u64,
    pub output: PathBuf,
    group: Option<Pid>,
}

impl Shell {
    /// Starts `command`. Its end is sent to the inbox with `serial`.
    pub(super) fn start(
        command: &str,
        cwd: &Path,
        output: PathBuf,
        serial: u64,
        inbox: Sender<InboxEvent>,
    ) -> io::Result<Self> {
        if let Some(folder) = output.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&output)?;
        let mut child = Command::new("bash")
            .arg("-c")
            .arg(command)
            .current_dir(cwd)
            .env("CLAUDECODE", "1")
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0)
            .spawn()?;
        let group = Pid::from_raw(child.id().cast_signed());
        thread::spawn(move || {
            let code = child.wait().map_or(127, |status| {
                status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(127)
            });
            // The receiver exists until the process exits.
            let _ = inbox.send(InboxEvent::CommandEnded(serial, code));
        });
        Ok(Self { serial, output, group })
    }

    pub(super) fn kill(&self) {
        if let Some(group) = self.group {
            // It may have exited a moment ago.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Returns the output so far, without trailing whitespace.
    pub(super) fn text(&self) -> String {
        let bytes = fs::read(&self.output).unwrap_or_default();
        let text: String = String::from_utf8_lossy(&bytes).chars().take(OUTPUT_CHARS_MAX).collect();
        text.trim_end().to_owned()
    }
}

#[derive(Debug)]
pub(super) struct Background {
    pub shell: Shell,
    pub task_id: String,
    pub tool_id: String,
    pub description: String,
}
