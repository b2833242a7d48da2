use super::*;
use crate::args::Cli;
use clap::CommandFactory;
use std::path::Path;

fn read(owner: FileOwner, text: &str) -> Result<File, Failure> {
    let (path, user_file) = match owner {
        FileOwner::Project => (Path::new("/w/longhaul.toml"), Path::new("/u/.config/longhaul/config.toml")),
        FileOwner::User => (Path::new("/u/c.toml"), Path::new("/u/c.toml")),
    };
    let root = Cli::command();
    let (keys, home) = (Keys::for_command(&root), Some(Path::new("/u")));
    Reader { keys: &keys, owner, path, text, home, user_file: Some(user_file), trust: FileTrust::Unknown }
        .read()
}

#[test]
fn values_match_typed_arguments() {
    let check = |owner, text: &str, key: &str, values: &[&str], line: usize| {
        let file = read(owner, text).unwrap_or_else(|failure| panic!("{text}: {failure:?}"));
        let found = file.plain.iter().find(|setting| setting.key == key).expect("it is read");
        assert_eq!(found.values, values, "{text}");
        assert!(
            matches!(&found.origins[..], [Origin::File { line: at, profile: None, .. }] if *at == line),
            "{found:?}"
        );
    };
    let (user, project) = (FileOwner::User, FileOwner::Project);
    check(user, "model = \"opus\"", "model", &["opus"], 1);
    check(user, "\n# a comment\nbudget = 2.50\n", "budget", &["2.50"], 3);
    check(user, "budget = 10", "budget", &["10"], 1);
    check(user, "stall_timeout = \"5m\"", "stall_timeout", &["5m"], 1);
    check(user, "stall_timeout = 90", "stall_timeout", &["90"], 1);
    check(user, "max_tokens = 1_000", "max_tokens", &["1000"], 1);
    check(user, "retry_jitter = 25", "retry_jitter", &["25"], 1);
    check(user, "keep_going = true", "keep_going", &["true"], 1);
    check(user, "keep_going = false", "keep_going", &[], 1);
    check(user, "deny_tools = []", "deny_tools", &[], 1);
    check(user, "check = [\n \"cargo test\",\n \"true\",\n]", "check", &["cargo test", "true"], 1);
    check(user, "agent_args = [\"--add-dir\", \"/x\"]", "agent_args", &["--add-dir", "/x"], 1);
    check(user, "output_format = \"stream-json\"", "output_format", &["stream-json"], 1);
    // Relative paths start at the directory of the file. Blocked paths are resolved only in a project's file.
    check(user, "prices_file = \"prices.toml\"", "prices_file", &["/u/prices.toml"], 1);
    check(user, "prices_file = \"~/p.toml\"", "prices_file", &["/u/p.toml"], 1);
    check(user, "prices_file = \"/p.toml\"", "prices_file", &["/p.toml"], 1);
    check(user, "block_path = [\".env\"]", "block_path", &[".env"], 1);
    check(project, "block_path = [\".env\", \"~/.ssh\"]", "block_path", &["/w/.env", "~/.ssh"], 1);
    check(project, "effects_file = \"effects.toml\"", "effects_file", &["/w/effects.toml"], 1);
}

#[test]
fn separates_profiles_and_tables() {
    let text = "default_profile = \"night\"\nbudget = 1\n[profile.night]\nbudget = 2\n[research]\nclaude_hours = 3\n\
                [recover]\nactive_within = \"36h\"\n";
    let file = read(FileOwner::User, text).expect("it is read");
    let values = |settings: &[Setting]| -> Vec<String> {
        settings
            .iter()
            .map(|setting| format!("{} {:?} {}", setting.key, setting.values, setting.origin()))
            .collect()
    };
    assert_eq!(values(&file.plain), ["budget [\"1\"] /u/c.toml:2"]);
    assert_eq!(values(&file.profiles["night"]), ["budget [\"2\"] /u/c.toml:4 (profile night)"]);
    assert_eq!(values(&file.tables["research"]), ["claude_hours [\"3\"] /u/c.toml:6"]);
    assert_eq!(values(&file.tables["recover"]), ["active_within [\"36h\"] /u/c.toml:8"]);
    assert_eq!(file.profile.as_deref(), Some("night"));
}

#[test]
fn errors_name_line_and_expected_value() {
    let check = |text: &str, error: &str, hint: &str| {
        let failure = read(FileOwner::User, text).expect_err("it is rejected");
        assert_eq!(
            (failure.error.as_str(), failure.exit_code),
            (format!("cannot read /u/c.toml:{error}").as_str(), 2)
        );
        assert_eq!(failure.hint.as_deref(), Some(hint), "{text}");
    };
    let toml = "write TOML: `key = value`, with strings in quotes";
    check("budget = 1\nbudget = 2", "2: duplicate key", toml);
    check("a = 1\nbudget 1", "2: key with no value, expected `=`", toml);
    check("modle = \"opus\"", "1: there is no key `modle`", "did you mean model?");
    check("max-retries = 3", "1: there is no key `max-retries`", "it is spelled `max_retries`");
    check("\"--model\" = \"x\"", "1: there is no key `--model`", "it is spelled `model`");
    // Of two errors the first is reported.
    check(
        "zebra = 3\naardvark = 4",
        "1: there is no key `zebra`",
        "keys are named like the flags that `longhaul run --help` lists",
    );
    check(
        "zebra = 3",
        "1: there is no key `zebra`",
        "keys are named like the flags that `longhaul run --help` lists",
    );
    check("claude_hours = 3", "1: there is no key `claude_hours`", "it is a key of [research]");
    let top = "it belongs at the top of the file, outside of any table";
    check("[recover]\nbudget = 3", "2: there is no key `budget`", top);
    let omitted = "remove it, and pass the flag where you need it";
    check("prompt = \"fix\"", "1: `prompt` cannot be configured: the task is given with each run", omitted);
    check("dry-run = true", "1: `dry-run` cannot be configured: it applies to a single call", omitted);
    check("detach = true", "1: `detach` cannot be configured: it applies to a single call", omitted);
    let value = "write it as its flag accepts it";
    check("budget = true", "1: `budget` must be a number, or a string in quotes", value);
    check("keep_going = \"yes\"", "1: `keep_going` must be `true` or `false`", value);
    check("max_retries = \"3\"", "1: `max_retries` must be a whole number", value);
    check("max_retries = 3.5", "1: `max_retries` must be a whole number", value);
    check("model = 4", "1: `model` must be a string in quotes", value);
    check("prices_file = []", "1: `prices_file` must be a path in quotes", value);
    check("check = \"true\"", "1: `check` must be a list of strings, as in [\"…\"]", value);
    check("check = [\n\"true\",\n1]", "3: `check` must be a list of strings, as in [\"…\"]", value);
    let flag = "write it as its flag accepts it";
    let duration = "expected a duration like 90s, 5m, 1h30m or 2d; a bare number is seconds";
    check("\nstall_timeout = \"soon\"", &format!("2: `stall_timeout` is `soon`: {duration}"), flag);
    check("max_retries = -1", "1: `max_retries` is `-1`: -1 is not in 0..=4294967295", flag);
    check(
        "output_format = \"xml\"",
        "1: `output_format` is `xml`: expected one of json, text, stream-json",
        flag,
    );
    check(
        "[recover]\nactive_within = \"soon\"",
        &format!("2: `recover.active_within` is `soon`: {duration}"),
        flag,
    );
    check(
        "[runs]\na = 1",
        "1: there is no table `[runs]`",
        "there are [research], [recover] and [profile.NAME]",
    );
    check(
        "[run]\nbudget = 1",
        "1: the keys of `run` belong in no table",
        "put them at the top, or into a `[profile.NAME]`",
    );
    check("[budget]\nusd = 1", "1: `budget` is a table", "it must be a number, or a string in quotes");
    check(
        "profile = \"night\"",
        "1: `profile` must be a table of profiles",
        "select one with `default_profile = \"NAME\"`, define one with `[profile.NAME]`",
    );
    check("profile.night = 1", "1: profile `night` must be a table", "define it with `[profile.NAME]`");
    check(
        "default_profile = \"nigt\"\n[profile.night]\n[profile.day]",
        "1: there is no profile `nigt` in this file",
        "did you mean night? There are day, night",
    );
    check(
        "[profile.night]\nfrobnicate = 1",
        "2: there is no key `frobnicate`",
        "keys are named like the flags that `longhaul run --help` lists",
    );
}

#[test]
fn project_needs_trust_for_checks_and_permission_modes() {
    let check = |text: &str, line: usize, key: &str| {
        let failure = read(FileOwner::Project, text).expect_err("it is rejected");
        let error = format!("cannot read /w/longhaul.toml:{line}: `{key}` cannot be set yet: ");
        assert!(failure.error.starts_with(&error), "{}", failure.error);
        assert!(failure.hint.is_some_and(|hint| hint.ends_with("`longhaul config trust --cwd /w`")));
        let file = read(FileOwner::User, text);
        assert!(file.is_ok(), "{file:?}");
    };
    check("budget = 1\ncheck = [\"./steal.sh\"]", 2, "check");
    check("permission_mode = \"bypassPermissions\"", 1, "permission_mode");
    check("[profile.night]\npermission_mode = \"bypassPermissions\"", 2, "permission_mode");
}

#[test]
fn project_cannot_set_user_only_keys() {
    let check = |text: &str, line: usize, key: &str| {
        let failure = read(FileOwner::Project, text).expect_err("it is rejected");
        let error = format!("cannot read /w/longhaul.toml:{line}: `{key}` cannot be set by a project: ");
        assert!(failure.error.starts_with(&error), "{}", failure.error);
        let hint = "put it into /u/.config/longhaul/config.toml, or pass it with each run";
        assert_eq!((failure.hint.as_deref(), failure.exit_code), (Some(hint), 2));
        let file = read(FileOwner::User, text);
        assert!(file.is_ok(), "{file:?}");
    };
    check("agent_path = \"./claude\"", 1, "agent_path");
    check("agent_args = [\"--mcp-config\", \"x.json\"]", 1, "agent_args");
    check("allow_denials = true", 1, "allow_denials");
    check("network = [\"evil.example\"]", 1, "network");
    check("prices_file = \"cheap.toml\"", 1, "prices_file");
    check("runs_dir = \"runs\"", 1, "runs_dir");
    check("answer = [\"push=yes\"]", 1, "answer");
    check("answer_defaults = true", 1, "answer_defaults");
    check("wrap_up_prompt = \"push it\"", 1, "wrap_up_prompt");
    check("keep_going = true", 1, "keep_going");
    check("quiet = true", 1, "quiet");
    check("[research]\nbudget_limit = 1000", 2, "research.budget_limit");
    check("[recover]\nactive_within = 0", 2, "recover.active_within");
}

#[test]
fn value_cannot_contain_nul() {
    for owner in [FileOwner::User, FileOwner::Project] {
        let failure = read(owner, "model = \"x\\u0000y\"").expect_err("it is rejected");
        assert!(failure.error.ends_with(":1: `model` contains a NUL"), "{}", failure.error);
    }
}

#[test]
fn project_value_cannot_be_agent_flag() {
    let failure =
        read(FileOwner::Project, "model = \"--dangerously-skip-permissions\"").expect_err("it is rejected");
    assert_eq!(
        failure.error,
        "cannot read /w/longhaul.toml:1: `model` is `--dangerously-skip-permissions`, which looks like a flag"
    );
}
