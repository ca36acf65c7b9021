//! Frames that features receive and send: frames of their registered services, and packets of this
//! router.

use core::net::{IpAddr, SocketAddr};

use dataplane::DropReason;
use frame::InterfaceId;
use wire::{EtherType, Mac, ipv4, ipv6, udp};

/// A received frame or IP packet of a service. IP packets are complete, and the checksum of ICMP
/// was verified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedPacket<'a> {
    /// Name of the service.
    pub(crate) service: &'static str,
    /// Ingress interface, after VLAN demultiplexing. `NONE` for a packet of this router's own.
    pub(crate) interface: InterfaceId,
    /// Interface of the port below.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for protocols of ports, which do not exist yet")
    )]
    pub(crate) port: InterfaceId,
    /// Frame bytes from the link header on, without tags. Packets of this router's own have no link
    /// header.
    pub(crate) frame: &'a [u8],
    /// Offset of the payload in `frame`.
    pub(crate) l3: usize,
}

impl<'a> ReceivedPacket<'a> {
    /// Returns the payload: the packet from its network header on, or the bytes behind EtherType or
    /// length.
    pub(crate) fn packet(&self) -> &'a [u8] {
        self.frame.get(self.l3..).unwrap_or_default()
    }

    /// Returns the source link address.
    pub(crate) fn source_mac(&self) -> Mac {
        let head = self.frame.get(6..self.l3);
        let mac = head.and_then(|head| head.first_chunk());
        Mac(mac.copied().unwrap_or_default())
    }

    /// Returns sender, receiver and data of a UDP datagram, or `None` if its headers or its
    /// checksum are invalid.
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

    /// Whether the destination link address is multicast or broadcast.
    pub(crate) fn is_to_group(&self) -> bool {
        self.l3 > 0 && self.frame.first().is_some_and(|first| first & 1 != 0)
    }
}

/// Result of a feature's reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiveOutcome {
    /// The feature consumed the frame.
    Taken,
    /// The frame is not for this feature. A packet that no feature consumes goes to the host stack.
    NotMine,
    /// The frame is dropped for this reason; no other feature receives it.
    Bad(DropReason),
}

/// A frame or packet that a feature sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Egress interface. With [`How::Routed`] it only applies to multicast and link-local
    /// destinations.
    pub(crate) interface: InterfaceId,
    /// Bytes from the network header on, or behind EtherType or length.
    pub(crate) bytes: Vec<u8>,
    /// Form of transmission.
    pub(crate) how: How,
}

/// A UDP datagram. Unless `source` is set, the router chooses the source address by its route to
/// the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source address, if given: an address of this router, so that answers come from the address
    /// that was queried.
    pub(crate) source: Option<IpAddr>,
    /// Source port.
    pub(crate) from: u16,
    /// Receiver. A link-local address needs `interface`.
    pub(crate) to: SocketAddr,
    /// Interface for multicast and link-local receivers.
    pub(crate) interface: InterfaceId,
    /// Payload.
    pub(crate) data: Vec<u8>,
}

impl Datagram {
    /// Returns a datagram between two ends. An unspecified local address leaves the choice to the
    /// route.
    pub(crate) fn between(local: SocketAddr, remote: SocketAddr, data: Vec<u8>) -> Self {
        Self {
            source: Some(local.ip()).filter(|source| !source.is_unspecified()),
            from: local.port(),
            to: remote,
            interface: InterfaceId::NONE,
            data,
        }
    }
}

/// An ICMP echo request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Source address, if given.
    pub(crate) source: Option<IpAddr>,
    /// Receiver.
    pub(crate) to: IpAddr,
    /// Identifier and sequence number.
    pub(crate) numbers: (u16, u16),
    /// Length of the IP packet in bytes.
    pub(crate) bytes: u16,
    /// TTL or hop limit.
    pub(crate) ttl: u8,
}

/// Form of transmission of a frame or packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// As a frame to this link address, with this EtherType (or length, with an LLC header). The
    /// link header and the interface's tags are added. IPv6 passes the rules of `output`.
    Frame(Mac, EtherType),
    /// As a frame with the source address of the first field instead of the interface's.
    FrameFrom(Mac, Mac, EtherType),
    /// As a packet of this router's own, by routes and the rules of `output`. An IPv4 packet
    /// without an identification gets one, and so does one without a source address.
    Routed,
}

impl Outgoing {
    /// Returns the frame of a protocol machine.
    pub(crate) fn frame(interface: InterfaceId, frame: service::Frame) -> Self {
        Self {
            interface,
            bytes: frame.payload,
            how: How::Frame(frame.dst, frame.ether_type),
        }
    }

    /// Returns a packet to be routed.
    pub(crate) fn packet(interface: InterfaceId, bytes: Vec<u8>) -> Self {
        Self {
            interface,
            bytes,
            how: How::Routed,
        }
    }
}
