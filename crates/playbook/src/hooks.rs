//! Reads the input of an agent's hooks and produces their output. A hook only prints the playbook or queues a
//! transcript. It never judges, because the agent waits for it.

mod errors;
mod event;
mod injection_marker;
mod input;
mod session_api;
mod settings_file;

pub use errors::{HookError, log_error, logged_errors};
pub use event::{HookEvent, allows_learning, answer};
pub use injection_marker::{InjectionClaim, claim_injection, clear_injection, was_injected};
pub use input::HookInput;
pub use session_api::{destination, record_session_api, session_api};
pub use settings_file::{HookEntry, SettingsChange, SettingsFile, SettingsWarning, replace_user_file};
