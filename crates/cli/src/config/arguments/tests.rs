use super::*;
use crate::args::Cli;
use crate::config::FileOwner;
use crate::config::file::{FileTrust, Reader};
use crate::config::find::ConfigFiles;
use crate::config::keys::ValueKind;
use crate::config::layers::merge;
use clap::CommandFactory;
use std::path::Path;

/// Parses typed arguments with the user's file. Returns the arguments of the command.
fn parse(typed: &str, user: &str) -> Result<ArgMatches, clap::Error> {
    let mut root = Cli::command();
    let keys = Keys::for_command(&root);
    let (path, owner, trust) = (Path::new("/u"), FileOwner::User, FileTrust::Unknown);
    let reader = Reader { keys: &keys, owner, path, text: user, home: None, user_file: None, trust };
    let files = ConfigFiles { user: reader.read().expect("it can be read"), project: Default::default() };
    let values = merge(&keys, &files, &[], None).expect("the layers are valid");
    let typed: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
    let matches = root.clone().ignore_errors(true).try_get_matches_from(&typed).expect("it is partly read");
    let (name, matches) = matches.subcommand().expect("a command is named");
    apply(&mut root, name, values, matches);
    let parsed = root.try_get_matches_from(typed)?;
    Ok(parsed.subcommand().expect("a command is named").1.clone())
}

/// Asserts the arguments that are set, as `id=value` in the order of their ids: typed ones, and configured
/// ones in brackets.
fn check(typed: &str, user: &str, expected: &str) {
    let matches = parse(typed, user).unwrap_or_else(|error| panic!("{typed}: {user}: {error}"));
    let root = Cli::command();
    let unconfigured = root.try_get_matches_from(typed.split(' ')).expect("the typed arguments are valid");
    let unconfigured = set(unconfigured.subcommand().expect("a command is named").1);
    let is_new = |entry: &String| !(entry.starts_with('[') && unconfigured.contains(entry));
    let mut found: Vec<String> = set(&matches).into_iter().filter(is_new).collect();
    found.sort();
    assert_eq!(found.join(" "), expected, "{typed}: {user}");
}

fn set(matches: &ArgMatches) -> Vec<String> {
    let entry = |id: &Id| {
        let values = matches.try_get_raw(id.as_str()).ok().flatten()?;
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        let text = format!("{id}={}", values.join(","));
        Some(if is_typed(matches, id.as_str()) { text } else { format!("[{text}]") })
    };
    // The ids of groups are names of types.
    matches.ids().filter(|id| !id.as_str().starts_with(char::is_uppercase)).filter_map(entry).collect()
}

#[test]
fn configuration_is_the_default_of_flags() {
    check("longhaul run p", "model = 'a'\nquiet = true", "[model=a] [quiet=true] prompt=p");
    check("longhaul run --model b p", "model = 'a'", "model=b prompt=p");
    check("longhaul run p", "deny_tools = ['A', 'B']", "[deny_tools=A,B] prompt=p");
    check("longhaul run p --deny-tools C", "deny_tools = ['A']", "deny_tools=C prompt=p");
    check("longhaul run p", "keep_going = false", "prompt=p");
    check("longhaul run p", "agent_args = ['--a', 'b']", "[agent_args=--a,b] prompt=p");
    check("longhaul run p -- --c", "agent_args = ['--a', 'b']", "agent_args=--c prompt=p");
    check("longhaul run p", "budget = \"none\"", "[budget=none] prompt=p");
}

#[test]
fn typed_flags_drop_excluded_keys() {
    check("longhaul run p --no-wrap-up", "wrap_up_reserve = 60", "no_wrap_up=true prompt=p");
    check("longhaul run p --wrap-up-reserve 9", "no_wrap_up = true", "prompt=p wrap_up_reserve=9");
    check("longhaul simulate --preset archon", "preset = 'drill'", "preset=archon");
    check("longhaul -v run p", "quiet = true", "prompt=p verbose=true");
    check(
        "longhaul run p --keep-going",
        "check = ['true']\nmax_failed_checks = 2",
        "keep_going=true prompt=p",
    );
    check("longhaul run p --check true", "keep_going = true\nkeep_improving = true", "check=true prompt=p");
    check("longhaul run p --keep-going", "review = 'm'\nreview_timeout = 9", "keep_going=true prompt=p");
    check("longhaul run p --review=m", "keep_going = true\nkeep_improving = true", "prompt=p review=m");
    // No review excludes nothing.
    check("longhaul run p --review=none", "keep_going = true", "[keep_going=true] prompt=p review=none");
    check("longhaul run p", "keep_going = true\nreview = 'none'", "[keep_going=true] [review=none] prompt=p");
}

#[test]
fn drops_details_without_their_key() {
    let details = "keep_improving = true\ndone_when = 'x'\nstatus_every = 9\nmax_idle_stops = 2\nmax_failed_checks = 4\ncheck_timeout = 9";
    check("longhaul run p", details, "prompt=p");
    check(
        "longhaul run p --keep-going",
        details,
        "[done_when=x] [keep_improving=true] [max_idle_stops=2] [status_every=9] keep_going=true prompt=p",
    );
    // A typed flag may be a detail of a configured key.
    check(
        "longhaul run p --keep-improving",
        "keep_going = true",
        "[keep_going=true] keep_improving=true prompt=p",
    );
    check(
        "longhaul run p --check true",
        details,
        "[check_timeout=9] [max_failed_checks=4] check=true prompt=p",
    );
}

#[test]
fn typed_detail_requires_its_key() {
    for detail in ["--keep-improving", "--done-when=x", "--status-every=9", "--max-idle-stops=2"] {
        let error = parse(&format!("longhaul run p {detail}"), "").expect_err("it has no effect");
        assert!(error.to_string().contains("--keep-going"), "{detail}: {error}");
    }
    for detail in ["--learn-judge=api", "--learn-tokens=9"] {
        let error = parse(&format!("longhaul run p {detail}"), "").expect_err("it has no effect");
        assert!(error.to_string().contains("  --learn\n"), "{detail}: {error}");
    }
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
        let read = parse("longhaul run p", &format!("{} = {value}", key.name));
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
    for name in ["completions", "man"] {
        check(name, ConfigScope::Nothing);
    }
}
