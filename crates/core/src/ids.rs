//! Ids of runs and sessions. The random part is passed in: see [`crate::draw_uuid`].

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

// Maximum length of an id or a title. Both fit on one line.
const NAME_BYTES_MAX: usize = 400;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                $name(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.pad(&self.0)
            }
        }
    };
}

id! {
    /// The id of a run: short random letters. Any unique prefix addresses it.
    RunId
}
impl SessionId {
    /// Returns whether an agent accepts this as a session name, an id or a title. It must not look like an
    /// option or a path.
    pub fn is_name(&self) -> bool {
        !self.0.is_empty()
            && self.0.len() <= NAME_BYTES_MAX
            && !self.0.starts_with('-')
            && !self.0.contains(|c: char| c.is_control() || c == '/')
    }

    /// Returns whether this has the form of an id rather than of a title: 36 characters, as a UUID.
    pub fn is_uuid(&self) -> bool {
        let hyphens = [8, 13, 18, 23];
        self.0.len() == 36
            && self.0.bytes().enumerate().all(|(index, byte)| {
                if hyphens.contains(&index) { byte == b'-' } else { byte.is_ascii_hexdigit() }
            })
    }
}

id! {
    /// The id of the agent's own conversation, as the agent names it (a UUID for Claude Code).
    SessionId
}
