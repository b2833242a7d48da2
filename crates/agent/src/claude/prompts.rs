//! What the agent is told at the start of an attempt. Short, true, and never an order to stop: it stays
//! in the conversation for good.

use super::reminder::{Listener, is_reminder, reminder};
use crate::seed::BEHIND_TASK;
use crate::{About, Order, Past, Reason, seed, summarised_seed};
use longhaul_core::{Fault, Nudge, Rung, Say, SpawnPlan};

/// What stands between the task and the rest where nothing is on record.
const AGAIN: &str = "\n\n(An earlier session worked on this and could not be continued: ";

/// The words for what is to be said. An agent that goes on is reminded of the deeds so far; one that does
/// not remember the work is given a seed, if anything is on record.
pub fn prompt(order: &Order, plan: &SpawnPlan, past: &Past) -> String {
    let task = &order.task();
    // Journals of older versions name no rung.
    let seeds = plan.rung.is_none_or(|rung| rung == Rung::Seed) && !past.transcript.entries.is_empty();
    match plan.say {
        Say::Task => task.to_string() + &reminder(past, Listener::Itself),
        Say::Asked => {
            let asked = order.asked.last().map_or(task.as_ref(), String::as_str);
            asked.to_owned() + &reminder(past, Listener::Itself)
        }
        Say::TaskAgain(fault) if seeds => {
            let about = About::unlimited(task, Reason::Fault(fault));
            let seed = match past.summary.as_ref().filter(|_| plan.condensed) {
                Some(summary) => summarised_seed(&past.transcript, &about, order.seed_tokens, summary),
                None => seed(&past.transcript, &about, order.seed_tokens),
            };
            seed + &reminder(past, Listener::Stranger)
        }
        // The task comes first: it may begin with a slash command.
        Say::TaskAgain(fault) => format!(
            "{task}{AGAIN}{}. Parts of the work may be done already. Look at the state of the workspace first, \
             keep what is good, and do not repeat what has taken effect.){}",
            interruption(fault),
            reminder(past, Listener::Stranger)
        ),
        Say::Continue(fault) => interrupted(fault) + &reminder(past, Listener::Itself),
        Say::Nudge(nudge) => nudged(nudge).to_owned(),
    }
}

/// What an agent is told that goes on after a fault.
fn interrupted(fault: Fault) -> String {
    format!(
        "The work was interrupted: {}. Continue with the task. Before you repeat a step, look whether it has \
         taken effect already: the last commands may have run in full, in part or not at all.",
        interruption(fault)
    )
}

fn nudged(nudge: Nudge) -> &'static str {
    match nudge {
        Nudge::Finish => {
            "The last turn ended without an answer. If the task is done, say what was done and with what \
             result; if it is not, continue with it until it is."
        }
        Nudge::SmallerSteps => {
            "The last answer was cut by the limit on output tokens. Continue in smaller steps: write long \
             files in several parts, and keep each answer short."
        }
    }
}

/// Whether a prompt of a session is one that we sent on our own behalf: one of our texts as a whole, with or
/// without a reminder behind it.
pub(super) fn is_ours(text: &str) -> bool {
    let nudges = [Nudge::Finish, Nudge::SmallerSteps].map(|nudge| nudged(nudge).to_owned());
    Fault::ALL.iter().map(|fault| interrupted(*fault)).chain(nudges).any(|ours| {
        let behind = text.strip_prefix(ours.as_str());
        behind.is_some_and(|behind| behind.is_empty() || is_reminder(behind))
    })
}

/// The task, and what we told of the work on it, where a prompt of a session is a task that was told again.
pub(super) fn parted(text: &str) -> Option<(&str, &str)> {
    let behind_task = BEHIND_TASK.into_iter().chain([AGAIN]);
    let at = behind_task.filter_map(|opening| text.find(opening)).min()?;
    Some((&text[..at], text[at..].trim_start()))
}

/// What happened, in words for the model: it must be able to tell what its tools may have suffered.
pub(crate) fn interruption(fault: Fault) -> &'static str {
    match fault {
        Fault::RateLimited => "the API refused requests for a while because of its rate limit",
        Fault::Overloaded => "the API was overloaded for a while",
        Fault::ServerError => "the API failed to answer for a while",
        Fault::Network => "the connection to the API was lost for a while",
        Fault::UsageLimit => "the account's usage limit was reached, and time has passed until its reset",
        Fault::Crashed => "the process you ran in died, and the commands it was running were ended with it",
        Fault::Interrupted => {
            "the process you ran in was ended from outside, and the commands it was running with it"
        }
        Fault::OutOfMemory => {
            "the process you ran in was killed for using too much memory, and the commands it was running \
             with it"
        }
        Fault::Stalled => "nothing was heard for too long, so the process was ended and started again",
        Fault::AttemptTimeout => "its time was up, so the process was ended and started again",
        Fault::SessionLost => "the session was not found any more",
        Fault::SessionExists => "the process you ran in ended before it answered",
        Fault::SessionBusy => "another process was using the session",
        Fault::ContextFull => "the conversation had become too long for the model",
        Fault::OutputLimit => "the answer was cut by the limit on output tokens",
        Fault::Unfinished => "the last turn ended without an answer",
        Fault::GuardLapsed => "a hook that guards the tools gave no verdict",
        Fault::Permission => "a tool was not permitted",
        Fault::Auth => "the API did not accept the credentials",
        Fault::Billing => "the account could not be billed",
        Fault::ModelUnknown => "the API did not know the model",
        Fault::Refused => "the model refused the request",
        Fault::BadRequest => "the API rejected a request of the conversation as invalid",
        Fault::AgentMissing | Fault::AgentUnusable => "the agent could not be started",
        Fault::TurnLimit => "the limit on turns was reached",
        Fault::AgentBudget => "the limit on spending was reached",
        Fault::Unknown => "the process you ran in ended for a reason that is not known",
    }
}

#[cfg(test)]
mod tests {
    use super::prompt;
    use crate::claude::invocation::tests::order;
    use crate::{Order, Past};
    use expect_test::expect;
    use longhaul_core::{Fault, Nudge, Say, SessionId, SessionPlan, SpawnPlan};

    #[test]
    fn every_prompt() {
        let says = [
            Say::Task,
            Say::Asked,
            Say::TaskAgain(Fault::ContextFull),
            Say::Continue(Fault::Crashed),
            Say::Nudge(Nudge::Finish),
            Say::Nudge(Nudge::SmallerSteps),
        ];
        let (prompt_text, asked) = ("/review the code".to_owned(), Vec::new());
        let order = Order { prompt: prompt_text, asked, ..order() };
        let session = SessionPlan::New(SessionId::from("a"));
        let said = |order: &Order, say| {
            let plan = SpawnPlan { attempt: 2, session: session.clone(), say, rung: None, condensed: false };
            prompt(order, &plan, &Past::default())
        };
        let mut all: Vec<String> = says.into_iter().map(|say| said(&order, say)).collect();
        let reopened = Order { asked: vec!["Now the docs.".to_owned()], ..order };
        all.extend([Say::Asked, Say::Task].map(|say| said(&reopened, say)));
        expect![[r#"
            /review the code
            ---
            /review the code
            ---
            /review the code

            (An earlier session worked on this and could not be continued: the conversation had become too long for the model. Parts of the work may be done already. Look at the state of the workspace first, keep what is good, and do not repeat what has taken effect.)
            ---
            The work was interrupted: the process you ran in died, and the commands it was running were ended with it. Continue with the task. Before you repeat a step, look whether it has taken effect already: the last commands may have run in full, in part or not at all.
            ---
            The last turn ended without an answer. If the task is done, say what was done and with what result; if it is not, continue with it until it is.
            ---
            The last answer was cut by the limit on output tokens. Continue in smaller steps: write long files in several parts, and keep each answer short.
            ---
            Now the docs.
            ---
            /review the code

            Later I asked:

            Now the docs."#]].assert_eq(&all.join("\n---\n"));
        let reasons: Vec<_> =
            Fault::ALL.iter().map(|&fault| format!("{fault}: {}", super::interruption(fault))).collect();
        expect![[r#"
            rate_limited: the API refused requests for a while because of its rate limit
            overloaded: the API was overloaded for a while
            server_error: the API failed to answer for a while
            network: the connection to the API was lost for a while
            usage_limit: the account's usage limit was reached, and time has passed until its reset
            crashed: the process you ran in died, and the commands it was running were ended with it
            interrupted: the process you ran in was ended from outside, and the commands it was running with it
            out_of_memory: the process you ran in was killed for using too much memory, and the commands it was running with it
            stalled: nothing was heard for too long, so the process was ended and started again
            attempt_timeout: its time was up, so the process was ended and started again
            session_lost: the session was not found any more
            session_exists: the process you ran in ended before it answered
            session_busy: another process was using the session
            context_full: the conversation had become too long for the model
            output_limit: the answer was cut by the limit on output tokens
            unfinished: the last turn ended without an answer
            guard_lapsed: a hook that guards the tools gave no verdict
            permission: a tool was not permitted
            auth: the API did not accept the credentials
            billing: the account could not be billed
            model_unknown: the API did not know the model
            refused: the model refused the request
            bad_request: the API rejected a request of the conversation as invalid
            agent_missing: the agent could not be started
            agent_unusable: the agent could not be started
            turn_limit: the limit on turns was reached
            agent_budget: the limit on spending was reached
            unknown: the process you ran in ended for a reason that is not known"#]].assert_eq(&reasons.join("\n"));
    }
}
