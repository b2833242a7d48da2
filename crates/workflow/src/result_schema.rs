//! JSON schemas of results. A schema never reads another file or the network.

use jsonschema::Validator;
use longhaul_core::shorten;
use serde_json::Value;
use std::sync::Arc;

/// Violations that are reported; more help neither people nor agents.
const VIOLATIONS_MAX: usize = 10;
/// Characters of one violation, which quotes the offending value.
const VIOLATION_CHARS_MAX: usize = 300;

/// A checked JSON schema.
#[derive(Clone, Debug)]
pub struct ResultSchema {
    schema: Value,
    validator: Arc<Validator>,
}

impl ResultSchema {
    /// Checks a schema. Its root is an object with `type = "object"`, because agents return their result as the
    /// arguments of a tool.
    ///
    /// # Errors
    /// Returns why it is not a schema.
    pub fn new(schema: Value) -> Result<ResultSchema, String> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("a result is a JSON object, so the schema needs `type = \"object\"`".to_owned());
        }
        let validator = jsonschema::options()
            .build(&schema)
            .map_err(|error| shorten(&error.to_string(), VIOLATION_CHARS_MAX))?;
        Ok(ResultSchema { schema, validator: Arc::new(validator) })
    }

    /// Returns the schema as JSON, for the agent.
    pub fn as_json(&self) -> &Value {
        &self.schema
    }

    /// Checks a result.
    ///
    /// # Errors
    /// Returns the violations, each with the JSON pointer of its value.
    pub fn validate(&self, result: &Value) -> Result<(), Vec<String>> {
        let errors = self.validator.iter_errors(result).take(VIOLATIONS_MAX);
        let describe = |error: jsonschema::ValidationError<'_>| {
            let pointer = error.instance_path().as_str().to_owned();
            let text = if pointer.is_empty() { error.to_string() } else { format!("{pointer}: {error}") };
            shorten(&text, VIOLATION_CHARS_MAX)
        };
        let violations: Vec<String> = errors.map(describe).collect();
        if violations.is_empty() { Ok(()) } else { Err(violations) }
    }
}

#[cfg(test)]
mod tests {
    use super::ResultSchema;
    use serde_json::{Value, json};

    #[test]
    fn validates_results() {
        let schema = json!({
            "type": "object",
            "required": ["complete"],
            "properties": { "complete": { "type": "boolean" }, "tasks": { "type": "array", "items": { "type": "string" } } },
        });
        let schema = ResultSchema::new(schema).expect("a schema");
        let check = |result: Value, violations: &[&str]| {
            let found = schema.validate(&result).err().unwrap_or_default();
            assert_eq!(found, violations, "{result}");
        };
        check(json!({ "complete": true, "tasks": ["a"] }), &[]);
        check(json!({}), &["\"complete\" is a required property"]);
        check(
            json!({ "complete": "yes", "tasks": [1] }),
            &["/complete: \"yes\" is not of type \"boolean\"", "/tasks/0: 1 is not of type \"string\""],
        );
        check(json!("done"), &["\"done\" is not of type \"object\""]);
    }

    #[test]
    fn rejects_schemas() {
        let check = |schema: Value, part: &str| {
            let error = ResultSchema::new(schema).err().unwrap_or_default();
            assert!(error.contains(part), "{error}");
        };
        check(json!({ "type": "array" }), "needs `type = \"object\"`");
        check(json!("object"), "needs `type = \"object\"`");
        check(json!({ "type": "object", "required": "complete" }), "\"complete\" is not of type \"array\"");
        check(
            json!({ "type": "object", "properties": { "a": { "type": "text" } } }),
            "\"text\" is not valid",
        );
        let remote = json!({ "type": "object", "$ref": "https://127.0.0.1:1/schema.json" });
        check(remote, "127.0.0.1");
    }
}
