//! Opens the destination of events. A destination that cannot be written to is rejected before anything
//! starts.

use super::sink::Sink;
use crate::args::{EventsDestination, GlobalArgs};
use crate::failure::{Failure, OrFailure};
use crate::output::out;
use rustix::fs::{Access, OFlags, access, fcntl_getfl};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

const HINT: &str = "name a file that you can write to, `-` for stdout, or an open descriptor like `fd:3`";

/// Opens a destination. A detached supervisor's stdout has no reader.
pub fn open(destination: &EventsDestination, global: &GlobalArgs) -> Result<Sink, Failure> {
    let opened = match destination {
        EventsDestination::Stdout if global.detached => {
            return Err(Failure::usage(
                "--events -: a detached run has no stdout",
                "name a file with --events FILE, or follow the run with `longhaul attach RUN --events -`",
            ));
        }
        EventsDestination::Stdout if global.output_format.is_some() => {
            return Err(Failure::usage(
                "--events -: --output-format prints on stdout, too",
                "leave out --output-format, or name a file with --events FILE",
            ));
        }
        EventsDestination::Stdout => out::clone_stdout().map(|stdout| Sink::Stream(stdout.into())),
        EventsDestination::Descriptor(number) => descriptor(i32::from(*number)).map(Sink::Stream),
        EventsDestination::File(path) => file(path),
    };
    opened.or_usage(format!("cannot write events to {destination}"), HINT)
}

/// Rejects a destination that cannot be written to. Creates no file.
pub fn check(destination: &EventsDestination, global: &GlobalArgs) -> Result<(), Failure> {
    match destination {
        EventsDestination::File(path) if !path.exists() => {
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            access(dir, Access::WRITE_OK | Access::EXEC_OK)
                .or_usage(format!("cannot write events to {destination}"), HINT)
        }
        EventsDestination::File(_) | EventsDestination::Stdout | EventsDestination::Descriptor(_) => {
            open(destination, global).map(drop)
        }
    }
}

/// Duplicates an inherited descriptor for this process alone. The inherited one stays unchanged, because the
/// run's processes inherit it, too.
fn descriptor(number: i32) -> io::Result<File> {
    let file = duplicate(number)?;
    match fcntl_getfl(&file)? & OFlags::RWMODE {
        OFlags::RDONLY => Err(io::Error::other("it is open for reading only")),
        _ => Ok(file),
    }
}

#[cfg(target_os = "linux")]
fn duplicate(number: i32) -> io::Result<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let process = pidfd_open(getpid(), PidfdFlags::empty());
    match process.and_then(|process| pidfd_getfd(process, number, PidfdGetfdFlags::empty())) {
        Ok(duplicate) => Ok(File::from(duplicate)),
        Err(rustix::io::Errno::BADF) => Err(io::Error::other("there is no such descriptor")),
        // Older kernels, and containers that forbid pidfd_getfd: everything except a socket can be reopened.
        // Without `append`, a file would be overwritten from its start.
        Err(_) => File::options().append(true).open(format!("/proc/self/fd/{number}")),
    }
}

/// Opens the descriptor by its name, which duplicates it on macOS.
#[cfg(not(target_os = "linux"))]
fn duplicate(number: i32) -> io::Result<File> {
    File::options().write(true).open(format!("/dev/fd/{number}"))
}

fn file(path: &Path) -> io::Result<Sink> {
    match fs::metadata(path) {
        // Opening a FIFO waits for a reader, which only the writer thread may do.
        Ok(found) if found.file_type().is_fifo() => Ok(Sink::Fifo(path.to_owned())),
        Ok(found) if found.file_type().is_char_device() => {
            File::options().write(true).open(path).map(Sink::Stream)
        }
        Ok(_) | Err(_) => {
            // Events contain prompts.
            let file = File::options().read(true).append(true).create(true).mode(0o600).open(path);
            file.map(Sink::File)
        }
    }
}
