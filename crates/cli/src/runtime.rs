//! The async runtime of a command. Everything runs on this thread.

use crate::failure::{Failure, OrFailure};
use tokio::runtime::{Builder, Runtime};

pub fn new() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.or_unexpected("cannot start the runtime")
}
