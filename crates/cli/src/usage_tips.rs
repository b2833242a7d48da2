//! Suggests what to type instead of an unknown command or flag, or of nothing. Accepts texts that begin with a dash, which clap takes
//! for flags.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use longhaul_agent::default_environment;
use std::ffi::OsString;

/// Names of commands in other programs, and what they are called here.
const COMMANDS: [(&str, &str); 14] = [
    ("continue", "resume"),
    ("delete", "gc"),
    ("follow", "attach"),
    ("history", "runs"),
    ("info", "show"),
    ("kill", "cancel"),
    ("list", "runs"),
    ("ls", "runs"),
    ("ps", "status"),
    ("start", "run"),
    ("stop", "cancel"),
    ("tail", "attach"),
    ("usage", "cost"),
    ("workflow", "loop"),
];

/// Flags of other programs, and what they are called here.
const FLAGS: [(&str, &str); 19] = [
    ("-c", "--resume"),
    ("-d", "--detach"),
    ("-m", "--model"),
    ("-r", "--resume"),
    ("--allowed-tools", "--allow-tools"),
    ("--allowedTools", "--allow-tools"),
    ("--background", "--detach"),
    ("--cd", "--cwd"),
    ("--continue", "--resume"),
    ("--cost-limit", "--budget"),
    ("--dangerously-skip-permissions", "--permission-mode bypassPermissions"),
    ("--dir", "--cwd"),
    ("--disallowed-tools", "--deny-tools"),
    ("--disallowedTools", "--deny-tools"),
    ("--max-budget-usd", "--budget"),
    ("--max-cost", "--budget"),
    ("--max-duration", "--time-limit"),
    ("--max-time", "--time-limit"),
    ("--timeout", "--time-limit"),
];

/// Flags by which an agent works without a terminal, as it always does here.
const WITHOUT_TERMINAL: [&str; 2] = ["-p", "--print"];

/// Lets positional texts such as `- fix the tests` begin with a dash, because Markdown lists and front matter do. clap
/// then tells unknown flags from texts less well, so this applies only to calls with such a text.
pub fn accept_texts_with_dash(root: &mut Command, typed: &[OsString]) {
    let is_text = |argument: &OsString| {
        let rest = argument.to_str().and_then(|text| text.strip_prefix('-'));
        rest.is_some_and(|rest| rest.trim_start_matches('-').starts_with(char::is_whitespace))
    };
    if typed.iter().any(is_text) {
        let accept = |arg: Arg| {
            let is_text = arg.is_positional() && !arg.is_last_set();
            if is_text { arg.allow_hyphen_values(true) } else { arg }
        };
        *root = std::mem::take(root).mut_subcommands(|sub| sub.mut_args(accept));
    }
}

/// Replaces clap's suggestions where they would not work: with the name that Longhaul uses, or with how to pass a flag to
/// the agent.
pub fn improved(mut error: Error, root: &Command, typed: &[OsString]) -> Error {
    let command = command_of(root, typed);
    let typed_name = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.clone()),
        _ => None,
    };
    if let Some(name) = typed_name(ContextKind::InvalidSubcommand) {
        let known = renamed(&COMMANDS, &name);
        if let Some(known) = known.filter(|known| command.find_subcommand(known).is_some()) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(known.to_owned()));
        }
    } else if error.kind() == ErrorKind::UnknownArgument
        && let Some(name) = typed_name(ContextKind::InvalidArg)
    {
        improve_flag(&mut error, command, &name);
    } else if error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
    {
        let tip = match missing.first().map(String::as_str) {
            Some("<PROMPT>") => Some(
                "write the task, as in `longhaul run \"fix the failing tests\"`, or pass --prompt-file FILE",
            ),
            Some("<RUN>" | "<RUN>...") => Some("`@` is the latest run; `longhaul runs` lists them"),
            _ => None,
        };
        tip.into_iter().for_each(|tip| insert_tip(&mut error, tip.to_owned()));
    }
    error
}

fn improve_flag(error: &mut Error, command: &Command, name: &str) {
    // clap suggests `-- NAME` as a value of the command.
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().ends_with(&format!("'-- {name}'")));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    let has_flag = |flag: &str| {
        let long = flag.split(' ').next().and_then(|flag| flag.strip_prefix("--"));
        command.get_arguments().any(|arg| arg.get_long() == long)
    };
    let starts_agent = command.get_arguments().any(|arg| arg.get_id() == "agent_args");
    if let Some(flag) = renamed(&FLAGS, name).filter(|flag| has_flag(flag)) {
        // The usage line names what clap suggested.
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::SuggestedArg, ContextValue::String(flag.to_owned()));
    } else if name == "--agent" {
        // clap suggests `--agent-path`, which takes no name of an agent.
        error.remove(ContextKind::Usage);
        error.remove(ContextKind::SuggestedArg);
        let reason = match command.get_name() {
            "doctor" => "it checks Claude Code",
            _ => "only a new run has a choice of agents",
        };
        insert_tip(error, format!("leave out '{name}': {reason}"));
    } else if starts_agent && WITHOUT_TERMINAL.contains(&name) {
        error.remove(ContextKind::Usage);
        error.remove(ContextKind::SuggestedArg);
        insert_tip(error, format!("leave out '{name}': longhaul always runs the agent without a terminal"));
    } else if name.starts_with("--") && has_flag(name) {
        error.remove(ContextKind::Usage);
        error.remove(ContextKind::SuggestedArg);
        insert_tip(error, format!("write '{name}' after '{}'", command.get_name()));
    } else if starts_agent && name.starts_with('-') && !default_environment().reserved_args.contains(&name) {
        let is_dash_task =
            !name.starts_with("--") && command.get_arguments().any(|arg| arg.get_id() == "prompt_file");
        let of_task = if is_dash_task { "; a task may come from a file: --prompt-file FILE" } else { "" };
        insert_tip(error, format!("to pass '{name}' to the agent, write it last, after '--'{of_task}"));
    }
}

fn insert_tip(error: &mut Error, tip: String) {
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
}

fn renamed(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(other, _)| *other == name).map(|(_, known)| *known)
}

fn command_of<'r>(root: &'r Command, typed: &[OsString]) -> &'r Command {
    let mut command = root;
    for word in typed.iter().skip(1).filter_map(|word| word.to_str()) {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, ErrorKind, FLAGS, accept_texts_with_dash, improved};
    use crate::args::{Cli, Command};
    use clap::{CommandFactory, FromArgMatches};
    use std::ffi::OsString;

    fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
        let mut command = Cli::command();
        let typed: Vec<OsString> = ["longhaul"].iter().chain(words).map(OsString::from).collect();
        accept_texts_with_dash(&mut command, &typed);
        let parsed = command.try_get_matches_from_mut(&typed);
        let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
        parsed.map_err(|error| improved(error, &command, &typed))
    }

    fn tips(words: &[&str]) -> Vec<String> {
        let error = parse(words).expect_err("wrong usage").to_string();
        error.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).map(str::to_owned).collect()
    }

    #[test]
    fn suggests_what_works() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(tips(&line.split(' ').collect::<Vec<_>>()), expected, "{line}");
        };
        check("run -p task", &["leave out '-p': longhaul always runs the agent without a terminal"]);
        check("run task --max-cost 3", &["a similar argument exists: '--budget'"]);
        check("run task --continue", &["a similar argument exists: '--resume'"]);
        check(
            "run task --modle x",
            &[
                "a similar argument exists: '--model'",
                "to pass '--modle' to the agent, write it last, after '--'",
            ],
        );
        check("gsd plan-phase 1 --foo", &["to pass '--foo' to the agent, write it last, after '--'"]);
        check("doctor --agent acp", &["leave out '--agent': it checks Claude Code"]);
        check("resume kmzxqp --agent acp", &["leave out '--agent': only a new run has a choice of agents"]);
        check("--budget 3 run task", &["write '--budget' after 'run'"]);
        check("--quiet --cwd=d run task", &["write '--cwd' after 'run'"]);
        check("run task --no-session-persistence", &[]);
        check("run task --budget x", &[]);
        check("run task --model", &[]);
        check("show --foo", &[]);
        check("show --timeout", &[]);
        check("ls", &["a similar subcommand exists: 'runs'"]);
        check("kill x", &["a similar subcommand exists: 'cancel'"]);
        check("finish-too", &[]);
        check("playbook instal", &["some similar subcommands exist: 'uninstall', 'install'"]);
        check("ledger kill", &[]);
        check("resumee", &["a similar subcommand exists: 'resume'"]);
        let latest = ["`@` is the latest run; `longhaul runs` lists them"];
        ["resume", "cancel", "rerun"].iter().for_each(|command| check(command, &latest));
        check(
            "run --detach",
            &["write the task, as in `longhaul run \"fix the failing tests\"`, or pass --prompt-file FILE"],
        );
    }

    #[test]
    fn suggested_names_exist() {
        let root = Cli::command();
        for (other, known) in COMMANDS {
            assert!(
                root.find_subcommand(other).is_none() && root.find_subcommand(known).is_some(),
                "{other}"
            );
        }
        for (other, known) in FLAGS {
            assert_eq!(tips(&["run", "task", other]), [format!("a similar argument exists: '{known}'")]);
        }
    }

    #[test]
    fn text_may_begin_with_dash() {
        for text in ["- fix the tests", "---\ntitle: Tests\n---\nFix them.", "-- fix"] {
            let Command::Run(args) =
                parse(&["run", "--model", "haiku", text, "--detach"]).expect("a run").command
            else {
                unreachable!("it is a run")
            };
            assert_eq!((args.prompt.as_deref(), args.detach), (Some(text), true));
        }
        let error = parse(&["run", "-fix"]).expect_err("no text");
        assert_eq!(error.kind(), ErrorKind::UnknownArgument);
    }
}
