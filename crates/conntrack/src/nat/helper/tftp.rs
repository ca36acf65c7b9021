//! TFTP: the server replies from another port (RFC 1350, 4).

use packet::protocol;

use super::{Findings, View};

const TIMEOUT_SECS: u32 = 300;

pub(super) fn read(payload: &[u8], view: &View) -> Option<Findings> {
    // A read or write request (RFC 1350, 5), which only the client sends.
    let ([0, 1 | 2], false) = (payload.first_chunk()?, view.reply) else {
        return None;
    };
    let (inside, outside) = (view.forth.source_port, view.back.destination_port);
    let mut findings = Findings::default();
    findings.expect(view.expect(protocol::UDP, inside, outside, TIMEOUT_SECS));
    Some(findings)
}
