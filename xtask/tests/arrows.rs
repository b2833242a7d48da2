//! Checks the dependencies between crates. `ARCHITECTURE.md` shows the allowed ones.

#[path = "arrows/modules.rs"]
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Every crate with the workspace crates that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("longhaul-core", &[]),
    ("longhaul-agent", &["longhaul-core"]),
    ("longhaul-store", &["longhaul-core"]),
    ("longhaul", &["longhaul-agent", "longhaul-core", "longhaul-store", "longhaul-workflow"]),
    ("longhaul-drill", &["longhaul-agent", "longhaul-core"]),
    ("longhaul-playbook", &["longhaul-agent", "longhaul-core", "longhaul-store"]),
    ("longhaul-sim", &["longhaul-agent", "longhaul-core"]),
    ("longhaul-workflow", &["longhaul-core"]),
    ("longhaul-gsd", &["longhaul-core", "longhaul-workflow"]),
    ("longhaul-telemetry", &["longhaul", "longhaul-agent", "longhaul-core", "longhaul-store"]),
    (
        "longhaul-cli",
        &[
            "longhaul",
            "longhaul-agent",
            "longhaul-core",
            "longhaul-drill",
            "longhaul-gsd",
            "longhaul-playbook",
            "longhaul-sim",
            "longhaul-store",
            "longhaul-telemetry",
            "longhaul-workflow",
        ],
    ),
    ("xtask", &["longhaul-agent", "longhaul-core", "longhaul-drill"]),
];

/// The pure crates may never depend on [`IMPURE`] crates, directly or not: runtimes, clocks, randomness, the
/// network.
const PURE: &[&str] = &["longhaul-core", "longhaul-agent"];
const IMPURE: &[&str] =
    &["tokio", "rustix", "libc", "rand", "getrandom", "chrono", "time", "reqwest", "ureq"];

#[test]
fn crates_depend_only_along_the_arrows() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        ARROWS.iter().map(|(name, dependencies)| (*name, dependencies.iter().copied().collect())).collect();
    let packages = workspace_packages();
    let names: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    assert_eq!(names, allowed.keys().copied().collect(), "ARROWS lists every crate");
    for (name, dependencies) in &packages {
        for dependency in dependencies.iter().filter(|dependency| names.contains(dependency.as_str())) {
            assert!(
                allowed[name.as_str()].contains(dependency.as_str()),
                "{name} depends on {dependency}, against the arrows of ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn pure_crates_have_no_impure_dependency() {
    for name in PURE {
        let format = ["--edges", "normal", "--prefix", "none", "--format", "{p} {f}"];
        let tree = cargo(&[&["tree", "--package", name][..], &format].concat());
        for impure in IMPURE {
            let found = tree.lines().any(|line| line.split(' ').next() == Some(impure));
            assert!(!found, "{name} depends on {impure}");
        }
        // Without this feature, jiff has no clock and no time zone of the machine.
        let has_clock = |line: &str| line.starts_with("jiff ") && line.contains("std");
        assert!(!tree.lines().any(has_clock), "{name} depends on the feature `std` of jiff");
    }
}

/// Sources that may name the modules of Claude Code: its dialect, the registration, and the scripted agent,
/// which imitates it.
const KNOWS_CLAUDE: [&str; 4] =
    ["crates/agent/src/claude", "crates/agent/src/dialect.rs", "crates/agent/src/lib.rs", "crates/drill"];

#[test]
fn only_its_dialect_names_the_modules_of_claude() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let output = Command::new("git")
        .args(["grep", "-l", "-E", "\\bclaude::", "--", "crates", "xtask"])
        .current_dir(root)
        .output();
    let files = String::from_utf8(output.expect("git runs").stdout).expect("paths are UTF-8");
    let is_test = |file: &str| file.contains("/tests/") || file.ends_with("/tests.rs");
    let names_claude: Vec<&str> = files
        .lines()
        .filter(|file| file.ends_with(".rs") && !is_test(file))
        .filter(|file| !KNOWS_CLAUDE.iter().any(|known| file.starts_with(known)))
        .collect();
    assert!(files.contains(KNOWS_CLAUDE[0]), "the search works");
    assert_eq!(names_claude, Vec::<&str>::new(), "ask the dialect instead");
}

/// Returns the workspace's packages with their dependencies outside tests.
fn workspace_packages() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("a package lists dependencies");
            let normal = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
            let names = normal.filter_map(|dependency| dependency["name"].as_str()).map(str::to_owned);
            (package["name"].as_str().expect("a package has a name").to_owned(), names.collect())
        })
        .collect()
}

fn cargo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}
