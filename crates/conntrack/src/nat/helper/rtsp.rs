//! RTSP agrees upon the ports of streams over UDP (RFC 2326, 10.4 and 12.39): the client names its own
//! where it sets a stream up, and the server's answer names those and its own.
//!
//! ```text
//! client  Transport: RTP/AVP;unicast;client_port=5000-5001
//! server  Transport: RTP/AVP;unicast;client_port=5000-5001;server_port=6256-6257
//! ```
//!
//! Each side's ports are expected by the other. What is carried in the connection itself
//! (`interleaved`) needs no other one.

use core::ops::Range;

use packet::{Tuple, protocol};

use super::text::{Host, LINE, Lines, Text, address, port};
use super::{Expected, Findings, Needs, View};

/// How long a stream is waited for: until the client says that it is to begin.
const STREAM_SECS: u32 = 180;

/// The most lines that are read.
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
        // A line that is not all there may say something else when it is.
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

/// What has to be kept of a text for the next one: the first line of a message whose head is not all
/// there, which says what the others mean, and a line that is not.
pub(super) fn rest(text: &[u8]) -> [&[u8]; 2] {
    const NOTHING: [&[u8]; 2] = [&[]; 2];
    if !begins(text) {
        return NOTHING;
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
            return if kept { [first, behind] } else { NOTHING };
        };
        match &text[line] {
            [] => first = &[],
            line if is_first(line) => first = &text[start..lines.at],
            _ => {}
        }
    }
    NOTHING
}

/// Not in the midst of something: each message begins with a word, what is interleaved with `$`.
fn begins(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
}

/// What is interleaved is none of a message's lines.
fn is_printed(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\r')
}

fn is_answer(line: &[u8]) -> bool {
    line.starts_with(b"RTSP/1.0 ")
}

/// Whether a message begins with this line.
fn is_first(line: &[u8]) -> bool {
    is_answer(line) || line.ends_with(b" RTSP/1.0")
}

/// Where the value of the header `Transport` begins in its line.
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
    /// The ways that a side offers, between commas, with their parameters between semicolons.
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

    /// One port, or one and the next: RTP and RTCP.
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

    /// The sender's ports are expected, and called what the other side may call them.
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
        self.rename(at, (inside, outside), needs)
    }

    /// The receiver's ports, as the sender was told of them, are called what they are.
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
            Some(inside) => self.rename(at, (outside, inside), needs),
            None => Some(()),
        }
    }

    fn rename(&mut self, at: Range<usize>, (from, to): (u16, u16), needs: Needs) -> Option<()> {
        if from == to {
            return Some(());
        }
        let text = match needs {
            Needs::One => Text::of(format_args!("{to}")),
            Needs::Two => Text::of(format_args!("{to}-{}", to.checked_add(1)?)),
        };
        self.findings.edits.push(at, text?)
    }

    /// The sender's address is called what the other side knows.
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
