//! Records how one attempt's agent was started: `attempts/NNN/argv.json`. The file never holds values of
//! environment variables.

use crate::OsText;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The command line and environment of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Argv {
    /// Program, as it was called.
    pub program: OsText,
    /// Arguments, without the program.
    pub args: Vec<OsText>,
    /// Working directory.
    pub cwd: OsText,
    /// Changes to the environment.
    pub env: EnvNames,
}

/// Names of environment variables. The type cannot hold a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnvNames {
    /// Variables set for the agent.
    set: BTreeSet<String>,
    /// Variables withheld from the agent.
    removed: BTreeSet<String>,
    /// Variables that the agent needs to reach its API, its account and its configuration, if they were set.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    needed: BTreeSet<String>,
}

impl EnvNames {
    /// Creates the names of variables that are set for the agent and of those withheld from it. A `=` and
    /// everything after it is a value and is cut off.
    pub fn new<'a>(
        set: impl IntoIterator<Item = &'a str>,
        removed: impl IntoIterator<Item = &'a str>,
    ) -> EnvNames {
        EnvNames { set: names(set), removed: names(removed), needed: BTreeSet::new() }
    }

    /// Returns the same names with `needed` as the variables that the agent needs.
    #[must_use]
    pub fn with_needed<'a>(self, needed: impl IntoIterator<Item = &'a str>) -> EnvNames {
        EnvNames { needed: names(needed), ..self }
    }

    /// Returns the variables that are set.
    pub fn set(&self) -> impl Iterator<Item = &str> {
        self.set.iter().map(String::as_str)
    }

    /// Returns the variables that the agent needs.
    pub fn needed(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().map(String::as_str)
    }

    /// Returns the variables that are withheld.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.removed.iter().map(String::as_str)
    }
}

fn names<'a>(variables: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    variables.into_iter().filter_map(|variable| variable.split('=').next()).map(str::to_owned).collect()
}
