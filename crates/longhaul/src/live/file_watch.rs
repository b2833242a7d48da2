//! Tells when files have grown or a directory has new names: by file events on Linux, by looking ten times
//! a second elsewhere and where the system has no more room for events.

use std::time::Duration;

// Quick enough for a live line, and under a thousandth of a core.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What has happened since the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchEvents {
    /// Whether a watched directory may have new names.
    pub(crate) names: bool,
}

/// What there is to look at where there are no events: everything.
async fn looking() -> WatchEvents {
    tokio::time::sleep(LOOK_EVERY).await;
    WatchEvents { names: true }
}

#[cfg(target_os = "linux")]
pub(crate) use events::{FileWatch, readable};
#[cfg(not(target_os = "linux"))]
pub(crate) use nothing::Watch;

#[cfg(target_os = "linux")]
mod events {
    use super::{WatchEvents, looking};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    // The kernel merges equal events, so a few are all there are; what does not fit comes next time.
    const EVENTS_BYTES: usize = 1024;

    /// A descriptor that tells when there is something to read from it.
    // What replaces this constructor is unsafe, for the sake of types that may change their
    // descriptor; this one owns it.
    #[expect(deprecated)]
    pub(crate) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        AsyncFd::with_interest(descriptor, Interest::READABLE)
    }

    /// A watch on files and directories. A user has 128 of them on most systems, so that a run makes do
    /// with one, and looks by itself when there is none left.
    // Neither `notify`, which puts a thread and a channel between the event and its reader, nor
    // `inotify`'s stream, which reads twice for each event: where there are many runs, a thousand
    // lines a second are a thousand events.
    pub(crate) struct FileWatch(Option<AsyncFd<OwnedFd>>);

    impl FileWatch {
        /// Watches nothing yet.
        pub(crate) fn new() -> FileWatch {
            let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
            FileWatch(queue.ok().and_then(|queue| readable(queue).ok()))
        }

        /// Watches what is written to `file`, which must exist.
        pub(crate) fn file(&mut self, file: &Path) {
            self.add(file, WatchFlags::MODIFY);
        }

        /// Watches for new names in `dir`, which must exist.
        pub(crate) fn dir(&mut self, dir: &Path) {
            self.add(dir, WatchFlags::CREATE | WatchFlags::MOVED_TO);
        }

        fn add(&mut self, path: &Path, what: WatchFlags) {
            let added = self.0.as_ref().map(|queue| inotify::add_watch(queue.get_ref(), path, what));
            if matches!(added, Some(Err(_))) {
                // One thing that is not watched makes the rest useless.
                self.0 = None;
            }
        }

        /// Returns when something has happened since the last call.
        pub(crate) async fn changed(&mut self) -> io::Result<WatchEvents> {
            let Some(queue) = &self.0 else { return Ok(looking().await) };
            loop {
                let mut ready = queue.readable().await?;
                let found = read(queue.get_ref());
                // What comes from now on makes it ready again.
                ready.clear_ready();
                if let Some(changes) = found? {
                    return Ok(changes);
                }
            }
        }
    }

    /// The events that are there.
    fn read(queue: &OwnedFd) -> io::Result<Option<WatchEvents>> {
        let mut buffer = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut events = Reader::new(queue, &mut buffer);
        let mut changes = None;
        loop {
            match events.next() {
                Ok(event) => {
                    let names = event.events().intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
                    let before = changes.is_some_and(|changes: WatchEvents| changes.names);
                    changes = Some(WatchEvents { names: names || before });
                }
                Err(Errno::AGAIN) => return Ok(changes),
                Err(error) => return Err(error.into()),
            }
            // The last one of this read: another would only find that there is no more.
            if events.is_buffer_empty() {
                return Ok(changes);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nothing {
    use super::{Changes, looking};
    use std::io;
    use std::path::Path;

    /// A watch on files and directories.
    pub(crate) struct Watch(());

    impl FileWatch {
        /// Watches nothing yet.
        pub(crate) fn new() -> FileWatch {
            FileWatch(())
        }

        /// Watches `file`.
        pub(crate) fn file(&mut self, _file: &Path) {}

        /// Watches `dir`.
        pub(crate) fn dir(&mut self, _dir: &Path) {}

        /// Returns when it is time to look again.
        pub(crate) async fn changed(&mut self) -> io::Result<WatchEvents> {
            Ok(looking().await)
        }
    }
}
