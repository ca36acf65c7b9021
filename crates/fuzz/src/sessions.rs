//! PPPoE session data: the walk treats a packet in a session like a bare packet, and names malformed headers.

use dataplane::DropReason;
use dataplane::interface::Session;
use dataplane::trace::End;
use dataplane::walk::Exit;
use sim::Rig;
use sim::odd::Hosts;
use wire::{EtherType, Mac};

/// The only session.
const SESSION: Session = Session {
    peer: Mac([2, 0, 0, 0, 0, 9]),
    number: 7,
};

thread_local! {
    static RIG: Rig = Rig::with_session(SESSION);
}

/// Traces session data from the session's peer; `bytes` begin with the version.
pub fn pppoe(bytes: &[u8]) {
    let link = [Hosts::example().router_mac.0, SESSION.peer.0].concat();
    let frame = |kind: EtherType, behind: &[u8]| {
        let kind = kind.0.to_be_bytes();
        [&link[..], &kind, behind].concat()
    };
    let trace = |frame: &[u8]| RIG.with(|rig| rig.trace(frame)).end;
    let ended = trace(&frame(EtherType::PPPOE_SESSION, bytes));
    let expected = match packet(bytes) {
        Ok((kind, packet)) => trace(&frame(kind, packet)),
        Err(reason) => End::Exit(Exit::Drop(reason)),
    };
    assert_eq!(ended, expected);
}

/// Returns type and packet of session data, or the reason to drop it (RFC 2516, 4).
fn packet(bytes: &[u8]) -> Result<(EtherType, &[u8]), DropReason> {
    let [0x11, 0, a, b, c, d, high, low, rest @ ..] = bytes else {
        return Err(DropReason::PppoeMalformed);
    };
    let len = usize::from(u16::from_be_bytes([*c, *d]));
    let packet = len.checked_sub(2).and_then(|len| rest.get(..len));
    let packet = packet.ok_or(DropReason::PppoeLength)?;
    if u16::from_be_bytes([*a, *b]) != SESSION.number {
        return Err(DropReason::PppoeSession);
    }
    match u16::from_be_bytes([*high, *low]) {
        0x0021 => Ok((EtherType::IPV4, packet)),
        0x0057 => Ok((EtherType::IPV6, packet)),
        _ => Err(DropReason::PppoeProtocol),
    }
}
