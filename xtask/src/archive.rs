//! Reproducible archives: the same files give the same bytes. Never reads a clock or the metadata of a file.

use flate2::{Compression, GzBuilder};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// File with the checksums of all archives in its directory.
pub const CHECKSUMS: &str = "SHA256SUMS";

pub struct Entry {
    /// Path in the archive, with `/`.
    pub path: String,
    pub content: Vec<u8>,
    pub is_program: bool,
}

impl Entry {
    pub fn text(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), content: content.into(), is_program: false }
    }

    pub fn program(path: impl Into<String>, content: Vec<u8>) -> Entry {
        Entry { path: path.into(), content, is_program: true }
    }
}

/// Writes a `.tar.gz` with the files in the order of their paths, all of this time in seconds since 1970.
pub fn write_tar_gz(file: &Path, mut entries: Vec<Entry>, mtime: u64) -> io::Result<()> {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    // The header of gzip contains no time and no file name.
    let gzip = GzBuilder::new().mtime(0).write(File::create(file)?, Compression::default());
    let mut archive = Builder::new(gzip);
    for entry in entries {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_size(entry.content.len() as u64);
        header.set_mode(if entry.is_program { 0o755 } else { 0o644 });
        header.set_mtime(mtime);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, &entry.path, entry.content.as_slice())?;
    }
    archive.into_inner()?.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use super::{Entry, write_tar_gz};
    use std::fs;

    #[test]
    fn same_files_give_the_same_bytes_in_any_order() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let [one, two] = ["one.tar.gz", "two.tar.gz"].map(|name| dir.path().join(name));
        let entries = || vec![Entry::text("p/a", "text"), Entry::program("p/b", b"program".to_vec())];
        write_tar_gz(&one, entries(), 1_700_000_000).expect("a writable directory");
        write_tar_gz(&two, entries().into_iter().rev().collect(), 1_700_000_000)
            .expect("a writable directory");
        assert_eq!(fs::read(&one).expect("written"), fs::read(&two).expect("written"));

        let gzip = flate2::read::GzDecoder::new(fs::File::open(&one).expect("written"));
        let mut archive = tar::Archive::new(gzip);
        let files: Vec<_> = archive
            .entries()
            .expect("an archive")
            .map(|entry| {
                let entry = entry.expect("an entry");
                let path = entry.path().expect("a path").display().to_string();
                (path, entry.header().mode().expect("a mode"), entry.header().mtime().expect("a time"))
            })
            .collect();
        let expected = [("p/a", 0o644, 1_700_000_000), ("p/b", 0o755, 1_700_000_000)];
        assert_eq!(files, expected.map(|(path, mode, mtime)| (path.to_owned(), mode, mtime)));
    }
}
