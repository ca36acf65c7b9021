//! What features hear and send: frames of the services that they registered, and their answers.

use core::net::{IpAddr, SocketAddr};

use dataplane::DropReason;
use frame::InterfaceId;
use wire::{EtherType, Mac, ipv4, ipv6, udp};

/// A frame, or an IP packet, of a service. IP packets are whole, and what they say of ICMP has a right checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard<'a> {
    /// The service that it is of, by name.
    pub(crate) service: &'static str,
    /// The interface that it came in by: that of its VLAN tag. None for a packet of this router's own.
    pub(crate) interface: InterfaceId,
    /// The interface of the port below.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what ports speak of is not here yet")
    )]
    pub(crate) port: InterfaceId,
    /// Its bytes from the link header on, without tags. A packet of this router's own has no link header.
    pub(crate) frame: &'a [u8],
    /// Where what it carries begins.
    pub(crate) l3: usize,
}

impl<'a> Heard<'a> {
    /// What the frame carries: the packet from its network header on, or what stands behind type or length.
    pub(crate) fn packet(&self) -> &'a [u8] {
        self.frame.get(self.l3..).unwrap_or_default()
    }

    /// Who sent it on the link.
    pub(crate) fn source_mac(&self) -> Mac {
        let head = self.frame.get(6..self.l3);
        let mac = head.and_then(|head| head.first_chunk());
        Mac(mac.copied().unwrap_or_default())
    }

    /// The datagram of UDP that a packet carries: sender, receiver and data; none if anything of it is wrong.
    pub(crate) fn datagram(&self) -> Option<(SocketAddr, SocketAddr, &'a [u8])> {
        let packet = self.packet();
        let (src, dst, datagram): (IpAddr, IpAddr, _) = match packet.first()? >> 4 {
            4 => {
                let packet = ipv4::Packet::new_checked(packet).ok()?;
                let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
                datagram.verify_v4(packet.src(), packet.dst()).ok()?;
                (packet.src().into(), packet.dst().into(), datagram)
            }
            _ => {
                let packet = ipv6::Packet::new_checked(packet).ok()?;
                let upper = packet.upper().ok()?;
                let datagram = udp::Datagram::new_checked(upper.payload).ok()?;
                datagram.verify_v6(packet.src(), packet.dst()).ok()?;
                (packet.src().into(), packet.dst().into(), datagram)
            }
        };
        let from = SocketAddr::new(src, datagram.src_port());
        let to = SocketAddr::new(dst, datagram.dst_port());
        Some((from, to, datagram.payload()))
    }

    /// Whether it was sent to a group, or to everybody, on the link.
    pub(crate) fn is_to_group(&self) -> bool {
        self.l3 > 0 && self.frame.first().is_some_and(|first| first & 1 != 0)
    }
}

/// What a feature says of what it heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hearing {
    /// It was for it.
    Taken,
    /// It was for somebody else: a packet that no feature takes goes to the host stack.
    NotMine,
    /// It is discarded for this reason, and no other feature hears it.
    Bad(DropReason),
}

/// Something that a feature wants sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The interface that it leaves by. With [`How::Routed`] it is that of destinations that no route leads to:
    /// groups and addresses of the link.
    pub(crate) interface: InterfaceId,
    /// What is sent: from the network header on, or what stands behind type or length.
    pub(crate) bytes: Vec<u8>,
    /// How it leaves.
    pub(crate) how: How,
}

/// A datagram of UDP. The router chooses the address that it leaves from, if it has one that leads to its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The address that it leaves from, if that is given: one of this router's own, as who was asked answers from it.
    pub(crate) source: Option<IpAddr>,
    /// The port that it leaves from.
    pub(crate) from: u16,
    /// Its receiver. An address of the link says by `interface` where.
    pub(crate) to: SocketAddr,
    /// The interface that groups and addresses of the link are reached by.
    pub(crate) interface: InterfaceId,
    /// What it carries.
    pub(crate) data: Vec<u8>,
}

/// An echo request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// The address that it leaves from, if that is given.
    pub(crate) source: Option<IpAddr>,
    /// Its receiver.
    pub(crate) to: IpAddr,
    /// Its identifier and its sequence number.
    pub(crate) numbers: (u16, u16),
    /// The length of its packet.
    pub(crate) bytes: u16,
    /// Its TTL, or hop limit.
    pub(crate) ttl: u8,
}

/// How something leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// In a frame to this link address, with this EtherType (or length, of what has an LLC header). The link
    /// header and the tags of the interface are written for it. IPv6 meets the rules of `output`.
    Frame(Mac, EtherType),
    /// The same from another link address than the interface's.
    FrameFrom(Mac, Mac, EtherType),
    /// As a packet of this router's own, which routes and the rules of `output` send. An IPv4 packet without an
    /// identification gets one.
    Routed,
}

impl Outgoing {
    /// A frame of a machine.
    pub(crate) fn frame(interface: InterfaceId, frame: service::Frame) -> Self {
        Self {
            interface,
            bytes: frame.payload,
            how: How::Frame(frame.dst, frame.ether_type),
        }
    }

    /// A packet that routes send.
    pub(crate) fn packet(interface: InterfaceId, bytes: Vec<u8>) -> Self {
        Self {
            interface,
            bytes,
            how: How::Routed,
        }
    }
}
