//! What a curator may do to a playbook.

use crate::PointId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

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

/// What a curator said that is no operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{description}: {reason}")]
pub struct NotAnOperation {
    /// The kind that it says it is.
    pub description: String,
    /// Why it is none.
    pub reason: String,
}

impl Operation {
    /// The operation that a curator wrote. Words that it may leave out, and words of another kind where it may, are taken as
    /// left out.
    ///
    /// # Errors
    /// [`NotAnOperation`]: a curator is a model and may say anything.
    pub fn parse(written: &Value) -> Result<Operation, NotAnOperation> {
        let kind = written.get("type").and_then(Value::as_str).unwrap_or_default();
        let not = |why: &str| NotAnOperation {
            description: if kind.is_empty() { "operation".to_owned() } else { kind.to_owned() },
            reason: why.to_owned(),
        };
        let optional = |field: &str| written.get(field).and_then(Value::as_str).map(str::to_owned);
        let needed = |field: &str| {
            optional(field)
                .filter(|text| !text.trim().is_empty())
                .ok_or_else(|| not(&format!("`{field}` is empty or not there")))
        };
        let section = || optional("section").filter(|title| !title.trim().is_empty());
        match kind {
            "ADD" => Ok(Operation::Add { text: needed("text")?, section: section() }),
            "UPDATE" => {
                Ok(Operation::Update { target_id: needed("target_id")?.into(), text: needed("text")? })
            }
            "DELETE" => Ok(Operation::Delete {
                target_id: needed("target_id")?.into(),
                reason: optional("reason").unwrap_or_default(),
            }),
            "MERGE" => {
                let ids = written.get("source_ids").and_then(Value::as_array);
                let ids = ids.ok_or_else(|| not("`source_ids` is no list"))?;
                // Something that is no text is a name that nobody has.
                let name = |id: &Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned).into();
                let source_ids = ids.iter().map(name).collect();
                Ok(Operation::Merge { source_ids, merged_text: needed("merged_text")?, section: section() })
            }
            "" if !written.is_object() => Err(not("it is no object")),
            "" => Err(not("it has no `type`")),
            _ => Err(not("there is no such operation")),
        }
    }

    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Operation::Add { .. } => "ADD",
            Operation::Update { .. } => "UPDATE",
            Operation::Delete { .. } => "DELETE",
            Operation::Merge { .. } => "MERGE",
        }
    }
}
