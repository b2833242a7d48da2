//! Tells when a file has grown or a directory has a new name in it: by file events on Linux, by looking ten times a second elsewhere.

#[cfg(target_os = "linux")]
pub(crate) use events::{Watch, readable};
#[cfg(not(target_os = "linux"))]
pub(crate) use looking::Watch;

#[cfg(target_os = "linux")]
mod events {
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use rustix::io::{Errno, read};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    // The kernel merges equal events: of a file there is never more than one, of 16 bytes, and one
    // read empties the queue. Where it does not, what is left only means to look once more.
    const EVENTS_BYTES: usize = 1024;

    /// A descriptor that tells when there is something to read from it.
    // What replaces this constructor is unsafe, for the sake of types that may change their
    // descriptor; this one owns it.
    #[expect(deprecated)]
    pub(crate) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        AsyncFd::with_interest(descriptor, Interest::READABLE)
    }

    /// A watch on one file, or on the names in a directory.
    // Neither `notify`, which puts a thread and a channel between the event and its reader, nor
    // `inotify`'s stream, which reads twice for each event: where there are many runs, a thousand
    // lines a second are a thousand events.
    pub(crate) struct Watch(AsyncFd<OwnedFd>);

    impl Watch {
        /// Watches what is written to `file`, which must exist.
        pub(crate) fn of_file(file: &Path) -> io::Result<Watch> {
            Watch::new(file, WatchFlags::MODIFY)
        }

        /// Watches for new names in `dir`, which must exist.
        pub(crate) fn of_dir(dir: &Path) -> io::Result<Watch> {
            Watch::new(dir, WatchFlags::CREATE | WatchFlags::MOVED_TO)
        }

        fn new(path: &Path, what: WatchFlags) -> io::Result<Watch> {
            let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            inotify::add_watch(&queue, path, what)?;
            readable(queue).map(Watch)
        }

        /// Returns when that has happened since the last call.
        pub(crate) async fn changed(&mut self) -> io::Result<()> {
            loop {
                let mut ready = self.0.readable().await?;
                let found = read(self.0.get_ref(), &mut [0; EVENTS_BYTES]);
                // What comes from now on makes it ready again.
                ready.clear_ready();
                match found {
                    Ok(_) => return Ok(()),
                    Err(Errno::AGAIN) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod looking {
    use std::io;
    use std::path::Path;
    use std::time::Duration;

    // Quick enough for a live line, and under a thousandth of a core.
    const LOOK_EVERY: Duration = Duration::from_millis(100);

    /// A watch on one file.
    pub(crate) struct Watch(());

    impl Watch {
        /// Watches `file`.
        pub(crate) fn of_file(_file: &Path) -> io::Result<Watch> {
            Ok(Watch(()))
        }

        /// Watches `dir`.
        pub(crate) fn of_dir(_dir: &Path) -> io::Result<Watch> {
            Ok(Watch(()))
        }

        /// Returns when it is time to look again.
        pub(crate) async fn changed(&mut self) -> io::Result<()> {
            tokio::time::sleep(LOOK_EVERY).await;
            Ok(())
        }
    }
}
