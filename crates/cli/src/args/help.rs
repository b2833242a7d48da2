//! Help texts that belong to no single flag: the groups of commands, and examples for each command.

use clap::Command;

/// The layout of the help of `longhaul` itself: groups of commands, then its few flags.
pub(super) const TEMPLATE: &str =
    "{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// The groups of commands. Only `longhaul --help` shows the last one.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start here", &["drill", "doctor"]),
    ("Run", &["run", "resume", "rerun", "loop", "hint", "recover", "cancel", "attach"]),
    ("Inspect", &["status", "runs", "show", "why", "logs", "diff", "cost", "report"]),
    ("Learn", &["playbook"]),
    ("Connect", &["mcp"]),
    ("Maintain", &["config", "gc", "export", "import"]),
    ("Advanced", &["handoff", "simulate", "research", "gsd", "ledger", "schema", "completions", "man"]),
];

/// Adds the groups of commands, with their descriptions, to the help of `longhaul`.
pub fn with_groups(root: Command) -> Command {
    let line = |name: &&str| {
        let about = root.find_subcommand(name).and_then(Command::get_about);
        format!("  {name:<13}{}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    let groups = GROUPS.map(|(title, names)| {
        let lines: String = names.iter().map(line).collect();
        format!("{title}:\n{lines}")
    });
    root.before_help(groups[..GROUPS.len() - 1].join("\n")).before_long_help(groups.join("\n"))
}

/// The end of the help of `longhaul`.
pub(super) const FIRST: &str = "\
Start with `longhaul drill` (needs no agent and no key), then `longhaul doctor`.
RUN is an id prefix, a name, a run directory, or `@` for the latest run.
`longhaul COMMAND --help` describes a command.";

pub(super) const RUN: &str = "\
Examples:
  longhaul run 'fix the failing tests' --check 'cargo test' --budget 5
  longhaul run --prompt-file task.md --time-limit 8h --detach --name nightly
  longhaul run 'refactor the parser' --dry-run

Durations are like 90s, 5m or 1h30m; a bare number is seconds; `none` means unlimited.";

pub(super) const LOOP: &str = "\
Examples:
  longhaul loop workflow.toml --budget 20 --time-limit 8h
  longhaul loop ralph --set task='fix the failing tests' --set check='cargo test'
  longhaul loop workflow.toml --dry-run
  longhaul loop validate workflow.toml

See docs/workflows.md for the format of workflow files.";

pub(super) const HINT: &str = "\
Examples:
  longhaul hint @ 'prefer the iterative solver'

The next phase whose prompt uses `hints` receives the text, once.";

pub(super) const RESUME: &str = "\
Examples:
  longhaul resume @
  longhaul resume nightly 'also update the changelog' --add-budget 2

Durations are like 90s, 5m or 1h30m; a bare number is seconds; `none` means unlimited.";

pub(super) const RERUN: &str = "\
Examples:
  longhaul rerun @
  longhaul rerun --failed --dry-run

Durations are like 90s, 5m or 1h30m; a bare number is seconds; `none` means unlimited.";

pub(super) const RESEARCH: &str = "\
Examples:
  longhaul research tasks/my-task claude-code --claude_hours 12 --budget_limit 20";

pub(super) const RECOVER: &str = "\
Examples:
  longhaul recover --list
  longhaul recover
  longhaul recover --install

Durations are like 90s, 5m or 1h30m; a bare number is seconds; `none` means unlimited.";

pub(super) const ATTACH: &str = "\
Examples:
  longhaul attach nightly";

pub(super) const RUNS: &str = "\
Examples:
  longhaul runs --state failed,needs_person --since 7d
  longhaul runs parser";

pub(super) const STATUS: &str = "\
Examples:
  longhaul status
  longhaul status --watch";

pub(super) const COST: &str = "\
Examples:
  longhaul cost
  longhaul cost --by project --since 30d";

pub(super) const MCP: &str = "\
Examples:
  longhaul mcp install --client claude-code
  longhaul mcp install --client claude-code --max-permission-mode acceptEdits --max-budget 5 --write

A client starts `longhaul mcp` itself. See docs/mcp.md for the tools.";

pub(super) const SHOW: &str = "\
Examples:
  longhaul show @
  longhaul show nightly --json";

pub(super) const WHY: &str = "\
Examples:
  longhaul why @";

pub(super) const LOGS: &str = "\
Examples:
  longhaul logs @ --follow
  longhaul logs nightly --attempt 2";

pub(super) const DIFF: &str = "\
Examples:
  longhaul diff @ --stat
  longhaul diff @ -- src

Compares all files of the git repository that git does not ignore, committed or not: before the run
started, and when it finished. An unfinished run is compared with the current files.";

pub(super) const REPORT: &str = "\
Examples:
  longhaul report
  longhaul report --since 7d --format text
  longhaul report nightly -o nightly.html";

pub(super) const CANCEL: &str = "\
Examples:
  longhaul cancel nightly";

pub(super) const HANDOFF: &str = "\
Examples:
  longhaul handoff @
  longhaul handoff --from-transcript session.jsonl";

pub(super) const GSD: &str = "\
Examples:
  longhaul gsd new-project 'a command that counts words'
  longhaul gsd plan-phase 1
  longhaul gsd execute-phase 1
  longhaul gsd status

Called as `openclawpack`, for example by a link of that name, the program accepts these commands without `gsd`
and prints the results of openclawpack.";

pub(super) const EXPORT: &str = "\
Examples:
  longhaul export nightly -o nightly.longhaul

The file holds HEAD with its whole history, staged changes, and every other file that git does not ignore.
It holds no remotes, settings, hooks or other branches. The workspace is not changed. A workflow is exported
with all its runs.";

pub(super) const IMPORT: &str = "\
Examples:
  longhaul import nightly.longhaul --into ~/work/parser

The run continues with the prompt, the agent arguments and the files of the archive: import only what you
would run yourself.";

pub(super) const GC: &str = "\
Examples:
  longhaul gc --older-than 30d --dry-run
  longhaul gc --older-than 30d --keep failed";

pub(super) const LEDGER: &str = "\
Examples:
  longhaul ledger verify
  longhaul ledger rebuild";

pub(super) const PLAYBOOK: &str = "\
Examples:
  longhaul playbook install
  longhaul playbook bootstrap --dry-run
  longhaul playbook show";

pub(super) const DRILL: &str = "\
Examples:
  longhaul drill
  longhaul drill --list
  longhaul drill all --seed random";

pub(super) const SIMULATE: &str = "\
Examples:
  longhaul simulate
  longhaul simulate --preset archon --faults storm --runs 1000

Durations are like 90s, 5m or 1h30m; a bare number is seconds; `none` means unlimited.";

pub(super) const DOCTOR: &str = "\
Examples:
  longhaul doctor";

pub(super) const CONFIG: &str = "\
Examples:
  longhaul config init --user
  longhaul config show --origin";

pub(super) const SCHEMA: &str = "\
Examples:
  longhaul schema
  longhaul schema run";

pub(super) const MAN: &str = "\
Examples:
  longhaul man
  longhaul man --dir ~/.local/share/man/man1";

pub(super) const COMPLETIONS: &str = "\
Examples:
  longhaul completions bash > ~/.local/share/bash-completion/completions/longhaul
  longhaul completions zsh > DIR/_longhaul     # DIR is in $fpath
  longhaul completions fish > ~/.config/fish/completions/longhaul.fish
  longhaul completions powershell >> $PROFILE
  longhaul completions elvish >> ~/.config/elvish/rc.elv

Install the script again after each update of longhaul.";

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn groups_list_every_command() {
        let root = Cli::command();
        let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
        let mut visible: Vec<&str> = visible.map(|command| command.get_name()).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        visible.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, visible);
    }

    #[test]
    fn every_command_has_examples() {
        let root = Cli::command();
        for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Examples:\n  longhaul "), "{}: {help}", command.get_name());
        }
    }
}
