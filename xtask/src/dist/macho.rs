//! Inspects a Mach-O file: its processor, the libraries that it needs, and its signature. Never runs anything.

use sha2::{Digest, Sha256};

const MAGIC_64: u32 = 0xfeed_facf;
const CPU_ARM64: u32 = 0x0100_000c;
const EXECUTABLE: u32 = 2;
const HEADER_BYTES: usize = 32;

const LOAD_DYLIB: u32 = 0xc;
const LOAD_WEAK_DYLIB: u32 = 0x8000_0018;
const CODE_SIGNATURE: u32 = 0x1d;
const BUILD_VERSION: u32 = 0x32;

const SIGNATURE_MAGIC: u32 = 0xfade_0cc0;
const CODE_DIRECTORY_MAGIC: u32 = 0xfade_0c02;
const HASH_SHA256: u8 = 2;

/// Directories of the libraries that every Mac has.
const SYSTEM: [&str; 2] = ["/usr/lib/", "/System/Library/Frameworks/"];

/// Returns a description of a program that an arm64 Mac can start.
///
/// # Errors
/// Returns a message that names the reason why it cannot, or where the file is truncated.
pub fn check(file: &[u8]) -> Result<String, String> {
    if little(file, 0)? != MAGIC_64 {
        return Err("not a 64-bit Mach-O file".to_owned());
    }
    if (little(file, 4)?, little(file, 12)?) != (CPU_ARM64, EXECUTABLE) {
        return Err("not a program for arm64".to_owned());
    }
    // A Mac with an arm64 processor ends programs whose signature does not cover the file.
    let (mut libraries, mut oldest_macos, mut is_signature_valid) = (Vec::new(), None, false);
    let mut offset = HEADER_BYTES;
    for _ in 0..little(file, 16)? {
        let size = little(file, offset + 4)? as usize;
        match little(file, offset)? {
            LOAD_DYLIB | LOAD_WEAK_DYLIB => {
                let name = offset + little(file, offset + 8)? as usize;
                let name = slice(file, name, (offset + size).saturating_sub(name))?;
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                libraries.push(String::from_utf8_lossy(name).into_owned());
            }
            BUILD_VERSION => oldest_macos = Some(little(file, offset + 12)?),
            CODE_SIGNATURE => is_signature_valid = is_signed(file, little(file, offset + 8)? as usize)?,
            _ => {}
        }
        offset += size;
    }
    let is_system = |library: &&String| SYSTEM.iter().any(|dir| library.starts_with(dir));
    if let Some(library) = libraries.iter().find(|library| !is_system(library)) {
        return Err(format!("needs {library}, which no Mac has"));
    }
    let Some(version) = oldest_macos.filter(|_| !libraries.is_empty()) else {
        return Err("names no library or no version of macOS".to_owned());
    };
    if !is_signature_valid {
        return Err("its signature does not cover the file".to_owned());
    }
    let (major, minor, libraries) = (version >> 16, version >> 8 & 0xff, libraries.join(", "));
    Ok(format!("Mach-O for arm64, macOS {major}.{minor} or later, signed ad hoc; needs {libraries}"))
}

/// Returns whether the hashes of the signature at this offset are those of the file's pages.
fn is_signed(file: &[u8], start: usize) -> Result<bool, String> {
    if big(file, start)? != SIGNATURE_MAGIC {
        return Ok(false);
    }
    for index in 0..big(file, start + 8)? as usize {
        let directory = start + big(file, start + 12 + index * 8 + 4)? as usize;
        if big(file, directory)? != CODE_DIRECTORY_MAGIC {
            continue;
        }
        let hashes = directory + big(file, directory + 16)? as usize;
        let (count, end) = (big(file, directory + 28)? as usize, big(file, directory + 32)? as usize);
        let [hash_bytes, hash_type, _, page_bits] = *slice(file, directory + 36, 4)? else {
            return Ok(false);
        };
        if hash_type != HASH_SHA256 || end != start || page_bits > 16 {
            return Ok(false);
        }
        let pages = slice(file, 0, end)?.chunks(1 << page_bits);
        if pages.len() != count {
            return Ok(false);
        }
        for (page, number) in pages.zip(0..) {
            let hash = slice(file, hashes + number * usize::from(hash_bytes), usize::from(hash_bytes))?;
            if Sha256::digest(page).as_slice() != hash {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    Ok(false)
}

fn little(file: &[u8], offset: usize) -> Result<u32, String> {
    word(file, offset).map(u32::from_le_bytes)
}

fn big(file: &[u8], offset: usize) -> Result<u32, String> {
    word(file, offset).map(u32::from_be_bytes)
}

fn word(file: &[u8], offset: usize) -> Result<[u8; 4], String> {
    let bytes = slice(file, offset, 4)?;
    bytes.try_into().map_err(|_| truncated(offset))
}

fn slice(file: &[u8], offset: usize, length: usize) -> Result<&[u8], String> {
    let end = offset.checked_add(length).ok_or_else(|| truncated(offset))?;
    file.get(offset..end).ok_or_else(|| truncated(offset))
}

fn truncated(offset: usize) -> String {
    format!("the file ends before offset {offset}")
}

#[cfg(test)]
mod tests {
    use super::{CODE_DIRECTORY_MAGIC, SIGNATURE_MAGIC, check};
    use sha2::{Digest, Sha256};

    /// Returns a signed program that needs this library.
    fn program(cpu: u32, library: &str) -> Vec<u8> {
        let mut name = library.as_bytes().to_vec();
        name.resize(library.len() / 8 * 8 + 8, 0);
        let dylib = [&words(&[0xc, 24 + name.len() as u32, 24, 0, 0, 0])[..], &name].concat();
        let version = words(&[0x32, 24, 1, 11 << 16, 0, 0]);
        let end = 32 + dylib.len() + version.len() + 16;
        let signature = words(&[0x1d, 16, end as u32, 0]);
        let header = words(&[0xfeed_facf, cpu, 0, 2, 3, 0, 0, 0]);
        let file = [header, dylib, version, signature].concat();
        let directory = [CODE_DIRECTORY_MAGIC, 0, 0, 0, 44, 0, 0, 1, file.len() as u32];
        let directory = directory.iter().flat_map(|word| word.to_be_bytes());
        let blob: Vec<u8> =
            [SIGNATURE_MAGIC, 0, 1, 0, 20].iter().flat_map(|word| word.to_be_bytes()).collect();
        let hash = Sha256::digest(&file).to_vec();
        let rest = [32, 2, 0, 12, 0, 0, 0, 0].into_iter().chain(hash);
        file.into_iter().chain(blob).chain(directory).chain(rest).collect()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn accepts_a_signed_program_that_needs_system_libraries_only() {
        let found = check(&program(0x0100_000c, "/usr/lib/libSystem.B.dylib"));
        let expected =
            "Mach-O for arm64, macOS 11.0 or later, signed ad hoc; needs /usr/lib/libSystem.B.dylib";
        assert_eq!(found, Ok(expected.to_owned()));
    }

    #[test]
    fn rejects_programs_that_no_arm64_mac_starts() {
        let reject = |file: &[u8], part: &str| {
            let error = check(file).expect_err(part);
            assert!(error.contains(part), "{error}");
        };
        reject(b"\x7fELF\x02\x01\x01\0", "not a 64-bit Mach-O file");
        reject(&program(0x0100_0007, "/usr/lib/libSystem.B.dylib"), "not a program for arm64");
        reject(&program(0x0100_000c, "/opt/lib/libz.dylib"), "needs /opt/lib/libz.dylib");
        let mut changed = program(0x0100_000c, "/usr/lib/libSystem.B.dylib");
        // Flags of the header, which decide nothing else here.
        changed[24] ^= 1;
        reject(&changed, "signature does not cover");
        let whole = program(0x0100_000c, "/usr/lib/libSystem.B.dylib");
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "{length} bytes");
        }
    }
}
