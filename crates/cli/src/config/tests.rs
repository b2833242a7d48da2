//! Checks that the table of keys in `docs/configuration.md` matches the command tree and that its example is
//! valid.

use super::FileOwner;
use super::file::FileTrust;
use super::file::Reader;
use super::keys::{Key, Keys, ValueKind};
use super::trust::ProjectTrust;
use crate::args::Cli;
use clap::CommandFactory;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/configuration.md");

fn row(key: &Key<'_>) -> String {
    let value = match key.kind {
        ValueKind::Switch => "`true`, `false`",
        ValueKind::Count => "whole number",
        ValueKind::Amount => "number or text",
        ValueKind::Text => "text",
        ValueKind::Path => "path",
        ValueKind::List => "list of texts",
    };
    let in_project = match key.trust {
        ProjectTrust::Any => "yes".to_owned(),
        ProjectTrust::OnlyLower => "only lower than yours".to_owned(),
        ProjectTrust::OnlyAdd => "adds to yours".to_owned(),
        ProjectTrust::OnlyIfUnset => "only where you have none".to_owned(),
        ProjectTrust::Trusted(reason) => format!("after `longhaul config trust`: {reason}"),
        ProjectTrust::UserOnly(reason) if key.table.is_none() => format!("no: {reason}"),
        ProjectTrust::UserOnly(_) => "no".to_owned(),
    };
    format!("| `{}` | {value} | {in_project} |", key.path())
}

#[test]
fn example_is_valid() {
    let (_, example) = PAGE.split_once("```toml\n").expect("there is an example");
    let text = example.split("```").next().unwrap_or_default();
    let root = Cli::command();
    let (keys, path) = (Keys::for_command(&root), Path::new("/u/config.toml"));
    let reader = Reader {
        keys: &keys,
        owner: FileOwner::User,
        path,
        text,
        home: None,
        user_file: None,
        trust: FileTrust::Trusted,
    };
    let file = reader.read().expect("the example is valid");
    assert!(file.plain.len() > 1 && file.profiles.len() == 1, "{file:?}");
}

#[test]
fn table_of_keys_matches_flags() {
    let rows: Vec<String> = Keys::for_command(&Cli::command()).all().map(row).collect();
    let (_, table) = PAGE.split_once("|---|---|---|\n").expect("there is a table");
    let table: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(table, rows, "write this into docs/configuration.md:\n{}", rows.join("\n"));
}
