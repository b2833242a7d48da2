//! Defines the scripted agent: its state between exchanges, and the only function that waits. That function
//! handles every control request, signal and end of a background command that arrives meanwhile.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT};

use super::callbacks::Callbacks;
use super::cost::CostMeter;
use super::environment::Environment;
use super::flags::Flags;
use super::hooks::{Hooks, SESSION_END};
use super::inbox::{Inbox, InboxEvent};
use super::init;
use super::mcp_servers::Servers;
use super::session_file::SessionFile;
use super::shell::Background;
use super::stdout::{EventWriter, print_error};

#[derive(Debug)]
pub(super) struct Agent {
    pub flags: Flags,
    pub environment: Environment,
    pub out: EventWriter,
    pub inbox: Inbox,
    pub session: SessionFile,
    /// The conversation as sent to the API.
    pub messages: Vec<Value>,
    pub cost_meter: CostMeter,
    pub model: String,
    pub mode: String,
    pub hooks: Hooks,
    pub callbacks: Callbacks,
    pub servers: Servers,
    pub queue: VecDeque<QueuedPrompt>,
    pub background: Vec<Background>,
    pub input_ended: bool,
    pub in_exchange: bool,
    /// Counter for the ids of requests and commands.
    pub serial: u64,
    /// The rate-limit information last reported.
    pub limits: Option<Value>,
    pub api_time: Duration,
    /// The exit code if the process exited now.
    pub exit_code: u8,
}

/// A prompt that waits for an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueuedPrompt {
    pub text: String,
    /// Whether it reports the end of a background command.
    pub is_notification: bool,
}

/// Why the agent drops its current work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The host or the user interrupted the exchange. After a signal, the process exits with the exchange.
    Interrupted { by_signal: bool },
    /// The process exits immediately, with this exit code.
    Exit(u8),
}

impl Agent {
    /// Waits for an event that the caller must handle, at most until `deadline`. Between exchanges, it also
    /// returns after any other event, because an exchange may be due or the process must exit.
    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> Result<Option<InboxEvent>, Stop> {
        loop {
            let received = match deadline {
                None => self.inbox.receiver.recv().ok(),
                Some(deadline) => {
                    self.inbox.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
                }
            };
            let Some(event) = received else { return Ok(None) };
            match event {
                InboxEvent::Line(line) => self.take_line(&line)?,
                InboxEvent::InputEnded => self.input_ended = true,
                InboxEvent::Signal(signal) => return Err(self.stop_for_signal(signal)),
                InboxEvent::CommandEnded(serial, code) => {
                    if !self.take_background_end(serial, code) {
                        return Ok(Some(InboxEvent::CommandEnded(serial, code)));
                    }
                }
                InboxEvent::Response(..) => return Ok(Some(event)),
            }
            if !self.in_exchange || self.callbacks.is_answered() || self.has_lost_host() {
                return Ok(None);
            }
        }
    }

    fn has_lost_host(&self) -> bool {
        self.input_ended && self.callbacks.open_question.is_some()
    }

    fn take_line(&mut self, line: &str) -> Result<(), Stop> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            print_error(&format!(
                "Error parsing streaming input line ({} chars): SyntaxError",
                line.chars().count()
            ));
            return Err(Stop::Exit(1));
        };
        if self.flags.acp {
            return self.take_acp_message(&message);
        }
        match message["type"].as_str() {
            Some("user") => {
                let text = text_of(&message["message"]["content"]);
                self.queue.push_back(QueuedPrompt { text, is_notification: false });
                Ok(())
            }
            Some("control_request") => self.control(&message),
            Some("control_response") => {
                self.callbacks.take(&message["response"]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Answers a control request. An interrupt during an exchange and `end_session` stop the current work.
    fn control(&mut self, message: &Value) -> Result<(), Stop> {
        let id = message["request_id"].clone();
        let request = &message["request"];
        let mut stop = None;
        let response = match request["subtype"].as_str().unwrap_or_default() {
            "initialize" => {
                self.callbacks = Callbacks::read(&request["hooks"]);
                init::answer(&self.mode)
            }
            "interrupt" => {
                stop = self.in_exchange.then_some(Stop::Interrupted { by_signal: false });
                json!({"still_queued": []})
            }
            "end_session" => {
                stop = Some(Stop::Exit(0));
                json!({})
            }
            other => {
                let error = format!("Unsupported control request subtype: {other}");
                self.out.answer(json!({"subtype": "error", "request_id": id, "error": error,
                    "error_code": "unsupported_request"}));
                return Ok(());
            }
        };
        self.out.answer(json!({"subtype": "success", "request_id": id, "response": response}));
        stop.map_or(Ok(()), Err)
    }

    fn stop_for_signal(&mut self, signal: i32) -> Stop {
        match signal {
            SIGINT if self.in_exchange => Stop::Interrupted { by_signal: true },
            SIGINT => Stop::Exit(0),
            SIGHUP => Stop::Exit(129),
            _ => Stop::Exit(143),
        }
    }

    /// Reports the end of a background command and queues the exchange that it causes. Returns `false` if
    /// there is no such command.
    fn take_background_end(&mut self, serial: u64, code: i32) -> bool {
        let Some(index) = self.background.iter().position(|background| background.shell.serial == serial)
        else {
            return false;
        };
        let command = self.background.remove(index);
        let status = if code == 0 { "completed" } else { "failed" };
        let summary = format!("Background command \"{}\" {status} (exit code {code})", command.description);
        self.emit_end(&command, status, &summary);
        let text = format!("<task-notification>\n{summary}\n{}\n</task-notification>", command.shell.text());
        self.queue.push_back(QueuedPrompt { text, is_notification: true });
        true
    }

    /// Emits the end of a background command that was removed from the list.
    fn emit_end(&mut self, command: &Background, status: &str, summary: &str) {
        self.out.system(
            "task_notification",
            json!({"task_id": command.task_id, "tool_use_id": command.tool_id, "status": status,
                "output_file": command.shell.output, "summary": summary}),
        );
        self.emit_background();
    }

    pub(super) fn emit_background(&mut self) {
        let commands = self.background.iter();
        let tasks: Vec<Value> = commands
            .map(|command| json!({"task_id": command.task_id, "description": command.description}))
            .collect();
        self.out.system("background_tasks_changed", json!({"tasks": tasks}));
    }

    pub(super) fn end_background(&mut self) {
        for command in std::mem::take(&mut self.background) {
            command.shell.kill();
            self.emit_end(&command, "stopped", &command.description);
        }
    }

    /// Runs the hooks of a session event. Returns the texts that they add for the model.
    pub(super) fn emit_hooks(&self, event: &str, fields: Value) -> Vec<String> {
        let mut input = json!({"session_id": self.session.id, "transcript_path": self.session.path,
            "cwd": self.environment.cwd, "permission_mode": self.mode, "hook_event_name": event});
        if let (Some(input), Value::Object(fields)) = (input.as_object_mut(), fields) {
            input.extend(fields);
        }
        self.hooks.run_session_event(event, &input, &[("CLAUDE_PROJECT_DIR", &self.environment.cwd)])
    }

    pub(super) fn emit_session_end(&self) {
        self.emit_hooks(SESSION_END, json!({"reason": "other"}));
    }

    pub(super) fn emit_state(&mut self, state: &str) {
        if self.environment.session_state {
            self.out.system("session_state_changed", json!({"state": state, "sdk_host_only": true}));
        }
    }

    /// Writes the session's cost to its file, as the real agent does at every orderly exit.
    pub(super) fn write_cost_state(&mut self) {
        if self.session.leaf.is_some() {
            self.session.row("cost-state", self.cost_meter.cost_state());
        }
    }

    /// Returns how long this agent takes for a duration of the real agent.
    pub(super) fn scaled(&self, duration: Duration) -> Duration {
        duration.div_f64(self.environment.time_scale)
    }
}

pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
