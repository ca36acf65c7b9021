//! Outgoing TCP connections and HTTP requests: to web, mail and log servers. They start in the host plane, and
//! every wait ends by deadline or interrupt.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use script::Interrupt;

use crate::host::HostPlane;

/// Interval of checks for an interrupt during a wait.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum length of a response's head, and of a line in it, in bytes.
const MAX_HEAD_BYTES: u64 = 64 << 10;

/// Connection parameters of one exchange.
#[derive(Clone, Copy)]
pub(crate) struct ConnectionParameters<'a> {
    /// Host plane of the sockets; `None` uses the machine's namespace.
    pub(crate) host: Option<&'a HostPlane>,
    /// Source address, if configured.
    pub(crate) source: Option<IpAddr>,
    /// Deadline of the exchange.
    pub(crate) until: Instant,
    /// Timeout of a single wait.
    pub(crate) patience: Duration,
    /// Interrupt.
    pub(crate) interrupt: &'a Interrupt,
}

/// A TLS connection.
pub(crate) type Secured<'a> = StreamOwned<ClientConnection, Line<'a>>;

/// A TCP connection with deadline and interrupt.
pub(crate) struct Line<'a> {
    stream: TcpStream,
    until: Instant,
    patience: Duration,
    interrupt: &'a Interrupt,
}

impl<'a> ConnectionParameters<'a> {
    /// Connects.
    ///
    /// # Errors
    /// The failure in words.
    pub(crate) fn connect(&self, to: SocketAddr) -> Result<TcpStream, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        let left = left.min(self.patience);
        if left.is_zero() || self.interrupt.is_on() {
            return Err("timeout".to_owned());
        }
        let source = self.source;
        let open = move || {
            let family = match to {
                SocketAddr::V4(_) => AddressFamily::INET,
                SocketAddr::V6(_) => AddressFamily::INET6,
            };
            let flags = SocketFlags::CLOEXEC;
            let socket = socket_with(family, SocketType::STREAM, flags, None)?;
            if let Some(source) = source {
                bind(&socket, &SocketAddr::new(source, 0))?;
            }
            Ok(socket)
        };
        let socket = match self.host {
            Some(host) => host.inside(open),
            None => open(),
        };
        let socket = socket.map_err(|error| error.to_string())?;
        let begun = set_socket_timeout(&socket, Timeout::Send, Some(left))
            .and_then(|()| connect(&socket, &to));
        match begun {
            Ok(()) => Ok(TcpStream::from(socket)),
            Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::AGAIN) => {
                Err("timeout".to_owned())
            }
            Err(error) => Err(io::Error::from(error).to_string()),
        }
    }

    /// Starts TLS to the server with this name or address; returns after the handshake.
    ///
    /// # Errors
    /// The failure in words: an untrusted certificate, or no TLS.
    pub(crate) fn secured(
        &self,
        stream: TcpStream,
        name: &str,
        config: ClientConfig,
    ) -> Result<Secured<'a>, String> {
        let wrong = |_| format!("{name} is not a valid name for a certificate");
        let name = ServerName::try_from(name.to_owned()).map_err(wrong)?;
        let client = ClientConnection::new(Arc::new(config), name);
        let client = client.map_err(|error| error.to_string())?;
        let mut secured = StreamOwned::new(client, self.plain(stream));
        while secured.conn.is_handshaking() {
            let done = secured.conn.complete_io(&mut secured.sock);
            done.map_err(|error| error.to_string())?;
        }
        Ok(secured)
    }

    /// Wraps a connection without encryption.
    pub(crate) const fn plain(&self, stream: TcpStream) -> Line<'a> {
        Line {
            stream,
            until: self.until,
            patience: self.patience,
            interrupt: self.interrupt,
        }
    }
}

impl Line<'_> {
    /// Returns the time of the next wait; an error after the deadline or an interrupt.
    fn left(&self, until: Instant) -> io::Result<Duration> {
        if self.interrupt.is_on() {
            return Err(io::Error::other("interrupted"));
        }
        let left = until.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(io::Error::new(io::ErrorKind::TimedOut, "timeout")),
            false => Ok(left.min(CHECK_INTERVAL)),
        }
    }

    /// Repeats an operation until it no longer blocks.
    fn wait<T>(&mut self, mut act: impl FnMut(&mut TcpStream) -> io::Result<T>) -> io::Result<T> {
        let until = self.until.min(Instant::now() + self.patience);
        loop {
            let patience = self.left(until)?;
            self.stream.set_read_timeout(Some(patience))?;
            self.stream.set_write_timeout(Some(patience))?;
            match act(&mut self.stream) {
                Err(error) if is_quiet(&error) => {}
                done => return done,
            }
        }
    }
}

impl Read for Line<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.wait(|stream| stream.read(bytes))
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wait(TcpStream::flush)
    }
}

fn is_quiet(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    let own = error.get_ref().is_some();
    !own && matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// An HTTP request.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    /// Method, such as `GET` or `POST`.
    pub(crate) method: &'a str,
    /// Host, and port if it is not the default.
    pub(crate) host: String,
    /// Path and query.
    pub(crate) target: &'a str,
    /// Additional header fields, each validated.
    pub(crate) fields: Vec<(String, String)>,
    /// Body.
    pub(crate) body: &'a [u8],
    /// True: the body of a redirection is not read.
    pub(crate) follows: bool,
}

impl Request<'_> {
    /// Creates a request for `/`.
    ///
    /// `usual` is the default port: 80, or 443 for HTTPS.
    pub(crate) fn get(host: &str, port: u16, usual: u16) -> Self {
        // IPv6 addresses need brackets (RFC 3986, 3.2.2).
        let host = match host.contains(':') {
            true => format!("[{host}]"),
            false => host.to_owned(),
        };
        Self {
            method: "GET",
            host: if port == usual {
                host
            } else {
                format!("{host}:{port}")
            },
            target: "/",
            fields: Vec::new(),
            body: &[],
            follows: false,
        }
    }
}

/// An HTTP response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Status code.
    pub(crate) status: u16,
    /// Reason phrase.
    pub(crate) reason: String,
    /// Header fields, names in lower case.
    pub(crate) fields: Vec<(String, String)>,
}

impl Answer {
    /// Returns the target of a redirection (RFC 9110, 15.4).
    pub(crate) fn leads(&self) -> Option<&str> {
        let leads = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        self.field("location").filter(|_| leads)
    }

    /// Returns the first field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut all = self.fields.iter();
        all.find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Sends a request and reads the response's head; passes the body piece by piece to `each`, with the head.
///
/// # Errors
/// The failure in words: of the connection, of the response, or of `each`.
pub(crate) fn ask(
    mut line: impl Read + Write,
    request: &Request<'_>,
    mut each: impl FnMut(&Answer, &[u8]) -> Result<(), String>,
) -> Result<Answer, String> {
    let words = |error: io::Error| error.to_string();
    line.write_all(&head(request)).map_err(words)?;
    line.write_all(request.body).map_err(words)?;
    line.flush().map_err(words)?;
    let mut reader = BufReader::new(line);
    let mut answer = read_head(&mut reader)?;
    // Interim responses (RFC 9110, 15.2).
    while (100..200).contains(&answer.status) {
        answer = read_head(&mut reader)?;
    }
    let empty = request.method == "HEAD"
        || matches!(answer.status, 204 | 304)
        || request.follows && answer.leads().is_some();
    if !empty {
        read_body(&mut reader, &answer, &mut |piece| each(&answer, piece))?;
    }
    Ok(answer)
}

fn head(request: &Request<'_>) -> Vec<u8> {
    let mut head = format!(
        "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
        request.method, request.target, request.host
    );
    let has = |name: &str| {
        let mut all = request.fields.iter();
        all.any(|(own, _)| own.eq_ignore_ascii_case(name))
    };
    if !has("user-agent") {
        head.push_str("User-Agent: ferroute\r\n");
    }
    if !request.body.is_empty() && !has("content-length") {
        head.push_str(&format!("Content-Length: {}\r\n", request.body.len()));
    }
    for (name, value) in &request.fields {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    menu::bytes::to_bytes(&head)
}

const MALFORMED: &str = "malformed answer";

/// Reads a line without its end; an unterminated line is an error.
fn read_line(reader: &mut impl BufReadLine) -> Result<String, String> {
    let bytes = reader.line(MAX_HEAD_BYTES)?;
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(&bytes);
    Ok(menu::bytes::from_bytes(bytes))
}

/// Source of lines.
trait BufReadLine {
    fn line(&mut self, most: u64) -> Result<Vec<u8>, String>;
}

impl<R: Read> BufReadLine for BufReader<R> {
    fn line(&mut self, most: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut limited = self.take(most);
        limited
            .read_until(b'\n', &mut bytes)
            .map_err(|error| error.to_string())?;
        match bytes.pop() {
            Some(b'\n') => Ok(bytes),
            _ => Err(MALFORMED.to_owned()),
        }
    }
}

fn read_head(reader: &mut BufReader<impl Read>) -> Result<Answer, String> {
    let first = read_line(reader)?;
    let mut words = first.splitn(3, ' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|status| status.parse().ok());
    let status = status.filter(|status| (100..=999).contains(status));
    let Some(status) = status.filter(|_| version.starts_with("HTTP/1.")) else {
        return Err(MALFORMED.to_owned());
    };
    let mut answer = Answer {
        status,
        reason: words.next().unwrap_or_default().to_owned(),
        fields: Vec::new(),
    };
    let mut bytes = 0;
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            return Ok(answer);
        }
        bytes += line.len() as u64;
        if bytes > MAX_HEAD_BYTES {
            return Err(MALFORMED.to_owned());
        }
        // Continuation lines are obsolete and ignored (RFC 9112, 5.2).
        if let Some((name, value)) = line.split_once(':') {
            let value = value.trim().to_owned();
            answer.fields.push((name.to_ascii_lowercase(), value));
        }
    }
}

fn read_body(
    reader: &mut BufReader<impl Read>,
    answer: &Answer,
    each: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let chunked = answer.field("transfer-encoding");
    if chunked.is_some_and(|coding| coding.to_ascii_lowercase().ends_with("chunked")) {
        loop {
            let line = read_line(reader)?;
            let length = line.split(';').next().unwrap_or_default().trim();
            let length = u64::from_str_radix(length, 16).map_err(|_| MALFORMED)?;
            if length == 0 {
                return Ok(());
            }
            pass(reader, Some(length), each)?;
            read_line(reader)?;
        }
    }
    match answer.field("content-length") {
        Some(length) => pass(reader, Some(length.parse().map_err(|_| MALFORMED)?), each),
        None => pass(reader, None, each),
    }
}

/// Passes on `count` bytes, or all bytes until the end.
fn pass(
    reader: &mut BufReader<impl Read>,
    length: Option<u64>,
    each: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let mut left = length;
    let mut bytes = vec![0; 16 << 10];
    while left != Some(0) {
        let most = left.map_or(bytes.len(), |left| {
            usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()))
        });
        let count = reader
            .read(&mut bytes[..most])
            .map_err(|error| error.to_string())?;
        match (count, &mut left) {
            (0, None) => return Ok(()),
            (0, Some(_)) => return Err("the answer ended too early".to_owned()),
            (count, Some(left)) => *left -= count as u64,
            (_, None) => {}
        }
        each(&bytes[..count])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Answer, String), String> {
        let mut reader = BufReader::new(text.as_bytes());
        let answer = read_head(&mut reader)?;
        let mut body = Vec::new();
        read_body(&mut reader, &answer, &mut |piece| {
            body.extend(piece);
            Ok(())
        })?;
        Ok((answer, String::from_utf8(body).expect("it is text")))
    }

    #[test]
    fn answers_are_read_by_length_by_chunks_and_to_the_end() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more",
            "HTTP/1.0 200 OK\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        ] {
            let (answer, body) = read(text).expect("a good answer");
            assert_eq!(
                (answer.status, &*answer.reason, &*body),
                (200, "OK", "hello")
            );
        }
    }

    #[test]
    fn malformed_answers_are_refused() {
        for text in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 99 x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhe",
            "HTTP/1.1 200 OK\r\nX: y",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(20_000));
        assert!(read(&endless).is_err());
    }
}
