//! How one attempt's agent was called: `attempts/NNN/argv.json`. Values of environment variables
//! are never in it.

use crate::OsText;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The call of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Argv {
    /// The program as it was called.
    pub program: OsText,
    /// Its arguments, without the program.
    pub args: Vec<OsText>,
    /// Where it was started.
    pub cwd: OsText,
    /// What was changed in its environment.
    pub env: EnvNames,
}

/// Names of environment variables. There is no way to put a value in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnvNames {
    /// Those that are set for the agent.
    set: BTreeSet<String>,
    /// Those that are withheld from it.
    removed: BTreeSet<String>,
    /// Those that it needs to reach its API, its account and its configuration, as far as they were set.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    needed: BTreeSet<String>,
}

impl EnvNames {
    /// Variables that are set for the agent and variables that are withheld from it. What comes
    /// after a `=` is a value and is cut off.
    pub fn new<'a>(
        set: impl IntoIterator<Item = &'a str>,
        removed: impl IntoIterator<Item = &'a str>,
    ) -> EnvNames {
        EnvNames { set: names(set), removed: names(removed), needed: BTreeSet::new() }
    }

    /// The same with these variables as those that the agent needs.
    #[must_use]
    pub fn with_needed<'a>(self, needed: impl IntoIterator<Item = &'a str>) -> EnvNames {
        EnvNames { needed: names(needed), ..self }
    }

    /// The variables that are set.
    pub fn set(&self) -> impl Iterator<Item = &str> {
        self.set.iter().map(String::as_str)
    }

    /// The variables that the agent needs.
    pub fn needed(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().map(String::as_str)
    }

    /// The variables that are withheld.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.removed.iter().map(String::as_str)
    }
}

fn names<'a>(words: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    words.into_iter().filter_map(|word| word.split('=').next()).map(str::to_owned).collect()
}
