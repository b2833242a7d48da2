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
pub use sent_to::{note_api, noted_api};
pub use settings_file::{Change, InstallError, SettingsFile, SettingsWarning, Wanted};
pub use told::{Telling, begin_telling, forget_told, tell_again, was_told};
pub use troubles::{Trouble, note, troubles};
pub use update_keys::UpdateKeys;
