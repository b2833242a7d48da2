//! `longhaul keypoints`: what one transcript teaches.

use crate::args::Global;
use crate::args::keypoints::{KeypointsArgs, KeypointsCommand};
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn keypoints(_global: &Global, args: &KeypointsArgs) -> Result<u8, Failure> {
    match &args.command {
        KeypointsCommand::Extract(_) => Err(Failure::unexpected("keypoints extract is not built yet")),
    }
}
