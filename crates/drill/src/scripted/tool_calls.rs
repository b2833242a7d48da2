//! The tool calls of a message: past the hooks and the permission mode, to the tool, and back to the host. It runs no
//! tool itself.

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::callbacks::HookDecision;
use super::exchange::Exchange;
use super::hooks::{HookResult, Verdict};
use super::permissions;
use super::questions;
use super::result::ExchangeEnd;
use super::tools::Outcome;

impl Agent {
    /// Runs the pending tool calls; an ending, if a hook wants one.
    pub(super) fn run_tools(&mut self, turn: &mut Exchange) -> Result<Option<ExchangeEnd>, Stop> {
        while let Some(call) = turn.pending.first().cloned() {
            let (outcome, meta) = self.run_guarded(turn, &call)?;
            self.emit_outcome(turn, &call, &outcome, meta);
        }
        if turn.hook_stopped {
            return Ok(Some(ExchangeEnd::Completed { text: String::new(), reason: "hook_stopped" }));
        }
        self.take_injected(turn);
        Ok(None)
    }

    /// Runs one tool call, if the hooks and the permission mode let it.
    fn run_guarded(&mut self, turn: &mut Exchange, call: &Value) -> Result<(Outcome, Value), Stop> {
        let tool = call["name"].as_str().unwrap_or_default();
        if tool == questions::ASK && !self.flags.prompts_host {
            return Ok((Outcome::bad(questions::DISABLED.to_owned()), json!({})));
        }
        let input = json!({"session_id": self.session.id, "transcript_path": self.session.path,
            "cwd": self.environment.cwd, "permission_mode": self.mode, "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": call["input"], "tool_use_id": call["id"]});
        let denied = json!({"tool_name": tool, "tool_use_id": call["id"], "tool_input": call["input"]});
        for ran in self.hooks.run(tool, &input) {
            if self.flags.hook_events {
                self.emit_hook(tool, &ran);
            }
            if ran.timed_out {
                self.out.system(
                    "informational",
                    json!({"content": "A hook didn't answer in time, so it didn't check this action.",
                        "level": "warning", "tag": "hook_no_verdict", "hook_no_verdict":
                        {"hook_event": "PreToolUse", "tool_use_id": call["id"], "timed_out": true}}),
                );
            }
            match ran.verdict() {
                // No story has a command that changes an input.
                Verdict::Run | Verdict::Modify(_) => {}
                Verdict::StopAfter => turn.hook_stopped = true,
                Verdict::Deny(reason) => {
                    turn.denials.push(denied);
                    let text = format!("PreToolUse:{tool} hook error: {reason}");
                    return Ok((Outcome::bad(text), json!({"non_execution_kind": "permission-rule"})));
                }
            }
        }
        let mut asked = self.ask_host(call, &input)?;
        let mut accepted = json!({"decision": "accept", "source": "hook", "reason_type": "hook"});
        if matches!(asked, HookDecision::Pass)
            && self.flags.allowed_tools.iter().any(|allowed| allowed == tool)
        {
            accepted = json!({"decision": "accept", "source": "config", "reason_type": "rule"});
            asked = HookDecision::Modify(call["input"].clone());
        }
        if matches!(asked, HookDecision::Pass) && permissions::allows(&self.mode, tool) {
            accepted = json!({"decision": "accept", "source": "config", "reason_type": "mode"});
            asked = HookDecision::Modify(call["input"].clone());
        }
        if matches!(asked, HookDecision::Pass) && self.flags.prompts_host {
            accepted = json!({"decision": "accept", "source": "user_temporary"});
            asked = self.ask_permission(call)?;
        }
        match asked {
            HookDecision::Modify(input) => {
                let call = json!({"id": call["id"], "name": call["name"], "input": input});
                Ok((self.run_tool(&call)?, json!({"permission_decision": accepted})))
            }
            HookDecision::Refuse(outcome, meta) => {
                // One that nobody answered was denied by nobody.
                if !meta["permission_decision"].is_null() {
                    turn.denials.push(denied);
                }
                Ok((outcome, meta))
            }
            HookDecision::Pass => Ok(self.refuse_for_mode(turn, call, denied)),
        }
    }

    /// Where nobody can be asked, what the mode does not allow is denied.
    fn refuse_for_mode(&mut self, turn: &mut Exchange, call: &Value, denied: Value) -> (Outcome, Value) {
        let tool = call["name"].as_str().unwrap_or_default();
        let text = permissions::denial(tool, &call["input"]);
        self.out.system(
            "permission_denied",
            json!({"tool_name": tool, "tool_use_id": call["id"], "message": text}),
        );
        turn.denials.push(denied);
        (Outcome::bad(text), json!({"non_execution_kind": "user-rejected"}))
    }

    fn emit_hook(&mut self, tool: &str, ran: &HookResult) {
        let id = self.out.rng.uuid();
        let name = format!("PreToolUse:{tool}");
        let mut fields = json!({"hook_id": id, "hook_name": name, "hook_event": "PreToolUse"});
        self.out.system("hook_started", fields.clone());
        fields["output"] = json!(ran.stdout);
        fields["stdout"] = json!(ran.stdout);
        fields["stderr"] = json!(ran.stderr);
        fields["exit_code"] = json!(ran.exit_code);
        let outcome = match (ran.timed_out, ran.exit_code) {
            (true, _) => "cancelled",
            (false, 0) => "success",
            (false, _) => "error",
        };
        fields["outcome"] = json!(outcome);
        self.out.system("hook_response", fields);
    }

    /// Tells the result of the first pending call, which is pending no longer.
    pub(super) fn emit_outcome(
        &mut self,
        turn: &mut Exchange,
        call: &Value,
        outcome: &Outcome,
        mut meta: Value,
    ) {
        if !turn.pending.is_empty() {
            turn.pending.remove(0);
        }
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": outcome.content,
            "is_error": outcome.is_error});
        meta["id"] = call["id"].clone();
        self.emit_user(
            turn,
            json!({"role": "user", "content": [result]}),
            json!({"tool_use_result": outcome.detail, "tool_result_meta": [meta]}),
            json!({"toolUseResult": outcome.detail}),
        );
    }
}
