//! Opens and reads files that must be regular. Opening a pipe waits for a writer, and a device may never end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading. A pipe, a socket or a device is an error at once.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_with(File::options().read(true), path)
}

/// Reads a whole regular file.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole regular file of UTF-8 text.
pub fn read_regular_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.read_to_string(&mut text)?;
    Ok(text)
}

pub(crate) fn open_regular_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // The flag has no effect on a regular file, and a pipe opens without waiting.
    let file = options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path)?;
    let file_type = file.metadata()?.file_type();
    match (file_type.is_file(), file_type.is_dir()) {
        (true, _) => Ok(file),
        (false, true) => Err(rustix::io::Errno::ISDIR.into()),
        (false, false) => {
            let message = "this is a pipe or a device, not a regular file";
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

/// Reads everything. More bytes than the maximum are an error.
pub fn read_at_most(source: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it is longer than {bytes_max} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{open_regular, read_regular};
    use crate::failpoint_io::make_fifo;
    use std::path::Path;

    #[test]
    fn rejects_irregular_files_at_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        make_fifo(&fifo).expect("the directory is writable");
        for path in [fifo.as_path(), Path::new("/dev/zero"), Path::new("/dev/null"), dir.path()] {
            assert!(open_regular(path).is_err(), "{}", path.display());
        }
        std::fs::write(dir.path().join("file"), "text").expect("the directory is writable");
        assert_eq!(read_regular(&dir.path().join("file")).expect("a file"), b"text");
    }
}
