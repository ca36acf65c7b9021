//! FTP: reads the endpoint of the data connection (RFC 959, 4.1.2 and 4.2; RFC 2428).
//!
//! ```text
//! client  PORT 10,0,0,2,19,137            server  227 Entering Passive Mode (10,0,0,5,19,137)
//! client  EPRT |1|10.0.0.2|5001|          server  229 Entering Extended Passive Mode (|||5001|)
//! ```

use core::ops::Range;

use super::text::{Host, LINE, Lines, PASSED, Text, address, number, port, unfinished};
use super::{EXPECTATIONS, Expected, Findings, From, View};

const TIMEOUT_SECS: u32 = 300;

/// Maximum number of lines read.
const LINES: usize = 128;

/// Notation of an endpoint.
enum Form {
    /// Six numbers with commas.
    Commas,
    /// Address and port between delimiters.
    Delimited(u8),
    /// Only the port.
    Port,
}

/// An endpoint in the text and its position.
struct Named {
    address: u128,
    port: u16,
    at: Range<usize>,
    form: Form,
}

pub(super) fn read(text: &[u8], view: &View, known: &dyn Expected, findings: &mut Findings) {
    let lines = Lines::of(text, 0).take(LINES);
    let named = lines.filter_map(|line| find(text, line.start, view));
    for named in named.take(EXPECTATIONS) {
        let _ = carry_out(named, view, known, findings);
    }
}

/// Returns the text to keep for the next segment: an incomplete line.
pub(super) fn rest(text: &[u8]) -> &[u8] {
    match unfinished(text) {
        line if line.len() > LINE || line.contains(&b'\r') => PASSED,
        line => line,
    }
}

/// Adds an expectation for the announced endpoint and an edit to the translated one. Returns `None`, without
/// findings, if that is impossible.
fn carry_out(
    named: Named,
    view: &View,
    known: &dyn Expected,
    findings: &mut Findings,
) -> Option<()> {
    if !view.is_sender(named.address) {
        return None;
    }
    let expected = view.expect_tcp(named.port, TIMEOUT_SECS, From::Peer, known)?;
    let (outside, port) = (view.back.destination, expected.tuple.destination_port);
    if (named.address, named.port) != (outside, port) {
        let [high, low] = port.to_be_bytes();
        let host = Host::of(outside, view.forth.ipv6);
        let text = match named.form {
            Form::Commas => {
                let [.., a, b, c, d] = outside.to_be_bytes();
                Text::of(format_args!("{a},{b},{c},{d},{high},{low}"))
            }
            Form::Delimited(by) => Text::of(format_args!("{host}{}{port}", char::from(by))),
            Form::Port => Text::of(format_args!("{port}")),
        };
        findings.edits.push(named.at, text?)?;
    }
    findings.expect(expected);
    Some(())
}

/// Returns the endpoint that a client command or a server reply names in the line at `start`.
fn find(text: &[u8], start: usize, view: &View) -> Option<Named> {
    let text = &text[start..];
    // An incomplete line may change its meaning when it continues.
    let end = text.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
    let named = in_line(&text[..end], view)?;
    Some(Named {
        at: start + named.at.start..start + named.at.end,
        ..named
    })
}

fn in_line(line: &[u8], view: &View) -> Option<Named> {
    let (word, rest) = line.split_at_checked(4)?;
    let from = 4 + rest.iter().position(|byte| *byte != b' ')?;
    match (view.reply, word.to_ascii_uppercase().as_slice()) {
        (false, b"PORT") => commas(line, from),
        (false, b"EPRT") => delimited(line, from, view.forth.ipv6),
        (true, b"227 ") => {
            let digit = line[4..].iter().position(u8::is_ascii_digit)?;
            commas(line, 4 + digit)
        }
        (true, b"229 ") => {
            let open = line.iter().position(|byte| *byte == b'(')? + 1;
            extended(line, open, view.forth.source)
        }
        _ => None,
    }
}

/// `10,0,0,2,19,137`
fn commas(line: &[u8], from: usize) -> Option<Named> {
    let (mut at, mut numbers) = (from, [0; 6]);
    for (index, into) in numbers.iter_mut().enumerate() {
        if index > 0 {
            at += usize::from(*line.get(at)? == b',');
        }
        let (value, digits) = number(line.get(at..)?)?;
        *into = u8::try_from(value).ok()?;
        at += digits;
    }
    let [a, b, c, d, high, low] = numbers;
    Some(Named {
        address: u128::from(u32::from_be_bytes([a, b, c, d])),
        port: u16::from_be_bytes([high, low]),
        at: from..at,
        form: Form::Commas,
    })
}

/// `|1|10.0.0.2|5001|`
fn delimited(line: &[u8], from: usize, ipv6: bool) -> Option<Named> {
    let by = *line.get(from)?;
    let family = if ipv6 { b'2' } else { b'1' };
    if line.get(from + 1..from + 3)? != [family, by] {
        return None;
    }
    let start = from + 3;
    let len = line[start..].iter().position(|byte| *byte == by)?;
    let host = address(&line[start..start + len], ipv6)?;
    let (port, digits) = port(&line[start + len + 1..])?;
    let end = start + len + 1 + digits;
    (*line.get(end)? == by).then_some(Named {
        address: host,
        port,
        at: start..end,
        form: Form::Delimited(by),
    })
}

/// `|||5001|`
fn extended(line: &[u8], from: usize, own: u128) -> Option<Named> {
    let by = *line.get(from)?;
    if line.get(from..from + 3)? != [by; 3] {
        return None;
    }
    let (port, digits) = port(&line[from + 3..])?;
    let end = from + 3 + digits;
    (*line.get(end)? == by).then_some(Named {
        address: own,
        port,
        at: from + 3..end,
        form: Form::Port,
    })
}
