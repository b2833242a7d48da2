//! Parses the operations of a curator.

use super::SkippedChange;
use crate::PointId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One change to a playbook, in the curator's format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Operation {
    /// Adds a point.
    #[serde(rename = "ADD")]
    Add {
        /// Text of the point.
        text: String,
        /// Title of the section.
        #[serde(default)]
        section: Option<String>,
    },
    /// Changes the text of a point. Its id and its counters stay.
    #[serde(rename = "UPDATE")]
    Update {
        /// Id of the point.
        target_id: PointId,
        /// New text.
        text: String,
    },
    /// Deletes a point.
    #[serde(rename = "DELETE")]
    Delete {
        /// Id of the point.
        target_id: PointId,
        /// Reason.
        #[serde(default)]
        reason: String,
    },
    /// Replaces several points with one. Its counters are their sums.
    #[serde(rename = "MERGE")]
    Merge {
        /// Ids of the points.
        source_ids: Vec<PointId>,
        /// Text of the new point.
        merged_text: String,
        /// Title of the section; by default that of the first point.
        #[serde(default)]
        section: Option<String>,
    },
}

impl Operation {
    /// Parses an operation. Optional fields of the wrong type are ignored.
    ///
    /// # Errors
    /// Returns why the value is invalid, because a curator is a model and may write anything.
    pub(super) fn parse(value: &Value) -> Result<Operation, SkippedChange> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        let invalid = |reason: &str| SkippedChange {
            description: if kind.is_empty() { "operation".to_owned() } else { kind.to_owned() },
            reason: reason.to_owned(),
        };
        let optional = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
        let required = |field: &str| {
            optional(field)
                .filter(|text| !text.trim().is_empty())
                .ok_or_else(|| invalid(&format!("`{field}` is empty or missing")))
        };
        let section = || optional("section").filter(|title| !title.trim().is_empty());
        match kind {
            "ADD" => Ok(Operation::Add { text: required("text")?, section: section() }),
            "UPDATE" => {
                Ok(Operation::Update { target_id: required("target_id")?.into(), text: required("text")? })
            }
            "DELETE" => Ok(Operation::Delete {
                target_id: required("target_id")?.into(),
                reason: optional("reason").unwrap_or_default(),
            }),
            "MERGE" => {
                let ids = value.get("source_ids").and_then(Value::as_array);
                let ids = ids.ok_or_else(|| invalid("`source_ids` is not a list"))?;
                // A value that is not a text becomes an id that no point has.
                let name = |id: &Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned).into();
                let source_ids = ids.iter().map(name).collect();
                Ok(Operation::Merge { source_ids, merged_text: required("merged_text")?, section: section() })
            }
            "" if !value.is_object() => Err(invalid("it is not an object")),
            "" => Err(invalid("it has no `type`")),
            _ => Err(invalid("there is no such operation")),
        }
    }
}
