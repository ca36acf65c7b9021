//! IRC clients offer each other direct connections (DCC), by number and port of the one that waits.
//!
//! ```text
//! PRIVMSG friend :^ADCC SEND picture.png 167772162 5001 1234^A
//! ```

use super::text::{Text, number, port};
use super::{Expected, Findings, From, View};

const TIMEOUT_SECS: u32 = 300;

const MARK: &[u8] = b"\x01DCC ";

/// The most offers of a packet that are read.
const OFFERS_READ: usize = 4;

const OFFERS: [&[u8]; 5] = [b"SEND ", b"CHAT ", b"MOVE ", b"TSEND ", b"SCHAT "];

pub(super) fn read(payload: &[u8], view: &View, known: &dyn Expected) -> Option<Findings> {
    if view.forth.ipv6 {
        return None;
    }
    let mut findings = Findings::default();
    let mut from = 0;
    for _ in 0..OFFERS_READ {
        let at = find(&payload[from..], MARK)?;
        let offer = from + at + MARK.len();
        // The first offer is the one: others need another line.
        if let Some(()) = one(payload, offer, view, known, &mut findings) {
            return Some(findings);
        }
        from = offer;
    }
    None
}

fn one(
    payload: &[u8],
    at: usize,
    view: &View,
    known: &dyn Expected,
    findings: &mut Findings,
) -> Option<()> {
    let rest = &payload[at..];
    let offer = OFFERS.iter().find(|offer| rest.starts_with(offer))?;
    // The name of the file, or of the protocol.
    let name = at + offer.len();
    let start = name + payload[name..].iter().position(|byte| *byte == b' ')? + 1;
    let (host, digits) = number(&payload[start..])?;
    let between = start + digits;
    let (port, port_digits) = port(
        payload
            .get(between + 1..)
            .filter(|_| payload[between] == b' ')?,
    )?;
    let end = between + 1 + port_digits;
    // A number that goes on may be another.
    let (_, true) = (payload.get(end)?, view.is_sender(u128::from(host))) else {
        return None;
    };
    // Whoever got the message connects, and that is not the server.
    let expected = view.expect_tcp(port, TIMEOUT_SECS, From::Anywhere, known)?;
    let (outside, outside_port) = (
        view.back.destination as u32,
        expected.tuple.destination_port,
    );
    if (host, port) != (outside, outside_port) {
        let text = Text::of(format_args!("{outside} {outside_port}"))?;
        findings.edits.push(start..end, text)?;
    }
    findings.expect(expected);
    Some(())
}

/// Where the first of some bytes begins.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}
