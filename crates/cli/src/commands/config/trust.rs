//! `longhaul config trust`: allows a project's file to set values that only a trusted file may set. It runs
//! nothing.

use super::directory;
use crate::args::{Cli, GlobalArgs, TrustArgs};
use crate::config::file::{FileTrust, Reader};
use crate::config::find::{PROJECT_FILE, project_file, text, user_file};
use crate::config::keys::Keys;
use crate::config::trust::ProjectTrust;
use crate::config::{FileOwner, format_value, trusted};
use crate::failure::{Failure, OrFailure};
use crate::{open_home, output};
use clap::CommandFactory;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A file whose trust changed. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigTrust {
    /// Path of the project's file.
    path: String,
    /// Whether the file is trusted with its present content.
    trusted: bool,
    /// Settings that require trust, by key.
    settings: BTreeMap<String, String>,
}

pub fn trust(global: &GlobalArgs, args: &TrustArgs) -> Result<u8, Failure> {
    let dir = directory(args.path.cwd.as_deref())?;
    let path = project_file(&dir).ok_or_else(|| {
        let hint = "name the project's directory with --cwd; `longhaul config init` writes a file";
        Failure::usage(format!("there is no {PROJECT_FILE} in {} or above", dir.display()), hint)
    })?;
    let content = text(&path)?;
    let home = open_home::open()?;
    let settings = if args.revoke { BTreeMap::new() } else { settings(&path, &content)? };
    let result = match args.revoke {
        true => trusted::revoke(&home, &path).map(drop),
        false => trusted::trust(&home, &path, &content),
    };
    result.or_usage(
        format!("cannot record the trust in {}", home.path().display()),
        "set LONGHAUL_HOME to a directory you can write to",
    )?;
    let changed = ConfigTrust { path: path.display().to_string(), trusted: !args.revoke, settings };
    output::print_output(global, &changed, || {
        let state = if args.revoke { "not trusted" } else { "trusted until it changes" };
        let lines = changed.settings.iter().map(|(key, value)| format!("  {key} = {value}\n"));
        format!("{}: {state}\n{}", changed.path, lines.collect::<String>())
    });
    Ok(0)
}

fn settings(path: &Path, content: &str) -> Result<BTreeMap<String, String>, Failure> {
    let root = Cli::command();
    let (keys, user_file) = (Keys::for_command(&root), user_file());
    let (owner, trust, user_file) = (FileOwner::Project, FileTrust::Trusted, user_file.as_deref());
    let file = Reader { keys: &keys, owner, path, text: content, home: None, user_file, trust }.read()?;
    let profiles = file.profiles.iter().flat_map(|(profile, settings)| {
        settings.iter().map(move |setting| (format!("profile.{profile}.{}", setting.key), setting))
    });
    let all = file.plain.iter().map(|setting| (setting.key.clone(), setting)).chain(profiles);
    let needs_trust = all.filter_map(|(name, setting)| {
        let key = keys.find(None, &setting.key)?;
        matches!(key.trust, ProjectTrust::Trusted(_)).then(|| (name, format_value(key.kind, &setting.values)))
    });
    Ok(needs_trust.collect())
}
