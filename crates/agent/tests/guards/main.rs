//! Tests guards against attempts to reach blocked names and against similar harmless calls.
#![allow(clippy::disallowed_methods, reason = "one test reads the recorded commands of its user")]
#![allow(clippy::print_stderr, reason = "a skipped test reports that")]

mod corpus;
mod lists;
mod mixtures;
