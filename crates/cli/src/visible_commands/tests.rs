//! The flags of all commands as data, for the packages of other languages. `UPDATE_EXPECT=1` writes the file.

use super::tree;
use crate::args::Cli;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command, CommandFactory};
use expect_test::expect_file;
use longhaul_core::{Span, Usd};
use serde_json::{Value, json};
use std::any::TypeId;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

/// The commands that the packages call.
const COMMANDS: &[&[&str]] = &[
    &["run"],
    &["resume"],
    &["recover"],
    &["cancel"],
    &["attach"],
    &["loop"],
    &["status"],
    &["runs"],
    &["cost"],
    &["show"],
    &["why"],
    &["gsd", "new-project"],
    &["gsd", "plan-phase"],
    &["gsd", "execute-phase"],
    &["gsd", "status"],
    &["gsd", "projects", "add"],
    &["gsd", "projects", "list"],
    &["gsd", "projects", "remove"],
];

/// The packages generate the options of their functions from this file, so a new flag needs no other edit.
#[test]
fn packages_know_each_flag() {
    let mut root = tree(&Cli::command());
    root.build();
    let commands: Vec<String> = COMMANDS.iter().map(|words| describe(&root, words)).collect();
    expect_file!["../../../../packages/flags.json"].assert_eq(&format!("{{\n{}\n}}\n", commands.join(",\n")));
}

/// Describes a command, with one line for each flag.
fn describe(root: &Command, words: &[&str]) -> String {
    let find = |command: &Command, word: &&str| command.find_subcommand(word).cloned().expect("a command");
    let command = words.iter().fold(root.clone(), |command, word| find(&command, word));
    let line = |arg: &Arg| Some(format!("    {}: {}", json!(arg.get_long()?), flag(arg)?));
    let flags: Vec<String> = command.get_arguments().filter_map(line).collect();
    let agent_args = command.get_arguments().any(Arg::is_last_set);
    let flags = flags.join(",\n");
    format!("  {}: {{ \"agent_args\": {agent_args}, \"flags\": {{\n{flags}\n  }} }}", json!(words.join(" ")))
}

/// Describes a flag, or returns `None` for the flags that every command line has.
fn flag(arg: &Arg) -> Option<Value> {
    let (kind, is_list) = match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count => ("switch", false),
        ArgAction::Set => (value_kind(arg), false),
        ArgAction::Append => (value_kind(arg), true),
        _ => return None,
    };
    assert!(kind == "number" || value_name(arg).as_deref() != Some("N"), "{arg} is not a number");
    let choices = if kind == "choice" { arg.get_possible_values() } else { Vec::new() };
    let choices: Vec<&str> = choices.iter().map(|value| value.get_name()).collect();
    let may_lack_value = kind != "switch" && arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    let mut flag = json!({ "about": arg.get_help().map(ToString::to_string), "kind": kind });
    let mut set = |key: &str, value: Value, is_set: bool| {
        if is_set {
            flag[key] = value;
        }
    };
    set("list", true.into(), is_list);
    set("optional_value", true.into(), may_lack_value);
    set("key_value", true.into(), is_list && value_name(arg).as_deref() == Some("KEY=VALUE"));
    set("choices", choices.clone().into(), !choices.is_empty());
    Some(flag)
}

fn value_name(arg: &Arg) -> Option<String> {
    arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string)
}

/// Returns the kind of the values of a flag. A number may also be given as text, such as `2M` or `none`.
fn value_kind(arg: &Arg) -> &'static str {
    let parser = arg.get_value_parser();
    if is::<Span>(parser) {
        "duration"
    } else if is::<PathBuf>(parser) {
        "path"
    } else if is::<u64>(parser)
        || is::<u32>(parser)
        || is::<u8>(parser)
        || is::<f64>(parser)
        || is::<NonZeroU32>(parser)
        || is::<NonZeroU64>(parser)
        || is::<Usd>(parser)
    {
        "number"
    } else if arg.get_possible_values().is_empty() {
        "text"
    } else {
        "choice"
    }
}

fn is<T: 'static>(parser: &ValueParser) -> bool {
    parser.type_id() == TypeId::of::<T>()
}
