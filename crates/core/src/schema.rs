//! JSON schemas of values whose printed form differs from their stored form. Only tests use them.

pub use crate::{Dollars, Rfc3339, Seconds};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

impl JsonSchema for Rfc3339 {
    fn schema_name() -> Cow<'static, str> {
        "Rfc3339".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z",
            "type": "string",
            "format": "date-time",
            "pattern": "^[0-9-]{10}T[0-9:.]{8,}Z$",
        })
    }
}

impl JsonSchema for Dollars {
    fn schema_name() -> Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "US dollars", "type": "number", "minimum": 0 })
    }
}

impl JsonSchema for Seconds {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A length of time in seconds", "type": "number", "minimum": 0 })
    }
}
