//! Telemetry in a build without it.

use super::Wanted;
use crate::args::Global;
use longhaul::Observer;

/// Nothing: this build could not.
pub fn wanted() -> Option<Wanted> {
    None
}

/// Sends nothing.
pub struct Sending;

/// Says nothing.
#[derive(Clone)]
pub struct Voice;

impl Sending {
    pub fn start(_global: &Global) -> Sending {
        Sending
    }

    pub fn voice(&self) -> Voice {
        Voice
    }

    pub fn close(self, _global: &Global) {}
}

impl Voice {
    pub(super) fn telling<'a>(self, inner: &'a mut dyn Observer) -> impl Observer + 'a {
        inner
    }
}
