//! IRC: reads offers of direct connections (DCC), which contain the IPv4 address as a number and the port.
//!
//! ```text
//! PRIVMSG friend :^ADCC SEND picture.png 167772162 5001 1234^A
//! ```

use core::ops::Range;

use super::text::{LINE, PASSED, Text, number, port, unfinished};
use super::{Expected, Findings, From, View};

const TIMEOUT_SECS: u32 = 300;

const MARK: &[u8] = b"\x01DCC ";

/// Maximum number of offers read per packet.
const OFFERS_READ: usize = 4;

const OFFERS: [&[u8]; 5] = [b"SEND ", b"CHAT ", b"MOVE ", b"TSEND ", b"SCHAT "];

pub(super) fn read(text: &[u8], view: &View, known: &dyn Expected, findings: &mut Findings) {
    let mut from = 0;
    for _ in 0..OFFERS_READ {
        let Some(at) = find(&text[from..], MARK) else {
            return;
        };
        from += at + MARK.len();
        if let Some(offer) = DccOffer::at(text, from) {
            let _ = carry_out(offer, view, known, findings);
        }
    }
}

/// Returns the text to keep for the next segment: an incomplete line whose offer was not read yet.
pub(super) fn rest(text: &[u8]) -> &[u8] {
    let line = unfinished(text);
    let offer = find(line, MARK).and_then(|at| DccOffer::at(line, at + MARK.len()));
    match offer {
        None if line.len() <= LINE => line,
        _ => PASSED,
    }
}

/// The endpoint of an offer and its position in the text.
struct DccOffer {
    host: u32,
    port: u16,
    at: Range<usize>,
}

impl DccOffer {
    /// Parses the offer whose kind begins at `at`.
    fn at(text: &[u8], at: usize) -> Option<Self> {
        let end = find(&text[at..], b"\n").map_or(text.len(), |end| at + end + 1);
        let text = &text[..end];
        let kind = OFFERS.iter().find(|kind| text[at..].starts_with(kind))?;
        // The name of the file or protocol.
        let name = at + kind.len();
        let start = name + text[name..].iter().position(|byte| *byte == b' ')? + 1;
        let (host, digits) = number(&text[start..])?;
        let between = start + digits;
        let (port, port_digits) = port(text[between..].strip_prefix(b" ")?)?;
        let end = between + 1 + port_digits;
        // A number at the end of the text may have more digits.
        text.get(end)?;
        Some(Self {
            host,
            port,
            at: start..end,
        })
    }
}

/// Adds an expectation for the offered endpoint and an edit to the translated one. Returns `None`, without
/// findings, if that is impossible.
fn carry_out(
    offer: DccOffer,
    view: &View,
    known: &dyn Expected,
    findings: &mut Findings,
) -> Option<()> {
    if view.forth.ipv6 || !view.is_sender(u128::from(offer.host)) {
        return None;
    }
    // The connection comes from the recipient of the message, not from the server.
    let expected = view.expect_tcp(offer.port, TIMEOUT_SECS, From::Anywhere, known)?;
    let (outside, outside_port) = (
        view.back.destination as u32,
        expected.tuple.destination_port,
    );
    if (offer.host, offer.port) != (outside, outside_port) {
        let text = Text::of(format_args!("{outside} {outside_port}"))?;
        findings.edits.push(offer.at, text)?;
    }
    findings.expect(expected);
    Some(())
}

/// Returns the position of `wanted` in `bytes`.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}
