//! Help texts that belong to no single flag: the groups of commands, and examples for each command.

use super::{AgentArgs, DURATIONS, LimitArgs, PolicyValueArgs, WrapUpArgs};
use clap::{Arg, Args, Command};

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

/// Examples for each command, in the order in which its help prints them.
const EXAMPLES: &[&str] = &[
    "run 'fix the failing tests' --check 'cargo test' --budget 5",
    "run --prompt-file task.md --time-limit 8h --detach --name nightly",
    "run 'refactor the parser' --dry-run",
    "loop workflow.toml --budget 20 --time-limit 8h",
    "loop ralph --set task='fix the failing tests' --set check='cargo test'",
    "loop workflow.toml --dry-run",
    "loop validate workflow.toml",
    "hint @ 'prefer the iterative solver'",
    "resume @",
    "resume nightly 'also update the changelog' --add-budget 2",
    "rerun @",
    "rerun --failed --dry-run",
    "research tasks/my-task claude-code --claude_hours 12 --budget_limit 20",
    "recover --list",
    "recover",
    "recover --install",
    "attach nightly",
    "runs --state failed,needs_person --since 7d",
    "runs parser",
    "status",
    "status --watch",
    "cost",
    "cost --by project --since 30d",
    "mcp install --client claude-code",
    "mcp install --client claude-code --max-permission-mode acceptEdits --max-budget 5 --write",
    "show @",
    "show nightly --json",
    "why @",
    "logs @ --follow",
    "logs nightly --attempt 2",
    "diff @ --stat",
    "diff @ -- src",
    "report",
    "report --since 7d --format text",
    "report nightly -o nightly.html",
    "cancel nightly",
    "handoff @",
    "handoff --from-transcript session.jsonl",
    "gsd new-project 'a command that counts words'",
    "gsd plan-phase 1",
    "gsd execute-phase 1",
    "gsd status",
    "export nightly -o nightly.longhaul",
    "import nightly.longhaul --into ~/work/parser",
    "gc --older-than 30d --dry-run",
    "gc --older-than 30d --keep failed",
    "ledger verify",
    "ledger rebuild",
    "playbook install",
    "playbook bootstrap --dry-run",
    "playbook show",
    "drill",
    "drill --list",
    "drill all --seed random",
    "simulate",
    "simulate --preset archon --faults storm --runs 1000",
    "doctor",
    "config init --user",
    "config show --origin",
    "schema",
    "schema run",
    "man",
    "man --dir ~/.local/share/man/man1",
    "completions bash > ~/.local/share/bash-completion/completions/longhaul",
    "completions zsh > DIR/_longhaul     # DIR is in $fpath",
    "completions fish > ~/.config/fish/completions/longhaul.fish",
    "completions powershell >> $PROFILE",
    "completions elvish >> ~/.config/elvish/rc.elv",
];

/// Adds the examples to the help of a command, and a note below them.
pub(super) fn with_examples(command: Command) -> Command {
    let name = command.get_name();
    let is_of_command = |line: &&&str| line.split(' ').next() == Some(name);
    let examples: String =
        EXAMPLES.iter().filter(is_of_command).map(|line| format!("\n  longhaul {line}")).collect();
    let own_defaults = own_defaults(name);
    let notes: String =
        [note(name), own_defaults].into_iter().flatten().map(|note| format!("\n\n{note}")).collect();
    let command = command.after_help(format!("Examples:{examples}{notes}"));
    // Later, because only the help needs it.
    if own_defaults.is_some() { command.defer(without_defaults) } else { command }
}

/// Says where a command takes its settings from, if their defaults are not those of `longhaul run`.
fn own_defaults(command: &str) -> Option<&'static str> {
    Some(match command {
        "resume" | "rerun" => "A setting without a flag stays as it was.",
        "loop" => "A setting without a flag is that of the file.",
        "gsd" => "`--dry-run` prints the settings of a call.",
        _ => return None,
    })
}

/// Removes defaults that do not hold for a command, as its help does.
pub fn with_own_defaults(command: Command) -> Command {
    if own_defaults(command.get_name()).is_some() { without_defaults(command) } else { command }
}

/// Removes the defaults of `longhaul run` from the flags that a command shares with it, where they do not hold.
fn without_defaults(command: Command) -> Command {
    let shared = PolicyValueArgs::augment_args(AgentArgs::augment_args(Command::new("run")));
    let shared = WrapUpArgs::augment_args(LimitArgs::augment_args(shared));
    let change = |arg: Arg| {
        let is_shared = |other: &Arg| other.get_id() == arg.get_id() && other.get_help() == arg.get_help();
        // The agent's program is the same everywhere.
        if arg.get_id() == "agent_path" || !shared.get_arguments().any(is_shared) {
            return arg;
        }
        let texts = [arg.get_help(), arg.get_long_help()]
            .map(|text| text.map(|text| without_default(&text.to_string())));
        match texts {
            [Some(help), Some(long)] => arg.help(help).long_help(long),
            [Some(help), None] => arg.help(help),
            [None, _] => arg,
        }
    };
    command.mut_args(change).mut_subcommands(|sub| sub.mut_args(change))
}

fn without_default(text: &str) -> String {
    let parts =
        text.split_once(" [default: ").and_then(|(before, rest)| Some((before, rest.split_once(']')?.1)));
    parts.map_or_else(|| text.to_owned(), |(before, after)| format!("{before}{after}"))
}

fn note(command: &str) -> Option<&'static str> {
    Some(match command {
        "run" | "resume" | "rerun" | "recover" | "simulate" => DURATIONS,
        "loop" => {
            "The format of workflow files: https://github.com/longhaul/longhaul/blob/main/docs/workflows.md"
        }
        "hint" => "The next phase whose prompt uses `hints` receives the text, once.",
        "mcp" => {
            "A client starts `longhaul mcp` itself. Its tools: https://github.com/longhaul/longhaul/blob/main/docs/mcp.md"
        }
        "diff" => {
            "Compares all files of the git repository that git does not ignore, committed or not: before the run started, \
            and when it finished. An unfinished run is compared with the current files."
        }
        "gsd" => {
            "Called as `openclawpack`, for example by a link of that name, the program accepts these commands without \
            `gsd` and prints the results of openclawpack."
        }
        "export" => {
            "The file holds HEAD with its whole history, staged changes, and every other file that git does not ignore. \
            It holds no remotes, settings, hooks or other branches. The workspace is not changed. A workflow is \
            exported with all its runs."
        }
        "import" => {
            "The run continues with the prompt, the agent arguments and the files of the archive: import only what you \
            would run yourself."
        }
        "completions" => {
            "\
Create the directory of your shell first:
  mkdir -p ~/.local/share/bash-completion/completions
  mkdir -p ~/.config/fish/completions
  mkdir -p ~/.config/elvish

Install the script again after each update of longhaul."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn groups_list_every_command() {
        let root = Cli::command();
        let mut commands: Vec<&str> = root.get_subcommands().map(|command| command.get_name()).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        commands.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, commands);
    }

    #[test]
    fn every_command_has_examples() {
        let root = Cli::command();
        for command in root.get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Examples:\n  longhaul "), "{}: {help}", command.get_name());
        }
    }
}
