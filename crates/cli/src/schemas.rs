//! The JSON Schemas of everything that is printed or handed out, as they are checked in below `docs/schemas`. They are
//! derived from the types that are printed, by tests alone, and every output of the end-to-end tests is held to them.

#[cfg(test)]
mod derived;

/// A schema.
pub struct SchemaEntry {
    /// The name of its file, and what `longhaul schema` takes for it: the command's, where one prints it.
    pub name: &'static str,
    /// What it describes.
    pub about: &'static str,
    /// The schema itself.
    pub text: &'static str,
}

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|schema| schema.name)
}

macro_rules! described {
    ($($name:literal: $about:literal,)*) => {
        /// Every schema: first what commands print, in the order of their help, then what else there is to read.
        pub const ALL: &[SchemaEntry] = &[$(SchemaEntry {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../docs/schemas/", $name, ".schema.json")),
        },)*];
    };
}

described! {
    "run": "How a run ended: the envelope of run, resume, rerun, research, recover, attach and cancel",
    "run-detached": "What run --detach and resume --detach print",
    "run-dry-run": "What run --dry-run prints",
    "rerun-dry-run": "What rerun --dry-run prints",
    "research-dry-run": "What research --dry-run prints",
    "runs": "The list of runs",
    "status": "The runs that go on, wait, or have lost their supervisor",
    "cost": "What was spent",
    "show": "One run, and what was decided in each of its attempts",
    "why": "What happened in a run, and what comes next",
    "logs": "What was said and done in a run",
    "diff": "What a run changed in its workspace",
    "report": "What runs did, cost and need",
    "playbook-show": "The points of a project's playbook",
    "playbook-inject": "What a session would be told of the playbook",
    "playbook-edit": "What an edit of the playbook came to",
    "playbook-check": "Whether the playbook can be understood, and what is wrong in it",
    "playbook-history": "What the playbook was changed for",
    "playbook-undo": "What was taken back",
    "playbook-learn": "What was learnt, what failed, and what waits",
    "playbook-status": "What is queued to be learnt from, what failed, what was learnt and what it cost",
    "playbook-bootstrap": "Which past sessions are learnt from, which not and why, and about what it costs",
    "playbook-install": "What became of the settings that our hooks were put into",
    "playbook-uninstall": "What became of the settings that our hooks were taken out of",
    "keypoints-extract": "What one transcript teaches",
    "export": "What was packed into a file",
    "import": "What was taken in from one",
    "gc": "What was removed",
    "ledger-rebuild": "What making the index anew came to",
    "ledger-verify": "What comparing the index with the journals found",
    "drill": "The scorecards of practice runs",
    "simulate": "The forecast of what a policy does under faults",
    "doctor": "Whether runs can be begun here",
    "config-show": "What is configured",
    "config-path": "Where configuration files are looked for",
    "config-init": "The configuration file that was written",
    "config-trust": "A project's file whose trust changed",
    "schema": "The list of these schemas",
    "events": "A line of --events",
    "stream-json": "A line of ours in --output-format stream-json, between the agent's own",
    "notify": "What the commands of --notify read",
    "lifecycle": "An event of --preset openclawpack on stderr, behind `event: `",
    "message": "A line of logs/transcript.jsonl, and of logs --output-format stream-json",
    "journal": "A line of journal.jsonl",
    "status-file": "status.json in a run's directory",
    "cost-summary": "logs/cost_summary.json in a run's directory",
    "session": "logs/session.json in a run's directory",
    "plan": "plan.json in a run's directory",
    "metadata": "metadata.json in a run's directory",
    "blocked-urls": "logs/blocked_urls.json in a run's directory",
    "changes": "changes.json in a run's directory",
    "trace": "trace.json in a run's directory",
    "argv": "attempts/NNN/argv.json in a run's directory",
    "attempt-session": "attempts/NNN/session.json in a run's directory",
    "exit": "attempts/NNN/exit.json in a run's directory",
    "spent": "attempts/NNN/spent.json in a run's directory",
    "answers": "attempts/NNN/answers.json in a run's directory",
    "background": "attempts/NNN/background.json in a run's directory",
    "orphaned": "attempts/NNN/orphaned.json in a run's directory",
}
