//! The flags of all commands as data, for the packages of other languages. `UPDATE_EXPECT=1` writes the file.

use super::tree;
use crate::args::Cli;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command, CommandFactory};
use expect_test::expect_file;
use longhaul_core::{Span, Usd};
use serde_json::{Map, Value, json};
use std::any::TypeId;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The packages generate the options of their functions from this file, so a new flag needs no other edit.
#[test]
fn packages_know_each_flag() {
    let mut root = tree(&Cli::command());
    root.build();
    let mut commands = Map::new();
    collect(&root, "", &mut commands);
    expect_file!["../../../../packages/flags.json"].assert_eq(&format!("{:#}\n", Value::Object(commands)));
}

/// Adds each command that is not a group, under its words: `gsd plan-phase`.
fn collect(command: &Command, words: &str, commands: &mut Map<String, Value>) {
    for sub in command.get_subcommands() {
        let words = format!("{words} {}", sub.get_name());
        collect(sub, &words, commands);
        if sub.has_subcommands() && sub.is_subcommand_required_set() {
            continue;
        }
        let flags = sub.get_arguments().filter_map(|arg| Some((arg.get_long()?.to_owned(), flag(arg)?)));
        let about = sub.get_about().map(ToString::to_string);
        let flags: Map<String, Value> = flags.collect();
        let agent_args = sub.get_arguments().any(Arg::is_last_set);
        let value = json!({ "about": about, "flags": flags, "agent_args": agent_args });
        commands.insert(words.trim_start().to_owned(), value);
    }
}

/// Describes a flag, or returns `None` for the flags that every command line has.
fn flag(arg: &Arg) -> Option<Value> {
    let (kind, is_list) = match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count => ("switch", false),
        ArgAction::Set => (value_kind(arg), false),
        ArgAction::Append => (value_kind(arg), true),
        _ => return None,
    };
    let choices = if kind == "choice" { arg.get_possible_values() } else { Vec::new() };
    let choices: Vec<&str> = choices.iter().map(|value| value.get_name()).collect();
    let may_lack_value = kind != "switch" && arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    Some(json!({
        "about": arg.get_help().map(ToString::to_string),
        "kind": kind,
        "choices": choices,
        "list": is_list,
        "optional_value": may_lack_value,
        "value_name": (kind != "switch").then(|| value_name(arg)),
    }))
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
