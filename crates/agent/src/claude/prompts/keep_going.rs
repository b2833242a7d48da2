//! What an agent is told that stopped by itself and is to go on.

use crate::AgentSpec;
use crate::claude::finish_tool::FINISH;
use longhaul_core::{KeepGoingPrompt, Remaining};

/// How the words begin that keep an agent going.
const GO_ON: &str = "You stopped, but the task is not finished. ";
/// How they begin for one that said that it is finished.
const CONFIRM: &str = "You reported that the work is done. ";

const ORDINARY: &str = "Nobody will answer a question: decide with your best judgement. Compare what is there with what \
                        the task asks for, point by point, check again what you believe to be done, and do what is \
                        missing.";
const EXTENDED: &str = "Nobody will answer a question: decide with your best judgement. There is time for more than a \
                        first solution, so be ambitious: look for the weakest part of the work, improve it, and \
                        measure whether it became better. Stop only when no part of the task can be made better.";

/// To go on; how things stand, if that is due; and that the end is near, if it is.
pub(super) fn go_on(order: &AgentSpec, push: KeepGoingPrompt, left: Remaining) -> String {
    let mut words = GO_ON.to_owned() + if push.keep_improving { EXTENDED } else { ORDINARY };
    if let Some(worked) = push.active_time {
        let left = [
            left.time.map(|time| format!("{time} left")),
            left.budget.map(|usd| format!("{usd} left")),
            left.turns.map(|turns| format!("{turns} {} left", if turns == 1 { "turn" } else { "turns" })),
        ];
        let left: String = left.into_iter().flatten().map(|left| format!(", {left}")).collect();
        words += &format!(
            "\n\nHow things stand: {worked} worked{left}. Commit what is not committed, if this is a git repository."
        );
    }
    if push.limit_near {
        words += "\n\nThis is the last warning: little more is left than what is held back to save the work. Finish what \
                  you are at, and begin nothing large.";
    }
    words + "\n\n" + &said_how(order, "When nothing is left to do")
}

/// Whether it stands by it.
pub(super) fn confirm(order: &AgentSpec) -> String {
    format!(
        "{CONFIRM}Look once more at what the task asks for and at what is there: run what proves it. If something is \
         missing, go on with it. {}",
        said_how(order, "If nothing is")
    )
}

fn said_how(order: &AgentSpec, when: &str) -> String {
    let call = order.finish_tool.as_ref().map(|_| format!("call the tool {FINISH}"));
    let line = order.done_when.as_ref().map(|text| format!("end your last message with this line:\n{text}"));
    let ways: Vec<String> = call.into_iter().chain(line).collect();
    let end = if order.done_when.is_some() { "" } else { "." };
    if ways.is_empty() { format!("{when}, say so.") } else { format!("{when}, {}{end}", ways.join(", or ")) }
}

/// Whether a prompt is one of these.
pub(super) fn is_one(text: &str) -> bool {
    text.starts_with(GO_ON) || text.starts_with(CONFIRM)
}

#[cfg(test)]
mod tests {
    use super::{confirm, go_on, is_one};
    use crate::claude::invocation::tests::order;
    use crate::{AgentSpec, Program};
    use expect_test::expect;
    use longhaul_core::{KeepGoingPrompt, Remaining, Span, Usd};

    #[test]
    fn what_an_agent_is_told_that_stopped() {
        let finish = Program { path: "/bin/longhaul".into(), leading_args: vec!["finish-tool".to_owned()] };
        let by_tool = AgentSpec { finish_tool: Some(finish), ..order() };
        let by_both = AgentSpec { done_when: Some("ALL DONE".to_owned()), ..by_tool.clone() };
        let push =
            KeepGoingPrompt { stop_number: 1, keep_improving: false, active_time: None, limit_near: false };
        let last = KeepGoingPrompt {
            stop_number: 5,
            keep_improving: true,
            active_time: Some(Span::from_mins(90)),
            limit_near: true,
        };
        let left =
            Remaining { budget: Some(Usd(1_250_000)), turns: Some(9), time: Some(Span::from_mins(30)) };
        let told = [
            go_on(&by_tool, push, Remaining::default()),
            go_on(&by_both, last, left),
            confirm(&by_tool),
            confirm(&by_both),
        ];
        assert!(told.iter().all(|words| is_one(words)));
        expect![[r#"
            You stopped, but the task is not finished. Nobody will answer a question: decide with your best judgement. Compare what is there with what the task asks for, point by point, check again what you believe to be done, and do what is missing.

            When nothing is left to do, call the tool mcp__longhaul__finish.
            ---
            You stopped, but the task is not finished. Nobody will answer a question: decide with your best judgement. There is time for more than a first solution, so be ambitious: look for the weakest part of the work, improve it, and measure whether it became better. Stop only when no part of the task can be made better.

            How things stand: 1h 30m worked, 30m left, $1.2500 left, 9 turns left. Commit what is not committed, if this is a git repository.

            This is the last warning: little more is left than what is held back to save the work. Finish what you are at, and begin nothing large.

            When nothing is left to do, call the tool mcp__longhaul__finish, or end your last message with this line:
            ALL DONE
            ---
            You reported that the work is done. Look once more at what the task asks for and at what is there: run what proves it. If something is missing, go on with it. If nothing is, call the tool mcp__longhaul__finish.
            ---
            You reported that the work is done. Look once more at what the task asks for and at what is there: run what proves it. If something is missing, go on with it. If nothing is, call the tool mcp__longhaul__finish, or end your last message with this line:
            ALL DONE"#]].assert_eq(&told.join("\n---\n"));
    }
}
