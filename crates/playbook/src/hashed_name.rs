//! Derives file names from arbitrary text.

use sha2::{Digest, Sha256};

/// Returns the first bytes of the text's hash, in hexadecimal.
pub(crate) fn hashed_name(text: impl AsRef<[u8]>, bytes: usize) -> String {
    Sha256::digest(text).iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
