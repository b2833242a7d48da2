//! Tells when a file has grown: by file events on Linux, by looking ten times a second elsewhere.

#[cfg(target_os = "linux")]
pub(crate) use events::Watch;
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

    // The kernel merges equal events, so there is never more than one, of 16 bytes; with room for
    // more than that, one read empties the queue.
    const EVENTS_BYTES: usize = 1024;

    /// A watch on one file.
    // Neither `notify`, which puts a thread and a channel between the event and its reader, nor
    // `inotify`'s stream, which reads twice for each event: where there are many runs, a thousand
    // lines a second are a thousand events.
    pub(crate) struct Watch(AsyncFd<OwnedFd>);

    impl Watch {
        /// Watches `file`, which must exist.
        // What replaces it is unsafe, for the sake of types that may change their descriptor; this one
        // owns it.
        #[expect(deprecated)]
        pub(crate) fn new(file: &Path) -> io::Result<Watch> {
            let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            inotify::add_watch(&queue, file, WatchFlags::MODIFY)?;
            Ok(Watch(AsyncFd::with_interest(queue, Interest::READABLE)?))
        }

        /// Returns when the file has been written to since the last call.
        pub(crate) async fn grown(&mut self) -> io::Result<()> {
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
        pub(crate) fn new(_file: &Path) -> io::Result<Watch> {
            Ok(Watch(()))
        }

        /// Returns when it is time to look again.
        pub(crate) async fn grown(&mut self) -> io::Result<()> {
            tokio::time::sleep(LOOK_EVERY).await;
            Ok(())
        }
    }
}
