//! Demultiplexing: the interface of each frame of a port. VLAN tags name the interface and are taken off, so that
//! every packet behind this stands behind the 14 bytes of an Ethernet header.
//!
//! Tags come off only where the frame surely enters: an IP packet for the link address of a running interface that
//! shares link address and families with its port. All other frames keep their tags, and [`super::ingress`] decides
//! about each of them.

use frame::{Frame, InterfaceId};

use super::Context;
use super::ingress::{ETHERNET, Entrance, IPV4, IPV6};
use crate::counters::{Counters, Traffic};
use crate::interface::{Interface, Tag, vlan};

/// The most tags that are taken off.
const TAGS: usize = 4;
/// Frames are asked for so many ahead.
const AHEAD: usize = 8;

/// What is the same for the frames of a vector.
struct Demux<'a> {
    cx: &'a Context<'a>,
    entrance: &'a Entrance,
    /// The interfaces of single tags that were found, by the low bits of the VLAN id.
    found: [(Tag, InterfaceId); FOUND],
    counters: &'a Counters,
    /// What an interface received, and was not counted yet.
    run: (InterfaceId, Traffic),
}

/// Tags whose interface is remembered within a vector.
const FOUND: usize = 64;
/// Bytes of a frame with one tag up to the type of its packet.
const ONE_TAG: usize = ETHERNET + 4;
const NO_TAG: Tag = Tag {
    ethertype: 0,
    vlan_id: 0,
};

/// Finds the interface of each frame of a port, and takes the tags off those that surely go on. Counts what
/// interfaces on the port's receive.
pub(super) fn demultiplex(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    counters: &Counters,
) {
    let mut demux = Demux {
        cx,
        entrance,
        found: [(NO_TAG, InterfaceId::NONE); FOUND],
        counters,
        run: (entrance.id, Traffic::default()),
    };
    for at in 0..frames.len() {
        if let Some(next) = frames.get(at + AHEAD) {
            next.prefetch();
        }
        let frame = &mut frames[at];
        match demux.interface(frame) {
            Some(vlan) => frame.rise(entrance.id, vlan),
            None => frame.ingress = entrance.id,
        }
    }
    demux.flush();
}

impl Demux<'_> {
    /// The interface that a frame's tags name, when they are off; none for a frame that keeps them.
    #[inline(always)]
    fn interface(&mut self, frame: &mut Frame) -> Option<InterfaceId> {
        let head = *frame.bytes().first_chunk::<ONE_TAG>()?;
        let [.., a, b, c, d, e, f] = head;
        let ethertype = u16::from_be_bytes([a, b]);
        if !matches!(ethertype, vlan::CUSTOMER | vlan::SERVICE) {
            return None;
        }
        let vlan_id = u16::from_be_bytes([c, d]) & 0xfff;
        let tag = Tag { ethertype, vlan_id };
        let known = self.found[usize::from(vlan_id) % FOUND];
        let plain = matches!(u16::from_be_bytes([e, f]), IPV4 | IPV6);
        let ours = head.first_chunk() == Some(&self.entrance.interface.mac.0);
        if !(plain && ours && known.0 == tag) {
            return self.unusual(frame, tag);
        }
        self.count(known.1, frame.len());
        // The addresses move by one tag: with a fixed length that is two moves.
        let to = frame.bytes_mut().get_mut(4..)?;
        *to.first_chunk_mut::<{ ETHERNET - 2 }>()? = *head.first_chunk()?;
        pulled(frame, 4, c >> 5);
        Some(known.1)
    }

    /// A frame with several tags, or with one that was not met before.
    #[inline(never)]
    fn unusual(&mut self, frame: &mut Frame, first: Tag) -> Option<InterfaceId> {
        let (tags, priority) = read(frame.bytes(), &self.entrance.interface)?;
        let id = self.find(&tags)?;
        if tags.count == 1 {
            self.found[usize::from(first.vlan_id) % FOUND] = (first, id);
        }
        self.count(id, frame.len());
        take_off(frame, tags.count * 4, priority);
        Some(id)
    }

    /// The interface of these tags, if it shares all that pass 1 asks with the port's.
    fn find(&mut self, tags: &Tags) -> Option<InterfaceId> {
        let mut id = self.entrance.id;
        for tag in &tags.tags[..tags.count] {
            id = self.cx.interfaces.vlan(id, *tag)?;
        }
        let (found, port) = (self.cx.interfaces.get(id)?, self.entrance.interface);
        let alike = found.running
            && found.ethernet
            && (found.mac, found.ipv4, found.ipv6) == (port.mac, port.ipv4, port.ipv6);
        alike.then_some(id)
    }

    #[inline(always)]
    fn count(&mut self, id: InterfaceId, received: usize) {
        if self.run.0 != id {
            self.flush();
            self.run.0 = id;
        }
        self.run.1.packets += 1;
        self.run.1.bytes += received as u64;
    }

    #[inline(always)]
    fn flush(&mut self) {
        let (id, Traffic { packets, bytes }) = self.run;
        if packets > 0 {
            self.counters.interface(id).rx.add(packets, bytes);
        }
        self.run.1 = Traffic::default();
    }
}

/// The tags of a frame, outermost first.
struct Tags {
    tags: [Tag; TAGS],
    count: usize,
}

/// Takes off what lies between the link addresses of a frame and the type of its packet, which begins at `l3`.
#[inline]
pub(super) fn untag(frame: &mut Frame) {
    let off = usize::from(frame.l3).saturating_sub(ETHERNET);
    if off > 0 {
        let last = usize::from(frame.l3) - 4;
        let priority = frame.bytes().get(last).map_or(0, |first| first >> 5);
        take_off(frame, off, priority);
        frame.l3 = ETHERNET as u16;
    }
}

fn take_off(frame: &mut Frame, off: usize, priority: u8) {
    frame.bytes_mut().copy_within(..ETHERNET - 2, off);
    pulled(frame, off, priority);
}

/// The addresses of a frame have moved by this many bytes.
#[inline(always)]
fn pulled(frame: &mut Frame, off: usize, priority: u8) {
    frame.pull_front(off);
    frame.offload.shift(-(off as i16));
    (frame.untagged, frame.came_priority) = (off as u8, priority);
}

/// The tags of an IP packet to this port's link address, and the priority of the last one; none where it is
/// not that, or has a tag without a VLAN (IEEE 802.1Q, 9.6).
fn read(bytes: &[u8], port: &Interface) -> Option<(Tags, u8)> {
    if bytes.first_chunk() != Some(&port.mac.0) {
        return None;
    }
    let mut tags = Tags {
        tags: [NO_TAG; TAGS],
        count: 0,
    };
    let (mut at, mut priority) = (ETHERNET - 2, 0);
    loop {
        let [a, b, c, d] = *bytes.get(at..)?.first_chunk()?;
        match u16::from_be_bytes([a, b]) {
            IPV4 | IPV6 => return Some((tags, priority)),
            ethertype @ (vlan::CUSTOMER | vlan::SERVICE) => {
                let vlan_id = u16::from_be_bytes([c, d]) & 0xfff;
                let tag = tags.tags.get_mut(tags.count).filter(|_| vlan_id != 0)?;
                *tag = Tag { ethertype, vlan_id };
                tags.count += 1;
                priority = c >> 5;
                at += 4;
            }
            _ => return None,
        }
    }
}
