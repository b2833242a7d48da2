//! The archive: a gzipped tar of plain files, with the manifest first. The reader trusts no name, size or
//! type, and keeps only the manifest in memory.

use super::TransferError;
use super::manifest::{ArchiveMember, FORMAT, MANIFEST, Manifest};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use longhaul_store::open_regular;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Archive, Builder, EntryType, Header};

// Enough for the names of a hundred thousand members.
const MANIFEST_BYTES_MAX: u64 = 32 << 20;
// Magic number of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];
// The last file is followed by zeros, up to the end of tar's block.
const PADDING_BYTES_MAX: u64 = 1 << 20;

/// Measures a file as a member with this name.
pub(super) fn member(name: String, path: &Path) -> Result<ArchiveMember, TransferError> {
    let mut file = HashingReader::new(open_regular(path).map_err(TransferError::io("read", path))?);
    io::copy(&mut file, &mut io::sink()).map_err(TransferError::io("read", path))?;
    let (bytes, sha256) = file.finish();
    Ok(ArchiveMember { name, bytes, sha256 })
}

/// Writes the manifest and its members, whose files are `sources`, in the same order.
pub(super) fn write(
    to: File,
    path: &Path,
    manifest: &Manifest,
    sources: &[PathBuf],
) -> Result<File, TransferError> {
    // Compared with the fastest level, recorded streams become a third smaller and take half as much time
    // more.
    let mut tar = Builder::new(GzEncoder::new(to, Compression::default()));
    let mut text = serde_json::to_vec_pretty(manifest).expect("a manifest has only string keys");
    text.push(b'\n');
    append(&mut tar, MANIFEST, text.len() as u64, text.as_slice())
        .map_err(TransferError::io("write", path))?;
    for (member, source) in manifest.members.iter().zip(sources) {
        let file = open_regular(source).map_err(TransferError::io("read", source))?;
        let mut file = HashingReader::new(file.take(member.bytes));
        append(&mut tar, &member.name, member.bytes, &mut file).map_err(TransferError::io("write", path))?;
        if file.finish() != (member.bytes, member.sha256.clone()) {
            let changed = io::Error::other("it changed while it was being packed");
            return Err(TransferError::io("read", source)(changed));
        }
    }
    tar.into_inner().and_then(GzEncoder::finish).map_err(TransferError::io("write", path))
}

fn append(tar: &mut Builder<impl Write>, name: &str, bytes: u64, content: impl Read) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(0);
    header.set_cksum();
    tar.append(&header, content)
}

/// Reads a complete archive and passes each member with its content to `visit`. If a member differs from the
/// manifest, returns an error, at the latest after the member's visit. A first pass with an empty `visit`
/// therefore verifies the archive.
///
/// If the manifest announces more than `unpacked_bytes_max`, nothing is unpacked.
pub(super) fn read(
    path: &Path,
    unpacked_bytes_max: u64,
    mut visit: impl FnMut(&ArchiveMember, &mut dyn Read) -> Result<(), TransferError>,
) -> Result<Manifest, TransferError> {
    let invalid = |reason: &str| TransferError::invalid_archive(path, reason);
    let file = open_regular(path).map_err(TransferError::io("read", path))?;
    let mut file = BufReader::new(file);
    if !file.fill_buf().map_err(|error| read_error(path, &error))?.starts_with(&GZIP) {
        return Err(invalid("it is not an exported run"));
    }
    let mut tar = Archive::new(GzDecoder::new(file));
    // In raw mode, tar extensions are ignored, so an entry consists of its header and content only.
    let mut entries = tar.entries().map_err(|error| read_error(path, &error))?.raw(true);
    let mut next = || entries.next().transpose().map_err(|error| read_error(path, &error));

    let mut first = next()?.ok_or_else(|| invalid("it is empty"))?;
    if *first.path_bytes() != *MANIFEST.as_bytes() || first.size() > MANIFEST_BYTES_MAX {
        return Err(invalid("it is not an exported run"));
    }
    let mut text = Vec::new();
    first.read_to_end(&mut text).map_err(|error| read_error(path, &error))?;
    let manifest = parse(path, &text)?;
    let unpacked = manifest.members.iter().fold(0_u64, |sum, member| sum.saturating_add(member.bytes));
    if unpacked > unpacked_bytes_max {
        return Err(TransferError::Large { path: path.to_owned(), unpacked });
    }

    for member in &manifest.members {
        let mut entry = next()?.ok_or_else(|| invalid("it is truncated"))?;
        if entry.header().entry_type() != EntryType::Regular
            || *entry.path_bytes() != *member.name.as_bytes()
            || entry.size() != member.bytes
        {
            let name = String::from_utf8_lossy(&entry.path_bytes()).escape_debug().to_string();
            return Err(invalid(&format!("it has `{name}` where its manifest lists {}", member.name)));
        }
        let mut content = HashingReader::new(&mut entry);
        visit(member, &mut content)?;
        // Content that `visit` did not read is hashed, too.
        io::copy(&mut content, &mut io::sink()).map_err(|error| read_error(path, &error))?;
        if content.finish() != (member.bytes, member.sha256.clone()) {
            return Err(invalid(&format!("{} is damaged", member.name)));
        }
    }
    if next()?.is_some() {
        return Err(invalid("it has more files than its manifest lists"));
    }
    // The checksum of the whole archive follows the padding.
    let mut padding = tar.into_inner().take(PADDING_BYTES_MAX);
    io::copy(&mut padding, &mut io::sink()).map_err(|error| read_error(path, &error))?;
    Ok(manifest)
}

fn parse(path: &Path, text: &[u8]) -> Result<Manifest, TransferError> {
    #[derive(Deserialize)]
    struct FormatHeader {
        format: u32,
        longhaul_version: String,
    }
    let invalid =
        |error: serde_json::Error| TransferError::invalid_archive(path, format!("its manifest: {error}"));
    let FormatHeader { format, longhaul_version } = serde_json::from_slice(text).map_err(invalid)?;
    if format > FORMAT {
        return Err(TransferError::Newer { path: path.to_owned(), format, written_by: longhaul_version });
    }
    let manifest: Manifest = serde_json::from_slice(text).map_err(invalid)?;
    match manifest.validate() {
        Some(flaw) => Err(TransferError::invalid_archive(path, flaw)),
        None => Ok(manifest),
    }
}

/// Converts an error of a decoder: the file is not an archive, or it is truncated.
fn read_error(path: &Path, error: &io::Error) -> TransferError {
    let reason = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is truncated".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => format!("it is damaged, or not an exported run: {error}"),
    };
    TransferError::invalid_archive(path, reason)
}

struct HashingReader<R> {
    inner: R,
    hasher: Sha256,
    bytes: u64,
}

impl<R: Read> HashingReader<R> {
    fn new(inner: R) -> HashingReader<R> {
        HashingReader { inner, hasher: Sha256::new(), bytes: 0 }
    }

    /// Returns the number of bytes and their SHA-256 in hexadecimal.
    fn finish(self) -> (u64, String) {
        let mut sha256 = String::new();
        for byte in self.hasher.finalize() {
            write!(sha256, "{byte:02x}").expect("writing to a string never fails");
        }
        (self.bytes, sha256)
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}
