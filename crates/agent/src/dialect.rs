//! The interface that every supervised agent CLI implements. The details of each CLI are in its own module.

use crate::acp::Acp;
use crate::claude::Claude;
use crate::claude::environment::{AgentEnvironment, ENVIRONMENT};
use crate::transcript_message::TranscriptMessage;
use crate::{
    AttemptSnapshot, Conversation, GuardError, Guards, ResumePoint, ReviewRequest, SessionLayout,
    SideEffects, Tables, WrittenSummary, check_hosts,
};
use longhaul_core::{
    AttemptPlan, BackgroundTask, Evidence, Exit, Fault, Notice, Policy, Remaining, RunId, RunSpec, Usage,
};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;

/// The protocol of one agent CLI.
pub trait Dialect: Send + Sync {
    /// Returns the agent's name, as in `--agent`.
    fn name(&self) -> &'static str;

    /// Returns whether the agent works differently, or not at all, without this environment variable.
    /// `is_set` reports whether another variable is set.
    fn needs_variable(&self, name: &str, is_set: &dyn Fn(&str) -> bool) -> bool;

    /// Returns advice for the user about faults, as far as it differs from agent to agent.
    fn advice(&self) -> &'static [(Fault, &'static str)];

    /// Returns how to start the agent for one attempt, and the first bytes of its input. A prompt that
    /// continues earlier work lists the side effects that must not be repeated and those to check.
    fn invocation(&self, context: &AgentContext, plan: &AttemptPlan, prior: &PriorAttempts) -> Invocation;

    /// Returns how to have `model` answer a prompt once, for this attempt, in a separate process. That
    /// process runs no tools, keeps no session and exits when its input ends. The same [`Decoder`] reads its
    /// stream. `None` if the agent cannot do that.
    fn summary_invocation(
        &self,
        _context: &AgentContext,
        _attempt: u32,
        _model: &str,
        _prompt: &str,
    ) -> Option<Invocation> {
        None
    }

    /// Returns how to have a model review the work once, in a separate process. That process has tools that only
    /// read, keeps no session and exits when its input ends. Its answer is in [`AttemptSnapshot::review`].
    /// `None` if the agent cannot do that.
    fn review_invocation(&self, _context: &AgentContext, _request: &ReviewRequest<'_>) -> Option<Invocation> {
        None
    }

    /// Returns the conversation of the recorded attempts.
    fn conversation(&self, attempts: &[RecordedAttempt]) -> Conversation {
        let mut conversation = Conversation::default();
        for attempt in attempts {
            let decoder = self.decoder(&Guards::default(), &DoneSignals::default());
            conversation.add_attempt(attempt, decoder);
        }
        conversation
    }

    /// Returns how the agent stores its sessions, or `None` if only the agent can read them.
    fn sessions(&self) -> Option<&SessionLayout> {
        None
    }

    /// Returns the conversation in one of the agent's own files or in the stream of one attempt, or `None` if
    /// the bytes are neither. A stream does not contain the task.
    fn conversation_from_file(&self, bytes: &[u8]) -> Option<Conversation>;

    /// Returns whether a line of the agent's stream is the result of an exchange, with a type of its own.
    fn is_result(&self, _line: &[u8]) -> bool {
        false
    }

    /// Returns whether the request with this id, of those that were sent to the agent, is a prompt.
    fn is_prompt(&self, _request: &str) -> bool {
        false
    }

    /// Returns the time in RFC 3339 of a line of the agent's stream, if the line states it.
    fn timestamp(&self, _line: &[u8]) -> Option<String> {
        None
    }

    /// Creates a decoder for the stream of one attempt with these guards and done signals.
    fn decoder(&self, guards: &Guards, done_signals: &DoneSignals) -> Box<dyn Decoder>;

    /// Returns the bytes that send this prompt to an agent in this state.
    fn encode_prompt(&self, snapshot: &AttemptSnapshot, text: &str) -> Vec<u8>;

    /// Returns the bytes that make an agent in this state end its exchange now, with a result.
    fn encode_interrupt(&self, snapshot: &AttemptSnapshot) -> Vec<u8>;

    /// Returns the bytes that end an idle agent whose input cannot be closed. They also end its background
    /// tasks. `None` if the agent knows no such message: SIGTERM ends it.
    fn encode_exit(&self) -> Option<Vec<u8>> {
        None
    }
}

/// Decodes the stream of one attempt.
pub trait Decoder: Send {
    /// Prepares the requests with which the agent opens its session, if the first input does not contain them.
    /// Must be called before the decoder of a live agent is fed.
    fn begin(&mut self, _start: SessionStart<'_>) {}

    /// Records the ids of requests that were sent to the agent of this attempt. Must be called before the decoder is
    /// fed, unless the stream is read without its requests.
    fn add_sent(&mut self, _requests: Vec<String>) {}

    /// Records that a prompt is about to be sent in the open session. Returns the id of its request, or `None` if the
    /// protocol has no such ids.
    fn add_prompt(&mut self) -> Option<String> {
        None
    }

    /// Returns the requests that are due, each once. A request must not be sent twice, because the agent may be
    /// working on it.
    fn take_requests(&mut self) -> Vec<AgentRequest> {
        Vec::new()
    }

    /// Decodes some bytes of the stream, split anywhere. A sequence of lines that only show that the agent is
    /// alive becomes one [`Notice::Activity`].
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Notice>);

    /// Collects the messages of the conversation from now on, as those of this attempt. Must be called before
    /// the first bytes. The messages do not depend on how the stream is split, so a later reader can skip
    /// those that it knows.
    fn collect_messages(&mut self, attempt: u32);

    /// Returns the messages that were completed since the last call. Returns all others after
    /// [`Decoder::evidence`]. Empty if no messages are collected.
    fn take_messages(&mut self) -> Vec<TranscriptMessage>;

    /// Returns the replies that the agent waits for, as lines to write, each once. An unfinished request that
    /// was answered before is included, because the agent ignores a second reply.
    fn take_replies(&mut self) -> Vec<Vec<u8>>;

    /// Returns whether the agent does nothing but wait for us: each running tool call waits for the reply to a request
    /// after the first `replied_bytes` of the stream. Returns `false` if that is unknown.
    fn awaits_reply(&self, _replied_bytes: u64) -> bool {
        false
    }

    /// Returns the current state of the attempt, for people. No decision uses it.
    fn snapshot(&self) -> &AttemptSnapshot;

    /// Returns the side effects of the tool calls so far. They are complete after [`Decoder::evidence`].
    fn side_effects(&self) -> &SideEffects;

    /// Returns the usage so far per model, sorted by name, without models that used nothing. The name is
    /// empty if the stream does not state the model. In every field the parts add up to the usage of
    /// [`Decoder::snapshot`], and after [`Decoder::evidence`] to that of the evidence.
    fn usage_by_model(&self) -> Vec<(String, Usage)>;

    /// Returns whether the usage of sub-agents is estimated because the stream does not state it.
    fn needs_sub_agent_files(&self) -> bool {
        false
    }

    /// Reads one of the agent's own files of the session's sub-agents, which state the usage of completed messages.
    /// Must be called before [`Decoder::evidence`].
    fn read_sub_agent_file(&mut self, _file: &[u8]) {}

    /// Returns the evidence of the whole stream. Must be called once the process has exited and the stream is
    /// read.
    fn evidence(&mut self, exit: Exit, stderr_tail: &str) -> Evidence;

    /// Returns the lines that compaction drops, as ranges of the stream's bytes in order. Must be called after
    /// [`Decoder::evidence`]. Decoding the compacted stream yields the same evidence and side effects.
    fn droppable(&self) -> Vec<Range<u64>> {
        Vec::new()
    }
}

/// The settings with which an agent opens its session in a conversation with Longhaul.
#[derive(Clone, Debug)]
pub struct SessionStart<'a> {
    /// The description of the run.
    pub spec: &'a RunSpec,
    /// The plan of the attempt.
    pub plan: &'a AttemptPlan,
    /// The text of the first prompt.
    pub prompt: &'a str,
}

/// A request to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRequest {
    /// Its id, unique in the attempt and on one line.
    pub id: String,
    /// The line to write.
    pub line: Vec<u8>,
}

/// The records of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedAttempt {
    /// The user's request, if the attempt started with it. All other prompts come from Longhaul.
    pub user_prompt: Option<String>,
    /// The recorded stream.
    pub stream: Vec<u8>,
    /// Number of results before the wrap-up prompt was sent, or `None` if there was no wrap-up. Later
    /// attempts have no use for the turns after it.
    pub wrap_up_after_results: Option<u32>,
}

/// Facts about a run's earlier attempts that the next attempt needs.
#[derive(Clone, Debug, Default)]
pub struct PriorAttempts {
    /// Side effects of their tool calls.
    pub side_effects: SideEffects,
    /// Their conversation, for a session that does not contain it.
    pub conversation: Conversation,
    /// Tool calls whose results are visible in the session, or `None` if that is unknown.
    pub visible_tool_results: Option<BTreeSet<String>>,
    /// Where to resume the session, or `None` for its end. Later messages are left out because they belong to a
    /// wrap-up.
    pub resume_at: Option<ResumePoint>,
    /// End of the last check's output, for a prompt that quotes it.
    pub check_output: Option<String>,
    /// A model's summary of the older part of the conversation, for a prompt that includes one.
    pub summary: Option<WrittenSummary>,
    /// Background tasks that ended with an earlier attempt's process and that no prompt has named yet.
    pub stopped: Vec<BackgroundTask>,
    /// Amounts that the user added to the limits when resuming the run, for the first attempt after that.
    pub added: Remaining,
}

/// The input of an agent: the description of its run, and facts that are no part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentContext {
    /// The description of the run.
    pub spec: RunSpec,
    /// The run, for the run marker in the environment.
    pub run_id: RunId,
    /// Requests added later, one each time a finished run was resumed.
    pub follow_ups: Vec<String>,
    /// The program that serves the finish tool, or `None` without one. It speaks MCP on its standard streams.
    pub finish_tool: Option<Program>,
    /// The program that the agent's hooks call if its sessions are learned from. Its leading arguments are
    /// followed by the event name, `--judge` and `--max-tokens`. `None` disables the hooks.
    pub hook: Option<Program>,
    guards: Guards,
}

impl AgentContext {
    /// Creates the context of a run without follow-ups and helper programs.
    ///
    /// # Errors
    /// Returns the first invalid guard or host, because a run must not continue without it.
    pub fn new(spec: RunSpec, run_id: RunId) -> Result<AgentContext, GuardError> {
        let guards = Guards::compile(&spec.guards, &spec.cwd)?;
        check_hosts(spec.network.as_deref().unwrap_or_default())?;
        Ok(AgentContext { spec, run_id, follow_ups: Vec::new(), finish_tool: None, hook: None, guards })
    }

    /// Adds the helper programs. The finish tool is left out if the policy has none.
    #[must_use]
    pub fn with_programs(mut self, finish_tool: Option<Program>, hook: Option<Program>) -> AgentContext {
        self.finish_tool = finish_tool.filter(|_| DoneSignals::new(&self.spec.policy).tool);
        self.hook = hook;
        self
    }

    /// Returns the guards of tool calls.
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// Returns the task with all later requests.
    pub fn task(&self) -> Cow<'_, str> {
        task_with_follow_ups(&self.spec.prompt, &self.follow_ups)
    }

    /// Returns the ways in which the agent may claim that the work is done.
    pub fn done_signals(&self) -> DoneSignals {
        DoneSignals { tool: self.finish_tool.is_some(), ..DoneSignals::new(&self.spec.policy) }
    }
}

/// The ways in which an agent may claim that its work is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoneSignals {
    /// Whether a call of the finish tool counts. If Longhaul does not offer the tool, a tool of that name is
    /// not ours.
    pub tool: bool,
    /// The last line of the final message that counts, if any.
    pub line: Option<String>,
}

impl DoneSignals {
    /// Returns those of a run with this policy.
    pub fn new(policy: &Policy) -> DoneSignals {
        let keep_going = policy.keep_going.as_ref();
        DoneSignals {
            tool: keep_going.is_some_and(|keep_going| keep_going.finish_tool),
            line: keep_going.and_then(|keep_going| keep_going.done_when.clone()),
        }
    }
}

/// Returns a task with all later requests.
pub fn task_with_follow_ups<'a>(prompt: &'a str, follow_ups: &[String]) -> Cow<'a, str> {
    if follow_ups.is_empty() {
        return Cow::Borrowed(prompt);
    }
    let later = follow_ups.iter().map(|request| format!("\n\nLater I asked:\n\n{request}"));
    Cow::Owned(prompt.to_owned() + &later.collect::<String>())
}

/// A program: an agent, or a part of Longhaul.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Arguments before all others, for a subcommand of a larger program.
    pub leading_args: Vec<String>,
}

/// How to start one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments. The task is not among them, because other users of the machine can read arguments.
    pub args: Vec<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Environment variables to set, in addition to the inherited ones.
    pub env_set: Vec<(String, String)>,
    /// Environment variables to remove.
    pub env_remove: Vec<&'static str>,
    /// The text of the agent's first prompt.
    pub prompt: String,
    /// The first bytes to write to its input.
    pub stdin: Vec<u8>,
    /// Whether its input must stay open after its supervisor dies. On a closed input the agent would treat an
    /// unanswered question as a denial.
    pub input_outlives_supervisor: bool,
}

/// Returns the dialect of the default agent, Claude Code, with the bundled tables.
pub fn default_dialect() -> Box<dyn Dialect> {
    Box::new(Claude::default())
}

/// Returns the environment of the default agent.
pub fn default_environment() -> &'static AgentEnvironment {
    &ENVIRONMENT
}

/// The names of all agents, the default one first.
pub const AGENTS: [&str; 2] = ["claude", "acp"];

/// Returns the dialect of this agent with these tables, or `None` if the name is unknown.
pub fn dialect_for(name: &str, tables: Tables) -> Option<Box<dyn Dialect>> {
    match name {
        "acp" => Some(Box::new(Acp(tables))),
        "claude" => Some(Box::new(Claude(tables))),
        _ => None,
    }
}

/// Returns the dialect of this agent with the bundled tables, or `None` if the name is unknown, such as that of an
/// agent of a newer version.
pub fn dialect_named(name: &str) -> Option<Box<dyn Dialect>> {
    dialect_for(name, Tables::default())
}
