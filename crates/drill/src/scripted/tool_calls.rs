//! Processes the tool calls of a message: checks hooks and the permission mode, calls the tool and reports
//! the result to the host. It never runs a tool itself.

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::ask_host::HookDecision;
use super::exchange_state::Exchange;
use super::hooks::{HookResult, Verdict};
use super::init;
use super::permissions;
use super::questions;
use super::result::ExchangeEnd;
use super::tool_outcome::Outcome;

/// The agent gives up after this many invalid results (Claude Code 2.1.330).
const INVALID_OUTPUTS_MAX: u32 = 5;

impl Agent {
    /// Runs the pending tool calls. Returns `Some` if a hook ends the exchange.
    pub(super) fn run_tools(&mut self, exchange: &mut Exchange) -> Result<Option<ExchangeEnd>, Stop> {
        while let Some(call) = exchange.pending.first().cloned() {
            let (outcome, meta) = self.run_guarded(exchange, &call)?;
            if call["name"] == init::STRUCTURED_OUTPUT {
                if outcome.is_error {
                    exchange.invalid_outputs += 1;
                } else {
                    exchange.structured_output = Some(call["input"].clone());
                }
            }
            self.emit_outcome(exchange, &call, &outcome, meta);
        }
        if let Some(output) = &exchange.structured_output {
            return Ok(Some(ExchangeEnd::Completed { text: output.to_string(), reason: "completed" }));
        }
        if exchange.invalid_outputs >= INVALID_OUTPUTS_MAX {
            return Ok(Some(ExchangeEnd::InvalidOutputs));
        }
        if exchange.hook_stopped {
            return Ok(Some(ExchangeEnd::Completed { text: String::new(), reason: "hook_stopped" }));
        }
        self.take_injected();
        Ok(None)
    }

    /// Runs one tool call, if the hooks and the permission mode allow it.
    fn run_guarded(&mut self, exchange: &mut Exchange, call: &Value) -> Result<(Outcome, Value), Stop> {
        let tool = call["name"].as_str().unwrap_or_default();
        if self.flags.tools.is_some() && !init::tools(&self.flags).contains(&tool) {
            let text = format!("<tool_use_error>Error: No such tool available: {tool}</tool_use_error>");
            return Ok((Outcome::error(text), json!({})));
        }
        if tool == questions::ASK_USER_QUESTION && !self.flags.prompts_host {
            return Ok((Outcome::error(questions::DISABLED.to_owned()), json!({})));
        }
        let input = json!({"session_id": self.session.id, "transcript_path": self.session.path,
            "cwd": self.environment.cwd, "permission_mode": self.mode, "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": call["input"], "tool_use_id": call["id"]});
        let denial = json!({"tool_name": tool, "tool_use_id": call["id"], "tool_input": call["input"]});
        for result in self.hooks.run(tool, &input) {
            if self.flags.hook_events {
                self.emit_hook(tool, &result);
            }
            match result.verdict() {
                // No scenario has a command hook that changes an input.
                Verdict::Run | Verdict::Modify(_) => {}
                Verdict::StopAfter => exchange.hook_stopped = true,
                Verdict::Deny(reason) => {
                    exchange.denials.push(denial);
                    let text = format!("PreToolUse:{tool} hook error: {reason}");
                    return Ok((Outcome::error(text), json!({"non_execution_kind": "permission-rule"})));
                }
            }
        }
        let mut decision = self.ask_host(call, &input)?;
        let mut accepted = json!({"decision": "accept", "source": "hook"});
        if matches!(decision, HookDecision::Pass) {
            let by_rule = self.flags.allowed_tools.iter().any(|allowed| allowed == tool);
            if by_rule || permissions::allows(&self.mode, tool) {
                accepted = json!({"decision": "accept", "source": "config"});
                decision = HookDecision::Modify(call["input"].clone());
            } else if self.flags.prompts_host {
                accepted = json!({"decision": "accept", "source": "user_temporary"});
                decision = self.ask_permission(call)?;
            }
        }
        match decision {
            HookDecision::Modify(input) => {
                let call = json!({"id": call["id"], "name": call["name"], "input": input});
                Ok((self.run_tool(&call)?, json!({"permission_decision": accepted})))
            }
            HookDecision::Refuse(outcome, meta) => {
                // A call that was never answered does not count as a denial.
                if !meta["permission_decision"].is_null() {
                    exchange.denials.push(denial);
                }
                Ok((outcome, meta))
            }
            HookDecision::Pass => Ok(self.deny_by_mode(exchange, call, denial)),
        }
    }

    /// Denies a call that the mode does not allow, when the host answers no prompts.
    fn deny_by_mode(&mut self, exchange: &mut Exchange, call: &Value, denial: Value) -> (Outcome, Value) {
        let tool = call["name"].as_str().unwrap_or_default();
        let text = permissions::denial(tool, &call["input"]);
        self.out.system(
            "permission_denied",
            json!({"tool_name": tool, "tool_use_id": call["id"], "message": text}),
        );
        exchange.denials.push(denial);
        (Outcome::error(text), json!({"non_execution_kind": "user-rejected"}))
    }

    fn emit_hook(&mut self, tool: &str, result: &HookResult) {
        let name = format!("PreToolUse:{tool}");
        let fields = json!({"hook_name": name, "stdout": result.stdout, "stderr": result.stderr,
            "exit_code": result.exit_code});
        self.out.system("hook_response", fields);
    }

    /// Emits the result of the first pending call and removes the call from the pending ones.
    pub(super) fn emit_outcome(
        &mut self,
        exchange: &mut Exchange,
        call: &Value,
        outcome: &Outcome,
        mut meta: Value,
    ) {
        if !exchange.pending.is_empty() {
            exchange.pending.remove(0);
        }
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": outcome.content,
            "is_error": outcome.is_error});
        meta["id"] = call["id"].clone();
        self.emit_user(
            exchange,
            json!({"role": "user", "content": [result]}),
            json!({"tool_use_result": outcome.detail, "tool_result_meta": [meta]}),
            json!({"toolUseResult": outcome.detail}),
        );
    }
}
