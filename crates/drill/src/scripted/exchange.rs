//! Runs one exchange, from a prompt to a result. The agent sends requests and runs tools until the model is
//! done, a limit is reached, a request fails for good, or an interrupt arrives.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Agent, QueuedPrompt, Stop};
use super::exchange_state::Exchange;
use super::failure::{self, Failure};
use super::hooks;
use super::init;
use super::message_builder::Message;
use super::result::ExchangeEnd;
use super::stdout::print_error;
use super::tool_outcome::Outcome;

/// After an interrupt, a host often sends the next prompt immediately. This is how long its line may take to
/// arrive.
const LINE_GRACE: Duration = Duration::from_millis(10);

// The starts of the real agent's texts: no model reads the rest.
const NUDGE: &str = "[Your previous response had no visible output.]";
const CONTINUE_TRUNCATED: &str =
    "Your response above was cut off mid-stream. Resume directly from where it stops.";
const REFUSED_ONCE: &str = "Your response above was stopped by a safety classifier.";
const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
const REJECTED_RUNNING: &str =
    " Correction to the text above: this call was stopped while running, not refused before it ran.";
/// Asks once for a result that the model did not return with its tool (Claude Code 2.1.330).
const ENFORCE_OUTPUT: &str = "[structured-output-enforce] You MUST call the StructuredOutput tool.";

impl Agent {
    pub(super) fn run_exchange(&mut self, prompt: QueuedPrompt) -> Result<(), Stop> {
        self.in_exchange = true;
        let started = Instant::now();
        let mut exchange = Exchange { is_notification: prompt.is_notification, ..Exchange::default() };
        self.emit_state("running");
        self.take_prompt(&prompt);
        let definitions = self.servers.tool_definitions();
        let server_tools = definitions.iter().filter_map(|tool| tool["name"].as_str());
        let tools: Vec<&str> = init::tools(&self.flags).into_iter().chain(server_tools).collect();
        let mut init = init::event(&self.environment.cwd, &tools, &self.model, &self.mode);
        init["mcp_servers"] = self.servers.status_list();
        self.out.system("init", init);
        let mut stop = None;
        let end = match self.converse(&mut exchange) {
            Ok(end) => end,
            Err(Stop::Interrupted { by_signal }) => {
                stop = by_signal.then_some(Stop::Exit(0));
                self.finish_interrupted(&mut exchange, by_signal)
            }
            Err(exit @ Stop::Exit(code)) => {
                if code != 0 {
                    self.finish_killed(&mut exchange);
                }
                return Err(exit);
            }
        };
        self.emit_result(&exchange, &end, started);
        self.in_exchange = false;
        if let Some(stop) = stop {
            return Err(stop);
        }
        // A line that arrived by now starts the next exchange without an idle state in between (2.1.330).
        let grace = if matches!(end, ExchangeEnd::Aborted(_)) { LINE_GRACE } else { Duration::ZERO };
        self.wait(Some(Instant::now() + grace))?;
        if self.queue.is_empty() {
            self.emit_state("idle");
        }
        Ok(())
    }

    /// Writes the prompt to the session, before the first request.
    fn take_prompt(&mut self, prompt: &QueuedPrompt) {
        self.session.row("queue-operation", json!({"operation": "enqueue", "content": prompt.text}));
        self.session.row("queue-operation", json!({"operation": "dequeue"}));
        let message = json!({"role": "user", "content": prompt.text});
        let row = json!({"message": message, "permissionMode": self.mode, "promptSource": "sdk"});
        self.link("user", row);
        self.messages.push(message);
        self.emit_prompt(prompt);
    }

    /// Runs the hooks of a prompt and adds their context for the model.
    fn emit_prompt(&mut self, prompt: &QueuedPrompt) {
        let contexts = self.emit_hooks(hooks::USER_PROMPT_SUBMIT, json!({"prompt": prompt.text}));
        for text in contexts {
            let context = format!("UserPromptSubmit hook additional context: {text}");
            let attachment = json!({"type": "hook_additional_context", "content": [text],
                "hookName": hooks::USER_PROMPT_SUBMIT, "hookEvent": hooks::USER_PROMPT_SUBMIT});
            self.link("attachment", json!({"attachment": attachment}));
            self.messages.push(json!({"role": "user",
                "content": [{"type": "text", "text": format!("<system-reminder>\n{context}\n</system-reminder>")}]}));
        }
    }

    fn converse(&mut self, exchange: &mut Exchange) -> Result<ExchangeEnd, Stop> {
        loop {
            if let Some(limit) = self.flags.max_turns.filter(|limit| exchange.requests >= *limit) {
                return Ok(ExchangeEnd::MaxTurns(limit));
            }
            if let Some(end) = self.exhausted_budget() {
                return Ok(end);
            }
            exchange.requests += 1;
            exchange.lost_in_stream = false;
            let message = match self.request_message(exchange)? {
                Ok(message) => message,
                Err(failure) => return Ok(self.fail(failure)),
            };
            self.bill(exchange, &message);
            let end = if message.complete {
                self.take_message(exchange, &message)?
            } else {
                self.take_truncated(exchange, &message)?
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    fn exhausted_budget(&self) -> Option<ExchangeEnd> {
        let limit = self.flags.max_budget_usd?;
        (self.cost_meter.process_dollars() >= limit).then_some(ExchangeEnd::MaxBudget(limit))
    }

    fn fail(&mut self, failure: Failure) -> ExchangeEnd {
        if failure.error == "model_not_found" {
            let model = json!({"model": self.model, "query_source": "sdk"});
            print_error(&format!("[claude-code:unrecognized_model] {model}"));
        }
        self.emit_failure(&failure);
        ExchangeEnd::Failed(failure)
    }

    fn take_message(
        &mut self,
        exchange: &mut Exchange,
        message: &Message,
    ) -> Result<Option<ExchangeEnd>, Stop> {
        exchange.stop_reason.clone_from(&message.stop_reason);
        if message.stop_reason.as_deref() == Some("refusal") {
            return Ok(self.handle_refusal(exchange));
        }
        self.store(message);
        exchange.pending = message.tool_calls().cloned().collect();
        if let Some(end) = self.exhausted_budget() {
            return Ok(Some(end));
        }
        if !exchange.pending.is_empty() {
            return self.run_tools(exchange);
        }
        if message.blocks.is_empty() && !exchange.nudged {
            exchange.nudged = true;
            self.add_user(exchange, NUDGE, json!({"isSynthetic": true}));
            return Ok(None);
        }
        // A script may also answer with the JSON itself.
        let is_json = serde_json::from_str::<Value>(&message.text()).is_ok();
        if self.flags.json_schema.is_some() && !exchange.enforced && !is_json {
            exchange.enforced = true;
            self.add_user(exchange, ENFORCE_OUTPUT, json!({"isSynthetic": true}));
            return Ok(None);
        }
        Ok(Some(ExchangeEnd::Completed { text: message.text(), reason: "completed" }))
    }

    /// Processes the received part of a message whose stream was lost.
    fn take_truncated(
        &mut self,
        exchange: &mut Exchange,
        message: &Message,
    ) -> Result<Option<ExchangeEnd>, Stop> {
        self.store(message);
        exchange.pending = message.tool_calls().cloned().collect();
        if exchange.pending.is_empty() {
            self.add_user(exchange, CONTINUE_TRUNCATED, json!({"isSynthetic": true}));
            return Ok(None);
        }
        // The tools of an incomplete message run anyway (2.1.330), and the loss is reported as well.
        exchange.stop_reason = Some("tool_use".to_owned());
        let text =
            "API Error: Connection lost mid-response. The response above may be incomplete.".to_owned();
        self.emit_failure(&Failure {
            text,
            error: "server_error",
            api_error: Some("connection_failed"),
            stop_reason: "tool_use",
            ..Failure::default()
        });
        self.run_tools(exchange)
    }

    fn handle_refusal(&mut self, exchange: &mut Exchange) -> Option<ExchangeEnd> {
        exchange.safety_stops += 1;
        if exchange.safety_stops == 1 {
            let content =
                "The model's safeguards stopped the response above · continuing once with that noted";
            self.out.system("informational", json!({"content": content, "level": "notice"}));
            self.add_user(exchange, REFUSED_ONCE, json!({"isSynthetic": true}));
            return None;
        }
        Some(self.fail(failure::from_model_refusal(&self.model)))
    }

    pub(super) fn take_injected(&mut self) {
        let (lines, notifications) =
            std::mem::take(&mut self.queue).into_iter().partition(|prompt| !prompt.is_notification);
        self.queue = notifications;
        for line in Vec::from(lines) {
            let text = format!("The user sent a new message while you were working: {}", line.text);
            let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
            self.link("user", json!({"message": message}));
            self.messages.push(message);
        }
    }

    fn finish_interrupted(&mut self, exchange: &mut Exchange, by_signal: bool) -> ExchangeEnd {
        let in_tools = !exchange.pending.is_empty();
        if let Some((id, _)) = self.callbacks.open_question.take() {
            self.out.withdraw(&id);
        }
        for (index, call) in exchange.pending.clone().iter().enumerate() {
            let running = if index == 0 && !by_signal { REJECTED_RUNNING } else { "" };
            let mut outcome = Outcome::error(format!("{REJECTED}{running}"));
            outcome.detail = json!("User rejected tool use");
            self.emit_outcome(exchange, call, &outcome, json!({"non_execution_kind": "user-rejected"}));
        }
        if in_tools {
            self.add_user(exchange, "[Request interrupted by user for tool use]", json!({}));
            return ExchangeEnd::Aborted("aborted_tools");
        }
        let truncated = exchange.truncated.take();
        if let Some(message) = &truncated {
            self.store_truncated(message);
        }
        self.add_user(exchange, "[Request interrupted by user]", json!({}));
        if let Some(message) = &truncated {
            self.close_interrupted(message);
        }
        ExchangeEnd::Aborted("aborted_streaming")
    }

    /// Stores the received part of an interrupted message, and its estimated cost.
    fn store_truncated(&mut self, message: &Message) {
        let model = message.head["model"].as_str().unwrap_or_default().to_owned();
        let text = message.open_text().unwrap_or_default().to_owned();
        let mut tokens = message.tokens();
        // Three characters per token, as 2.1.330 estimates.
        tokens.output = tokens.output.max((text.chars().count() as u64 * 2 + 3) / 6);
        self.cost_meter.estimate(&model, tokens);
        let mut stored = message.clone();
        if !text.is_empty() {
            let block = json!({"type": "text", "text": text});
            let content = message.with_block(&block, &message.head["usage"], None);
            let fields = json!({"message": content, "parent_tool_use_id": null, "aborted": true});
            self.out.event("assistant", fields);
            stored.blocks.push(block);
        }
        stored.blocks.retain(|block| block["type"] == "text");
        self.store(&stored);
    }

    /// Reports the result of the running command before the process exits on a signal. The command is killed
    /// with the agent.
    fn finish_killed(&mut self, exchange: &mut Exchange) {
        if let Some(call) = exchange.pending.first().cloned() {
            let accepted = json!({"decision": "accept", "source": "config"});
            let meta = json!({"permission_decision": accepted});
            self.emit_outcome(exchange, &call, &Outcome::error("Exit code 137"), meta);
        }
    }
}
