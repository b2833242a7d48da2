//! `longhaul attach`: follows a run that another process supervises. Leaving it changes nothing.

use super::run::failure;
use crate::args::{AttachArgs, Global, OutputFormat};
use crate::failure::Failure;
use crate::output;
use crate::output::envelope::Envelope;
use crate::output::screen::Screen;
use crate::output::stream::Stream;
use crate::{home, runtime};
use longhaul::{Followed, RunError, follow};

/// Carries out the command and returns the exit code of the run.
pub fn attach(global: &Global, args: &AttachArgs) -> Result<u8, Failure> {
    let format = output::format(global);
    let home = home::locate()?;
    let dir = home::find_run(&home, &args.run)?;
    let runtime = runtime::new()?;
    let mut screen = Screen::new(global, true);
    let followed = runtime.block_on(async {
        match format {
            OutputFormat::StreamJson => follow(&dir, &mut Stream::new(&mut screen)).await,
            OutputFormat::Json | OutputFormat::Text => follow(&dir, &mut screen).await,
        }
    });
    screen.close();
    match followed.map_err(|error| failure(RunError::Refused(error)))? {
        Followed::Ended(report) => {
            output::print(&Envelope::of(&report), format);
            Ok(report.outcome.exit_code())
        }
        Followed::Orphaned => Err(Failure::refused(
            format!("follow run {}: it is not over, and nobody supervises it", dir.id()),
            format!("go on with it by `longhaul recover {0}`, or end it by `longhaul cancel {0}`", dir.id()),
            None,
        )),
    }
}
