//! PPPoE session data: assigns the frames of a vector to sessions and removes the session headers.
//!
//! Two loops per group of frames overlap cache misses: the first parses headers and prefetches the
//! table lines of their keys, the second reads these lines.

use frame::{Frame, InterfaceId};
use wire::Mac;

use super::{Counting, IPV4, IPV6, pulled, running};
use crate::demux::pppoe::{self, HEADER, Header, SESSION_DATA};
use crate::demux::{self, Facts, Key, KeyHash, View};
use crate::interface::Session;
use crate::walk::Context;
use crate::walk::ingress::{ETHERNET, Entrance};

/// Frames whose keys are looked up together.
const TOGETHER: usize = 32;
/// Bytes of an untagged frame of session data up to its packet.
const FRONT: usize = ETHERNET + HEADER;
/// Bytes that are parsed: up to the payload length of an IPv6 header.
const READ: usize = FRONT + 6;
/// EtherType, version, type and code of session data.
const DATA: u32 = (SESSION_DATA as u32) << 16 | 0x1100;

/// The parsed headers of a session data frame.
#[derive(Clone, Copy, Default)]
struct ParsedSession {
    /// Name part of the session's key.
    name: u64,
    hash: KeyHash,
    /// EtherType of the packet in network byte order; 0 if the frame stays unchanged.
    kind: u16,
}

/// Removes the session headers of frames and assigns the frames to their sessions. Only running
/// sessions with the families of the interface below take part. All other frames stay with the
/// interface.
pub(super) fn take_off(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    counting: Counting<'_>,
) {
    let Some(view) = cx.interfaces.demux().sessions.view() else {
        for frame in frames {
            frame.ingress = entrance.id;
        }
        return;
    };
    let on = SessionCarrier {
        id: entrance.id,
        mac: entrance.interface.mac.0,
        facts: Facts::of(&running(&entrance.interface)),
    };
    let mut from = 0;
    while from < frames.len() {
        let to = frames.len().min(from + TOGETHER);
        for next in frames.iter().skip(to).take(TOGETHER) {
            next.prefetch();
        }
        take_off_few(&on, &view, &mut frames[from..to], counting);
        from = to;
    }
}

/// The interface below the sessions.
struct SessionCarrier {
    id: InterfaceId,
    /// Its link address in bytes.
    mac: [u8; 6],
    /// The facts that an entry of a running session with the same families has.
    facts: Facts,
}

#[inline(always)]
fn take_off_few(
    on: &SessionCarrier,
    view: &View<'_>,
    frames: &mut [Frame],
    counting: Counting<'_>,
) {
    let key = |name| Key {
        on: on.id.slot() as u32,
        name,
    };
    let mut all = [ParsedSession::default(); TOGETHER];
    for (frame, parsed) in frames.iter_mut().zip(&mut all) {
        frame.ingress = on.id;
        if let Some((name, kind)) = session_data(frame, on.mac) {
            let hash = view.hash(key(name));
            view.prefetch(hash);
            *parsed = ParsedSession { name, hash, kind };
        }
    }
    for (frame, parsed) in frames.iter_mut().zip(&all) {
        if parsed.kind == 0 {
            continue;
        }
        let Some(entry) = view.get(parsed.hash, key(parsed.name)) else {
            continue;
        };
        if entry.facts == on.facts {
            let counters = counting.counters.interface(entry.id);
            kernels::prefetch(counters);
            if !counting.later {
                counters.rx.add(1, frame.len() as u64);
            }
            frame.rise(on.id, entry.id);
            shorten(frame, parsed.kind);
        }
    }
}

/// Returns the name of the session in the table, and the type field of the packet; `None` where a frame is not an IP
/// packet in untagged session data for this link address, or where its lengths contradict each other.
#[inline(always)]
fn session_data(frame: &Frame, mac: [u8; 6]) -> Option<(u64, u16)> {
    let [
        to @ ..,
        s0,
        s1,
        s2,
        s3,
        s4,
        s5,
        t0,
        t1,
        t2,
        t3,
        n0,
        n1,
        l0,
        l1,
        p0,
        p1,
        _,
        _,
        a0,
        a1,
        b0,
        b1,
    ] = frame.bytes().first_chunk::<READ>()?;
    if (*to != mac) | (u32::from_be_bytes([*t0, *t1, *t2, *t3]) != DATA) {
        return None;
    }
    // The packet's own length must not reach into padding.
    let (kind, total) = match u16::from_be_bytes([*p0, *p1]) {
        pppoe::PPP_IPV4 => (IPV4, u32::from(u16::from_be_bytes([*a0, *a1]))),
        pppoe::PPP_IPV6 => (IPV6, 40 + u32::from(u16::from_be_bytes([*b0, *b1]))),
        _ => return None,
    };
    let said = u32::from(u16::from_be_bytes([*l0, *l1]));
    let came = (frame.len() - FRONT + 2) as u32;
    let name = demux::session_name([*s0, *s1, *s2, *s3, *s4, *s5], [*n0, *n1]);
    ((total + 2 <= said) & (said <= came)).then_some((name, kind.to_be()))
}

/// Moves the link addresses and the EtherType `kind` directly in front of the packet.
#[inline(always)]
fn shorten(frame: &mut Frame, kind: u16) {
    if let Some(head) = frame.bytes_mut().first_chunk_mut::<FRONT>() {
        head.copy_within(..ETHERNET - 2, HEADER);
        head[FRONT - 2..].copy_from_slice(&kind.to_ne_bytes());
    }
    pulled(frame, HEADER, 0);
}

/// Returns the session that a frame on this interface belongs to. The session header begins at `at`
/// and must carry an IP packet whose length does not reach into padding.
pub(super) fn of(
    cx: &Context<'_>,
    on: InterfaceId,
    bytes: &[u8],
    at: usize,
) -> Option<InterfaceId> {
    let peer = bytes.get(6..12)?.first_chunk()?;
    let behind = bytes.get(at..)?;
    let header = Header::new(*behind.first_chunk()?);
    let (_, packet) = behind.split_at_checked(HEADER)?;
    let bytes_max = header.packet_bytes(packet.len())?;
    let length = |at: usize| {
        Some(usize::from(u16::from_be_bytes(
            *packet.get(at..)?.first_chunk()?,
        )))
    };
    let total = match header.ethertype()? {
        IPV6 => 40 + length(4)?,
        _ => length(2)?,
    };
    let session = Session {
        peer: Mac(*peer),
        number: header.number,
    };
    let is_whole = header.is_data() && total <= bytes_max;
    let id = is_whole.then(|| cx.interfaces.session(on, session))??;
    let is_open = cx.interfaces.get(id).is_none_or(|is| !is.encrypted);
    is_open.then_some(id)
}
