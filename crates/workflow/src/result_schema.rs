//! JSON schemas of results.

use serde_json::Value;

/// A checked JSON schema.
#[derive(Clone, Debug)]
pub struct ResultSchema(Value);

impl ResultSchema {
    /// Returns the schema as JSON, for the agent.
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// Checks a result.
    ///
    /// # Errors
    ///
    /// Returns each violation, with the JSON pointer of the offending value.
    pub fn validate(&self, result: &Value) -> Result<(), Vec<String>> {
        let _ = result;
        todo!()
    }
}
