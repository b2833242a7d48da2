//! Writes the text of a new configuration file: every key with its purpose and default, commented out.

use super::FileOwner;
use super::format_value;
use super::keys::{Key, Keys, TABLES};
use super::trust::ProjectTrust;
use crate::args::DURATIONS;

// A comfortable width for reading in a terminal.
const WIDTH: usize = 100;

const ABOUT_USER: &str = "Your configuration of Longhaul. It applies to every run that you start. A project's longhaul.toml overrides \
                          it, the environment (LONGHAUL_ and the key, in capitals) overrides both, and a flag overrides \
                          everything. Uncomment what you want to set.";
const ABOUT_PROJECT: &str = "The configuration of Longhaul for this project. It overrides your own file. The environment \
                             (LONGHAUL_ and the key, in capitals) overrides both, and a flag overrides everything. \
                             Uncomment what you want to set.";
const PROFILES: &str =
    "Keys below [profile.NAME] apply with `--profile NAME`, or with `default_profile = \"NAME\"` at the top.";

pub fn text(keys: &Keys<'_>, owner: FileOwner) -> String {
    let about = match owner {
        FileOwner::User => ABOUT_USER,
        FileOwner::Project => ABOUT_PROJECT,
    };
    let mut out = comment(about) + &comment(DURATIONS);
    let (settable, user_only): (Vec<&Key<'_>>, Vec<&Key<'_>>) = keys
        .plain()
        .partition(|key| owner == FileOwner::User || !matches!(key.trust, ProjectTrust::UserOnly(_)));
    let mut heading = "";
    for key in settable {
        let key_heading = key.arg.get_help_heading().unwrap_or("The run");
        if key_heading != heading {
            heading = key_heading;
            out += &format!("\n# --- {heading} ---\n");
        }
        out += &entry(keys, owner, key);
    }
    out += &format!("\n{}# [profile.nightly]\n# budget = 20\n", comment(PROFILES));
    if owner == FileOwner::Project {
        let names: Vec<&str> = user_only.iter().map(|key| key.name.as_str()).collect();
        let only = format!(
            "Only your own file can set: {}. `longhaul config path` prints its path.",
            names.join(", ")
        );
        return out + "\n" + &comment(&only);
    }
    for table in TABLES {
        out += &format!("\n# --- longhaul {table} ---\n# [{table}]\n");
        keys.in_table(Some(table)).for_each(|key| out += &entry(keys, owner, key));
    }
    out
}

fn entry(keys: &Keys<'_>, owner: FileOwner, key: &Key<'_>) -> String {
    let value = keys.default(key).unwrap_or_else(|| vec![placeholder(key)]);
    let about = match (owner, key.trust) {
        (FileOwner::Project, ProjectTrust::Trusted(_)) => {
            format!("{}. Each user allows it with `longhaul config trust`", key.about())
        }
        (FileOwner::Project | FileOwner::User, _) => key.about(),
    };
    format!("\n{}# {} = {}\n", comment(&about), key.name, format_value(key.kind, &value))
}

fn placeholder(key: &Key<'_>) -> String {
    let names = key.arg.get_value_names().unwrap_or_default();
    names.first().map_or_else(|| "…".to_owned(), ToString::to_string)
}

fn comment(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.len() + 1 + word.len() > WIDTH {
            lines.push(format!("# {word}"));
        } else {
            *line = format!("{line} {word}");
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use crate::config::file::FileTrust;
    use crate::config::file::Reader;
    use clap::CommandFactory;
    use std::path::Path;

    #[test]
    fn new_file_has_every_key_with_valid_default() {
        let root = Cli::command();
        let keys = Keys::for_command(&root);
        for owner in [FileOwner::User, FileOwner::Project] {
            let text = text(&keys, owner);
            let read = |text: &str| {
                let path = Path::new("/w/longhaul.toml");
                let trust = FileTrust::Trusted;
                Reader { keys: &keys, owner, path, text, home: None, user_file: None, trust }.read()
            };
            assert!(read(&text).is_ok_and(|file| file.plain.is_empty()), "it sets something");
            for key in keys.all().filter(|key| owner == FileOwner::User || key.table.is_none()) {
                let line = text.lines().find_map(|line| line.strip_prefix(&format!("# {} = ", key.name)));
                let is_here = owner == FileOwner::User || !matches!(key.trust, ProjectTrust::UserOnly(_));
                assert_eq!(line.is_some(), is_here, "{}", key.path());
                let (Some(line), Some(_)) = (line, keys.default(key)) else { continue };
                let table = key.table.map(|table| format!("[{table}]\n")).unwrap_or_default();
                let file = read(&format!("{table}{} = {line}\n", key.name));
                assert!(file.is_ok(), "{}: {file:?}", key.path());
            }
        }
    }
}
