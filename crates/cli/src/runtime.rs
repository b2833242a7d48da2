//! The one runtime of a command: everything waits on this thread.

use crate::failure::Failure;
use tokio::runtime::{Builder, Runtime};

/// A runtime of this thread's own.
pub fn new() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::unexpected(format!("start the runtime: {error}")))
}
