//! The arguments of `longhaul playbook`.

use super::learn::{LearningArgs, judge};
use super::limits::{budget, duration_limit};
use crate::time_arg::when;
use clap::{Args, Subcommand, ValueEnum};
use longhaul_core::{Moment, Span, Usd};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::diagnostics::is_name;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum PlaybookCommand {
    /// Show the playbook of a project
    Show(ShowPlaybookArgs),
    /// Print the playbook in the form that a session receives, without the limit of hooks
    Inject(InjectArgs),
    /// Change the playbook in your editor; it is checked before it is saved
    Edit(EditArgs),
    /// Validate the playbook
    Check(ProjectArgs),
    /// List the changes of the playbook and their causes
    History(HistoryArgs),
    /// Revert changes of the playbook
    Undo(UndoArgs),
    /// Learn from queued transcripts, or from ones that you name
    Learn(LearnArgs),
    /// Show what is queued, learned and failed, and what it cost
    Status {
        /// Number of recent lessons to show
        #[arg(long, value_name = "N", default_value_t = 5)]
        lessons: u32,
    },
    /// Ask a model what one transcript teaches, and print it
    ///
    /// Prints the new points and how the playbook's points performed, as JSON: `new_key_points` and `evaluations`. It
    /// changes no playbook. If something fails, both lists are empty and the transcript is queued for
    /// `longhaul playbook learn`. The Messages API is asked, with ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN.
    Extract(ExtractArgs),
    /// Learn from the project's past sessions
    Bootstrap(BootstrapArgs),
    /// Install Longhaul's hooks at session start and end
    Install(InstallArgs),
    /// Remove Longhaul's hooks from Claude Code's settings
    Uninstall(UninstallArgs),
}

#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// The project [default: CLAUDE_PROJECT_DIR, else the nearest directory above with a
    /// .claude/playbook.json, else this one]
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ShowPlaybookArgs {
    /// Only the points with these ids
    #[arg(value_name = "ID")]
    pub points: Vec<String>,
    /// Only this section, by its title or id prefix: pat, mis, pref, ctx, oth
    #[arg(long, value_name = "SECTION")]
    pub section: Option<String>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

#[derive(Debug, Args)]
pub struct InjectArgs {
    /// The session's prompt; of a large playbook, the points that match it best are chosen
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub prompt: String,
    /// Maximum number of tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

#[derive(Debug, Args)]
pub struct EditArgs {
    /// Start with the text of this file, such as one that an earlier edit left
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Maximum number of changes, newest first
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value = "20",
        conflicts_with = "all",
        allow_negative_numbers = true
    )]
    pub limit: NonZeroUsize,
    /// All changes
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Restore the playbook from before this change; later changes are reverted too [default: the last
    /// change]
    #[arg(value_name = "CHANGE")]
    pub change: Option<i64>,
    /// Also revert manual edits made since
    #[arg(long)]
    pub force: bool,
    /// Print what would be reverted; change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

#[derive(Debug, Args)]
pub struct LearnArgs {
    /// Session files of Claude Code (`~/.claude/projects/*/*.jsonl`) or streams of attempts, in addition to
    /// the queue
    #[arg(value_name = "TRANSCRIPT")]
    pub transcripts: Vec<PathBuf>,
    /// Retry failed transcripts where they stopped; no answer is paid twice
    #[arg(long)]
    pub retry_failed: bool,
    /// Judge; only transcripts that are queued for it are learned
    #[arg(long, value_parser = judge(), value_name = "JUDGE", default_value = "api")]
    pub judge: JudgeKind,
    /// Started by hooks: leaves the terminal, prints nothing, and waits up to an hour for items that are not
    /// due yet
    #[arg(long, hide = true, conflicts_with_all = ["transcripts", "retry_failed"])]
    pub worker: bool,
    /// Project whose playbook learns from the named transcripts.
    #[command(flatten)]
    pub project: ProjectArgs,
}

#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// A session file of Claude Code (`~/.claude/projects/*/*.jsonl`), or the stream of an attempt; `-` reads
    /// it from stdin
    #[arg(value_name = "TRANSCRIPT", required_unless_present = "run")]
    pub transcript: Option<PathBuf>,
    /// A run instead of a file: id prefix, name, directory, or `@` for the latest run
    #[arg(long, value_name = "RUN", conflicts_with = "transcript")]
    pub run: Option<String>,
    /// The playbook whose points are judged [default: the project's `.claude/playbook.json`]
    ///
    /// The project is CLAUDE_PROJECT_DIR, else the run's directory, else this one.
    #[arg(long, value_name = "FILE")]
    pub playbook: Option<PathBuf>,
    /// Maximum time for all requests, including waits; `none` is unlimited
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, default_value = "120s")]
    pub time_budget: Span,
    /// Name of the diagnostic text with prompt and answer
    ///
    /// It is written to `.claude/diagnostic` if the file `.claude/diagnostic_mode` exists.
    #[arg(long, value_name = "NAME", value_parser = name, default_value = "reflection")]
    pub diagnostic_name: String,
    /// Do not queue the transcript after a failure
    #[arg(long)]
    pub no_queue: bool,
}

fn name(text: &str) -> Result<String, String> {
    if is_name(text) {
        Ok(text.to_owned())
    } else {
        Err("expected a part of a file's name: letters, digits, `_`, `-`, `.` and spaces".to_owned())
    }
}

#[derive(Debug, Args)]
pub struct BootstrapArgs {
    /// Maximum number of sessions
    #[arg(long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    /// Order of the sessions
    #[arg(long, value_enum, value_name = "ORDER", default_value = "oldest")]
    pub order: OrderArg,
    /// Only sessions since WHEN: a duration like 30d, or a date like 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Print the sessions and the estimated cost; ask no model
    #[arg(long)]
    pub dry_run: bool,
    /// Include sessions that `.claude/bootstrap_state.json` lists as done; judged parts are not judged again
    #[arg(long)]
    pub force: bool,
    /// Start no further session once this many dollars are spent; `none` is unlimited [default: none]
    ///
    /// Needs --judge api and a model with a known price.
    #[arg(long, value_name = "USD", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Usd>,
    /// Judge: `api` asks the Messages API with your key, `claude` asks Claude Code with its login
    #[arg(long, value_parser = judge(), value_name = "JUDGE", default_value = "api")]
    pub judge: JudgeKind,
    /// Do not ask for confirmation of the cost
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// Which sessions come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArg {
    /// Oldest first: later lessons correct earlier ones
    Oldest,
    /// Newest first: current lessons come first
    Newest,
}

#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub learning: LearningArgs,
    /// Remove the ACE playbook hooks, which would inject and judge every session twice
    #[arg(long)]
    pub replace_ace: bool,
    /// Print the new settings; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// The settings file to change. The default applies to all of a user's projects.
#[derive(Clone, Debug, Default, Args)]
#[group(multiple = false)]
pub struct ScopeArgs {
    /// The settings of all your projects: `$CLAUDE_CONFIG_DIR/settings.json`, else `~/.claude/settings.json`
    /// [default]
    #[arg(long)]
    pub user: bool,
    /// The settings of the project in the working directory, which its repository may contain:
    /// `.claude/settings.json`
    #[arg(long)]
    pub project: bool,
    /// Your own settings of the project in the working directory: `.claude/settings.local.json`
    #[arg(long)]
    pub local: bool,
}

#[derive(Debug, Args)]
pub struct UninstallArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// Print the new settings; change nothing
    #[arg(long)]
    pub dry_run: bool,
}
