//! PPPoE session data: the session of each frame of a vector, and its header taken off.
//!
//! Three loops over a few frames at a time, cut where memory is missed: the headers, whose keys say which line of the
//! table is wanted; the lines, which say whose counters are wanted; the counters.

use frame::{Frame, InterfaceId};
use wire::Mac;

use super::{AHEAD, pulled, running};
use crate::counters::Counters;
use crate::demux::pppoe::{HEADER, Header, SESSION_DATA};
use crate::demux::{self, Facts, Key, Place};
use crate::interface::Session;
use crate::walk::Context;
use crate::walk::ingress::{ETHERNET, Entrance, IPV6};

/// Frames whose keys are looked up together.
const TOGETHER: usize = 32;
/// Bytes of an untagged frame of session data up to its packet.
const FRONT: usize = ETHERNET + HEADER;
/// Bytes that are read: up to the length in the header of a packet of IPv6.
const READ: usize = FRONT + 6;

/// A frame of session data, as its headers say.
#[derive(Clone, Copy)]
struct Found {
    key: Key,
    place: Place,
    /// The EtherType of its packet; 0 where the frame stays as it is.
    ethertype: u16,
}

const NOTHING: Found = Found {
    key: Key { on: 0, name: 0 },
    place: Place::NONE,
    ethertype: 0,
};

/// Takes the headers off frames of sessions that run and share the families in use with the interface below, and counts
/// what the sessions receive. All other frames are the interface's own.
pub(super) fn take_off(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    counters: &Counters,
) {
    let view = cx.interfaces.demux().sessions.view();
    let facts = Facts::of(&running(&entrance.interface));
    let on = entrance.id.slot() as u32;
    let mac = demux::mac_bits(entrance.interface.mac.0);
    let mut from = 0;
    while from < frames.len() {
        let to = frames.len().min(from + TOGETHER);
        let mut all = [NOTHING; TOGETHER];
        for (at, found) in (from..to).zip(&mut all) {
            if let Some(next) = frames.get(at + AHEAD) {
                next.prefetch();
            }
            let frame = &mut frames[at];
            frame.ingress = entrance.id;
            let (Some(view), Some((name, ethertype))) = (&view, session_data(frame, mac)) else {
                continue;
            };
            let key = Key { on, name };
            let place = view.place(key);
            view.prefetch(place);
            *found = Found {
                key,
                place,
                ethertype,
            };
        }
        let part = &mut frames[from..to];
        for (frame, found) in part.iter_mut().zip(&mut all) {
            let Some(view) = view.as_ref().filter(|_| found.ethertype != 0) else {
                continue;
            };
            match view.get(found.place, found.key) {
                Some(entry) if entry.facts == facts => {
                    kernels::prefetch(counters.interface(entry.id));
                    frame.rise(entrance.id, entry.id);
                }
                _ => found.ethertype = 0,
            }
        }
        for (frame, found) in part.iter_mut().zip(&all) {
            if found.ethertype != 0 {
                let received = frame.len() as u64;
                counters.interface(frame.ingress).rx.add(1, received);
                shorten(frame, found.ethertype);
            }
        }
        from = to;
    }
}

/// Returns the name of the session in the table, and the EtherType of the packet; `None` where a frame is not an IP
/// packet in untagged session data for this link address, or where its lengths contradict each other.
#[inline(always)]
fn session_data(frame: &Frame, mac: u64) -> Option<(u64, u16)> {
    let head = frame.bytes().first_chunk::<READ>()?;
    let word = |at: usize| {
        let bytes = head.get(at..).and_then(<[u8]>::first_chunk);
        u64::from_be_bytes(*bytes.unwrap_or(&[0; 8]))
    };
    let kind = (SESSION_DATA as u64) << 16 | 0x1100;
    if word(0) >> 16 != mac || word(ETHERNET - 2) >> 32 != kind {
        return None;
    }
    let header = head.get(ETHERNET..)?.first_chunk()?;
    let header = Header::new(*header);
    let ethertype = header.ethertype()?;
    let packet = header.packet_bytes(frame.len() - FRONT)?;
    // What the packet says of its length must not reach into padding.
    let lengths = word(FRONT - 2);
    let total = match ethertype {
        IPV6 => 40 + (lengths as u16 as usize),
        _ => (lengths >> 16) as u16 as usize,
    };
    let name = word(6) >> 16 << 16 | u64::from(header.number);
    (total <= packet).then_some((name, ethertype))
}

/// Puts the link addresses in front of the packet.
#[inline(always)]
fn shorten(frame: &mut Frame, ethertype: u16) {
    if let Some(head) = frame.bytes_mut().first_chunk_mut::<FRONT>() {
        let mut link = [0; ETHERNET];
        link[..ETHERNET - 2].copy_from_slice(&head[..ETHERNET - 2]);
        link[ETHERNET - 2..].copy_from_slice(&ethertype.to_be_bytes());
        head[HEADER..].copy_from_slice(&link);
    }
    pulled(frame, HEADER, 0);
}

/// Returns the session on an interface whose data a frame is, with the header at `at`, where an IP packet is in it
/// whose length does not reach into padding.
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
    is_whole.then(|| cx.interfaces.session(on, session))?
}

/// Returns the EtherType of an IP packet that begins at `l3`, behind the header of a session.
pub(super) fn ethertype_of_packet(bytes: &[u8], l3: usize) -> Option<u16> {
    let at = l3.checked_sub(HEADER).filter(|at| *at >= ETHERNET)?;
    let kind = bytes.get(at - 2..at)?.first_chunk()?;
    let header = bytes.get(at..l3)?.first_chunk()?;
    let is_session = u16::from_be_bytes(*kind) == SESSION_DATA;
    is_session.then(|| Header::new(*header).ethertype())?
}
