use super::*;
use crate::args::Cli;
use crate::config::FileOwner;
use crate::config::file::{FileTrust, Reader};
use crate::flag_order::reorder;
use clap::CommandFactory;
use expect_test::{Expect, expect};

/// Builds the command line from typed arguments and the user's file.
fn line(typed: &str, user: &str) -> CommandLine {
    let root = Cli::command();
    let keys = Keys::for_command(&root);
    let path = Path::new("/u");
    let reader = Reader {
        keys: &keys,
        root: &root,
        owner: FileOwner::User,
        path,
        home: None,
        user_file: None,
        trust: FileTrust::Unknown,
    };
    let files = ConfigFiles { user: reader.read(user).expect("it can be read"), project: Default::default() };
    let values = merge(&root, &keys, &files, &[], None).expect("the layers are valid");
    let ordered = reorder(&root, typed.split(' ').map(OsString::from).collect());
    let index = ordered.command.expect("a command is named");
    let command = root.find_subcommand(ordered.arguments[index].to_str().unwrap_or_default());
    let command = command.expect("it is a command");
    let matches =
        root.clone().ignore_errors(true).try_get_matches_from(&ordered.arguments).expect("it is partly read");
    let matches = matches.subcommand_matches(command.get_name()).expect("it is named");
    let values = keys.plain().filter_map(|key| Some((key.clone(), values.get(&key.name)?.clone()))).collect();
    CommandLine::with(&root, command, ordered.arguments, index, values, matches)
}

fn check(typed: &str, user: &str, expected: Expect) {
    let line = line(typed, user);
    let words: Vec<_> = line.arguments.iter().map(|word| word.to_string_lossy()).collect();
    expected.assert_eq(&words.join(" "));
    // Configuration never makes a valid command line invalid.
    let read = Cli::command().try_get_matches_from(&line.arguments);
    assert!(read.is_ok(), "{words:?}: {:?}", read.err());
}

#[test]
fn inserts_configuration_before_typed_arguments() {
    check("longhaul run p", "model = 'a'\nquiet = true", expect!["longhaul run --quiet --model=a p"]);
    check("longhaul --model b run p", "model = 'a'", expect!["longhaul run --model b p"]);
    check(
        "longhaul run p",
        "deny_tools = ['A', 'B']",
        expect!["longhaul run --deny-tools=A --deny-tools=B p"],
    );
    check("longhaul run p --deny-tools C", "deny_tools = ['A']", expect!["longhaul run p --deny-tools C"]);
    check("longhaul run p", "keep_going = false", expect!["longhaul run p"]);
    check("longhaul run p", "agent_args = ['--a', 'b']", expect!["longhaul run p -- --a b"]);
    check("longhaul run p -- --c", "agent_args = ['--a', 'b']", expect!["longhaul run p -- --c"]);
    check("longhaul run p", "budget = \"none\"", expect!["longhaul run --budget=none p"]);
}

#[test]
fn typed_flags_drop_excluded_keys() {
    check("longhaul run p --no-wrap-up", "wrap_up_reserve = 60", expect!["longhaul run p --no-wrap-up"]);
    check(
        "longhaul run p --wrap-up-reserve 9",
        "no_wrap_up = true",
        expect!["longhaul run p --wrap-up-reserve 9"],
    );
    check(
        "longhaul simulate --preset archon",
        "preset = 'drill'",
        expect!["longhaul simulate --preset archon"],
    );
    check("longhaul -v run p", "quiet = true", expect!["longhaul -v run p"]);
    check(
        "longhaul run p --keep-going",
        "check = ['true']\nmax_failed_checks = 2",
        expect!["longhaul run p --keep-going"],
    );
    check(
        "longhaul run p --check true",
        "keep_going = true\nkeep_improving = true",
        expect!["longhaul run p --check true"],
    );
}

#[test]
fn drops_details_without_their_key() {
    let details = "keep_improving = true\ndone_when = 'x'\nstatus_every = 9\nmax_idle_stops = 2\nmax_failed_checks = 4\ncheck_timeout = 9";
    check("longhaul run p", details, expect!["longhaul run p"]);
    check(
        "longhaul run p --keep-going",
        details,
        expect![
            "longhaul run --keep-improving --done-when=x --status-every=9 --max-idle-stops=2 p --keep-going"
        ],
    );
    // A typed flag may be a detail of a configured key.
    check(
        "longhaul run p --keep-improving",
        "keep_going = true",
        expect!["longhaul run --keep-going p --keep-improving"],
    );
    check(
        "longhaul run p --check true",
        details,
        expect!["longhaul run --max-failed-checks=4 --check-timeout=9 p --check true"],
    );
}

/// Every key alone yields a valid command line, because keys that need another are in the table of details.
#[test]
fn accepts_each_key_alone() {
    let root = Cli::command();
    for key in Keys::for_command(&root).plain() {
        let value = match key.kind {
            ValueKind::Switch => "true",
            ValueKind::Count | ValueKind::Amount => "90",
            ValueKind::List => "['Read']",
            ValueKind::Text if key.name == "output_format" => "'text'",
            ValueKind::Text if key.name == "preset" => "'archon'",
            ValueKind::Text if key.name == "learn_judge" => "'claude'",
            ValueKind::Text if key.name == "on_terminate" => "'cancel'",
            ValueKind::Text | ValueKind::Path => "'x'",
        };
        let value = if key.name == "memory_limit" { "'1G'" } else { value };
        let line = line("longhaul run p", &format!("{} = {value}", key.name));
        let read = root.clone().try_get_matches_from(&line.arguments);
        assert!(read.is_ok(), "{}: {:?}", key.name, read.err());
    }
}

#[test]
fn commands_have_their_scope() {
    let check = |name: &str, expected: ConfigScope| {
        let root = Cli::command();
        assert_eq!(
            ConfigScope::for_command(root.find_subcommand(name).expect("there is such a command")),
            expected,
            "{name}"
        );
    };
    check("run", ConfigScope::Everything);
    check("simulate", ConfigScope::Everything);
    check("research", ConfigScope::User);
    check("recover", ConfigScope::Table);
    for name in
        ["resume", "attach", "show", "logs", "cancel", "handoff", "export", "import", "drill", "config"]
    {
        check(name, ConfigScope::Printing);
    }
    for name in ["watchdog", "finish-tool", "drill-agent", "completions", "man"] {
        check(name, ConfigScope::Nothing);
    }
}
