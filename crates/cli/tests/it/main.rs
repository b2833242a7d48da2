//! The binary as people and programs meet it: processes, files, signals, exit codes.
//!
//! Every test has a [`stage::Stage`] of its own: folders in a temporary place, an agent that costs nothing, an environment
//! without anything of whoever runs the tests. Nothing here reaches beyond 127.0.0.1, looks for credentials, or ends a
//! process that it did not start; after each test nothing of it may be left ([`tidy`]).

#![allow(clippy::disallowed_methods, reason = "these rules are for the program")]

mod accounting;
mod artifacts;
mod asking;
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
mod config;
mod cut_journal;
mod diagnostics;
mod diffs;
mod diffs_of_workspaces;
mod doctor;
mod drills;
mod events;
mod finishing;
mod first_day;
mod full_disk;
mod guards;
mod guards_of_calls;
mod hints;
mod homes;
mod hooks;
mod injection;
mod keeping_going;
mod keypoints;
mod ladder;
mod learning;
mod ledger;
mod left_out;
mod limits;
mod live_view;
mod logs;
mod moving;
mod neighbours;
mod network;
mod notify;
mod orphans;
mod output;
mod paging;
mod playbook;
mod questions;
mod readme;
mod recovering;
mod reports;
mod research;
mod resuming;
mod scheduling;
mod schemas;
mod security;
mod server;
mod sessions_that_learn;
mod show;
mod stage;
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
mod unreadable;
mod variables;
mod why;
