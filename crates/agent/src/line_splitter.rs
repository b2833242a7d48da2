//! Splits a stream into lines, however its bytes arrive. Buffers at most one line, up to a limit, and never
//! copies a line that arrives whole.

use memchr::memchr;

/// Maximum length of a line. Agents write whole files and images on one line, but no event is longer than
/// this. A decoder of several lines at once must fit into 200 MB.
pub const LINE_BYTES_MAX: usize = 64 << 20;

// A larger buffer is freed after its line, so that memory stays flat.
const BUFFER_BYTES_RETAINED: usize = 1 << 20;

/// A line of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The whole line, without its newline.
    Whole(&'a [u8]),
    /// A line over the limit, which was dropped.
    TooLong,
}

/// A splitter for one stream.
#[derive(Debug, Default)]
pub struct LineSplitter {
    partial: Vec<u8>,
    skipping: bool,
    /// Number of bytes of the stream so far.
    read_bytes: u64,
}

impl LineSplitter {
    /// Splits some bytes and passes on each line that they complete, with the offset in the stream after its newline.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>, u64)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (head, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            self.read_bytes += head.len() as u64 + 1;
            let line = if !self.skipping && self.partial.is_empty() && head.len() <= LINE_BYTES_MAX {
                Line::Whole(head)
            } else if !self.skipping && self.append(head) {
                Line::Whole(&self.partial)
            } else {
                Line::TooLong
            };
            each(line, self.read_bytes);
            self.skipping = false;
            self.clear();
        }
        self.read_bytes += bytes.len() as u64;
        if !self.skipping {
            self.append(bytes);
        }
    }

    /// Ends the stream and passes on the last line if it lacks a newline.
    pub fn finish(&mut self, each: impl FnOnce(Line<'_>)) {
        if self.skipping {
            each(Line::TooLong);
        } else if !self.partial.is_empty() {
            each(Line::Whole(&self.partial));
        }
        self.skipping = false;
        self.clear();
    }

    /// Appends to the partial line. If the line gets too long, drops it and returns `false`.
    fn append(&mut self, bytes: &[u8]) -> bool {
        let length = self.partial.len() + bytes.len();
        if length > LINE_BYTES_MAX {
            self.partial = Vec::new();
            self.skipping = true;
            return false;
        }
        if length > self.partial.capacity() {
            // The buffer doubles, but not beyond the limit, because the last doubling would cost as much
            // again.
            let capacity = length.max(self.partial.capacity() * 2).min(LINE_BYTES_MAX);
            self.partial.reserve_exact(capacity - self.partial.len());
        }
        self.partial.extend_from_slice(bytes);
        true
    }

    fn clear(&mut self) {
        self.partial.clear();
        if self.partial.capacity() > BUFFER_BYTES_RETAINED {
            self.partial = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests;
