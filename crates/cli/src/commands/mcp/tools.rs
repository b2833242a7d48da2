//! The table of tools: the command of each, its arguments and its effect. The descriptions, types and schemas come from
//! the command line and from `docs/schemas`.

/// The argument by which a call waits for the end of a run. It is no flag of a command.
pub const DETACHED: &str = "detached";
/// The argument that names a run or a workflow.
pub const RUN: &str = "run";
/// The tool that takes over orphaned runs and workflows.
pub const RECOVER: &str = "recover";

/// The effect of a tool on runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Prints something at once.
    Inspects,
    /// Waits until a run finishes, and changes nothing.
    Follows,
    /// Drives a run, in the background unless the client waits for it.
    Drives,
    /// Stops a run.
    Stops,
}

/// A tool, as the table lists it.
#[derive(Debug)]
pub struct ToolDefinition {
    /// The words that select the command.
    pub command: &'static [&'static str],
    pub effect: Effect,
    /// Its arguments, by the names of their flags. The required ones end with `!`.
    pub arguments: &'static [&'static str],
    /// Whether it also has the flags of `longhaul run` that the ceilings permit.
    pub has_run_flags: bool,
    /// The argument that goes to stdin, and the word that makes the command read it there. Prompts may be long or
    /// private, and other users can read the arguments of a process.
    pub stdin: Option<(&'static str, &'static str)>,
    /// The argument that names the directory in which a run works.
    pub directory: Option<&'static str>,
    /// The schemas of its results. A tool without one returns text.
    pub output: &'static [&'static str],
    /// Whether the end of a long list or text matters more than its start.
    pub keeps_end: bool,
    /// Whether it exists only if every permission mode is allowed.
    pub needs_bypass: bool,
}

const BASE: ToolDefinition = ToolDefinition {
    command: &[],
    effect: Effect::Inspects,
    arguments: &[],
    has_run_flags: false,
    stdin: None,
    directory: None,
    output: &[],
    keeps_end: false,
    needs_bypass: false,
};

const GSD_CALL: ToolDefinition = ToolDefinition {
    effect: Effect::Drives,
    arguments: &["phase!", "project_dir", "again", "timeout", "total_timeout", "max_wait", "no_wait"],
    has_run_flags: true,
    directory: Some("project_dir"),
    output: &["run-detached", "run"],
    ..BASE
};

pub const TOOLS: &[ToolDefinition] = &[
    ToolDefinition {
        command: &["run"],
        effect: Effect::Drives,
        arguments: &["prompt!", "cwd", "name", "key", "retry"],
        has_run_flags: true,
        stdin: Some(("prompt", "-")),
        directory: Some("cwd"),
        output: &["run-detached", "run"],
        ..BASE
    },
    ToolDefinition {
        command: &["resume"],
        effect: Effect::Drives,
        arguments: &["run!", "prompt", "repeat_task", "fork", "max_iterations", "add_budget", "add_time"],
        has_run_flags: true,
        stdin: Some(("prompt", "-")),
        output: &["run-detached", "run", "loop"],
        ..BASE
    },
    ToolDefinition {
        command: &[RECOVER],
        effect: Effect::Drives,
        arguments: &["run!"],
        output: &["run-detached", "run", "loop"],
        ..BASE
    },
    ToolDefinition {
        command: &["attach"],
        effect: Effect::Follows,
        arguments: &["run!"],
        output: &["run", "loop"],
        ..BASE
    },
    ToolDefinition {
        command: &["cancel"],
        effect: Effect::Stops,
        arguments: &["run!", "now"],
        output: &["run", "loop"],
        ..BASE
    },
    ToolDefinition {
        command: &["status"],
        arguments: &["workflow", "project"],
        directory: Some("project"),
        output: &["status"],
        ..BASE
    },
    ToolDefinition { command: &["show"], arguments: &["run"], output: &["show", "show-workflow"], ..BASE },
    ToolDefinition {
        command: &["why"],
        arguments: &["run"],
        output: &["why", "why-workflow"],
        keeps_end: true,
        ..BASE
    },
    ToolDefinition { command: &["logs"], arguments: &["run", "attempt", "since"], keeps_end: true, ..BASE },
    ToolDefinition { command: &["diff"], arguments: &["run", "stat", "name_only", "paths"], ..BASE },
    ToolDefinition { command: &["cost"], arguments: &["by", "since", "all"], output: &["cost"], ..BASE },
    ToolDefinition {
        command: &["loop"],
        effect: Effect::Drives,
        arguments: &[
            "file!",
            "project",
            "set",
            "focus",
            "from",
            "only",
            "skip",
            "no_review",
            "stage",
            "max_iterations",
            "max_parallel",
            "serial",
            "name",
        ],
        has_run_flags: true,
        directory: Some("project"),
        output: &["run-detached", "run", "loop"],
        needs_bypass: true,
        ..BASE
    },
    ToolDefinition {
        command: &["gsd", "new-project"],
        arguments: &["idea!", "project_dir", "again", "timeout", "total_timeout", "max_wait", "no_wait"],
        stdin: Some(("idea", "-")),
        ..GSD_CALL
    },
    ToolDefinition { command: &["gsd", "plan-phase"], ..GSD_CALL },
    ToolDefinition { command: &["gsd", "execute-phase"], ..GSD_CALL },
    ToolDefinition {
        command: &["gsd", "status"],
        arguments: &["project_dir"],
        directory: Some("project_dir"),
        output: &["gsd-status", "run"],
        ..BASE
    },
];
