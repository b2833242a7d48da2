//! Prompts for an agent that stopped before the task was done.

use crate::done_claim::FINISH;
use crate::{AgentContext, DoneSignals};
use longhaul_core::{KeepGoingPrompt, Remaining};

const CONTINUE: &str = "You stopped, but the task is not finished. ";
const CONFIRM: &str = "You reported that the work is done. ";

const ORDINARY: &str = "No one will answer a question: decide with your best judgment. Compare the work with the task point by point, verify the finished parts again, and complete the missing ones.";
const EXTENDED: &str = "No one will answer a question: decide with your best judgment. There is time for more than a first solution, so be ambitious: look for the weakest part of the work, improve it, and \
                        measure whether it became better. Stop only when no part of the task can be made better.";

/// Returns the prompt to continue. It states the remaining limits if that is due, and warns if a limit is
/// near.
pub(super) fn continue_prompt(context: &AgentContext, stop: KeepGoingPrompt, remaining: Remaining) -> String {
    let mut text = CONTINUE.to_owned() + if stop.keep_improving { EXTENDED } else { ORDINARY };
    if let Some(active_time) = stop.active_time {
        let left = remaining.describe().map_or_else(String::new, |amounts| format!("; {amounts} left"));
        text += &format!(
            "\n\nStatus: {active_time} worked{left}. Commit what is not committed, if this is a git repository."
        );
    }
    if stop.limit_near {
        text += "\n\nThis is the last warning: little more is left than the reserve for saving the work. Finish the \
                  current step, and start nothing large.";
    }
    text + "\n\n" + &claim_instruction(context, "When nothing is left to do")
}

pub(super) fn confirm_prompt(context: &AgentContext) -> String {
    format!(
        "{CONFIRM}Compare the task with the work again, and run the commands that verify it. If something is missing, continue with it. {}",
        claim_instruction(context, "If nothing is")
    )
}

fn claim_instruction(context: &AgentContext, condition: &str) -> String {
    let DoneSignals { tool, line } = context.done_signals();
    let end = if line.is_some() { "" } else { "." };
    let call = tool.then(|| format!("call the tool {FINISH}"));
    let line = line.map(|text| format!("end your last message with this line:\n{text}"));
    let methods: Vec<String> = call.into_iter().chain(line).collect();
    if methods.is_empty() {
        format!("{condition}, say so.")
    } else {
        format!("{condition}, {}{end}", methods.join(", or "))
    }
}

pub(super) fn is_keep_going_prompt(text: &str) -> bool {
    text.starts_with(CONTINUE) || text.starts_with(CONFIRM)
}

#[cfg(test)]
mod tests {
    use super::{confirm_prompt, continue_prompt, is_keep_going_prompt};
    use crate::Program;
    use crate::prompts::tests::context;
    use expect_test::expect;
    use longhaul_core::{KeepGoing, KeepGoingPrompt, Remaining, Span, Usd};

    #[test]
    fn renders_keep_going_prompts() {
        let finish = Program { path: "/bin/longhaul".into(), leading_args: vec!["finish-tool".to_owned()] };
        let mut keep_going = KeepGoing::DEFAULT;
        keep_going.done_when = Some("ALL DONE".to_owned());
        let mut by_both = context(|spec| spec.policy.keep_going = Some(keep_going));
        by_both.finish_tool = Some(finish.clone());
        let mut by_tool = context(|_| ());
        by_tool.finish_tool = Some(finish);
        let stop =
            KeepGoingPrompt { stop_number: 1, keep_improving: false, active_time: None, limit_near: false };
        let last = KeepGoingPrompt {
            stop_number: 5,
            keep_improving: true,
            active_time: Some(Span::from_mins(90)),
            limit_near: true,
        };
        let remaining =
            Remaining { budget: Some(Usd(1_250_000)), turns: Some(9), time: Some(Span::from_mins(30)) };
        let prompts = [
            continue_prompt(&by_tool, stop, Remaining::default()),
            continue_prompt(&by_both, last, remaining),
            confirm_prompt(&by_tool),
            confirm_prompt(&by_both),
        ];
        assert!(prompts.iter().all(|text| is_keep_going_prompt(text)));
        expect![[r#"
            You stopped, but the task is not finished. No one will answer a question: decide with your best judgment. Compare the work with the task point by point, verify the finished parts again, and complete the missing ones.

            When nothing is left to do, call the tool mcp__longhaul-run__finish.
            ---
            You stopped, but the task is not finished. No one will answer a question: decide with your best judgment. There is time for more than a first solution, so be ambitious: look for the weakest part of the work, improve it, and measure whether it became better. Stop only when no part of the task can be made better.

            Status: 1h 30m worked; $1.25, 30m and 9 turns left. Commit what is not committed, if this is a git repository.

            This is the last warning: little more is left than the reserve for saving the work. Finish the current step, and start nothing large.

            When nothing is left to do, call the tool mcp__longhaul-run__finish, or end your last message with this line:
            ALL DONE
            ---
            You reported that the work is done. Compare the task with the work again, and run the commands that verify it. If something is missing, continue with it. If nothing is, call the tool mcp__longhaul-run__finish.
            ---
            You reported that the work is done. Compare the task with the work again, and run the commands that verify it. If something is missing, continue with it. If nothing is, call the tool mcp__longhaul-run__finish, or end your last message with this line:
            ALL DONE"#]].assert_eq(&prompts.join("\n---\n"));
    }
}
