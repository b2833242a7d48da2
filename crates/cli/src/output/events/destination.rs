//! Where events go: what cannot be written to is refused before anything is started.

use crate::args::{Destination, GlobalArgs};
use crate::failure::Failure;
use crate::output::out;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const HINT: &str = "name a file that you can write to, `-` for stdout, or an open descriptor like `fd:3`";

/// A destination that can be written to.
pub enum OpenedDestination {
    /// What is there already stays, and is told by nobody again.
    File(File),
    /// Somebody reads what comes, and nothing else.
    Stream(File),
    /// The same, once somebody does.
    Fifo(PathBuf),
}

/// Opens it. `detached` is a supervisor whose stdout nobody reads.
pub fn open(
    destination: &Destination,
    global: &GlobalArgs,
    detached: bool,
) -> Result<OpenedDestination, Failure> {
    match destination {
        Destination::Stdout if detached => Err(Failure::usage(
            "--events -: a run that is left to a supervisor of its own has no stdout",
            "name a file with --events FILE, or follow the run by `longhaul attach RUN --events -`",
        )),
        Destination::Stdout if global.output_format.is_some() => Err(Failure::usage(
            "--events -: --output-format prints on stdout, too",
            "leave out --output-format, or name a file with --events FILE",
        )),
        Destination::Stdout => out::clone_stdout()
            .map(|stdout| OpenedDestination::Stream(stdout.into()))
            .map_err(|error| refused("stdout", &error)),
        Destination::Descriptor(number) => {
            let opened = descriptor(i32::from(*number)).map(OpenedDestination::Stream);
            opened.map_err(|error| refused(&format!("fd:{number}"), &error))
        }
        Destination::File(path) => file(path).map_err(|error| refused(&path.display().to_string(), &error)),
    }
}

fn refused(name: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot tell events to {name}: {error}"), HINT)
}

/// A descriptor that this program was started with, once more and for this program alone. The one that was inherited stays
/// as it is: what the run starts inherits it, too.
fn descriptor(number: i32) -> io::Result<File> {
    let own = pidfd_open(getpid(), PidfdFlags::empty());
    let again = own.and_then(|own| pidfd_getfd(own, number, PidfdGetfdFlags::empty()));
    let file = match again {
        Ok(again) => File::from(again),
        Err(rustix::io::Errno::BADF) => return Err(io::Error::other("there is no such descriptor")),
        // Older kernels, and containers that forbid it: what is no socket can be opened again.
        Err(_) => File::options().write(true).open(format!("/process/self/fd/{number}"))?,
    };
    match fcntl_getfl(&file)? & OFlags::RWMODE {
        OFlags::RDONLY => Err(io::Error::other("it is open for reading only")),
        _ => Ok(file),
    }
}

fn file(path: &Path) -> io::Result<OpenedDestination> {
    match fs::metadata(path) {
        // To open it waits for a reader, and nothing else may.
        Ok(found) if found.file_type().is_fifo() => Ok(OpenedDestination::Fifo(path.to_owned())),
        Ok(found) if found.file_type().is_char_device() => {
            File::options().write(true).open(path).map(OpenedDestination::Stream)
        }
        Ok(_) | Err(_) => {
            // Prompts are in it.
            let file = File::options().read(true).append(true).create(true).mode(0o600).open(path);
            file.map(OpenedDestination::File)
        }
    }
}
