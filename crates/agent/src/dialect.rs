//! The interface that every supervised agent CLI implements. The details of each CLI are in its own module.

use crate::acp::Acp;
use crate::claude::Claude;
use crate::{
    AttemptSnapshot, BackgroundTask, Conversation, Guards, HandoffSummary, Network, SessionLayout,
    SideEffects, TranscriptDecoder, UserTables, UserTablesError,
};
use longhaul_core::{AttemptPlan, Evidence, Exit, Notice, PromptKind, Remaining, RunId, Usage};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The protocol of one agent CLI.
pub trait Dialect: Send + Sync {
    /// Returns the agent's name, as in `--agent`.
    fn name(&self) -> &'static str;

    /// Returns the user tables that the dialect was created with. Recovery must use the same tables.
    fn tables(&self) -> &UserTables;

    /// Returns whether the agent works differently, or not at all, without this environment variable.
    /// `is_set` reports whether another variable is set.
    fn needs_variable(&self, name: &str, is_set: &dyn Fn(&str) -> bool) -> bool;

    /// Returns how to start the agent for one attempt, and the first bytes of its input. A prompt that
    /// continues earlier work lists the side effects that must not be repeated and those to check.
    fn invocation(&self, spec: &AgentSpec, plan: &AttemptPlan, prior: &PriorAttempts) -> Invocation;

    /// Returns how to have `model` answer a prompt once, for this attempt, in a separate process. That
    /// process runs no tools, keeps no session and exits when its input ends. The same [`Decoder`] reads its
    /// stream. `None` if the agent cannot do that.
    fn summary_invocation(
        &self,
        spec: &AgentSpec,
        attempt: u32,
        model: &str,
        prompt: &str,
    ) -> Option<Invocation>;

    /// Returns the conversation of the recorded attempts.
    fn conversation(&self, attempts: &[RecordedAttempt]) -> Conversation;

    /// Returns how the agent stores its sessions, or `None` if only the agent can read them.
    fn sessions(&self) -> Option<&dyn SessionLayout>;

    /// Returns the conversation in one of the agent's own files or in the stream of one attempt, or `None` if
    /// the bytes are neither. A stream does not contain the task.
    fn conversation_from_file(&self, bytes: &[u8]) -> Option<Conversation>;

    /// Creates a decoder for the stream of one attempt with these guards and done signals.
    fn decoder(&self, guards: &Guards, done_signals: &DoneSignals) -> Box<dyn Decoder>;

    /// Returns the prompt for an open session, given the remaining limits and the running background tasks.
    fn prompt_text(
        &self,
        spec: &AgentSpec,
        kind: PromptKind,
        remaining: Remaining,
        running: &[BackgroundTask],
    ) -> String;

    /// Returns the bytes that send this prompt to an agent in this state.
    fn encode_prompt(&self, snapshot: &AttemptSnapshot, text: &str) -> Vec<u8>;

    /// Creates a transcript decoder for the stream of this attempt.
    fn transcript_decoder(&self, attempt: u32) -> Box<dyn TranscriptDecoder>;

    /// Returns the bytes that make an agent in this state end its exchange now, with a result.
    fn encode_interrupt(&self, snapshot: &AttemptSnapshot) -> Vec<u8>;

    /// Returns the bytes that end an idle agent whose input cannot be closed. They also end its background
    /// tasks. `None` if the agent knows no such message: SIGTERM ends it.
    fn encode_exit(&self) -> Option<Vec<u8>>;
}

/// Decodes the stream of one attempt.
pub trait Decoder: Send {
    /// Prepares the requests with which the agent opens its session, if the first input does not contain them.
    /// Must be called before the decoder of a live agent is fed.
    fn begin(&mut self, _start: SessionStart<'_>) {}

    /// Returns the requests that are due, each once. A request must not be sent twice, because the agent may be
    /// working on it.
    fn take_requests(&mut self) -> Vec<AgentRequest> {
        Vec::new()
    }

    /// Decodes some bytes of the stream, split anywhere. A sequence of lines that only show that the agent is
    /// alive becomes one [`Notice::Activity`].
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Notice>);

    /// Returns the replies that the agent waits for, as lines to write, each once. An unfinished request that
    /// was answered before is included, because the agent ignores a second reply.
    fn take_replies(&mut self) -> Vec<Vec<u8>>;

    /// Returns the current state of the attempt, for people. No decision uses it.
    fn snapshot(&self) -> &AttemptSnapshot;

    /// Returns the side effects of the tool calls so far. They are complete after [`Decoder::evidence`].
    fn side_effects(&self) -> &SideEffects;

    /// Returns the usage so far per model, sorted by name, without models that used nothing. The name is
    /// empty if the stream does not state the model. In every field the parts add up to the usage of
    /// [`Decoder::snapshot`], and after [`Decoder::evidence`] to that of the evidence.
    fn usage_by_model(&self) -> Vec<(String, Usage)>;

    /// Returns the evidence of the whole stream. Must be called once the process has exited and the stream is
    /// read.
    fn evidence(&mut self, exit: Exit, stderr_tail: &str) -> Evidence;

    /// Returns whether compaction would drop any line of the stream.
    fn is_compactable(&self) -> bool;

    /// Returns whether the compacted stream keeps this line, given without its newline. Must be called after
    /// [`Decoder::evidence`]. Decoding the compacted stream yields the same evidence and side effects.
    fn keeps_line(&self, line: &[u8]) -> bool;
}

/// The settings with which an agent opens its session in a conversation with Longhaul.
#[derive(Clone, Debug)]
pub struct SessionStart<'a> {
    /// The agent's settings.
    pub spec: &'a AgentSpec,
    /// The plan of the attempt.
    pub plan: &'a AttemptPlan,
    /// The text of the first prompt.
    pub prompt: &'a str,
    /// Ids of the requests that an earlier supervisor of this attempt sent.
    pub sent: Vec<String>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriorAttempts {
    /// Side effects of their tool calls.
    pub side_effects: SideEffects,
    /// Their conversation, for a session that does not contain it.
    pub conversation: Conversation,
    /// Tool calls whose results are visible in the session, or `None` if that is unknown.
    pub visible_tool_results: Option<BTreeSet<String>>,
    /// Message to resume the session from, or `None` for its end. Later messages are left out because they
    /// belong to a wrap-up.
    pub resume_at: Option<String>,
    /// End of the last check's output, for a prompt that quotes it.
    pub check_output: Option<String>,
    /// A model's summary of the older part of the conversation, for a prompt that includes one.
    pub summary: Option<HandoffSummary>,
    /// Background tasks that ended with an earlier attempt's process and that no prompt has named yet.
    pub stopped: Vec<BackgroundTask>,
    /// Amounts that the user added to the limits when resuming the run, for the first attempt after that.
    pub added: Remaining,
}

/// The agent's settings for a run. They are the same for every attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSpec {
    /// The agent's program.
    pub program: Program,
    /// The working directory.
    pub cwd: PathBuf,
    /// The task.
    pub prompt: String,
    /// Requests added later, one each time a finished run was resumed.
    pub follow_ups: Vec<String>,
    /// The model, or `None` for the user's own setting.
    pub model: Option<String>,
    /// The permission mode, or `None` for the user's own setting.
    pub permission_mode: Option<String>,
    /// The guards of tool calls.
    pub guards: Guards,
    /// Whether the agent must pause without a supervisor, because nothing counts its usage then. It waits at
    /// its next tool call.
    pub needs_supervisor: bool,
    /// The check commands, as shell command lines.
    pub checks: Vec<String>,
    /// The program that serves the finish tool, or `None` without one. It speaks MCP on its standard streams.
    pub finish_tool: Option<Program>,
    /// The last line of a final message that claims the work is done, or `None` if no line does.
    pub done_when: Option<String>,
    /// The wrap-up prompt, or `None` for the default.
    pub wrap_up_prompt: Option<String>,
    /// The network that its commands may reach, or `None` for the user's own settings.
    pub network: Option<Network>,
    /// Learning from sessions and use of the playbook, or `None` if it is off.
    pub learn: Option<LearnSpec>,
    /// The user's own arguments for the agent. They come last and so take precedence.
    pub extra_args: Vec<String>,
    /// Maximum length of a handoff prompt, in estimated tokens.
    pub handoff_tokens: u64,
    /// The model that summarizes older work for a handoff prompt, or `None` without one. The policy decides
    /// whether to use it.
    pub handoff_summary: Option<String>,
    /// Number of times the agent may retry a failed request on its own.
    pub inner_retries: u32,
    /// The run, for the run marker in the environment.
    pub run_id: RunId,
}

impl AgentSpec {
    /// Returns the task with all later requests.
    pub fn task(&self) -> Cow<'_, str> {
        task_with_follow_ups(&self.prompt, &self.follow_ups)
    }

    /// Returns the ways in which the agent may claim that the work is done.
    pub fn done_signals(&self) -> DoneSignals {
        DoneSignals { tool: self.finish_tool.is_some(), line: self.done_when.clone() }
    }
}

/// How an agent's sessions receive the playbook, and how a session's end starts learning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnSpec {
    /// The program that the agent's hooks call. Its leading arguments are followed by the event name,
    /// `--judge` and `--max-tokens`.
    pub hook: Program,
    /// The judge of the sessions, as named by the flag.
    pub judge: String,
    /// Maximum length of the playbook text for a session, in estimated tokens. `None` for the hook's own
    /// limit.
    pub tokens_max: Option<u64>,
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

/// Returns the dialect of this agent with the bundled tables, or `None` if the name is unknown.
pub fn dialect_for(name: &str) -> Option<Box<dyn Dialect>> {
    match name {
        "acp" => Some(Box::new(Acp::new())),
        "claude" => Some(Box::new(Claude::new())),
        _ => None,
    }
}

/// Returns the dialect of this agent with the user's own tables, or `None` if the name is unknown.
///
/// # Errors
/// Returns an error if a table cannot be parsed.
pub fn dialect_with_tables(
    name: &str,
    tables: UserTables,
) -> Result<Option<Box<dyn Dialect>>, UserTablesError> {
    match name {
        "acp" => Ok(Some(Box::new(Acp::with_tables(tables)?))),
        "claude" => Ok(Some(Box::new(Claude::with_tables(tables)?))),
        _ => Ok(None),
    }
}
