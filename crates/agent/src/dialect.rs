//! What every agent CLI must offer to be supervised. Each CLI's own way is in its module.

use crate::claude::Claude;
use crate::{
    AttemptSnapshot, BackgroundTask, Conversation, Guards, Network, SessionLayout, SideEffects, Summary,
    TranscriptDecoder, UserTables, UserTablesError,
};
use longhaul_core::{AttemptPlan, Evidence, Exit, Notice, PromptKind, Remaining, RunId, Usage};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How to speak to one agent CLI.
pub trait Dialect: Send + Sync {
    /// The agent's name, as people and `--agent` write it.
    fn name(&self) -> &'static str;

    /// The user's own tables that it was made with: a run that is recovered is read by the same.
    fn tables(&self) -> &UserTables;

    /// Returns whether the agent works differently, or not at all, without a variable of its environment. `is_set` answers
    /// for the others.
    fn needs_variable(&self, name: &str, is_set: &dyn Fn(&str) -> bool) -> bool;

    /// How to start the agent for one attempt, and what to write to it first. An agent that goes on is told
    /// what the past forbids to repeat, and what to check.
    fn invocation(&self, order: &AgentSpec, plan: &AttemptPlan, past: &PriorAttempts) -> Invocation;

    /// How to have `model` answer a prompt once, in a process of its own that runs no tools, keeps no session and
    /// ends by itself when its input does. Its stream is read by the same [`Decoder`]. `attempt` is the one that
    /// the answer is for.
    fn summary_invocation(&self, order: &AgentSpec, attempt: u32, model: &str, prompt: &str) -> Invocation;

    /// What was said and done in attempts, by their records.
    fn conversation(&self, attempts: &[RecordedAttempt]) -> Conversation;

    /// How the agent keeps its sessions; nothing for one whose sessions only it can read.
    fn sessions(&self) -> Option<&dyn SessionLayout>;

    /// What was said and done by a file of the agent's own, or by the stream of one attempt; nothing if it is
    /// neither. The stream does not tell the task.
    fn conversation_from_file(&self, bytes: &[u8]) -> Option<Conversation>;

    /// A decoder for the stream of one attempt of an agent that is guarded like this, and that may say like this
    /// that its work is finished.
    fn decoder(&self, guards: &Guards, claims: &DoneSignals) -> Box<dyn Decoder>;

    /// Returns the prompt for a session that is open, with the remaining limits and the background tasks that run.
    fn prompt_text(
        &self,
        order: &AgentSpec,
        say: PromptKind,
        left: Remaining,
        running: &[BackgroundTask],
    ) -> String;

    /// What to write to tell the agent these words.
    fn encode_prompt(&self, words: &str) -> Vec<u8>;
    /// A scribe for the stream of this attempt.
    fn transcript_decoder(&self, attempt: u32) -> Box<dyn TranscriptDecoder>;

    /// What to write to make the agent end its turn now, with a result.
    fn encode_interrupt(&self) -> Vec<u8>;

    /// What to write to end an agent that no turn is owed by, where its input cannot be closed. It also ends
    /// what runs in its background.
    fn encode_exit(&self) -> Vec<u8>;
}

/// Understands the stream of one attempt.
pub trait Decoder: Send {
    /// Takes in some bytes of the stream, however they were cut. A run of lines that say nothing but
    /// that the agent lives becomes one [`Notice::Stirred`].
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Notice>);

    /// What the agent waits for, as lines to write to it; each is told once. One that was answered before and
    /// has not ended yet is among them: a second answer to the same question is passed over.
    fn take_replies(&mut self) -> Vec<Vec<u8>>;

    /// What a person may want to know of the attempt now. It decides nothing.
    fn snapshot(&self) -> &AttemptSnapshot;

    /// What the tool calls did so far; complete after [`Decoder::evidence`].
    fn side_effects(&self) -> &SideEffects;

    /// What the process used so far, model by model, sorted by name; an empty name where nobody said which. The parts
    /// add up to the tally of [`Decoder::glance`], and after [`Decoder::evidence`] to that of the evidence, in every
    /// field. Models that used nothing are not among them.
    fn usage_by_model(&self) -> Vec<(String, Usage)>;

    /// What the whole stream proves, now that the process is gone and the stream read to its end.
    fn evidence(&mut self, exit: Exit, stderr_tail: &str) -> Evidence;

    /// Whether there is anything that a compacted stream would leave out.
    fn is_compactable(&self) -> bool;

    /// Whether the compacted stream keeps this line (without its newline). To be asked after
    /// [`Decoder::evidence`]; decoding what is kept yields the same evidence and the same
    /// deeds again.
    fn keeps_line(&self, line: &[u8]) -> bool;
}

/// What is on record of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedAttempt {
    /// What a person had asked for, if the agent was told that at the start of the attempt. What else it was
    /// told was ours.
    pub user_prompt: Option<String>,
    /// Its stream.
    pub stream: Vec<u8>,
    /// After how many turns it was told to save its work; nothing if it was not. What it did then is of no use to
    /// whoever goes on.
    pub wrap_up_after_results: Option<u32>,
}

/// What the attempts of a run so far have left for the next one to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriorAttempts {
    /// What their tool calls did.
    pub side_effects: SideEffects,
    /// What was said and done in them: for a session that does not remember it.
    pub conversation: Conversation,
    /// The tool calls whose results the conversation of the session shows; nothing where that is not known.
    pub visible_tool_results: Option<BTreeSet<String>>,
    /// The message that the session goes on from; nothing for its end. What follows it is left out of the conversation:
    /// the agent had been told to save its work there, and to stop.
    pub resume_at: Option<String>,
    /// What the last check said, for an attempt that is told so: its end.
    pub check_output: Option<String>,
    /// A model's summary of the older part of that, for an attempt that is told one.
    pub summary: Option<Summary>,
    /// Background tasks that ended with the process of an earlier attempt, which no prompt has named yet.
    pub stopped: Vec<BackgroundTask>,
    /// What a person added to the limits when they resumed the run, for the first attempt after that.
    pub added: Remaining,
}

/// What a run orders from an agent: the same for all its attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSpec {
    /// The agent.
    pub program: Program,
    /// Where it works.
    pub cwd: PathBuf,
    /// The task.
    pub prompt: String,
    /// What was asked for since, each time when the run went on after it had been over.
    pub follow_ups: Vec<String>,
    /// The model; nothing for the user's own setting.
    pub model: Option<String>,
    /// The permission mode; nothing for the user's own setting.
    pub permission_mode: Option<String>,
    /// What the agent may not do.
    pub guards: Guards,
    /// Whether it must not work on while nobody supervises it, because nobody keeps count then: it waits at its next
    /// tool call.
    pub needs_supervisor: bool,
    /// The commands that judge the work, as a shell takes them.
    pub checks: Vec<String>,
    /// Who serves the tool by which it says that the work is finished; nothing where there is none. The program
    /// speaks MCP on its standard streams.
    pub finish_tool: Option<Program>,
    /// The last line of a last message that says the same; nothing where no words do.
    pub done_when: Option<String>,
    /// What it is told when it is to save its work; nothing for our words.
    pub wrap_up_prompt: Option<String>,
    /// What of the network its commands may reach; nothing for whatever the user's settings let them.
    pub network: Option<Network>,
    /// What earlier sessions taught, told to its own, and learnt from them; nothing where nobody asked for that.
    pub learn: Option<LearnSpec>,
    /// The user's own arguments to the agent. They come last, and so win.
    pub extra_args: Vec<String>,
    /// How long a seed may be, in estimated tokens.
    pub handoff_tokens: u64,
    /// The model that condenses older work for a seed; nothing if none does. The policy says whether it is asked.
    pub handoff_summary: Option<String>,
    /// How often the agent may repeat a failed request by itself.
    pub inner_retries: u32,
    /// The run, for the mark in the environment.
    pub run_id: RunId,
}

impl AgentSpec {
    /// The task with all that was asked for since.
    pub fn task(&self) -> Cow<'_, str> {
        task_with_follow_ups(&self.prompt, &self.follow_ups)
    }

    /// How the agent may say that the work is finished.
    pub fn done_signals(&self) -> DoneSignals {
        DoneSignals { tool: self.finish_tool.is_some(), line: self.done_when.clone() }
    }
}

/// How what earlier sessions taught comes into the sessions of an agent, and how it is known that there is more to learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnSpec {
    /// What the agent's hooks call: with the name of the event behind its leading arguments, then `--judge` and
    /// `--max-tokens`.
    pub hook: Program,
    /// Who judges the sessions, by the word of the flag.
    pub judge: String,
    /// How much a session is told at most, in estimated tokens; nothing for the hook's own limit.
    pub tokens_max: Option<u64>,
}

/// How an agent may say that its work is finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoneSignals {
    /// By a call of our tool: it is offered. Where it is not, another one of that name is somebody else's.
    pub tool: bool,
    /// By these words, as the last line of its last message.
    pub line: Option<String>,
}

/// A task with all that was asked for since.
pub fn task_with_follow_ups<'a>(prompt: &'a str, asked: &[String]) -> Cow<'a, str> {
    if asked.is_empty() {
        return Cow::Borrowed(prompt);
    }
    let later = asked.iter().map(|asked| format!("\n\nLater I asked:\n\n{asked}"));
    Cow::Owned(prompt.to_owned() + &later.collect::<String>())
}

/// A program: an agent's, or one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file to run.
    pub path: PathBuf,
    /// Arguments that come before all others, where it is a part of a larger program.
    pub leading_args: Vec<String>,
}

/// How to start one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The file to run.
    pub program: PathBuf,
    /// Its arguments. The task is not among them: other users of the machine can read these.
    pub args: Vec<String>,
    /// Where it works.
    pub cwd: PathBuf,
    /// Variables to set, over those inherited.
    pub env_set: Vec<(String, String)>,
    /// Variables not to inherit.
    pub env_remove: Vec<&'static str>,
    /// What the agent is told at its start, in words.
    pub prompt: String,
    /// What to write to its input first.
    pub stdin: Vec<u8>,
    /// Whether its input must outlive its supervisor: without one, it would take a question that nobody
    /// answers for a refusal.
    pub input_outlives_supervisor: bool,
}

/// The dialect of the agent of that name, with the tables of this program.
pub fn dialect_for(name: &str) -> Option<Box<dyn Dialect>> {
    match name {
        "claude" => Some(Box::new(Claude::new())),
        _ => None,
    }
}

/// The dialect of the agent of that name, with tables of the user's own.
///
/// # Errors
/// If one of them cannot be read.
pub fn dialect_with_tables(
    name: &str,
    tables: UserTables,
) -> Result<Option<Box<dyn Dialect>>, UserTablesError> {
    match name {
        "claude" => Ok(Some(Box::new(Claude::with_tables(tables)?))),
        _ => Ok(None),
    }
}
