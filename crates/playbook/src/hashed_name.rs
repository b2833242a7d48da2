//! Names for files out of texts that may be anything.

use sha2::{Digest, Sha256};

/// The first bytes of a hash, in hexadecimal.
pub(crate) fn hashed_name(text: impl AsRef<[u8]>, bytes: usize) -> String {
    Sha256::digest(text).iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
