//! Checks the documents: the commands of the README run, and the flags, files and commands in them exist.

use crate::harness::{LONGHAUL, Stage};
use longhaul_core::{Fault, Limit, OutageBound, Outcome, OutcomeKind, Preset, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const ARCHITECTURE: &str = include_str!("../../../../ARCHITECTURE.md");
const README: &str = include_str!("../../../../README.md");
const CHANGELOG: &str = include_str!("../../../../CHANGELOG.md");
const CONTRIBUTING: &str = include_str!("../../../../CONTRIBUTING.md");
const RUNNING: &str = include_str!("../../../../docs/running.md");
const FAULTS: &str = include_str!("../../../../docs/faults.md");
/// Pages that name only flags of Longhaul. The other pages also name flags of the agent.
const PAGES: &[(&str, &str)] = &[
    ("docs/limits.md", include_str!("../../../../docs/limits.md")),
    ("docs/running.md", RUNNING),
    ("docs/faults.md", FAULTS),
    ("docs/recovery.md", include_str!("../../../../docs/recovery.md")),
    ("docs/output.md", include_str!("../../../../docs/output.md")),
    ("docs/report.md", include_str!("../../../../docs/report.md")),
    ("docs/run-directory.md", include_str!("../../../../docs/run-directory.md")),
    ("docs/ledger.md", include_str!("../../../../docs/ledger.md")),
    ("docs/inspecting.md", include_str!("../../../../docs/inspecting.md")),
    ("docs/configuration.md", include_str!("../../../../docs/configuration.md")),
    ("docs/playbook.md", include_str!("../../../../docs/playbook.md")),
    ("docs/doctor.md", include_str!("../../../../docs/doctor.md")),
    ("docs/events.md", include_str!("../../../../docs/events.md")),
    ("docs/workflows.md", include_str!("../../../../docs/workflows.md")),
    ("docs/schemas/README.md", include_str!("../../../../docs/schemas/README.md")),
];
/// Source file that dispatches the developer commands.
const XTASK: &str = include_str!("../../../../xtask/src/main.rs");

/// Returns the lines of the README from `marker` to `end`.
fn block<'a>(marker: &str, end: &str) -> Vec<&'a str> {
    let rest = README.split(marker).nth(1).expect("the README has the block");
    rest.split(end).next().expect("the text has a first part").lines().collect()
}

/// Returns the README's two commands without their comments.
fn commands() -> Vec<&'static str> {
    let section = block("## Quick start\n", "\n## ").into_iter();
    let lines = section.skip_while(|line| *line != "```sh").skip(1).take_while(|line| *line != "```");
    lines
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .collect()
}

/// Returns the labels of a scorecard.
fn labels<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let label = |line: &'a str| line.strip_prefix("  ")?.split("  ").next().filter(|label| !label.is_empty());
    lines.filter_map(label).collect()
}

#[test]
fn first_command_of_the_readme_prints_the_shown_scorecard() {
    assert_eq!(commands(), ["cargo run --release -- drill", "cargo xtask test"]);
    let args = commands()[0].split(' ').skip(1);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // A terminal receives text.
    cargo.args(args).args(["--output-format", "text"]).current_dir(root()).env("CARGO_TARGET_DIR", target());
    let output = cargo.output().expect("cargo can be started");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    let shown = block("<!-- drill -->", "<!-- /drill -->");
    let (shown, printed) = (labels(shown.into_iter()), labels(stdout.lines()));
    assert!(printed.contains(&"verdict"), "{stdout}");
    assert_eq!(shown, printed, "the README shows another scorecard");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is two directories deep")
}

/// Returns the target directory of the binary under test, so that the nested build reuses its artifacts.
fn target() -> PathBuf {
    let folder = Path::new(LONGHAUL).ancestors().nth(2).expect("the binary is in target/<profile>");
    folder.to_owned()
}

fn help(args: &[&str]) -> String {
    let output = Stage::new().longhaul(args).output();
    assert_eq!(output.code, 0, "{output:?}");
    output.stdout
}

/// Returns the words of a text that start with two dashes.
fn flags(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && !"-_".contains(c));
    words
        .filter(|word| word.strip_prefix("--").is_some_and(|name| name.starts_with(char::is_alphabetic)))
        .collect()
}

#[test]
fn flags_in_documents_exist() {
    let run = help(&["run", "--help"]);
    let commands = [
        "drill", "recover", "resume", "rerun", "research", "runs", "status", "cost", "gc", "show", "why",
        "logs", "diff", "report", "attach", "cancel", "handoff", "export", "import", "doctor", "schema",
        "loop", "hint", "man",
    ]
    .map(|command| help(&[command, "--help"]));
    let config = ["show", "init", "trust"].map(|command| help(&["config", command, "--help"]));
    let playbook = ["install", "uninstall", "learn", "bootstrap", "inject", "undo", "extract"]
        .map(|command| help(&["playbook", command, "--help"]));
    let pages = commands.iter().chain(&config).chain(&playbook).chain([&run]);
    let existing: BTreeSet<&str> = pages.flat_map(|help| flags(help)).collect();
    // Flags of cargo, the agent, curl and git.
    let foreign = [
        "--release",
        "--path",
        "--open",
        "--example",
        "--add-dir",
        "--allowed",
        "--max-budget-usd",
        "--json",
        "--git",
    ];
    for (name, text) in [("README", README)].iter().chain(PAGES) {
        for flag in flags(text).into_iter().filter(|flag| !foreign.contains(flag)) {
            assert!(existing.contains(flag), "{name} names {flag}");
        }
    }
    for example in [README, RUNNING]
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.starts_with("longhaul run "))
    {
        let command = example.split(" -- ").next().unwrap_or_default();
        let command = command.split(" #").next().unwrap_or_default();
        let used: BTreeSet<&str> =
            flags(command).into_iter().filter(|flag| !foreign.contains(flag)).collect();
        assert!(used.is_subset(&flags(&run).into_iter().collect()), "{example}");
    }
}

/// Splits a command into words, without its comment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut started) = (vec![String::new()], None, false);
    for c in line.split(" #").next().unwrap_or_default().trim().chars() {
        match (quote, c) {
            (None, '"' | '\'') => (quote, started) = (Some(c), true),
            (Some(open), _) if open == c => quote = None,
            (None, ' ') if started => {
                words.push(String::new());
                started = false;
            }
            (None, ' ') => {}
            (_, _) => {
                words.last_mut().expect("there is a word").push(c);
                started = true;
            }
        }
    }
    words
}

#[test]
fn run_examples_in_documents_are_valid() {
    let stage = Stage::new();
    stage.file("task.md", "Fix the tests.");
    let agent = stage.agent();
    let pages = [README, RUNNING, PAGES[0].1];
    let examples =
        pages.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("longhaul run "));
    // Examples with a session are skipped, because the session does not exist.
    for example in examples.filter(|line| !line.contains("--resume ") && !line.contains("--detach")) {
        let args = words(example).split_off(2);
        let args: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--dry-run").collect();
        let output = stage.run(&agent, &["--dry-run"]).args(args).output();
        assert_eq!(output.code, 0, "{example}: {output:?}");
    }
}

#[test]
fn documented_durations_match_the_policy() {
    let policy = Preset::Default.policy();
    let minutes = |span: Option<Span>| span.expect("the limit is set").millis() / 60_000;
    let OutageBound::Time(outage) = policy.outage_bound else { panic!("an outage is bounded by time") };
    let (hours, stall) = (minutes(outage) / 60, minutes(policy.stall_timeout));
    for phrase in [
        format!("(`--outage-limit`, {hours} h)"),
        format!("After {stall} minutes without a byte"),
        format!("for {} minutes (`--progress-timeout`)", minutes(policy.progress_timeout)),
    ] {
        assert!(FAULTS.contains(&phrase), "{phrase}");
    }
    assert_eq!(policy.stop_grace, Span::from_secs(10));
    for phrase in [
        format!("bounds one outage: {hours} h from its first failure"),
        "interrupt within ten seconds, it is stopped".to_owned(),
    ] {
        assert!(PAGES[0].1.contains(&phrase), "{phrase}");
    }
}

#[test]
fn every_limit_is_documented() {
    let (_, table) = PAGES[0].1.split_once("| flag |").expect("there is a table");
    for limit in Limit::ALL {
        let flag = format!("| `--{}", limit_flag(*limit));
        let row = table.lines().find(|line| line.starts_with(&flag)).unwrap_or_else(|| panic!("no {limit}"));
        let kind = limit.outcome();
        let code = Outcome::from_limit(*limit, None).exit_code();
        assert!(row.ends_with(&format!("`{kind}`, {code} |")), "{row}");
    }
}

fn limit_flag(limit: Limit) -> &'static str {
    match limit {
        Limit::Budget => "budget",
        Limit::Tokens => "max-tokens",
        Limit::Time => "time-limit",
        Limit::Wall => "wall-limit",
        Limit::Turns => "max-turns",
        Limit::Attempts => "max-attempts",
    }
}

#[test]
fn links_in_documents_have_targets() {
    let root = root();
    let folder = fs::read_dir(root.join("docs")).expect("there are pages");
    let pages = folder.map(|entry| entry.expect("reading succeeds").path());
    let root_pages =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| root.join(name));
    let texts = pages.filter(|page| page.extension().is_some_and(|extension| extension == "md"));
    for page in texts.chain(root_pages) {
        let text = fs::read_to_string(&page).expect("a page can be read");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let target = page.parent().expect("the path has a parent").join(link);
            assert!(link.contains("://") || target.exists(), "{} links to {link}", page.display());
        }
    }
}

#[test]
fn paths_in_the_architecture_exist() {
    let code = ARCHITECTURE.split('`').skip(1).step_by(2);
    let paths: Vec<&str> = code.filter(|code| code.contains('/') && !code.contains(' ')).collect();
    assert!(paths.len() > 10, "{paths:?}");
    for path in paths {
        assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}");
    }
    assert!(ARCHITECTURE.split_whitespace().count() <= 1_200, "ARCHITECTURE.md is too long");
}

#[test]
fn every_preset_is_documented_and_in_the_help() {
    let section = RUNNING.split("## Policies").nth(1).expect("there is a section");
    let help = help(&["run", "--help"]);
    for preset in Preset::ALL {
        assert!(section.contains(&format!("`{preset}`")), "{preset} is not documented");
        assert!(help.contains(preset.as_str()), "the help has no {preset}");
    }
}

#[test]
fn documented_exit_codes_match_outcomes() {
    let (_, text) = README.split_once("| outcome | exit code |").expect("there is a table");
    let listed: BTreeMap<&str, u8> = text
        .lines()
        .filter_map(|line| {
            let (word, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((word, rest.split_once(" |")?.0.parse().ok()?))
        })
        .collect();
    let code = |kind: OutcomeKind| Outcome { kind, ..Outcome::DONE }.exit_code();
    for (word, listed) in &listed {
        let kind = OutcomeKind::ALL.iter().copied().find(|kind| kind.as_str() == *word);
        assert_eq!(kind.map(code), Some(*listed), "{word}");
    }
    for kind in OutcomeKind::ALL.iter().copied().filter(|kind| *kind != OutcomeKind::Cancelled) {
        assert!(listed.contains_key(kind.as_str()), "the README has no {kind}");
    }
    for (source, name) in [
        (longhaul_core::CancelSource::Person, "Ctrl-C exits"),
        (longhaul_core::CancelSource::Sigterm, "SIGTERM"),
        (longhaul_core::CancelSource::Sighup, "SIGHUP"),
    ] {
        assert!(text.contains(&format!("{name} with {}", source.exit_code())), "{name}");
    }
}

#[test]
fn every_outcome_is_documented_with_its_code() {
    let table = FAULTS.split("## Outcomes and exit codes").nth(1).expect("there is a table");
    for kind in OutcomeKind::ALL.iter().copied().filter(|kind| *kind != OutcomeKind::Cancelled) {
        let code = Outcome { kind, ..Outcome::DONE }.exit_code();
        assert!(table.contains(&format!("| `{kind}` | {code} |")), "no {kind}");
    }
}

#[test]
fn every_fault_is_documented_once() {
    let table = FAULTS.split("## Outcomes and exit codes").next();
    let rows = table.expect("there is a table").lines().filter(|line| line.starts_with("| `"));
    let mut listed: Vec<&str> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    listed.sort_unstable();
    let mut expected: Vec<&str> = Fault::ALL.iter().map(|fault| fault.as_str()).collect();
    expected.sort_unstable();
    assert_eq!(listed, expected);
}

/// Returns the words after `program` in the documents.
fn words_after(program: &str) -> BTreeSet<&'static str> {
    let documents = [README, CHANGELOG, CONTRIBUTING];
    let mentions = documents.iter().flat_map(|text| text.split(program).skip(1));
    mentions
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_lowercase()).next())
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn commands_in_documents_exist() {
    let help = help(&["--help"]);
    let commands = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let existing: BTreeSet<&str> = commands.chain(["help"]).collect();
    for word in words_after("`longhaul ").union(&words_after("\nlonghaul ")) {
        assert!(existing.contains(word), "no command `longhaul {word}` in {existing:?}");
    }
    for word in words_after("cargo xtask ").into_iter().filter(|word| *word != "help") {
        let variant = format!("\n    {}{}", word[..1].to_uppercase(), &word[1..]);
        assert!(XTASK.contains(&variant), "no command `cargo xtask {word}`");
    }
}
