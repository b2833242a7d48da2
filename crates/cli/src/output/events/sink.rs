//! Writes events to their destination. Runs on a separate thread, which may wait for a reader forever.

use super::line::EventPosition;
use crate::output::out::write_all;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// The prefix of each of Longhaul's lines.
const BEGIN: &[u8] = b"{\"run\":";

/// A destination being written to.
pub enum Sink {
    /// A file. Existing events stay, and are not written again.
    File(File),
    /// A stream. Its reader gets only new events.
    Stream(File),
    /// A FIFO, which becomes a stream once it has a reader.
    Fifo(PathBuf),
    /// A FIFO that could not be opened.
    Closed(io::Error),
}

impl Sink {
    /// Prepares the sink for writing. For a FIFO it waits for a reader.
    pub fn prepared(self) -> Sink {
        match self {
            Sink::File(file) => {
                // Without the repair, a new line could follow half of an old one.
                let _ = repair(&file);
                Sink::File(file)
            }
            Sink::Fifo(path) => {
                File::options().write(true).open(path).map_or_else(Sink::Closed, Sink::Stream)
            }
            ready @ (Sink::Stream(_) | Sink::Closed(_)) => ready,
        }
    }

    /// Returns the number of this run's last event in the destination, or 0 if there is none or it cannot be
    /// determined.
    pub fn last_of(&self, run: &str) -> u64 {
        match self {
            Sink::File(file) => last_of(file, run).unwrap_or_default(),
            Sink::Stream(_) | Sink::Fifo(_) | Sink::Closed(_) => 0,
        }
    }

    /// Appends these lines; to a file, either all or none of them.
    pub fn add(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Sink::File(file) => locked(file, |is_alone| {
                let whole = file.metadata()?.len();
                (&*file).write_all(lines).inspect_err(|_| {
                    if is_alone {
                        let _ = file.set_len(whole);
                    }
                })
            }),
            Sink::Stream(stream) => write_all(stream, lines),
            Sink::Fifo(_) => Err(io::ErrorKind::NotConnected.into()),
            Sink::Closed(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }
}

/// Calls `with` while no other supervisor writes to the file, because several runs may share one. The
/// argument says whether the lock is held: some file systems have no locks.
fn locked<T>(file: &File, with: impl FnOnce(bool) -> io::Result<T>) -> io::Result<T> {
    let is_alone = file.lock().is_ok();
    let result = with(is_alone);
    let _ = file.unlock();
    result
}

/// Makes the file end with a newline. A partial line of Longhaul's, left by a writer that died, is removed.
fn repair(file: &File) -> io::Result<()> {
    locked(file, |is_alone| {
        let bytes = file.metadata()?.len();
        let mut end = file;
        let mut last = [b'\n'];
        if bytes > 0 {
            end.seek(SeekFrom::Start(bytes - 1))?;
            end.read_exact(&mut last)?;
        }
        if last == [b'\n'] {
            return Ok(());
        }
        let (mut whole, mut line) = (0, Vec::new());
        end.rewind()?;
        let mut reader = BufReader::new(file);
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            whole += line.len() as u64;
            line.clear();
        }
        let is_partial_event = line.starts_with(BEGIN) || BEGIN.starts_with(&line);
        if is_partial_event && is_alone { file.set_len(whole) } else { end.write_all(b"\n") }
    })
}

fn last_of(mut file: &File, run: &str) -> io::Result<u64> {
    file.rewind()?;
    let (mut reader, mut line, mut last) = (BufReader::new(file), Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        // Lines that are not Longhaul's are skipped.
        let position =
            serde_json::from_slice::<EventPosition>(&line).ok().filter(|position| position.run == run);
        last = position.map_or(last, |position| position.seq.max(last));
        line.clear();
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::Sink;
    use std::fs::{self, File};

    #[test]
    fn appends_to_existing_file() {
        let events = tempfile::NamedTempFile::new().expect("a file");
        let check = |before: &str, last: u64, after: &str| {
            fs::write(&events, before).expect("written");
            let file = File::options().read(true).append(true).open(&events).expect("it is there");
            let mut sink = Sink::File(file).prepared();
            assert_eq!(sink.last_of("a"), last, "{before}");
            sink.add(b"next\n").expect("it can be written");
            assert_eq!(fs::read_to_string(&events).expect("text"), after);
        };
        check("", 0, "next\n");
        let whole = "{\"run\":\"a\",\"seq\":7}\n{\"run\":\"b\",\"seq\":9}\n";
        check(whole, 7, &format!("{whole}next\n"));
        // Cut in the middle of a line, and within its prefix.
        check(&format!("{whole}{{\"run\":\"a\",\"seq\":8"), 7, &format!("{whole}next\n"));
        check(&format!("{whole}{{\"r"), 7, &format!("{whole}next\n"));
        // Lines of other programs stay.
        check("{\"run\":\"a\",\"seq\":7}\nnot ours", 7, "{\"run\":\"a\",\"seq\":7}\nnot ours\nnext\n");
    }
}
