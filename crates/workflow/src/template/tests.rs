//! Tests of templates.
