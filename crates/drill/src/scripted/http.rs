//! Sends one HTTP/1.1 request per connection, in plain text; another thread may close the connection. It
//! never retries, never follows a redirect and never uses TLS.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Size limit of a header block. A longer one is rejected.
const HEAD_BYTES_MAX: u64 = 64 << 10;
/// Size limit of a chunk. A longer one is rejected.
const CHUNK_BYTES_MAX: usize = 64 << 20;
/// A loopback connection opens or fails immediately.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// The address of the API.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    /// `host:port`.
    pub(super) authority: String,
    /// The path before `/v1`, without a trailing slash.
    prefix: String,
}

impl BaseUrl {
    /// Parses `http://host:port/prefix`. Returns `None` for anything but plain HTTP.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("http://")?;
        let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
        let authority = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
        let path = path.trim_end_matches('/');
        let prefix = if path.is_empty() { String::new() } else { format!("/{path}") };
        Some(Self { authority, prefix })
    }
}

/// Closes a request's connection from any thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionHandle(Arc<Mutex<Option<TcpStream>>>);

impl ConnectionHandle {
    /// Closes the connection. Its reader gets an end or an error.
    pub(super) fn abort(&self) {
        if let Some(socket) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // It may already be closed.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// The head of a response, and its unread body.
pub(crate) struct HttpResponse {
    pub status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub body: Body,
}

impl HttpResponse {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

/// Returns the value of a header. `name` must be in lower case.
pub(super) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
}

/// Sends a POST request and reads the head of the response.
pub(crate) fn post(
    base: &BaseUrl,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
    connection: &ConnectionHandle,
) -> io::Result<HttpResponse> {
    let address = base.authority.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let mut socket = TcpStream::connect_timeout(&address, CONNECT_MAX)?;
    socket.set_nodelay(true)?;
    *connection.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket.try_clone()?);
    let mut head = format!("POST {}{path} HTTP/1.1\r\nhost: {}\r\n", base.prefix, base.authority);
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len()));
    socket.write_all(head.as_bytes())?;
    socket.write_all(body)?;
    let mut reader = BufReader::new(socket);
    let (status, headers) = read_head(&mut reader)?;
    let remaining = if header(&headers, "transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        BodyRemaining::Chunk(0)
    } else {
        let length = header(&headers, "content-length").and_then(|value| value.parse().ok());
        length.map_or(BodyRemaining::UntilClosed, BodyRemaining::Bytes)
    };
    Ok(HttpResponse { status, headers, body: Body { reader, remaining } })
}

fn read_head(reader: &mut BufReader<TcpStream>) -> io::Result<(u16, Vec<(String, String)>)> {
    let mut limited = reader.take(HEAD_BYTES_MAX);
    let first = read_line(&mut limited)?;
    let status =
        first.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(&mut limited)?;
        if line.is_empty() {
            return Ok((status, headers));
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 || !line.ends_with('\n') {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}

/// The unread rest of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyRemaining {
    /// This many bytes.
    Bytes(usize),
    /// This many bytes of the current chunk, then more chunks.
    Chunk(usize),
    /// All bytes until the connection closes.
    UntilClosed,
    /// The body is complete.
    Complete,
}

/// The body of a response. A connection that closes too early is an error, not an end.
#[derive(Debug)]
pub(crate) struct Body {
    reader: BufReader<TcpStream>,
    remaining: BodyRemaining,
}

impl Body {
    fn next_chunk(&mut self) -> io::Result<usize> {
        let line = read_line(&mut self.reader)?;
        let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)
            .ok()
            .filter(|size| *size <= CHUNK_BYTES_MAX)
            .ok_or(io::ErrorKind::InvalidData)?;
        if size == 0 {
            while !read_line(&mut self.reader)?.is_empty() {}
        }
        Ok(size)
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.remaining == BodyRemaining::Chunk(0) {
            let size = self.next_chunk()?;
            self.remaining = if size == 0 { BodyRemaining::Complete } else { BodyRemaining::Chunk(size) };
        }
        let limit = match self.remaining {
            BodyRemaining::Complete | BodyRemaining::Bytes(0) => return Ok(0),
            BodyRemaining::Bytes(remaining) | BodyRemaining::Chunk(remaining) => remaining.min(buffer.len()),
            BodyRemaining::UntilClosed => buffer.len(),
        };
        let count = self.reader.read(buffer.get_mut(..limit).unwrap_or_default())?;
        if count == 0 && limit > 0 && self.remaining != BodyRemaining::UntilClosed {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        match &mut self.remaining {
            BodyRemaining::Bytes(remaining) => *remaining -= count,
            BodyRemaining::Chunk(remaining) => {
                *remaining -= count;
                if *remaining == 0 {
                    // The line end after a chunk.
                    read_line(&mut self.reader)?;
                }
            }
            BodyRemaining::UntilClosed | BodyRemaining::Complete => {}
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn serve(answer: &'static str) -> io::Result<(u16, io::Result<String>)> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let base =
            BaseUrl::parse(&format!("http://{}/r/x/", listener.local_addr()?)).ok_or(io::ErrorKind::Other)?;
        let server = thread::spawn(move || -> io::Result<String> {
            let (mut socket, _) = listener.accept()?;
            let mut request = Vec::new();
            // Read the whole request: closing a connection with unread data resets it.
            while !request.ends_with(b"{}") {
                let mut piece = [0; 4096];
                let count = socket.read(&mut piece)?;
                request
                    .extend_from_slice(piece.get(..count).filter(|bytes| !bytes.is_empty()).unwrap_or(b"{}"));
            }
            socket.write_all(answer.as_bytes())?;
            Ok(String::from_utf8_lossy(&request).into_owned())
        });
        let mut answer =
            post(&base, "/v1/messages", &[("x".into(), "y".into())], b"{}", &ConnectionHandle::default())?;
        let mut text = String::new();
        let result = answer.body.read_to_string(&mut text).map(|_| text);
        let request = server.join().map_err(|_| io::ErrorKind::Other)??;
        assert!(request.starts_with("POST /r/x/v1/messages HTTP/1.1\r\n"), "{request}");
        Ok((answer.status, result))
    }

    #[test]
    fn reads_bodies_up_to_their_end() -> io::Result<()> {
        let (status, text) = serve("HTTP/1.1 429 Too Many\r\nContent-Length: 2\r\n\r\nokrest")?;
        assert_eq!((status, text?.as_str()), (429, "ok"));
        let (_, text) =
            serve("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")?;
        assert_eq!(text?, "abcde");
        let (_, text) = serve("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nd")?;
        assert_eq!(text.map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
        Ok(())
    }
}
