//! Describes each fault: its meaning, its evidence, and advice for the user.

use super::{one_line, plural};
use longhaul_agent::dialect_named;
use longhaul_core::{
    AgentProgram, AgentResult, ApiError, AttemptHistory, Continuity, Exit, Fault, StallReport, StartupError,
    State, StopCause, StopReason, TerminalReason,
};
use signal_hook::low_level::signal_name;

/// Returns the cause of a failed attempt. An interrupt that Longhaul sent is described by its reason.
pub fn attempt_cause(fault: Fault, stop_cause: Option<StopCause>) -> &'static str {
    match (fault, stop_cause) {
        (Fault::Interrupted, Some(StopCause::Cancelled)) => "the agent was stopped on request",
        (Fault::Interrupted, Some(StopCause::WrapUp | StopCause::LimitReached)) => {
            "the agent was stopped at the limit"
        }
        (Fault::Interrupted, Some(StopCause::Suspended)) => "the agent was stopped to suspend the run",
        (fault, _) => fault.describe(),
    }
}

/// Advice for faults that do not pass on their own, the same for every agent.
const ADVICE: [(Fault, &str); 9] = [
    (Fault::Billing, "check the account's payment, then resume the run"),
    (Fault::ModelUnknown, "resume the run with a model that the API knows: --model NAME"),
    (Fault::SessionLost, "resume the run: it continues in a new session"),
    (Fault::SessionBusy, "finish or cancel the run that has the session, then resume this run"),
    (Fault::AttemptTimeout, "resume the run with a larger --attempt-timeout"),
    (Fault::InvalidResult, "read the answers in `longhaul logs`, then resume, or simplify the schema"),
    (
        Fault::ContextFull,
        "the task or a single result is too long for the model: start a new run with a shorter task; the handoff prompt \
         contains the work so far",
    ),
    (Fault::Refused, "resume with another model (--model NAME), or start a new run with a changed task"),
    (Fault::OutOfMemory, "give the run more memory, or the machine less to do"),
];

/// Returns advice for a finished run. The error of a failed start says more than its fault.
pub fn advice_of(state: &State, agent: &AgentProgram) -> Option<&'static str> {
    let fault = state.outcome()?.fault?;
    let startup = state.startup.filter(|_| fault == Fault::AgentUnusable);
    let status = state.result.and_then(|result| result.api_status);
    if fault == Fault::Auth && status == Some(407) {
        return Some("put the user and the password of the proxy into HTTPS_PROXY, then resume the run");
    }
    startup
        .and_then(|startup| startup_advice(startup, !agent.args.is_empty()))
        .or_else(|| advice(fault, &agent.name))
}

fn startup_advice(error: StartupError, has_agent_args: bool) -> Option<&'static str> {
    match error {
        StartupError::BypassAsRoot => {
            Some("in a sandbox, set IS_SANDBOX=1; elsewhere, use another permission mode")
        }
        StartupError::UnknownPermissionMode => Some("resume with a permission mode that the agent knows"),
        StartupError::SandboxMissing => Some("install what the agent's error names, then resume the run"),
        StartupError::Unusable if has_agent_args => Some(
            "start a new run with corrected arguments after `--`, or fix the file that the error names and resume",
        ),
        StartupError::Unusable
        | StartupError::ProgramMissing
        | StartupError::NotAnAgent
        | StartupError::SessionUnknown
        | StartupError::SessionInUse
        | StartupError::SessionHeld => None,
    }
}

pub fn advice(fault: Fault, agent: &str) -> Option<&'static str> {
    let of_agent = dialect_named(agent).map(|dialect| dialect.advice()).unwrap_or_default();
    of_agent.iter().chain(&ADVICE).find(|(of, _)| *of == fault).map(|(_, advice)| *advice)
}

/// Returns the evidence for the fault of an attempt, or `None` if there is no fault or no evidence. `start_error` is why
/// the system did not start the agent.
pub fn evidence(attempt: &AttemptHistory, exit: Option<Exit>, start_error: Option<&str>) -> Option<String> {
    let ended = attempt.end.as_ref()?;
    let response = || ended.result.and_then(api_response);
    let stop = || attempt.stop_cause().and_then(|cause| stop_text(cause, attempt.stall()));
    let exit = || start_error.map(one_line).or_else(|| exit.map(exit_text));
    match ended.fault {
        None | Some(Fault::GuardLapsed) => None,
        Some(Fault::Interrupted) => exit().filter(|_| attempt.stop_cause().is_none()),
        Some(Fault::Crashed | Fault::OutOfMemory) => stop().or_else(exit),
        Some(Fault::Stalled | Fault::AttemptTimeout) => stop(),
        Some(Fault::SessionLost) => stop().or_else(|| ended.continuity.and_then(continuity_text)),
        Some(Fault::SessionExists | Fault::SessionBusy | Fault::AgentMissing | Fault::AgentUnusable) => {
            exit()
        }
        Some(Fault::Unfinished) => ended.result.and_then(unfinished_text),
        Some(Fault::Permission) => ended.result.map(|result| {
            let denied = result.denials;
            format!("{denied} {}", plural(denied, "tool call was denied", "tool calls were denied"))
        }),
        Some(Fault::Unknown) => response().or_else(exit),
        // The API reported all others.
        Some(_) => response().or_else(stop),
    }
}

fn api_response(result: AgentResult) -> Option<String> {
    let status = result.api_status.map(|status| format!("status {status}"));
    let error = result.api_error.and_then(|api_error| match api_error {
        ApiError::UsageLimitReached => Some("the usage window is exhausted"),
        ApiError::ConnectionFailed => Some("the connection failed"),
        ApiError::TimedOut => Some("the server did not answer in time"),
        ApiError::Malformed => Some("the response did not come from the API"),
        ApiError::MaxOutputTokens => Some("truncated at the output limit"),
        ApiError::OrgDisabled => Some("the organization is disabled"),
        ApiError::AgentTooOld => Some("the agent is too old for the API"),
        ApiError::Other => None,
    });
    status.or_else(|| error.map(str::to_owned))
}

fn stop_text(cause: StopCause, stall: Option<StallReport>) -> Option<String> {
    // The text of its fault describes a timeout.
    let words = || (cause != StopCause::TimedOut).then(|| stop_words(cause).to_owned());
    stall.map(|stall| stall.describe(cause)).or_else(words)
}

/// Describes the end of an attempt without a fault that Longhaul ended.
pub fn stopped_success(cause: StopCause) -> &'static str {
    if cause == StopCause::WrapUp { "completed its wrap-up" } else { stop_words(cause) }
}

fn stop_words(cause: StopCause) -> &'static str {
    match cause {
        StopCause::Stalled => "silent for too long",
        StopCause::NoProgress => "nothing was finished for too long",
        StopCause::TimedOut => "stopped, because it timed out",
        StopCause::AuthRejected => "rejected twice",
        StopCause::WrongSession => "it opened the wrong session",
        StopCause::MemoryLimit => "its processes exceeded the memory limit",
        StopCause::WrapUp => "interrupted to save its work",
        StopCause::LimitReached => "stopped at the limit",
        StopCause::Cancelled => "stopped on request",
        StopCause::Suspended => "interrupted to suspend the run",
        StopCause::DidNotExit => "stopped, because it did not exit",
        StopCause::BackgroundStopped => "stopped with its background work",
    }
}

pub fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => match signal_name(signal) {
            Some(name) => format!("signal {signal}, {name}"),
            None => format!("signal {signal}"),
        },
        Exit::Unobserved => "its exit was not observed".to_owned(),
        Exit::NeverSpawned => "it was never started".to_owned(),
    }
}

fn continuity_text(continuity: Continuity) -> Option<String> {
    match continuity {
        Continuity::Continued | Continuity::Unchanged => None,
        Continuity::Branched => Some("it continued from an older part of its history"),
        Continuity::Unrelated => Some("it continued without its history"),
    }
    .map(str::to_owned)
}

fn unfinished_text(result: AgentResult) -> Option<String> {
    let text = match (result.terminal_reason, result.stop_reason) {
        (TerminalReason::HookStopped, _) => "a hook stopped it",
        (_, StopReason::PauseTurn) => "the model paused",
        (_, StopReason::EndTurn | StopReason::Refusal | StopReason::Other) if result.empty => {
            "its answer is empty"
        }
        (_, StopReason::EndTurn | StopReason::Refusal | StopReason::Other) => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::advice;
    use longhaul_core::Fault;

    #[test]
    fn advice_depends_on_the_agent() {
        let check = |fault: Fault, expected: [&str; 2]| {
            for (agent, expected) in ["claude", "acp"].into_iter().zip(expected) {
                let advice = advice(fault, agent).unwrap_or_default();
                assert!(advice.contains(expected), "{agent}: {advice}");
                assert_eq!(advice.contains("claude"), expected.contains("claude"), "{agent}: {advice}");
            }
        };
        check(Fault::Auth, ["log in with `claude`", "the agent's own login"]);
        check(Fault::AgentMissing, ["@anthropic-ai/claude-code", "install the agent again"]);
        check(Fault::AgentUnusable, ["@anthropic-ai/claude-code", "or update it, then"]);
        check(Fault::Permission, ["the agent's settings", "allow these tools"]);
        check(Fault::GuardLapsed, ["check the hooks", "without asking"]);
        check(Fault::Billing, ["the account's payment"; 2]);
        assert_eq!(advice(Fault::Crashed, "claude"), None);
        assert_eq!(advice(Fault::Billing, "of another version"), advice(Fault::Billing, "acp"));
    }
}
