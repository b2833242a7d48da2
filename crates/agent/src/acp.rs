//! The dialect of the Agent Client Protocol, version 1: JSON-RPC over standard input and output, spoken by
//! many agents.
//!
//! The agent chooses the id of a session, and each request needs the answer to the one before, so the decoder
//! leads the conversation. The protocol names no tools, retries, resets or exit codes, and `end_turn` does not
//! prove success: a table has each agent's marks of failed requests. It has no way to ask a model once, without
//! tools and without a session, no way to restrict a session to reading, and no structured answers.

mod content;
mod decoder;
mod failure_table;
mod handshake;
mod permissions;
mod rpc;
mod tool_calls;
mod transcript;
mod usage_meter;

use self::handshake::Stage;
use crate::prompts::prompt;
use crate::{
    AgentContext, AttemptSnapshot, Conversation, Decoder, Dialect, DoneSignals, Guards, Invocation,
    PriorAttempts, Tables,
};
use agent_client_protocol_schema::{AGENT_METHOD_NAMES, CancelNotification};
use longhaul_core::{AttemptPlan, Fault};

/// Ends of the names of variables with credentials and addresses of APIs.
const NEEDED_SUFFIXES: [&str; 6] =
    ["_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_BASE_URL", "_PROXY", "_proxy"];

const ADVICE: [(Fault, &str); 5] = [
    (Fault::Auth, "check the key or the agent's own login, then resume the run"),
    (Fault::Permission, "allow these tools, or count the run as done although they were denied"),
    (Fault::AgentMissing, "install the agent again, then resume the run"),
    (Fault::AgentUnusable, "fix what the agent's error names, or update it, then resume the run"),
    (
        Fault::GuardLapsed,
        "choose a permission mode in which the agent asks before each call: it made a denied call without asking",
    ),
];

/// The dialect of the Agent Client Protocol.
#[derive(Clone, Debug, Default)]
pub struct Acp(pub(crate) Tables);

impl Dialect for Acp {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn needs_variable(&self, name: &str, _is_set: &dyn Fn(&str) -> bool) -> bool {
        NEEDED_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) || name == "CLAUDE_CONFIG_DIR"
    }

    fn advice(&self) -> &'static [(Fault, &'static str)] {
        &ADVICE
    }

    /// The input outlives the supervisor: at its end, agents drop their turn or their process.
    fn invocation(&self, context: &AgentContext, plan: &AttemptPlan, prior: &PriorAttempts) -> Invocation {
        let spec = &context.spec;
        let args = spec.agent.leading_args.iter().chain(&spec.agent.args).cloned();
        Invocation {
            program: spec.agent.program.clone(),
            args: args.collect(),
            cwd: spec.cwd.clone(),
            env_set: vec![
                ("LONGHAUL_RUN".to_owned(), context.run_id.to_string()),
                ("LONGHAUL_ATTEMPT".to_owned(), plan.attempt.to_string()),
            ],
            env_remove: Vec::new(),
            stdin: handshake::initialize(),
            prompt: prompt(&with_result_schema(context.clone()), plan, prior),
            input_outlives_supervisor: true,
        }
    }

    fn is_prompt(&self, request: &str) -> bool {
        Stage::of(request) == Some(Stage::Prompt)
    }

    fn conversation_from_file(&self, bytes: &[u8]) -> Option<Conversation> {
        let mut conversation = Conversation::default();
        conversation.add_stream(bytes, self.decoder(&Guards::default(), &DoneSignals::default()));
        (!conversation.messages.is_empty()).then_some(conversation)
    }

    fn decoder(&self, guards: &Guards, done_signals: &DoneSignals) -> Box<dyn Decoder> {
        Box::new(decoder::AcpDecoder::new(&self.0, guards.clone(), done_signals.clone()))
    }

    fn encode_prompt(&self, snapshot: &AttemptSnapshot, text: &str) -> Vec<u8> {
        let session = snapshot.session.as_ref();
        session.map(|id| handshake::prompt(id, snapshot.results + 1, text).line).unwrap_or_default()
    }

    fn encode_interrupt(&self, snapshot: &AttemptSnapshot) -> Vec<u8> {
        let Some(session) = &snapshot.session else { return Vec::new() };
        let params = CancelNotification::new(session.as_str().to_owned());
        rpc::notification(AGENT_METHOD_NAMES.session_cancel, &params)
    }
}

/// Adds the schema of the result to the task.
fn with_result_schema(mut context: AgentContext) -> AgentContext {
    if let Some(schema) = &context.spec.result_schema {
        context.spec.prompt.push_str(&format!(
            "\n\nEnd with a message that is only a JSON object, which matches this JSON schema:\n{schema}"
        ));
    }
    context
}
