//! Configuration from files of the user and the project and from environment variables. The command line
//! overrides it.
//!
//! Every flag has a key, taken from the command tree ([`keys`]). Files are located ([`find`]), read with the
//! line of each key ([`file`]) and merged with the variables ([`layers`], [`loaded`]). The effective values
//! become the defaults of their flags ([`arguments`]), which parse them. A flag and a key therefore never
//! differ in meaning.
//! Nothing here starts a process or writes a file, except [`trusted`].

pub mod arguments;
pub mod file;
pub mod find;
pub mod keys;
pub mod layers;
pub mod loaded;
pub mod template;
#[cfg(test)]
mod tests;
pub mod trust;
pub mod trusted;
pub mod unknown;

use keys::ValueKind;
use std::fmt;
use std::path::PathBuf;

/// The owner of a file. A project's file may be from an untrusted source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOwner {
    User,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Variable(String),
    /// A line of a file, in one of its profiles or outside of them.
    File {
        owner: FileOwner,
        path: PathBuf,
        line: usize,
        profile: Option<String>,
    },
}

impl Origin {
    /// Returns the layer of the configuration. A higher layer overrides a lower one.
    pub fn layer(&self) -> u8 {
        match self {
            Origin::File { owner: FileOwner::User, profile: None, .. } => 0,
            Origin::File { owner: FileOwner::User, profile: Some(_), .. } => 1,
            Origin::File { owner: FileOwner::Project, profile: None, .. } => 2,
            Origin::File { owner: FileOwner::Project, profile: Some(_), .. } => 3,
            Origin::Variable(_) => 4,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variable(name) => out.write_str(name),
            Origin::File { path, line, profile, .. } => {
                write!(out, "{}:{line}", path.display())?;
                profile.as_ref().map_or(Ok(()), |profile| write!(out, " (profile {profile})"))
            }
        }
    }
}

pub fn format_value(kind: ValueKind, values: &[String]) -> String {
    let quoted = |text: &String| serde_json::Value::from(text.as_str()).to_string();
    let first = values.first().map(String::as_str);
    match kind {
        ValueKind::Switch => first.is_some().to_string(),
        ValueKind::List => format!("[{}]", values.iter().map(quoted).collect::<Vec<_>>().join(", ")),
        ValueKind::Count => first.unwrap_or("0").to_owned(),
        ValueKind::Amount if first.is_some_and(|number| number.parse::<f64>().is_ok()) => {
            first.unwrap_or_default().to_owned()
        }
        ValueKind::Amount | ValueKind::Text | ValueKind::Path => {
            values.first().map(quoted).unwrap_or_default()
        }
    }
}
