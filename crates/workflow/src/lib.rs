//! Workflow files: a graph of phases with prompts, items, conditions and limits, in TOML.
//!
//! This crate parses and checks them, renders prompts, and reads items and conditions from files of the project.
//! It never starts a process, reads a clock or prints.

pub mod archon;
mod builtin;
mod condition;
pub mod document;
mod error;
mod file;
mod items;
mod order;
mod parameters;
mod project_file;
mod result_schema;
mod sibling_files;
mod template;

pub use builtin::{BUILTINS, builtin};
pub use condition::{Condition, FileCondition, ResultCondition, StageCondition};
pub use error::{OptionError, WorkflowFileError};
pub use file::{Isolation, LoopOptions, PhaseFile, Until, WorkflowFile, skip_note};
pub use items::{GlobPattern, ItemSource, item_text, items_from_lines, items_from_pointer};
pub use project_file::read_project_bytes;
pub use result_schema::ResultSchema;
pub use template::{PromptContext, PromptItem, PromptTemplate, TemplateError};
