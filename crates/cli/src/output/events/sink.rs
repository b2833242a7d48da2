//! Writes events to where they go. It runs on a thread of its own, which may wait for a reader for ever.

use super::destination::OpenedDestination;
use super::line::EventPosition;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::thread;
use std::time::Duration;

// A reader that set its pipe to not block has left it full; twenty looks a second cost nothing.
const FULL_LOOK_EVERY: Duration = Duration::from_millis(50);
/// How each of our lines begins.
const BEGIN: &[u8] = b"{\"run\":";

/// A destination being written to.
pub enum Sink {
    File(File),
    Stream(File),
    /// It could not be opened.
    Closed(io::Error),
}

impl Sink {
    /// Waits for a reader of a FIFO.
    pub fn new(opened: OpenedDestination) -> Sink {
        match opened {
            OpenedDestination::File(file) => {
                // Without it a line may stand behind half of another's.
                let _ = repair(&file);
                Sink::File(file)
            }
            OpenedDestination::Stream(stream) => Sink::Stream(stream),
            OpenedDestination::Fifo(path) => match File::options().write(true).open(path) {
                Ok(stream) => Sink::Stream(stream),
                Err(error) => Sink::Closed(error),
            },
        }
    }

    /// The number of the last event of this run that is told there; 0 if none is, or if nobody can know.
    pub fn last_of(&self, run: &str) -> u64 {
        match self {
            Sink::File(file) => last_of(file, run).unwrap_or_default(),
            Sink::Stream(_) | Sink::Closed(_) => 0,
        }
    }

    /// Adds these lines, all of them or, to a file, none.
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
            Sink::Stream(stream) => write(stream, lines),
            Sink::Closed(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }
}

fn write(stream: &mut File, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(FULL_LOOK_EVERY),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Does something while no other supervisor writes to the file: several runs may be told in one. It is told whether
/// that is so: some file systems have no locks.
fn locked<T>(file: &File, with: impl FnOnce(bool) -> io::Result<T>) -> io::Result<T> {
    let is_alone = file.lock().is_ok();
    let done = with(is_alone);
    let _ = file.unlock();
    done
}

/// Has the file end with a newline: cuts off what a writer of ours did not live to finish.
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
        let is_ours = line.starts_with(BEGIN) || BEGIN.starts_with(&line);
        if is_ours && is_alone { file.set_len(whole) } else { end.write_all(b"\n") }
    })
}

fn last_of(mut file: &File, run: &str) -> io::Result<u64> {
    file.rewind()?;
    let (mut reader, mut line, mut last) = (BufReader::new(file), Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        // What is no line of ours tells of nothing.
        let sign = serde_json::from_slice::<EventPosition>(&line).ok().filter(|sign| sign.run == run);
        last = sign.map_or(last, |sign| sign.seq.max(last));
        line.clear();
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::{OpenedDestination, Sink};
    use std::fs::{self, File};

    #[test]
    fn a_file_goes_on_where_it_ends() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("events");
        let check = |before: &str, last: u64, after: &str| {
            fs::write(&path, before).expect("written");
            let file = File::options().read(true).append(true).open(&path).expect("it is there");
            let mut sink = Sink::new(OpenedDestination::File(file));
            assert_eq!(sink.last_of("a"), last, "{before}");
            sink.add(b"next\n").expect("it can be written");
            assert_eq!(fs::read_to_string(&path).expect("text"), after);
        };
        check("", 0, "next\n");
        let whole = "{\"run\":\"a\",\"seq\":7}\n{\"run\":\"b\",\"seq\":9}\n";
        check(whole, 7, &format!("{whole}next\n"));
        // Cut in the middle of a line, and of a line's first bytes.
        check(&format!("{whole}{{\"run\":\"a\",\"seq\":8"), 7, &format!("{whole}next\n"));
        check(&format!("{whole}{{\"r"), 7, &format!("{whole}next\n"));
        // What others write, stays.
        check("{\"run\":\"a\",\"seq\":7}\nnot ours", 7, "{\"run\":\"a\",\"seq\":7}\nnot ours\nnext\n");
    }
}
