//! Cuts a stream into lines, whatever the pieces it arrives in. Holds at most one line, up to a limit;
//! never copies a line that arrives whole.

use memchr::memchr;

/// The longest line that is read. Agents write whole files and images into one line; more than this is
/// no event any more, and a decoder of several lines at once must fit into 200 MB.
pub const LINE_BYTES_MAX: usize = 64 << 20;

// After a huge line its buffer is given back, so that memory stays flat.
const BUFFER_BYTES_KEPT: usize = 1 << 20;

/// A line of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// All of it, without its newline.
    Whole(&'a [u8]),
    /// It was longer than the limit and is gone.
    TooLong,
}

/// A line cutter.
#[derive(Debug, Default)]
pub struct LineSplitter {
    partial: Vec<u8>,
    skipping: bool,
}

impl LineSplitter {
    /// Takes in some bytes and passes on each line that they complete.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (head, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.skipping {
                self.skipping = false;
                each(Line::TooLong);
            } else if self.partial.is_empty() && head.len() <= LINE_BYTES_MAX {
                each(Line::Whole(head));
            } else if self.keep(head) {
                each(Line::Whole(&self.partial));
            } else {
                self.skipping = false;
                each(Line::TooLong);
            }
            self.forget();
        }
        if !self.skipping {
            self.keep(bytes);
        }
    }

    /// Ends the stream and passes on the last line, if no newline ended it.
    pub fn finish(&mut self, each: impl FnOnce(Line<'_>)) {
        if self.skipping {
            each(Line::TooLong);
        } else if !self.partial.is_empty() {
            each(Line::Whole(&self.partial));
        }
        self.skipping = false;
        self.forget();
    }

    /// Adds to the partial line; false, and all of it dropped, if it became too long.
    fn keep(&mut self, bytes: &[u8]) -> bool {
        let length = self.partial.len() + bytes.len();
        if length > LINE_BYTES_MAX {
            self.partial = Vec::new();
            self.skipping = true;
            return false;
        }
        if length > self.partial.capacity() {
            // Doubling, but not beyond the limit: the last doubling would cost as much again.
            let capacity = length.max(self.partial.capacity() * 2).min(LINE_BYTES_MAX);
            self.partial.reserve_exact(capacity - self.partial.len());
        }
        self.partial.extend_from_slice(bytes);
        true
    }

    fn forget(&mut self) {
        self.partial.clear();
        if self.partial.capacity() > BUFFER_BYTES_KEPT {
            self.partial = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests;
