//! The origin of a configured value.

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
