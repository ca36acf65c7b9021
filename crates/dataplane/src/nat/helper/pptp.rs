//! PPTP names a call by a number on either side, which the tunnel's GRE packets carry (RFC 2637).
//!
//! A packet has the number that its receiver gave the call. The two directions of a tunnel therefore
//! have tuples of their own: each is the other's answer.

use super::{Expected, Findings, View};
use crate::connection::Expectation;
use crate::packet::protocol;

const TIMEOUT_SECS: u32 = 300;

/// Control messages begin with a length, a kind of message and this (RFC 2637, 2).
const COOKIE: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];

pub(super) fn read(payload: &[u8], view: &View, expected: &dyn Expected) -> Option<Findings> {
    let message = payload.first_chunk::<18>()?;
    let number = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let control = number(2) == 1 && message[4..8] == COOKIE;
    // Outgoing-Call-Reply and Incoming-Call-Reply, and the call is established.
    if !control || !matches!(number(8), 8 | 10) || message[16] != 1 {
        return None;
    }
    let (own, peers) = (number(12), number(14));
    let turned = View {
        forth: view.back,
        back: view.forth,
        ..*view
    };
    let both = [direction(view, own, peers), direction(&turned, peers, own)];
    if both.iter().any(|one| expected.by_another(one)) {
        return None;
    }
    let mut findings = Findings::default();
    both.into_iter().for_each(|one| findings.expect(one));
    Some(findings)
}

/// Packets to the view's sender, which gave the call its number `own`.
fn direction(view: &View, own: u16, peers: u16) -> Expectation {
    Expectation {
        answer: Some(peers),
        ..view.expect(protocol::GRE, own, own, TIMEOUT_SECS)
    }
}
