//! Tests guards against attempts to reach blocked names and against similar harmless calls.
#![allow(clippy::disallowed_methods, reason = "one test reads the commands of anyone who runs it")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod corpus;
mod lists;
mod mixtures;
