//! End-to-end tests of the binary: processes, files, signals and exit codes.
//!
//! Every test has its own [`harness::Stage`]: temporary directories, an agent without cost, and an
//! environment that inherits nothing from the user. No test connects beyond 127.0.0.1, looks for credentials,
//! or ends a process that it did not start. [`tidy`] asserts after each test that nothing is left.

#![allow(clippy::disallowed_methods, reason = "these rules are for the program")]

mod accounting;
mod acp;
mod archon;
mod artifacts;
mod background;
mod bad_input;
mod boot;
mod bootstrap;
mod browser;
mod call;
mod changing;
mod checks;
mod collector;
mod completions;
mod concurrent_homes;
mod config;
mod diagnostics;
mod diffs;
mod doctor;
mod drills;
mod events;
mod finishing;
mod first_day;
mod full_disk;
mod guard_calls;
mod guards;
mod harness;
mod help;
mod hints;
mod homes;
mod hooks;
mod injection;
mod keeping_going;
mod learning;
mod ledger;
mod limits;
mod live_view;
mod logs;
mod network;
mod notify;
mod orphans;
mod output;
mod own_script;
mod paging;
mod playbook;
mod playbook_extract;
mod questions;
mod readme;
mod recovering;
mod reports;
mod research;
mod resume_strategy;
mod resuming;
mod reviews;
mod scheduling;
mod schemas;
mod script;
mod security;
mod server;
mod session_learning;
mod show;
mod skipped;
mod stalls;
mod stopping;
mod streams;
mod summaries;
mod suspending;
mod sweep;
mod tables;
mod telemetry;
mod terminal;
mod tidy;
mod transfer;
mod truncated_journal;
mod unreadable;
mod variables;
mod why;
mod workflows;
mod workspace_diffs;
mod worktrees;
