//! Tells when a file has grown: by file events on Linux, by looking ten times a second elsewhere.

#[cfg(target_os = "linux")]
pub(crate) use events::Watch;
#[cfg(not(target_os = "linux"))]
pub(crate) use looking::Watch;

#[cfg(target_os = "linux")]
mod events {
    use futures_core::Stream;
    use inotify::{EventStream, Inotify, WatchMask};
    use std::future::poll_fn;
    use std::io;
    use std::path::Path;
    use std::pin::Pin;

    // Room for a few dozen events; they only say "look again", so they may well be merged.
    const EVENTS_BYTES: usize = 1024;

    /// A watch on one file.
    pub(crate) struct Watch(EventStream<[u8; EVENTS_BYTES]>);

    impl Watch {
        /// Watches `file`, which must exist.
        pub(crate) fn new(file: &Path) -> io::Result<Watch> {
            let inotify = Inotify::init()?;
            inotify.watches().add(file, WatchMask::MODIFY)?;
            Ok(Watch(inotify.into_event_stream([0; EVENTS_BYTES])?))
        }

        /// Returns when the file has been written to since the last call.
        pub(crate) async fn grown(&mut self) -> io::Result<()> {
            // Nobody closes the queue but us, so there is always a next event.
            match poll_fn(|context| Pin::new(&mut self.0).poll_next(context)).await {
                Some(event) => event.map(|_| ()),
                None => Err(io::ErrorKind::UnexpectedEof.into()),
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
