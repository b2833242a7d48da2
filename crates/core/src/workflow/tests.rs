//! Traces of workflows: each line has an event on the left, and the resulting records and actions on the
//! right. Actions start with `>`. `trace.rs` defines the language of the traces.

mod ends;
mod graph;
mod limits;
mod parks;
mod stops;
mod trace;
