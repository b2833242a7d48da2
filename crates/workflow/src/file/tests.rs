//! Tests of workflow files.
