//! Ingress: parses the link header. Decides whether the frame is for this router, which interface
//! (VLAN interfaces included) receives it, and which protocol it carries.

use frame::{Frame, InterfaceId};
use wire::{EtherType, Mac};

use super::headers::{Column, Headers};
use super::{Context, Exit};
use crate::demux::pppoe::{self, SESSION_DATA};
use crate::drop::DropReason;
use crate::encap::Encapsulation;
use crate::interface::{Interface, InterfaceTable, Session, Tag, vlan};
use crate::punt::PuntReason;

pub(super) const IPV4: u16 = EtherType::IPV4.0;
pub(super) const IPV6: u16 = EtherType::IPV6.0;
/// Maximum number of VLAN tags on a frame.
const TAGS: usize = 4;
/// Bytes of a link header without tags.
pub(super) const ETHERNET: usize = 14;

/// An ingress interface, with the facts that every packet needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entrance {
    pub(crate) id: InterfaceId,
    pub(crate) interface: Interface,
    /// MAC address in the low 48 bits.
    mac: u64,
    /// Received frames are counted here.
    pub(crate) counts: bool,
    /// Each received frame is counted at the interface above this one that the frame belongs to.
    pub(super) counts_above: bool,
}

impl Entrance {
    /// Returns the entrance of an interface, if the interface exists.
    pub(crate) fn new(interfaces: &InterfaceTable, id: InterfaceId) -> Option<Self> {
        let interface = interfaces.get(id)?;
        let usable = interface.running && interface.ethernet;
        Some(Self {
            id,
            interface,
            // Frames for an interface that is down, or has no link header, match no address and
            // take the slower checks.
            mac: if usable {
                number(interface.mac)
            } else {
                u64::MAX
            },
            counts: true,
            counts_above: true,
        })
    }
}

impl Entrance {
    /// Returns true if frames may belong to VLAN interfaces or sessions above: demux then sets the
    /// ingress interface of each.
    #[inline(always)]
    pub(super) const fn demuxes(&self) -> bool {
        self.interface.vlans | self.interface.sessions
    }

    /// Returns true if a frame is counted as received by its own interface, above this one.
    #[inline(always)]
    pub(super) fn counts_at(&self, frame: &Frame) -> bool {
        self.counts_above && frame.ingress != self.id
    }

    /// Marks the frames as past ingress. Each frame names its interface, which has the properties of
    /// this entrance and has counted the frame. The entrance itself has no interface id then.
    pub(super) fn serves_sessions(&mut self) {
        self.is_behind();
        self.id = InterfaceId::NONE;
        self.interface.sessions = true;
        self.counts_above = false;
    }

    /// Marks the frames as past ingress: they are counted, and belong to this interface or to PPPoE
    /// sessions on it.
    pub(super) fn is_behind(&mut self) {
        self.interface.vlans = false;
        self.interface.stations = false;
        self.interface.slaves = false;
        self.counts = false;
        // Packets out of a tunnel have an Ethernet header to the tunnel's interface, even if that
        // interface sends none.
        if self.interface.running {
            self.mac = number(self.interface.mac);
        }
    }
}

/// A received IP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) id: InterfaceId,
    pub(crate) interface: Interface,
    /// Offset of the network header.
    pub(crate) l3: u16,
    pub(crate) ipv6: bool,
    /// Bytes behind the packet at the end of the frame, according to the PPPoE session header.
    pub(crate) padding: u16,
    /// The frame was sent to a multicast or broadcast MAC address.
    pub(crate) group: bool,
}

/// Accepts an untagged IP packet to the interface's own MAC address, the usual case.
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

/// Checks consecutive frames together: 0 for each untagged IP packet without options to the
/// interface's own MAC address.
#[inline(always)]
pub(super) fn differ<H: Headers>(entrance: &Entrance, headers: &H) -> Column {
    headers.differ(entrance.mac)
}

/// Decides about a frame's link header.
///
/// # Errors
/// The frame's exit: dropped (other destination, unknown type), or punted to a service.
#[inline(always)]
pub(crate) fn run(cx: &Context<'_>, entrance: &Entrance, bytes: &[u8]) -> Result<Arrived, Exit> {
    match plain(entrance, bytes) {
        Some(arrived) => Ok(arrived),
        None if !entrance.interface.ethernet => without_link_header(entrance, bytes),
        None if bytes.len() < ETHERNET => Err(Exit::Drop(DropReason::EthernetLength)),
        None => unusual(cx, entrance, bytes),
    }
}

/// Decides about any frame other than an untagged IP packet to the interface's own MAC address.
#[cold]
#[inline(never)]
fn unusual(cx: &Context<'_>, entrance: &Entrance, bytes: &[u8]) -> Result<Arrived, Exit> {
    let followed = follow_tags(cx, entrance, bytes)?;
    if !followed.is_known {
        return Err(in_unknown_vlan(cx, &followed, bytes));
    }
    let TagPath {
        mut entrance,
        l3,
        ethertype,
        ..
    } = followed;
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
        _ => Err(of_service(cx, entrance.id, bytes, l3, ethertype)),
    }
}

/// Returns the exit of a frame that carries no IP packet: a service may receive it.
fn of_service(cx: &Context<'_>, id: InterfaceId, bytes: &[u8], l3: u16, kind: u16) -> Exit {
    let asked = cx.interfaces.services(id);
    let service = cx.snapshot.services.frame(bytes, l3.into(), kind, asked);
    match service {
        Some(id) => Exit::Punt(PuntReason::Service {
            id,
            meets_rules: false,
        }),
        None => Exit::Drop(DropReason::EthernetType),
    }
}

/// Returns the exit of session data for control; the PPPoE header begins at `l3`.
pub(crate) fn service_of_session_data(
    cx: &Context<'_>,
    on: InterfaceId,
    bytes: &[u8],
    l3: u16,
) -> Exit {
    of_service(cx, on, bytes, l3, SESSION_DATA)
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
    let unknown = Exit::Drop(DropReason::PppoeSession);
    // Control packets reach their service from unknown sessions, too: its answer ends sessions of before a restart.
    let Some(ethertype) = data.ethertype else {
        let packet = behind
            .get(pppoe::HEADER - pppoe::PROTOCOL..)
            .unwrap_or_default();
        let takes = |session: &Encapsulation| session.takes_session_data(packet);
        if let Some(id) = id
            && cx.interfaces.tunnel(id.slot() as u32, takes) == Some(true)
        {
            return Err(Exit::Join(id));
        }
        let exit = of_service(cx, entrance.id, bytes, l3, SESSION_DATA);
        return Err(match exit {
            Exit::Drop(DropReason::EthernetType) if id.is_none() => unknown,
            Exit::Drop(DropReason::EthernetType) => Exit::Drop(DropReason::PppoeProtocol),
            exit => exit,
        });
    };
    let id = id.ok_or(unknown)?;
    let interface = { cx.interfaces.get(id) }.filter(|interface| interface.running);
    let interface = interface.ok_or(Exit::Drop(DropReason::InterfaceDown))?;
    if interface.encrypted {
        let encrypts = |session: &Encapsulation| matches!(session, Encapsulation::Mppe(_));
        let reason = match cx.interfaces.tunnel(id.slot() as u32, encrypts) {
            Some(true) => DropReason::MppePlain,
            _ => DropReason::PppoeProtocol,
        };
        return Err(Exit::Drop(reason));
    }
    Ok(Arrived {
        id,
        interface,
        l3: l3 + pppoe::HEADER as u16,
        ipv6: ethertype == IPV6,
        padding: (behind.len() - pppoe::HEADER - data.packet) as u16,
        group: false,
    })
}

/// The interface that the tags of a frame lead to.
pub(super) struct TagPath {
    pub(super) entrance: Entrance,
    /// Offset behind the last EtherType that was read.
    pub(super) l3: u16,
    /// The EtherType of the packet, or of the first VLAN tag without an interface.
    ethertype: u16,
    /// All tags name interfaces.
    is_known: bool,
}

/// Returns the exit of a frame whose tag names no interface: a service may receive PPPoE discovery of such a VLAN.
fn in_unknown_vlan(cx: &Context<'_>, path: &TagPath, bytes: &[u8]) -> Exit {
    let behind = usize::from(path.l3) + 2;
    let inner = bytes.get(behind..).and_then(<[u8]>::first_chunk);
    let is_discovery = inner == Some(&EtherType::PPPOE_DISCOVERY.0.to_be_bytes());
    let is_group = bytes.first().is_some_and(|first| first & 1 != 0);
    if !(is_discovery && is_group && path.entrance.interface.running) {
        return Exit::Drop(DropReason::VlanUnknown);
    }
    match of_service(cx, path.entrance.id, bytes, path.l3, path.ethertype) {
        Exit::Drop(_) => Exit::Drop(DropReason::VlanUnknown),
        exit => exit,
    }
}

/// Follows the VLAN tags to the interface that they name. Returns that interface, the offset of its
/// packet, and the EtherType there.
///
/// # Errors
/// The frame is too short, or no interface has the tag.
pub(crate) fn untag(
    cx: &Context<'_>,
    entrance: &Entrance,
    bytes: &[u8],
) -> Result<(Entrance, u16, u16), Exit> {
    let path = follow_tags(cx, entrance, bytes)?;
    match path.is_known {
        true => Ok((path.entrance, path.l3, path.ethertype)),
        false => Err(Exit::Drop(DropReason::VlanUnknown)),
    }
}

/// Follows the VLAN tags as far as they name interfaces.
///
/// # Errors
/// The frame is too short, or has too many tags.
pub(super) fn follow_tags(
    cx: &Context<'_>,
    entrance: &Entrance,
    bytes: &[u8],
) -> Result<TagPath, Exit> {
    let mut entrance = *entrance;
    let mut at = ETHERNET;
    for _ in 0..=TAGS {
        let Some(pair) = bytes.get(at - 2..at) else {
            return Err(Exit::Drop(DropReason::EthernetLength));
        };
        let ethertype = u16::from_be_bytes([pair[0], pair[1]]);
        if !matches!(ethertype, vlan::CUSTOMER | vlan::SERVICE) {
            return Ok(TagPath {
                entrance,
                l3: at as u16,
                ethertype,
                is_known: true,
            });
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
        let vlan = cx.interfaces.vlan(entrance.id, tag);
        match vlan.and_then(|vlan| Entrance::new(cx.interfaces, vlan)) {
            Some(vlan) => entrance = vlan,
            None => {
                return Ok(TagPath {
                    entrance,
                    l3: (at - 4) as u16,
                    ethertype,
                    is_known: false,
                });
            }
        }
    }
    Err(Exit::Drop(DropReason::VlanUnknown))
}

/// Returns the interface on `port` that a frame's tags name, and the offset of its packet; `None`
/// for unknown tags. Untagged frames belong to `port` itself.
pub(crate) fn untagged(
    cx: &Context<'_>,
    port: InterfaceId,
    bytes: &[u8],
) -> Option<(InterfaceId, usize)> {
    let entrance = Entrance::new(cx.interfaces, port)?;
    let (entrance, l3, _) = untag(cx, &entrance, bytes).ok()?;
    Some((entrance.id, usize::from(l3)))
}

/// Decides about a packet of a link without link header; the IP version names the protocol.
#[cold]
#[inline(never)]
fn without_link_header(entrance: &Entrance, bytes: &[u8]) -> Result<Arrived, Exit> {
    if !entrance.interface.running {
        return Err(Exit::Drop(DropReason::InterfaceDown));
    }
    let ipv6 = match bytes.first().map(|first| first >> 4) {
        Some(6) => true,
        // For other versions the IPv4 checks drop the packet and name the reason.
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

/// Returns the station on an interface with the frame's destination MAC address.
#[inline]
pub(super) fn station_of(cx: &Context<'_>, on: InterfaceId, bytes: &[u8]) -> Option<InterfaceId> {
    let to = Mac(*bytes.first_chunk()?);
    cx.interfaces.station(on, to)
}
