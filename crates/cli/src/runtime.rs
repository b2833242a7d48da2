//! The async runtime of a command. Everything runs on this thread.

use crate::failure::{Failure, OrFailure};
use crate::output::out::background;
use crate::signals;
use tokio::runtime::{Builder, Runtime};

pub fn new() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.or_unexpected("cannot start the runtime")
}

/// Supervises runs on this thread until `supervised` ends. From now on, output waits for no reader.
pub fn supervise<F: Future>(supervised: F) -> Result<F::Output, Failure> {
    background::start();
    Ok(new()?.block_on(supervised))
}

/// Waits for the readers of what supervised runs printed, at the end of the program.
pub fn flush_output() {
    if background::is_flushed() {
        return;
    }
    if let Ok(runtime) = new() {
        runtime.block_on(async {
            let _signals = signals::cancels();
            background::flush().await;
        });
    }
}
