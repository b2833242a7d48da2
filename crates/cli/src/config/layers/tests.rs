use super::*;
use crate::args::Cli;
use crate::config::FileOwner;
use crate::config::file::{FileTrust, Reader};
use crate::config::loaded::variables;
use clap::CommandFactory;
use std::ffi::OsString;
use std::path::Path;

/// Merges files and variables; returns one line for each effective value, with its origins.
fn merge_lines(
    user: &str,
    project: &str,
    environment: &[(&str, &str)],
    profile: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let root = Cli::command();
    let keys = Keys::for_command(&root);
    let read = |owner, path, text| {
        Reader {
            keys: &keys,
            owner,
            path: Path::new(path),
            text,
            home: None,
            user_file: None,
            trust: FileTrust::Unknown,
        }
        .read()
    };
    let files = ConfigFiles {
        user: read(FileOwner::User, "/u", user)?,
        project: read(FileOwner::Project, "/p", project)?,
    };
    let value = |name: &str| {
        environment.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
    };
    let settings = variables(&keys, |_| true, value)?;
    let chosen = profile.map(|name| ChosenProfile { name: name.to_owned(), source: "--profile".to_owned() });
    let values = merge(&keys, &files, &settings, chosen.as_ref())?;
    Ok(values
        .iter()
        .map(|(key, value)| format!("{key} {} {}", value.values.join(","), value.origin()))
        .collect())
}

#[test]
fn nearer_layer_wins() {
    let check = |user, project, environment: &[(&str, &str)], profile, expected: &[&str]| {
        assert_eq!(merge_lines(user, project, environment, profile).expect("the layers are valid"), expected);
    };
    let (user, project) = ("model = 'a'", "model = 'b'");
    check(user, "", &[], None, &["model a /u:1"]);
    check(user, project, &[], None, &["model b /p:1"]);
    check(user, project, &[("LONGHAUL_MODEL", "c")], None, &["model c LONGHAUL_MODEL"]);
    check(user, project, &[("LONGHAUL_MODEL", "")], None, &["model b /p:1"]);
    check(
        "keep_going = true",
        "",
        &[("LONGHAUL_KEEP_GOING", "0")],
        None,
        &["keep_going  LONGHAUL_KEEP_GOING"],
    );
    // A profile overrides the plain keys of its own file.
    let profiles = "model = 'a'\n[profile.x]\nmodel = 'ax'";
    check(profiles, "", &[], None, &["model a /u:1"]);
    check(profiles, "", &[], Some("x"), &["model ax /u:3 (profile x)"]);
    check(profiles, project, &[], Some("x"), &["model b /p:1"]);
    check(profiles, "model = 'b'\n[profile.x]\nmodel = 'bx'", &[], Some("x"), &["model bx /p:3 (profile x)"]);
    // `default_profile` selects a profile of its own file, unless a profile is requested.
    let selects = "default_profile = 'x'\n[profile.x]\nmodel = 'ax'\n[profile.y]\nmodel = 'ay'";
    check(selects, "", &[], None, &["model ax /u:3 (profile x)"]);
    check(selects, "", &[], Some("y"), &["model ay /u:5 (profile y)"]);
    check(
        "[profile.x]\nmodel = 'ax'",
        "default_profile = 'x'\n[profile.x]\nmax_retries = 1",
        &[],
        None,
        &["max_retries 1 /p:3 (profile x)"],
    );
}

#[test]
fn project_can_only_restrict_runs() {
    let check = |user, project, expected: &str| {
        let lines = merge_lines(user, project, &[], None).expect("the layers are valid");
        assert_eq!(lines.join("\n"), expected);
    };
    check("budget = 5", "budget = 500", "budget 5 /u:1");
    check("budget = 5", "budget = \"none\"", "budget 5 /u:1");
    check("budget = 5", "budget = 2.50", "budget 2.50 /p:1");
    check("budget = \"none\"", "budget = 7", "budget 7 /p:1");
    check("", "budget = 500", "budget 500 /p:1");
    check("time_limit = '2h'", "time_limit = '150m'", "time_limit 2h /u:1");
    check("time_limit = '2h'", "time_limit = 90", "time_limit 90 /p:1");
    check("max_attempts = 5", "max_attempts = 900", "max_attempts 5 /u:1");
    check("max_attempts = 5", "max_attempts = 2", "max_attempts 2 /p:1");
    check("outage_limit = 'none'", "outage_limit = '9h'", "outage_limit 9h /p:1");
    // The default counts like a value of the user.
    check("", "outage_limit = 'none'", "");
    check("", "max_attempts = 9000", "");
    check("", "max_attempts = 900", "max_attempts 900 /p:1");
    check("max_tokens = '2M'", "max_tokens = '500k'", "max_tokens 500k /p:1");
    check("max_turns = 10", "max_turns = 20", "max_turns 10 /u:1");
    check("memory_limit = '8G'", "memory_limit = '900M'", "memory_limit 900M /p:1");
    check("deny_tools = ['A', 'B']", "deny_tools = ['C', 'A']", "deny_tools A,B,C /u:1, /p:1");
    check("deny_tools = ['A']", "deny_tools = []", "deny_tools A /u:1, /p:1");
    check("allow_tools = ['Read']", "allow_tools = ['Bash']", "allow_tools Read /u:1");
    check("allow_tools = []", "allow_tools = ['Read']", "allow_tools Read /p:1");
    check("effects_file = '/e'", "effects_file = '/f'", "effects_file /e /u:1");
}

#[test]
fn nearer_of_exclusive_keys_wins() {
    let check = |user, project, environment: &[(&str, &str)], expected: &[&str]| {
        assert_eq!(merge_lines(user, project, environment, None).expect("the layers are valid"), expected);
    };
    check("no_wrap_up = true", "wrap_up_reserve = 60", &[], &["wrap_up_reserve 60 /p:1"]);
    check("wrap_up_reserve = 60", "no_wrap_up = true", &[], &["no_wrap_up true /p:1"]);
    check(
        "wrap_up_reserve = 60",
        "no_wrap_up = false",
        &[],
        &["no_wrap_up  /p:1", "wrap_up_reserve 60 /u:1"],
    );
    check("check = ['true']", "", &[("LONGHAUL_KEEP_GOING", "1")], &["keep_going true LONGHAUL_KEEP_GOING"]);
    for pair in ["quiet = true\nverbose = true", "keep_going = true\ncheck = ['true']"] {
        let failure = merge_lines(pair, "", &[], None).expect_err("they exclude each other");
        assert!(failure.error.contains("/u:1") && failure.error.contains("/u:2"), "{failure:?}");
        assert!(failure.error.contains("exclude each other"), "{failure:?}");
    }
}

#[test]
fn rejects_unknown_profile() {
    let check = |user, project, hint: &str| {
        let failure = merge_lines(user, project, &[], Some("nightly")).expect_err("there is none");
        assert_eq!(failure.error, "--profile: there is no profile `nightly`");
        assert_eq!((failure.hint.as_deref(), failure.exit_code), (Some(hint), 2));
    };
    check("", "", "define one with `[profile.NAME]` in a configuration file");
    check("[profile.day]", "[profile.week]", "there are day, week");
    check("[profile.day]", "[profile.nigthly]", "did you mean nigthly? There are day, nigthly");
}

#[test]
fn validates_variables_like_flags() {
    let check = |name: &str, value: &str, error: &str| {
        let failure = merge_lines("", "", &[(name, value)], None).expect_err("it is rejected");
        assert_eq!((failure.error.as_str(), failure.exit_code), (error, 2));
    };
    check("LONGHAUL_KEEP_GOING", "yes", "cannot read LONGHAUL_KEEP_GOING: `yes` is neither 1 nor 0");
    check(
        "LONGHAUL_BUDGET",
        "lots",
        "cannot read LONGHAUL_BUDGET: `lots`: expected an amount in dollars, like 10 or 2.50",
    );
}
