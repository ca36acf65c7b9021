//! SIP: reads the endpoints of signalling in headers and the endpoints of media in the session description
//! (RFC 3261; RFC 8866). A datagram is one message; in a TCP stream every complete message is read.
//!
//! Each inside address of an end of the signalling is replaced by its outside address: in the request line,
//! in `Via`, `Contact`, `From`, `To`, `Route` and `Record-Route`, and in `c=` and `o=`. A media stream of the
//! payload's sender is expected at its port and the next one (RTP and RTCP); `m=` gets other ports if those
//! are taken.

mod stream;

use core::ops::Range;

use packet::protocol;

use super::text::{Host, Lines, Text, address, number, port};
use super::{Expected, Findings, From, Needs, View};
use stream::Next;

pub(super) use stream::rest;

/// Default of `sip-timeout` in seconds.
pub(super) const TIMEOUT_SECS: u32 = 3600;

/// Seconds that a media stream is expected.
const STREAM_SECS: u32 = 180;

/// Maximum number of lines read.
const LINES: usize = 128;

/// Maximum number of messages read per segment.
const MESSAGES: usize = 64;

/// Maximum number of media streams per session.
const STREAMS: usize = 4;

/// Default port (RFC 3261, 19.1.2).
const PORT: u16 = 5060;

/// Headers that contain endpoints, and their compact forms (RFC 3261, 7.3.3).
const HEADERS: [&[u8]; 10] = [
    b"via",
    b"v",
    b"contact",
    b"m",
    b"from",
    b"f",
    b"to",
    b"t",
    b"route",
    b"record-route",
];

pub(super) fn read(text: &[u8], view: &View, expected: &dyn Expected, findings: &mut Findings) {
    if view.forth.protocol != protocol::TCP {
        carry_out(text, 0..text.len(), view, expected, findings);
        return;
    }
    let mut start = 0;
    for _ in 0..MESSAGES {
        let Next::Whole(message) = Next::of(text, start) else {
            return;
        };
        start = message.end;
        carry_out(text, message, view, expected, findings);
    }
}

/// Returns true if a message begins with this line.
fn is_first(line: &[u8]) -> bool {
    line.starts_with(b"SIP/2.0 ") || line.ends_with(b" SIP/2.0")
}

/// Reads a message; applies all of its findings or none.
fn carry_out(
    text: &[u8],
    at: Range<usize>,
    view: &View,
    expected: &dyn Expected,
    findings: &mut Findings,
) {
    let before = *findings;
    let mut message = Message::of(&text[..at.end], view, findings);
    if message.read(at.start, view, expected).is_none() {
        findings.take_back(&before);
    }
}

/// Kinds of headers that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    /// A header with endpoints.
    Endpoints,
    /// The content length.
    Length,
}

/// Returns the kind of a header line and the range of its value.
fn header(payload: &[u8], line: &Range<usize>) -> Option<(Name, Range<usize>)> {
    let text = &payload[line.clone()];
    let colon = text.iter().position(|byte| *byte == b':')?;
    let name = text[..colon].trim_ascii();
    let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
    let about = match () {
        () if HEADERS.iter().any(|known| is(known)) => Name::Endpoints,
        () if is(b"content-length") || is(b"l") => Name::Length,
        () => return None,
    };
    Some((about, line.start + colon + 1..line.end))
}

/// The endpoints of the signalling before and after translation.
struct Ends {
    pairs: [((u128, u16), (u128, u16)); 2],
    ipv6: bool,
}

impl Ends {
    fn of(view: &View) -> Self {
        let View { forth, back, .. } = view;
        Self {
            pairs: [
                (
                    (forth.source, forth.source_port),
                    (back.destination, back.destination_port),
                ),
                (
                    (forth.destination, forth.destination_port),
                    (back.source, back.source_port),
                ),
            ],
            ipv6: forth.ipv6,
        }
    }

    /// Returns the replacement of an address with or without port.
    fn other(&self, address: u128, port: Option<u16>) -> Option<(u128, Option<u16>)> {
        let pair = |(from, _): &&((u128, u16), (u128, u16))| from.0 == address;
        let (from, to) = self.pairs.iter().find(pair)?;
        let port = match port {
            Some(port) if port == from.1 => Some(to.1),
            None if from.1 == PORT && to.1 != PORT => Some(to.1),
            other => other,
        };
        Some((to.0, port))
    }
}

/// A message and its findings.
struct Message<'a> {
    payload: &'a [u8],
    ends: Ends,
    findings: &'a mut Findings,
}

impl<'a> Message<'a> {
    fn of(payload: &'a [u8], view: &View, findings: &'a mut Findings) -> Self {
        Self {
            payload,
            ends: Ends::of(view),
            findings,
        }
    }

    /// Reads the message from `at` to the payload's end.
    fn read(&mut self, at: usize, view: &View, expected: &dyn Expected) -> Option<()> {
        let payload = self.payload;
        let mut lines = Lines::of(payload, at);
        let first = lines.next()?;
        if !is_first(&payload[first.clone()]) {
            return None;
        }
        self.endpoints(first)?;
        let mut length = None;
        for line in lines.by_ref().take(LINES) {
            if line.is_empty() {
                break;
            }
            match header(payload, &line) {
                Some((Name::Endpoints, value)) => self.endpoints(value)?,
                Some((Name::Length, value)) => length = Some(value),
                None => {}
            }
        }
        let body = lines.at;
        self.session(lines, view, expected)?;
        self.content_length(length, body)
    }

    /// Replaces every endpoint in a part of the text.
    fn endpoints(&mut self, part: Range<usize>) -> Option<()> {
        let mut at = part.start;
        while at < part.end {
            match self.endpoint(at, part.end) {
                Some((end, edit)) => {
                    if let Some(text) = edit {
                        self.findings.edits.push(at..end, text)?;
                    }
                    at = end;
                }
                None => at += 1,
            }
        }
        Some(())
    }

    /// Parses the endpoint at `at`; returns its end and its replacement.
    fn endpoint(&self, at: usize, end: usize) -> Option<(usize, Option<Text>)> {
        let begins = at == 0 || !is_host(self.payload[at - 1]);
        let (address, host_end) = self.host(at, end).filter(|_| begins)?;
        let behind = &self.payload[host_end..end];
        let named = match behind.first() {
            Some(b':') => port(&behind[1..]).filter(|(_, digits)| *digits > 0),
            _ => None,
        };
        let whole_end = host_end + named.map_or(0, |(_, digits)| 1 + digits);
        let named = named.map(|(port, _)| port);
        let Some((other, other_port)) = self.ends.other(address, named) else {
            return Some((whole_end, None));
        };
        if (other, other_port) == (address, named) {
            return Some((whole_end, None));
        }
        let host = Host::of(other, self.ends.ipv6);
        let (open, close) = if self.ends.ipv6 { ("[", "]") } else { ("", "") };
        let text = match other_port {
            Some(port) => Text::of(format_args!("{open}{host}{close}:{port}")),
            None => Text::of(format_args!("{open}{host}{close}")),
        };
        Some((whole_end, text))
    }

    /// Parses the address at `at`, in brackets for IPv6; returns the address and its end.
    fn host(&self, at: usize, end: usize) -> Option<(u128, usize)> {
        let text = &self.payload[at..end];
        if self.ends.ipv6 {
            let inner = text.strip_prefix(b"[")?;
            let len = inner.iter().take(46).position(|byte| *byte == b']')?;
            return Some((address(&inner[..len], true)?, at + len + 2));
        }
        let len = text
            .iter()
            .take(16)
            .take_while(|byte| is_dotted(**byte))
            .count();
        let alone = text.get(len).is_none_or(|next| !is_host(*next));
        let len = Some(len).filter(|_| alone)?;
        Some((address(&text[..len], false)?, at + len))
    }

    /// Reads the session description: the sender's addresses and its media streams.
    fn session(&mut self, lines: Lines<'_>, view: &View, expected: &dyn Expected) -> Option<()> {
        let mut session = None;
        let mut streams: [Option<Stream>; STREAMS] = [const { None }; STREAMS];
        let mut count = 0;
        for line in lines.take(LINES) {
            let text = &self.payload[line.clone()];
            match text.first_chunk::<2>() {
                Some(b"o=") => self.addressed(&line)?,
                Some(b"c=") => {
                    self.addressed(&line)?;
                    let address = self.last_word(&line);
                    match count {
                        0 => session = address,
                        _ => streams.iter_mut().flatten().last()?.address = address,
                    }
                }
                Some(b"m=") => {
                    *streams.get_mut(count)? = Some(Stream::of(self.payload, &line, session)?);
                    count += 1;
                }
                _ => {}
            }
        }
        for stream in streams.into_iter().flatten() {
            self.stream(stream, view, expected)?;
        }
        Some(())
    }

    /// Replaces the address at the end of a line.
    fn addressed(&mut self, line: &Range<usize>) -> Option<()> {
        let at = self.last_word_at(line);
        let Some(known) = address(&self.payload[at.clone()], self.ends.ipv6) else {
            return Some(());
        };
        if let Some((other, _)) = self.ends.other(known, None)
            && other != known
        {
            let host = Host::of(other, self.ends.ipv6);
            self.findings
                .edits
                .push(at, Text::of(format_args!("{host}"))?)?;
        }
        Some(())
    }

    fn last_word_at(&self, line: &Range<usize>) -> Range<usize> {
        let text = &self.payload[line.clone()];
        let space = text.iter().rposition(|byte| *byte == b' ');
        line.start + space.map_or(0, |space| space + 1)..line.end
    }

    fn last_word(&self, line: &Range<usize>) -> Option<u128> {
        address(&self.payload[self.last_word_at(line)], self.ends.ipv6)
    }

    /// Expects the replies to a media stream of the sender.
    fn stream(&mut self, stream: Stream, view: &View, expected: &dyn Expected) -> Option<()> {
        let own = stream
            .address
            .is_some_and(|address| view.is_sender(address));
        if stream.port == 0 || !own {
            return Some(());
        }
        let from = match view.direct_media {
            true => From::Peer,
            false => From::Anywhere,
        };
        let make =
            |inside, outside| from.widen(view.expect(protocol::UDP, inside, outside, STREAM_SECS));
        let outside = view.free_port(stream.port, Needs::Two, expected, make)?;
        self.findings.expect(make(stream.port, outside));
        self.findings.expect(make(stream.port + 1, outside + 1));
        if outside != stream.port {
            self.findings
                .edits
                .push(stream.at, Text::of(format_args!("{outside}"))?)?;
        }
        Some(())
    }

    /// Updates the content length if the body's length changed.
    fn content_length(&mut self, line: Option<Range<usize>>, body: usize) -> Option<()> {
        let growth = self.findings.edits.growth(body);
        let Some(line) = line.filter(|_| growth != 0) else {
            return Some(());
        };
        let text = &self.payload[line.clone()];
        let blank = text.iter().take_while(|byte| **byte == b' ').count();
        let (said, digits) = number(&text[blank..])?;
        let at = line.start + blank..line.start + blank + digits;
        let says = said.checked_add_signed(growth)?;
        self.findings
            .edits
            .push(at, Text::of(format_args!("{says}"))?)
    }
}

/// A media stream of an `m=` line.
struct Stream {
    port: u16,
    at: Range<usize>,
    address: Option<u128>,
}

impl Stream {
    /// Parses a line such as `m=audio 49170 RTP/AVP 0`; `address` is the session's until a `c=` line of the
    /// stream follows.
    fn of(payload: &[u8], line: &Range<usize>, address: Option<u128>) -> Option<Self> {
        let text = &payload[line.clone()];
        let start = text.iter().position(|byte| *byte == b' ')? + 1;
        let (port, digits) = port(&text[start..])?;
        let at = line.start + start..line.start + start + digits;
        Some(Self { port, at, address })
    }
}

const fn is_dotted(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.'
}

/// Returns true for a byte of a host name or address: an address must not be part of a longer word.
const fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}
