//! What an agent's hooks say, and what they are answered. A hook only tells the playbook, or puts down that there is something
//! to learn; nothing is judged while the agent waits.

mod answer;
mod destination;
mod due;
mod event;
mod input;
mod sent_to;
mod settings_file;
mod told;
mod troubles;
mod update_keys;
mod worker_lock;

pub use answer::answer;
pub use destination::destination;
pub use event::HookEvent;
pub use input::{HookInput, InputError};
pub use sent_to::{record_session_api, session_api};
pub use settings_file::{Change, InstallError, SettingsFile, SettingsWarning, HookEntry};
pub use told::{InjectionClaim, claim_injection, prune_markers, clear_injection, was_injected};
pub use troubles::{HookError, note, troubles};
pub use update_keys::UpdateKeys;
