//! RTSP: reads the UDP ports of media streams (RFC 2326, 10.4 and 12.39). The client names its ports in
//! SETUP, and the server's reply names both sides' ports.
//!
//! ```text
//! client  Transport: RTP/AVP;unicast;client_port=5000-5001
//! server  Transport: RTP/AVP;unicast;client_port=5000-5001;server_port=6256-6257
//! ```
//!
//! Each side's ports are expected from the other side. Media inside the connection itself (`interleaved`)
//! need no expectation.

use core::ops::Range;

use packet::{Tuple, protocol};

use super::text::{Host, LINE, Lines, Text, address, port};
use super::{Expected, Findings, Needs, View};

/// Seconds that a stream is expected, until the client requests playback.
const STREAM_SECS: u32 = 180;

/// Maximum number of lines read.
const LINES: usize = 128;

pub(super) fn read(text: &[u8], view: &View, expected: &dyn Expected, findings: &mut Findings) {
    if !begins(text) {
        return;
    }
    let mut reading = Reading {
        text,
        view,
        expected,
        findings,
    };
    let mut sets_up = false;
    let mut lines = Lines::of(text, 0);
    for _ in 0..LINES {
        // An incomplete line may change its meaning when it continues.
        let Some(line) = lines.next_whole() else {
            break;
        };
        let text = &text[line.clone()];
        if text.is_empty() {
            sets_up = false;
        } else if is_first(text) {
            sets_up = match is_answer(text) {
                true => view.reply,
                false => !view.reply && text.starts_with(b"SETUP "),
            };
        } else if sets_up && let Some(value) = transport(text) {
            let before = *reading.findings;
            if reading.transports(line.start + value..line.end).is_none() {
                reading.findings.take_back(&before);
            }
        }
    }
}

/// Returns the text to keep for the next segment: the first line of an incomplete message head, which
/// determines the meaning of the other lines, and the incomplete last line.
pub(super) fn rest(text: &[u8]) -> [&[u8]; 2] {
    const EMPTY: [&[u8]; 2] = [&[]; 2];
    if !begins(text) {
        return EMPTY;
    }
    let mut first: &[u8] = &[];
    let mut lines = Lines::of(text, 0);
    for _ in 0..LINES {
        let start = lines.at;
        let Some(line) = lines.next_whole() else {
            let behind = &text[start..];
            let kept = first.len().max(behind.len()) <= LINE
                && behind.iter().all(is_printed)
                && (!first.is_empty() || begins(behind));
            return if kept { [first, behind] } else { EMPTY };
        };
        match &text[line] {
            [] => first = &[],
            line if is_first(line) => first = &text[start..lines.at],
            _ => {}
        }
    }
    EMPTY
}

/// Returns true if the text begins with a message: messages begin with a letter, interleaved data with `$`.
fn begins(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
}

/// Returns true for bytes that may occur in a message; others are interleaved data.
fn is_printed(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\r')
}

fn is_answer(line: &[u8]) -> bool {
    line.starts_with(b"RTSP/1.0 ")
}

/// Returns true if a message begins with this line.
fn is_first(line: &[u8]) -> bool {
    is_answer(line) || line.ends_with(b" RTSP/1.0")
}

/// Returns the offset of the value in a `Transport` header line.
fn transport(line: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"transport:";
    let name = line.get(..NAME.len())?;
    name.eq_ignore_ascii_case(NAME).then_some(NAME.len())
}

struct Reading<'a> {
    text: &'a [u8],
    view: &'a View,
    expected: &'a dyn Expected,
    findings: &'a mut Findings,
}

impl Reading<'_> {
    /// Reads the transports of a header: separated by commas, with parameters separated by semicolons.
    fn transports(&mut self, value: Range<usize>) -> Option<()> {
        let mut at = value.start;
        for part in self.text[value].split(|byte| matches!(byte, b';' | b',')) {
            let blank = part.iter().take_while(|byte| **byte == b' ').count();
            self.parameter(at + blank..at + part.len())?;
            at += part.len() + 1;
        }
        Some(())
    }

    fn parameter(&mut self, at: Range<usize>) -> Option<()> {
        let text = &self.text[at.clone()];
        let Some(equals) = text.iter().position(|byte| *byte == b'=') else {
            return Some(());
        };
        let value = at.start + equals + 1..at.end;
        let (own_ports, own_address) = match self.view.reply {
            false => (&b"client_port"[..], &b"destination"[..]),
            true => (&b"server_port"[..], &b"source"[..]),
        };
        let is = |name: &[u8]| text[..equals].eq_ignore_ascii_case(name);
        if is(own_ports) {
            self.own_ports(value)
        } else if is(own_address) {
            self.own_address(value)
        } else if is(b"client_port") {
            self.told_ports(value)
        } else {
            Some(())
        }
    }

    /// Parses a port, or a port and the next one: RTP and RTCP.
    fn ports(&self, at: &Range<usize>) -> Option<(u16, Needs)> {
        let text = &self.text[at.clone()];
        let (first, digits) = port(text)?;
        match text.get(digits..)? {
            [] => Some((first, Needs::One)),
            [b'-', next @ ..] => {
                let (next, more) = port(next)?;
                let pair = digits + 1 + more == text.len() && first.checked_add(1) == Some(next);
                pair.then_some((first, Needs::Two))
            }
            _ => None,
        }
    }

    /// Expects the sender's ports and replaces them by the outside ports.
    fn own_ports(&mut self, at: Range<usize>) -> Option<()> {
        let Some((inside, needs)) = self.ports(&at) else {
            return Some(());
        };
        let view = self.view;
        let make = |inside, outside| view.expect(protocol::UDP, inside, outside, STREAM_SECS);
        let outside = view.free_port(inside, needs, self.expected, make)?;
        self.findings.expect(make(inside, outside));
        if needs == Needs::Two {
            self.findings.expect(make(inside + 1, outside + 1));
        }
        self.rename(at, inside, outside, needs)
    }

    /// Replaces the receiver's outside ports by its inside ports.
    fn told_ports(&mut self, at: Range<usize>) -> Option<()> {
        let Some((outside, needs)) = self.ports(&at) else {
            return Some(());
        };
        let tuple = Tuple {
            source_port: 0,
            destination_port: outside,
            protocol: protocol::UDP,
            ..self.view.forth
        };
        match self.expected.leads_to(&tuple) {
            Some(inside) => self.rename(at, outside, inside, needs),
            None => Some(()),
        }
    }

    fn rename(&mut self, at: Range<usize>, from: u16, to: u16, needs: Needs) -> Option<()> {
        if from == to {
            return Some(());
        }
        let text = match needs {
            Needs::One => Text::of(format_args!("{to}")),
            Needs::Two => Text::of(format_args!("{to}-{}", to.checked_add(1)?)),
        };
        self.findings.edits.push(at, text?)
    }

    /// Replaces the sender's address by its outside address.
    fn own_address(&mut self, at: Range<usize>) -> Option<()> {
        let ipv6 = self.view.forth.ipv6;
        let known = address(&self.text[at.clone()], ipv6);
        let outside = self.view.back.destination;
        if known != Some(self.view.forth.source) || known == Some(outside) {
            return Some(());
        }
        let host = Host::of(outside, ipv6);
        let text = Text::of(format_args!("{host}"))?;
        self.findings.edits.push(at, text)
    }
}
