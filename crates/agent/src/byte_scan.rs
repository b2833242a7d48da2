//! Scans text by bytes, many at once.

const CHUNK_BYTES: usize = 16;

/// Returns the number of bytes before the first one that fails a test. The test runs on a chunk at once, so it must
/// contain no branches: `|` instead of `||`.
pub(crate) fn leading(bytes: &[u8], passes: impl Fn(u8) -> bool) -> usize {
    // With `all`, the loop over a chunk is not vectorized.
    let passes_whole =
        |chunk: &&[u8; CHUNK_BYTES]| chunk.iter().fold(true, |whole, byte| whole & passes(*byte));
    let whole = bytes.as_chunks().0.iter().take_while(passes_whole).count() * CHUNK_BYTES;
    whole + bytes[whole..].iter().take_while(|byte| passes(**byte)).count()
}
