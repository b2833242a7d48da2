//! One workflow as a state machine, like [`Run`](crate::Run): `step` decides, `apply` changes the state, and
//! `deadline` returns when to tick next.
//!
//! A workflow is a graph of phases; each phase starts one run, or one run for each item of a list. This module
//! knows neither prompts nor files: it decides which run starts when, with which share of the limits.

mod event;
mod policy;
mod record;

pub use event::{RunEnd, WorkflowAction, WorkflowEvent};
pub use policy::{PhasePolicy, Reaction, Reactions, WorkflowLimits, WorkflowPolicy};
pub use record::{RunKey, RunShare, WorkflowRecord};
