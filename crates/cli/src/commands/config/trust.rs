//! `longhaul config trust`: allows a project's file to set what only a trusted file may. It runs nothing.

use super::directory;
use crate::args::{Cli, OutputFormat, TrustArgs};
use crate::config::file::{FileTrust, Reader};
use crate::config::find::{PROJECT_FILE, project_file, text, user_file};
use crate::config::keys::Keys;
use crate::config::trust::ProjectTrust;
use crate::config::{FileOwner, trusted, written};
use crate::failure::Failure;
use crate::{open_home, output};
use clap::CommandFactory;
use serde::Serialize;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

/// A file whose trust changed, as it is printed. Keys are only ever added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigTrust {
    /// The project's file.
    path: PathBuf,
    /// Whether it is trusted now, with this content.
    trusted: bool,
    /// What it sets that needs the trust, by key.
    settings: BTreeMap<String, String>,
}

/// Carries out the command and returns its exit code.
pub fn trust(args: &TrustArgs, format: OutputFormat) -> Result<u8, Failure> {
    let place = directory(args.cwd.as_deref())?;
    let path = project_file(&place).ok_or_else(|| {
        let hint = "name the project's directory with --cwd; `longhaul config init` writes a file";
        Failure::usage(format!("there is no {PROJECT_FILE} in {} or above", place.display()), hint)
    })?;
    let content = text(&path)?;
    let home = open_home::open()?;
    let settings = if args.revoke { BTreeMap::new() } else { settings(&path, &content)? };
    let done = match args.revoke {
        true => trusted::revoke(&home, &path).map(drop),
        false => trusted::trust(&home, &path, &content),
    };
    done.map_err(|error| {
        let hint = "set LONGHAUL_HOME to a directory you can write to";
        Failure::usage(format!("cannot record the trust in {}: {error}", home.path().display()), hint)
    })?;
    output::print_text(&match format {
        OutputFormat::Json | OutputFormat::StreamJson => {
            output::pretty(&ConfigTrust { path, trusted: !args.revoke, settings })
        }
        OutputFormat::Text => {
            let state = if args.revoke { "not trusted" } else { "trusted until it changes" };
            let lines: String = settings.iter().map(|(key, value)| format!("  {key} = {value}\n")).collect();
            format!("{}: {state}\n{lines}", path.display())
        }
    });
    Ok(0)
}

/// What the file sets that needs the trust. A file that is wrong is not trusted.
fn settings(path: &Path, content: &str) -> Result<BTreeMap<String, String>, Failure> {
    let root = Cli::command();
    let (keys, user_file) = (Keys::for_command(&root), user_file(|name| env::var_os(name)));
    let (owner, trust, user_file) = (FileOwner::Project, FileTrust::Trusted, user_file.as_deref());
    let file =
        Reader { keys: &keys, root: &root, owner, path, home: None, user_file, trust }.read(content)?;
    let profiles = file.profiles.iter().flat_map(|(profile, settings)| {
        settings.iter().map(move |setting| (format!("profile.{profile}.{}", setting.key), setting))
    });
    let all = file.plain.iter().map(|setting| (setting.key.clone(), setting)).chain(profiles);
    let needs_trust = all.filter_map(|(name, setting)| {
        let key = keys.find(None, &setting.key)?;
        matches!(key.trust, ProjectTrust::Trusted(_)).then(|| (name, written(key.kind, &setting.values)))
    });
    Ok(needs_trust.collect())
}
