//! Runs this program for a tool call and collects its output.

use super::arguments::CommandCall;
use super::client::Client;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::io;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// More output is an error: no command prints as much. In bytes.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;
/// A client may give up on a request without progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(15);
/// Lines of stderr that are kept for an error message.
const MESSAGES_MAX: usize = 40;

/// The output of a call.
pub struct Finished {
    pub is_success: bool,
    /// Whether a signal ended it.
    pub is_killed: bool,
    pub stdout: String,
    /// The last lines of stderr.
    pub messages: Vec<String>,
}

/// Runs this program to its end, or until the client cancels the request: then a command that drives a run is
/// interrupted as by Ctrl-C, and the call returns `None`. A command outlives a client that disconnects, unless
/// `ends_with_client` is set.
pub async fn run(
    command_call: CommandCall,
    ends_with_client: bool,
    client: &Client,
    context: &RequestContext<RoleServer>,
) -> io::Result<Option<Finished>> {
    let mut child = start(&command_call, ends_with_client)?;
    let mut progress = Progress {
        peer: context.peer.clone(),
        token: context.meta.get_progress_token(),
        messages: Vec::new(),
        count: 0,
    };
    tokio::select! {
        // A request that was cancelled before the client disconnected stays cancelled.
        biased;
        finished = collect(&mut child, command_call.stdin, &mut progress) => finished.map(Some),
        () = context.ct.cancelled() => {
            interrupt(child);
            Ok(None)
        }
        () = client.disconnected() => Ok(None),
    }
}

/// Starts this program in a process group of its own: the signals of a terminal are for the client.
fn start(command_call: &CommandCall, ends_with_client: bool) -> io::Result<Child> {
    let stdin = if command_call.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    Command::new(env::current_exe()?)
        .args(&command_call.words)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(ends_with_client)
        .spawn()
}

async fn collect(child: &mut Child, stdin: Option<String>, progress: &mut Progress) -> io::Result<Finished> {
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let (Some(mut input), Some(text)) = (input, stdin) {
            // A command that fails first reads nothing.
            let _ = input.write_all(text.as_bytes()).await;
        }
    };
    let read = async {
        let mut bytes = Vec::new();
        if let Some(output) = output {
            output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).await?;
        }
        Ok::<_, io::Error>(bytes)
    };
    let report = async {
        let mut lines = errors.map(|errors| BufReader::new(errors).lines());
        while let Some(lines) = &mut lines {
            match timeout(PROGRESS_INTERVAL, lines.next_line()).await {
                Ok(Ok(Some(line))) => progress.report(line).await,
                Ok(Ok(None) | Err(_)) => break,
                Err(_) => progress.notify("still running").await,
            }
        }
    };
    let ((), stdout, ()) = tokio::join!(write, read, report);
    let status = child.wait().await?;
    Ok(Finished {
        is_success: status.success(),
        is_killed: status.code().is_none(),
        stdout: String::from_utf8_lossy(&stdout?).into_owned(),
        messages: std::mem::take(&mut progress.messages),
    })
}

/// Interrupts a process once, and waits for its end in the background.
fn interrupt(mut child: Child) {
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        let _ = kill_process(pid, Signal::INT);
    }
    tokio::spawn(async move { child.wait().await });
}

/// The messages of a command, as progress of the request.
struct Progress {
    peer: Peer<RoleServer>,
    /// `None` if the client does not ask for progress.
    token: Option<ProgressToken>,
    messages: Vec<String>,
    count: u32,
}

impl Progress {
    async fn notify(&mut self, message: &str) {
        self.count += 1;
        if let Some(token) = &self.token {
            let progress = ProgressNotificationParam::new(token.clone(), self.count.into());
            // A client that has disconnected needs none.
            let _ = self.peer.notify_progress(progress.with_message(message)).await;
        }
    }

    async fn report(&mut self, line: String) {
        self.notify(&line).await;
        if self.messages.len() == MESSAGES_MAX {
            self.messages.remove(0);
        }
        self.messages.push(line);
    }
}
