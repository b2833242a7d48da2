//! What a curator may do to a playbook.

use crate::PointId;
use serde::{Deserialize, Serialize};

/// One change to a playbook, in the curator's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Operation {
    /// A new point.
    #[serde(rename = "ADD")]
    Add {
        /// What it says.
        text: String,
        /// The title of its section.
        #[serde(default)]
        section: Option<String>,
    },
    /// Another text for a point; its name and its counters stay.
    #[serde(rename = "UPDATE")]
    Update {
        /// The point.
        target_id: PointId,
        /// What it says from now on.
        text: String,
    },
    /// A point goes.
    #[serde(rename = "DELETE")]
    Delete {
        /// The point.
        target_id: PointId,
        /// Why.
        #[serde(default)]
        reason: String,
    },
    /// One point in the place of several; its counters are their sums.
    #[serde(rename = "MERGE")]
    Merge {
        /// The points.
        source_ids: Vec<PointId>,
        /// What the new one says.
        merged_text: String,
        /// The title of its section; without one, that of the first of them.
        #[serde(default)]
        section: Option<String>,
    },
}
