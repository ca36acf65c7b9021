//! Ingress: the link header. Decides whether the frame is for this router, which interface it belongs to (VLAN
//! interfaces included), and which protocol it carries.

use frame::InterfaceId;
use wire::{EtherType, Mac};

use super::headers::{Column, Headers};
use super::{Context, Exit};
use crate::demux::pppoe::{self, SESSION_DATA};
use crate::drop::DropReason;
use crate::interface::{Interface, InterfaceTable, Session, Tag, vlan};
use crate::punt::Why;

pub(super) const IPV4: u16 = EtherType::IPV4.0;
pub(super) const IPV6: u16 = EtherType::IPV6.0;
/// The most VLAN tags on a frame.
const TAGS: usize = 4;
/// Bytes of a link header without tags.
pub(super) const ETHERNET: usize = 14;

/// An interface that packets come in by, with what every packet asks of it at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entrance {
    pub(crate) id: InterfaceId,
    pub(crate) interface: Interface,
    /// Its link address in the low 48 bits.
    mac: u64,
    /// What comes in is counted here.
    pub(crate) counts: bool,
}

impl Entrance {
    /// The entrance by this interface.
    pub(crate) fn new(interfaces: &InterfaceTable, id: InterfaceId) -> Option<Self> {
        let interface = interfaces.get(id)?;
        let usable = interface.running && interface.ethernet;
        Some(Self {
            id,
            interface,
            // Frames for an interface that is down, or has no link header, match no address and
            // are looked at more closely.
            mac: if usable {
                number(interface.mac)
            } else {
                u64::MAX
            },
            counts: true,
        })
    }
}

impl Entrance {
    /// Whether its frames may belong to interfaces that lie on it: demux says of each which one it is.
    #[inline(always)]
    pub(super) const fn demuxes(&self) -> bool {
        self.interface.vlans | self.interface.sessions
    }

    /// Its frames are behind ingress: they are all its own, or of PPPoE sessions on it, and were counted.
    pub(super) fn is_behind(&mut self) {
        self.interface.vlans = false;
        self.interface.stations = false;
        self.interface.slaves = false;
        self.counts = false;
        // Packets that came out of a tunnel stand behind a link header to its interface, though that sends none.
        if self.interface.running {
            self.mac = number(self.interface.mac);
        }
    }
}

/// An IP packet that came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) id: InterfaceId,
    pub(crate) interface: Interface,
    /// Where its network header begins.
    pub(crate) l3: u16,
    pub(crate) ipv6: bool,
    /// Bytes at the end of the frame that are not the packet's, as the header of a PPPoE session says.
    pub(crate) padding: u16,
    /// It was sent to a link-layer group or broadcast address.
    pub(crate) group: bool,
}

/// What nearly all frames are: an untagged IP packet to the interface's own link address.
#[inline(always)]
pub(crate) fn plain(entrance: &Entrance, bytes: &[u8]) -> Option<Arrived> {
    let head = bytes.first_chunk::<ETHERNET>()?;
    let ethertype = u16::from_be_bytes([head[12], head[13]]);
    let known = (ethertype == IPV4) | (ethertype == IPV6);
    (known & (destination(head) == entrance.mac)).then_some(Arrived {
        id: entrance.id,
        interface: entrance.interface,
        l3: ETHERNET as u16,
        ipv6: ethertype == IPV6,
        padding: 0,
        group: false,
    })
}

/// The same of frames that follow each other: 0 where they are that, without options.
#[inline(always)]
pub(super) fn differ<H: Headers>(entrance: &Entrance, headers: &H) -> Column {
    headers.differ(entrance.mac)
}

/// Decides about a frame's link header.
///
/// # Errors
/// The frame's end: not for us, not known, or of a service.
#[inline(always)]
pub(crate) fn run(cx: &Context<'_>, entrance: &Entrance, bytes: &[u8]) -> Result<Arrived, Exit> {
    match plain(entrance, bytes) {
        Some(arrived) => Ok(arrived),
        None if !entrance.interface.ethernet => without_link_header(entrance, bytes),
        None if bytes.len() < ETHERNET => Err(Exit::Drop(DropReason::EthernetLength)),
        None => unusual(cx, entrance, bytes),
    }
}

/// Everything but an untagged IP packet to the interface's own link address.
#[cold]
#[inline(never)]
fn unusual(cx: &Context<'_>, entrance: &Entrance, bytes: &[u8]) -> Result<Arrived, Exit> {
    let (mut entrance, l3, ethertype) = untag(cx, entrance, bytes)?;
    if entrance.interface.stations
        && let Some(station) = station_of(cx, entrance.id, bytes)
    {
        entrance =
            Entrance::new(cx.interfaces, station).ok_or(Exit::Drop(DropReason::InterfaceDown))?;
    }
    if !entrance.interface.running {
        return Err(Exit::Drop(DropReason::InterfaceDown));
    }
    let group = bytes[0] & 1 != 0;
    let ours = bytes
        .first_chunk::<ETHERNET>()
        .is_some_and(|head| destination(head) == entrance.mac);
    if !group && !ours {
        return Err(Exit::Drop(DropReason::EthernetOther));
    }
    match ethertype {
        IPV4 | IPV6 => Ok(Arrived {
            id: entrance.id,
            interface: entrance.interface,
            l3,
            ipv6: ethertype == IPV6,
            padding: 0,
            group,
        }),
        SESSION_DATA if entrance.interface.sessions => of_session(cx, &entrance, bytes, l3),
        _ => Err(of_service(cx, entrance.id, bytes, (l3, ethertype))),
    }
}

/// A frame that is not of IP: a service may hear it.
fn of_service(cx: &Context<'_>, id: InterfaceId, bytes: &[u8], (l3, kind): (u16, u16)) -> Exit {
    let asked = cx.interfaces.services(id);
    let service = cx.snapshot.services.frame(bytes, (l3.into(), kind), asked);
    match service {
        Some(id) => Exit::Punt(Why::Service {
            id,
            meets_rules: false,
        }),
        None => Exit::Drop(DropReason::EthernetType),
    }
}

/// Decides about PPPoE session data that an interface received; the header begins at `l3`.
fn of_session(
    cx: &Context<'_>,
    entrance: &Entrance,
    bytes: &[u8],
    l3: u16,
) -> Result<Arrived, Exit> {
    let peer = bytes.get(6..12).and_then(<[u8]>::first_chunk);
    let is_group = bytes.first().is_some_and(|first| first & 1 != 0);
    let Some(peer) = peer.filter(|_| !is_group) else {
        return Err(Exit::Drop(DropReason::PppoeMalformed));
    };
    let behind = bytes.get(usize::from(l3)..).unwrap_or_default();
    let (number, data) = pppoe::read(behind).map_err(Exit::Drop)?;
    let session = Session {
        peer: Mac(*peer),
        number,
    };
    let id = cx.interfaces.session(entrance.id, session);
    let id = id.ok_or(Exit::Drop(DropReason::PppoeSession))?;
    let Some(ethertype) = data.ethertype else {
        let exit = of_service(cx, entrance.id, bytes, (l3, SESSION_DATA));
        return Err(match exit {
            Exit::Drop(DropReason::EthernetType) => Exit::Drop(DropReason::PppoeProtocol),
            exit => exit,
        });
    };
    let interface = { cx.interfaces.get(id) }.filter(|interface| interface.running);
    Ok(Arrived {
        id,
        interface: interface.ok_or(Exit::Drop(DropReason::InterfaceDown))?,
        l3: l3 + pppoe::HEADER as u16,
        ipv6: ethertype == IPV6,
        padding: (behind.len() - pppoe::HEADER - data.packet) as u16,
        group: false,
    })
}

/// Follows the VLAN tags to the interface that they name: it, where its packet begins, and the
/// EtherType there.
pub(crate) fn untag(
    cx: &Context<'_>,
    entrance: &Entrance,
    bytes: &[u8],
) -> Result<(Entrance, u16, u16), Exit> {
    let mut entrance = *entrance;
    let mut at = ETHERNET;
    for _ in 0..=TAGS {
        let Some(pair) = bytes.get(at - 2..at) else {
            return Err(Exit::Drop(DropReason::EthernetLength));
        };
        let ethertype = u16::from_be_bytes([pair[0], pair[1]]);
        if !matches!(ethertype, vlan::CUSTOMER | vlan::SERVICE) {
            return Ok((entrance, at as u16, ethertype));
        }
        let Some(tag) = bytes.get(at..at + 4) else {
            return Err(Exit::Drop(DropReason::EthernetLength));
        };
        let vlan_id = u16::from_be_bytes([tag[0], tag[1]]) & 0xfff;
        at += 4;
        // VLAN id 0 is a priority without a VLAN (IEEE 802.1Q, 9.6).
        if vlan_id == 0 {
            continue;
        }
        let tag = Tag { ethertype, vlan_id };
        entrance = { cx.interfaces }
            .vlan(entrance.id, tag)
            .and_then(|vlan| Entrance::new(cx.interfaces, vlan))
            .ok_or(Exit::Drop(DropReason::VlanUnknown))?;
    }
    Err(Exit::Drop(DropReason::VlanUnknown))
}

/// The interface that a frame's tags name on a port's, and where its packet begins; none where they name none.
pub(crate) fn untagged(
    cx: &Context<'_>,
    port: InterfaceId,
    bytes: &[u8],
) -> Option<(InterfaceId, usize)> {
    let entrance = Entrance::new(cx.interfaces, port)?;
    let (entrance, l3, _) = untag(cx, &entrance, bytes).ok()?;
    Some((entrance.id, usize::from(l3)))
}

/// Links that carry bare IP packets: the version tells what it is.
#[cold]
#[inline(never)]
fn without_link_header(entrance: &Entrance, bytes: &[u8]) -> Result<Arrived, Exit> {
    if !entrance.interface.running {
        return Err(Exit::Drop(DropReason::InterfaceDown));
    }
    let ipv6 = match bytes.first().map(|first| first >> 4) {
        Some(6) => true,
        // What is neither is found out by the IPv4 checks, and named by them.
        _ => false,
    };
    Ok(Arrived {
        id: entrance.id,
        interface: entrance.interface,
        l3: 0,
        ipv6,
        padding: 0,
        group: false,
    })
}

#[inline(always)]
fn destination(head: &[u8; ETHERNET]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *head;
    u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 16
}

fn number(mac: Mac) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// The station on an interface that a frame is sent to.
#[inline]
pub(super) fn station_of(cx: &Context<'_>, on: InterfaceId, bytes: &[u8]) -> Option<InterfaceId> {
    let to = Mac(*bytes.first_chunk()?);
    cx.interfaces.station(on, to)
}
