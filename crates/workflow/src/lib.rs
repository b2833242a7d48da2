//! Workflows, in which several runs work on one project. This crate never starts a process.

pub mod archon;
