//! Demultiplexing: finds the interface of each frame of a vector and removes the headers that name
//! it (VLAN tags, PPPoE session header), so that later stages find every packet 14 bytes into its
//! frame.
//!
//! Headers are removed only from frames that surely enter: IP packets for the link address of the
//! receiving interface, whose headers name a running interface with the same enabled families.
//! Demux leaves all other frames unchanged; [`super::ingress`] decides about each.

mod sessions;

use frame::{Frame, InterfaceId};

use super::Context;
use super::ingress::{ETHERNET, Entrance, IPV4, IPV6};
use crate::counters::{Counters, Traffic};
use crate::demux::pppoe::{self, SESSION_DATA};
use crate::demux::{self, Facts};
use crate::interface::{Interface, Tag, vlan};

/// Maximum number of tags that are removed.
const TAGS: usize = 4;
/// Frames are prefetched this many positions ahead.
const AHEAD: usize = 8;
/// Bytes of an Ethernet header with one tag.
const ONE_TAG: usize = ETHERNET + 4;
const VLAN_ID_BITS: u32 = 12;
const NO_TAG: Tag = Tag {
    ethertype: 0,
    vlan_id: 0,
};

/// Cache of a worker: interfaces by single VLAN tag. A change of any interface empties the cache.
pub(super) struct KnownTags {
    /// Version of the interface table that the cache was filled from.
    version: u64,
    /// By the low bits of the VLAN id.
    known: [KnownTag; KNOWN],
}

/// Entries of the cache.
const KNOWN: usize = 256;

/// Entry of the cache: a tag on an interface, and the VLAN interface.
#[derive(Clone, Copy)]
struct KnownTag {
    /// The interface below (32) | EtherType (16) | VLAN id (12); 0 where nothing is known.
    key: u64,
    id: InterfaceId,
}

const UNKNOWN: KnownTag = KnownTag {
    key: 0,
    id: InterfaceId::NONE,
};

impl KnownTag {
    #[inline(always)]
    const fn key(on: InterfaceId, tag: u32) -> u64 {
        (on.0 as u64) << 32 | tag as u64
    }
}

impl KnownTags {
    pub(super) const fn new() -> Self {
        Self {
            version: 0,
            known: [UNKNOWN; KNOWN],
        }
    }

    /// Begins a vector. Empties the cache if the version of the interface table changed.
    fn begin(&mut self, version: u64) {
        if self.version != version {
            self.version = version;
            self.known.fill(UNKNOWN);
        }
    }

    #[inline(always)]
    fn place(&mut self, tag: u32) -> &mut KnownTag {
        &mut self.known[tag as usize % KNOWN]
    }
}

/// A tag as a number: EtherType (16) | VLAN id (12).
const fn number(tag: Tag) -> u32 {
    (tag.ethertype as u32) << 16 | tag.vlan_id as u32
}

/// Counters for received frames of VLANs and sessions.
#[derive(Clone, Copy)]
pub(super) struct Counting<'a> {
    pub(super) counters: &'a Counters,
    /// Pass 3 counts the frames, not demux.
    pub(super) later: bool,
}

/// Assigns each received frame to its interface, and removes tags and PPPoE headers from frames
/// that surely enter.
pub(super) fn demultiplex(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    tags: &mut KnownTags,
    counting: Counting<'_>,
) {
    if entrance.interface.sessions {
        sessions::take_off(cx, entrance, frames, counting);
    }
    if !entrance.interface.vlans {
        return;
    }
    tags.begin(cx.interfaces.version());
    let mut demux = Demux {
        cx,
        entrance,
        mac: demux::mac_bits(entrance.interface.mac.0),
        tags,
        counting,
        run: (entrance.id, Traffic::default()),
    };
    for at in 0..frames.len() {
        if let Some(next) = frames.get(at + AHEAD) {
            next.prefetch();
        }
        demux.one(&mut frames[at]);
    }
    demux.flush();
}

/// State of the pass over one vector.
struct Demux<'a> {
    cx: &'a Context<'a>,
    entrance: &'a Entrance,
    /// Link address of the receiving interface, 48 bits.
    mac: u64,
    tags: &'a mut KnownTags,
    counting: Counting<'a>,
    /// Received frames of one interface, not counted yet.
    run: (InterfaceId, Traffic),
}

impl Demux<'_> {
    /// Assigns a frame to the interface that its tags name and removes them, or leaves the frame
    /// unchanged.
    #[inline(always)]
    fn one(&mut self, frame: &mut Frame) {
        let Some(head) = frame.bytes().first_chunk::<ONE_TAG>() else {
            return self.leave(frame);
        };
        let ([to, rest], kind) = (words(head), [head[16], head[17]]);
        let ethertype = (rest >> 16) as u16;
        if !matches!(ethertype, vlan::CUSTOMER | vlan::SERVICE) {
            return self.leave(frame);
        }
        let tag = rest as u32 & !(0xf << VLAN_ID_BITS);
        let known = *self.tags.place(tag);
        let plain = matches!(u16::from_be_bytes(kind), IPV4 | IPV6);
        let is_known = known.key == KnownTag::key(self.entrance.id, tag);
        if !(plain & is_known & (to >> 16 == self.mac)) {
            return self.unusual(frame);
        }
        self.count(known.id, frame.len());
        // The addresses move by one tag.
        if let Some(place) = frame.bytes_mut().first_chunk_mut::<ONE_TAG>() {
            place[4..12].copy_from_slice(&to.to_be_bytes());
            place[12..16].copy_from_slice(&((rest >> 32) as u32).to_be_bytes());
        }
        pulled(frame, 4, (rest as u16 >> 13) as u8);
        frame.rise(self.entrance.id, known.id);
    }

    /// Assigns a frame that is untagged or keeps its tags to the receiving interface, unless a
    /// session has already claimed it.
    #[inline(always)]
    fn leave(&self, frame: &mut Frame) {
        if !self.entrance.interface.sessions {
            frame.ingress = self.entrance.id;
        }
    }

    /// Handles frames with several tags, tags outside the cache, and tagged session data.
    #[inline(never)]
    fn unusual(&mut self, frame: &mut Frame) {
        let Some(named) = self.named(frame.bytes()) else {
            return self.leave(frame);
        };
        self.count(named.id, frame.len());
        frame.l3 = named.l3 as u16;
        untag(frame);
        frame.rise(named.below, named.id);
    }

    /// Returns the interface that the headers of a frame name, if it has the same families and MAC
    /// address as the receiving interface.
    fn named(&mut self, bytes: &[u8]) -> Option<Named> {
        let entrance = self.entrance.id;
        let tags = read(bytes, &self.entrance.interface)?;
        let mut id = entrance;
        for tag in &tags.tags[..tags.count] {
            id = self.cx.interfaces.vlan(id, *tag)?;
        }
        // `entrance` may be older than the table version of the cache.
        let port = self.cx.interfaces.get(entrance)?;
        let found = self.cx.interfaces.get(id)?;
        let is_like = |other: &Interface| Facts::of(other) == Facts::of(&running(&port));
        if tags.carries == SESSION_DATA {
            let shares_link = found.running && found.ethernet && found.mac == port.mac;
            let session = sessions::of(self.cx, id, bytes, tags.l3).filter(|_| shares_link)?;
            let line = self.cx.interfaces.get(session)?;
            return is_like(&line).then_some(Named {
                below: id,
                id: session,
                l3: tags.l3 + pppoe::HEADER,
            });
        }
        if !(found.ethernet && found.mac == port.mac && is_like(&found)) {
            return None;
        }
        if let [tag] = tags.tags[..tags.count] {
            let tag = number(tag);
            *self.tags.place(tag) = KnownTag {
                key: KnownTag::key(entrance, tag),
                id,
            };
        }
        Some(Named {
            below: entrance,
            id,
            l3: tags.l3,
        })
    }

    #[inline(always)]
    fn count(&mut self, id: InterfaceId, received: usize) {
        if self.counting.later {
            return;
        }
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
            self.counting.counters.interface(id).rx.add(packets, bytes);
        }
        self.run.1 = Traffic::default();
    }
}

/// Returns the first sixteen bytes of a frame as two big-endian numbers: the destination with two
/// bytes of the source, then the rest of the source with four more bytes.
#[inline(always)]
fn words<const LEN: usize>(head: &[u8; LEN]) -> [u64; 2] {
    let (words, _) = head.as_chunks::<8>();
    [0, 1].map(|at| words.get(at).map_or(0, |word| u64::from_be_bytes(*word)))
}

/// Returns the PPPoE session on an interface that a frame belongs to, and the offset of its IP packet. The header of
/// the session begins at `l3`.
pub(crate) fn session_of(
    cx: &Context<'_>,
    on: InterfaceId,
    bytes: &[u8],
    l3: usize,
) -> Option<(InterfaceId, usize)> {
    let kind = bytes.get(l3.checked_sub(2)?..l3)?.first_chunk()?;
    let is_session = u16::from_be_bytes(*kind) == SESSION_DATA;
    let session = is_session.then(|| sessions::of(cx, on, bytes, l3))??;
    Some((session, l3 + pppoe::HEADER))
}

/// The interface that the headers of a frame name.
struct Named {
    /// The interface below.
    below: InterfaceId,
    id: InterfaceId,
    /// Offset of the packet.
    l3: usize,
}

/// Returns an interface with `running` set, for comparisons.
const fn running(interface: &Interface) -> Interface {
    Interface {
        running: true,
        ..*interface
    }
}

/// The tags of a frame, outermost first.
struct Tags {
    tags: [Tag; TAGS],
    count: usize,
    /// Offset behind the tags, and the EtherType there.
    l3: usize,
    carries: u16,
}

/// Removes VLAN tags and a PPPoE session header between the link addresses of a frame and its
/// packet at `l3`.
#[inline]
pub(super) fn untag(frame: &mut Frame) {
    let l3 = usize::from(frame.l3);
    let off = l3.saturating_sub(ETHERNET);
    if off == 0 {
        return;
    }
    let bytes = frame.bytes_mut();
    let mut tags = l3;
    if let Some(ethertype) = pppoe::ethertype_of_packet(bytes, l3)
        && let Some(place) = bytes.get_mut(l3 - 2..l3)
    {
        place.copy_from_slice(&ethertype.to_be_bytes());
        tags -= pppoe::HEADER;
    }
    let last = bytes.get(tags - 4).filter(|_| tags > ETHERNET);
    let priority = last.map_or(0, |first| first >> 5);
    bytes.copy_within(..ETHERNET - 2, off);
    pulled(frame, off, priority);
    frame.l3 = ETHERNET as u16;
}

/// Moves the start of a frame forward by `off` bytes, after its link addresses were moved.
#[inline(always)]
fn pulled(frame: &mut Frame, off: usize, priority: u8) {
    frame.pull_front(off);
    frame.offload.shift(-(off as i16));
    (frame.untagged, frame.came_priority) = (off as u8, priority);
}

/// Parses the tags of a frame to this port's link address with an IP packet or PPPoE session data.
/// Returns `None` for other frames, and for a tag without a VLAN (IEEE 802.1Q, 9.6).
fn read(bytes: &[u8], port: &Interface) -> Option<Tags> {
    if bytes.first_chunk() != Some(&port.mac.0) {
        return None;
    }
    let mut tags = [NO_TAG; TAGS];
    let (mut at, mut count) = (ETHERNET - 2, 0);
    loop {
        let [a, b, c, d] = *bytes.get(at..)?.first_chunk()?;
        match u16::from_be_bytes([a, b]) {
            carries @ (IPV4 | IPV6 | SESSION_DATA) => {
                let l3 = at + 2;
                return Some(Tags {
                    tags,
                    count,
                    l3,
                    carries,
                });
            }
            ethertype @ (vlan::CUSTOMER | vlan::SERVICE) => {
                let vlan_id = u16::from_be_bytes([c, d]) & 0xfff;
                let tag = tags.get_mut(count).filter(|_| vlan_id != 0)?;
                *tag = Tag { ethertype, vlan_id };
                count += 1;
                at += 4;
            }
            _ => return None,
        }
    }
}
