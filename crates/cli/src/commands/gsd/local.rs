//! The envelope of the commands that call no model: usage is zero, and the result is an object.

use crate::args::GlobalArgs;
use crate::output;
use crate::output::envelope::Envelope;
use longhaul_core::Span;
use serde::Serialize;
use std::time::Instant;

pub fn print<T: Serialize + Default>(
    global: &GlobalArgs,
    since: Instant,
    result: T,
    text: impl FnOnce(&T) -> String,
) -> u8 {
    let envelope = Envelope::without_model(result, Span(since.elapsed().as_millis() as u64));
    output::print_envelope(global, &envelope, || text(&envelope.result));
    0
}
