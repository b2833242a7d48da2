//! Reports when files have grown or a directory has new names. It uses file events, or polls ten times a second
//! if the system has no free watch.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

// Short enough for a live display, and less than a thousandth of a core.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
// The kernel merges equal events, so there are only a few. Events that do not fit are read next time.
const EVENTS_BYTES: usize = 1024;

/// Wraps a descriptor, so that a task can wait until it is readable.
// The constructor that replaces this one is unsafe, because a type might change its descriptor. This type owns its
// descriptor.
#[expect(deprecated)]
pub(crate) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// A watch on files and directories. Most systems allow a user 128 instances, so a run uses only one, and polls
/// if none is free.
// This does not use the crate `notify`, which puts a thread and a channel between the event and its reader. Nor
// does it use the stream of the crate `inotify`, which reads twice per event. With many runs, a thousand lines a
// second cause a thousand events.
pub(crate) struct FileWatch(Option<AsyncFd<OwnedFd>>);

impl FileWatch {
    pub(crate) fn new() -> FileWatch {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        FileWatch(queue.ok().and_then(|queue| readable(queue).ok()))
    }

    /// Watches writes to `file`, which must exist.
    pub(crate) fn add_file(&mut self, file: &Path) {
        self.add(file, WatchFlags::MODIFY);
    }

    /// Watches new names in `dir`, which must exist.
    pub(crate) fn add_dir(&mut self, dir: &Path) {
        self.add(dir, WatchFlags::CREATE | WatchFlags::MOVED_TO);
    }

    fn add(&mut self, path: &Path, flags: WatchFlags) {
        let added = self.0.as_ref().map(|queue| inotify::add_watch(queue.get_ref(), path, flags));
        if matches!(added, Some(Err(_))) {
            // Without a watch on this path, the other events are not sufficient, so everything is polled.
            self.0 = None;
        }
    }

    /// Stops watching. The kernel may need ten milliseconds for this, so a thread does it.
    pub(crate) fn close(&mut self) {
        if let Some(queue) = self.0.take().map(AsyncFd::into_inner) {
            let _ = thread::Builder::new().spawn(move || drop(queue));
        }
    }

    /// Returns once a watched path has changed since the last call, and whether a watched directory may have
    /// new names.
    pub(crate) async fn changed(&mut self) -> io::Result<bool> {
        let Some(queue) = &self.0 else {
            // Without events, everything may have changed.
            tokio::time::sleep(POLL_INTERVAL).await;
            return Ok(true);
        };
        loop {
            let mut ready = queue.readable().await?;
            let events = read(queue.get_ref());
            // Later events make the descriptor ready again.
            ready.clear_ready();
            if let Some(has_new_names) = events? {
                return Ok(has_new_names);
            }
        }
    }
}

fn read(queue: &OwnedFd) -> io::Result<Option<bool>> {
    let mut buffer = [MaybeUninit::uninit(); EVENTS_BYTES];
    let mut events = Reader::new(queue, &mut buffer);
    let mut has_new_names = None;
    loop {
        match events.next() {
            Ok(event) => {
                let is_name = event.events().intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
                has_new_names = Some(is_name || has_new_names == Some(true));
            }
            Err(Errno::AGAIN) => return Ok(has_new_names),
            Err(error) => return Err(error.into()),
        }
        // This was the last event of the read. Another read would only return EAGAIN.
        if events.is_buffer_empty() {
            return Ok(has_new_names);
        }
    }
}
