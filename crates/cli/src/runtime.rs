//! The async runtime of a command. Everything runs on this thread.

use crate::failure::{Failure, OrFailure};
use crate::output::out::Background;
use tokio::runtime::{Builder, Runtime};

pub fn new() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.or_unexpected("cannot start the runtime")
}

/// Supervises runs on this thread until `supervised` ends.
pub fn supervise<F: Future>(supervised: F) -> Result<F::Output, Failure> {
    let runtime = new()?;
    let background = Background::start();
    let output = runtime.block_on(supervised);
    runtime.block_on(background.finish());
    Ok(output)
}
