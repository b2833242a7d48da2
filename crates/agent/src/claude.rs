//! The dialect of Claude Code: how it is started, prompted and decoded. All facts hold for version 2.1.330.
//!
//! Claude Code reads and writes JSON lines. Its exit code, its `subtype` and single events are no proof: the
//! last `result` decides, unless a new exchange started after it.

mod background;
mod compaction;
mod control;
mod conversation_reducer;
mod decoder;
mod effect_tracker;
pub mod environment;
mod exchange;
mod guard_hooks;
mod invocation;
mod learn_hooks;
mod questions;
pub mod researchgym;
mod review;
mod session_conversation;
mod session_file;
pub mod session_paths;
mod startup_error;
mod tool_calls;
mod usage_meter;
mod vendor_terms;
mod wire;

use crate::{
    AgentContext, AttemptSnapshot, Conversation, Decoder, Dialect, DoneSignals, Guards, Invocation,
    PriorAttempts, ReviewRequest, Tables,
};
use longhaul_core::{AttemptPlan, Fault};
use memchr::memmem;
use wire::LineHeader;

pub use control::{end_session, initialize, interrupt, user_line};
pub use session_file::{Health, ResumePoint, SessionDocument, SessionHistory};
pub use session_paths::SessionLayout;

/// The model name of messages that the agent program writes itself.
const SYNTHETIC: &str = "<synthetic>";

const ADVICE: [(Fault, &str); 5] = [
    (Fault::Auth, "check the key or log in with `claude`, then resume the run"),
    (
        Fault::Permission,
        "allow the tools in the agent's settings; or, in a sandbox, resume with the permission mode bypassPermissions; or \
         count the run as done although they were denied",
    ),
    (Fault::AgentMissing, "install it: `npm install -g @anthropic-ai/claude-code`"),
    (
        Fault::AgentUnusable,
        "fix what the agent's error names, or update it with `npm install -g @anthropic-ai/claude-code`, then resume the run",
    ),
    (Fault::GuardLapsed, "check the hooks in the agent's settings: one failed, timed out or rewrote a call"),
];

/// The dialect of Claude Code.
#[derive(Clone, Debug, Default)]
pub struct Claude(pub(crate) Tables);

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn needs_variable(&self, name: &str, is_set: &dyn Fn(&str) -> bool) -> bool {
        environment::is_needed(name, is_set)
    }

    fn advice(&self) -> &'static [(Fault, &'static str)] {
        &ADVICE
    }

    fn invocation(&self, context: &AgentContext, plan: &AttemptPlan, prior: &PriorAttempts) -> Invocation {
        invocation::invocation(context, plan, prior)
    }

    fn summary_invocation(
        &self,
        context: &AgentContext,
        attempt: u32,
        model: &str,
        prompt: &str,
    ) -> Option<Invocation> {
        Some(invocation::summary_invocation(context, attempt, model, prompt))
    }

    fn review_invocation(&self, context: &AgentContext, request: &ReviewRequest<'_>) -> Option<Invocation> {
        Some(review::invocation(context, request))
    }

    fn sessions(&self) -> Option<&SessionLayout> {
        Some(&SessionLayout)
    }

    fn conversation_from_file(&self, bytes: &[u8]) -> Option<Conversation> {
        if session_conversation::is_session(bytes)? {
            return Some(session_conversation::from_file(bytes));
        }
        let mut conversation = Conversation::default();
        conversation.add_stream(bytes, self.decoder(&Guards::default(), &DoneSignals::default()));
        Some(conversation)
    }

    fn is_result(&self, line: &[u8]) -> bool {
        // Nearly all lines have neither the type nor an escape of its letters, and need not be parsed.
        let has = |text: &str| memmem::find(line, text.as_bytes()).is_some();
        (has(r#""result""#) || has(r"\u00")) && header(line).is_some_and(|header| header.kind.is("result"))
    }

    fn timestamp(&self, line: &[u8]) -> Option<String> {
        header(line)?.timestamp.owned()
    }

    fn decoder(&self, guards: &Guards, done_signals: &DoneSignals) -> Box<dyn Decoder> {
        Box::new(decoder::ClaudeDecoder::new(&self.0, guards.clone(), done_signals.clone()))
    }

    fn encode_prompt(&self, _snapshot: &AttemptSnapshot, text: &str) -> Vec<u8> {
        user_line(text)
    }

    fn encode_interrupt(&self, _snapshot: &AttemptSnapshot) -> Vec<u8> {
        interrupt()
    }

    /// Used only if the input cannot be closed. Closing it ends an idle agent as fast (65 ms either way), but
    /// lets a background shell and the next exchange finish. `end_session` kills them.
    fn encode_exit(&self) -> Option<Vec<u8>> {
        Some(end_session())
    }
}

fn header(line: &[u8]) -> Option<LineHeader<'_>> {
    wire::parse(line.trim_ascii())
}
