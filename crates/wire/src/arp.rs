//! ARP for IPv4 over Ethernet (RFC 826).

use core::net::Ipv4Addr;

use crate::{EtherType, Mac, bytes_at, put_at, u16_at};

/// Length of an ARP packet for IPv4 over Ethernet.
pub const PACKET_LEN: usize = 28;

/// ARP operation (RFC 826; RFC 5227 for probes and announcements).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation(pub u16);

impl Operation {
    /// Request for the target's MAC address.
    pub const REQUEST: Self = Self(1);
    /// Reply with the sender's MAC address.
    pub const REPLY: Self = Self(2);
}

/// Reason why an ARP packet is malformed, in the order of RFC 826.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 28 bytes.
    Truncated,
    /// The hardware type is not Ethernet.
    Hardware,
    /// A hardware address is not 6 bytes long.
    HardwareLength,
    /// The protocol type is not IPv4.
    Protocol,
    /// A protocol address is not 4 bytes long.
    ProtocolLength,
}

/// An ARP packet for IPv4 over Ethernet as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Operation.
    pub operation: Operation,
    /// Sender MAC address.
    pub sender_mac: Mac,
    /// Sender address; zero in a probe (RFC 5227, 2.1.1).
    pub sender: Ipv4Addr,
    /// Target MAC address; meaningless in a request.
    pub target_mac: Mac,
    /// Target address: the address to resolve, or the requester's address in a reply.
    pub target: Ipv4Addr,
}

impl Repr {
    /// Parses an ARP packet; padding after it is ignored.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the packet is truncated or not IPv4 over Ethernet.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let packet: &[u8; PACKET_LEN] = bytes.first_chunk().ok_or(Malformed::Truncated)?;
        let [hardware_len, protocol_len] = bytes_at(packet, 4);
        if u16_at(packet, 0) != HARDWARE_ETHERNET {
            return Err(Malformed::Hardware);
        }
        if hardware_len != 6 {
            return Err(Malformed::HardwareLength);
        }
        if EtherType(u16_at(packet, 2)) != EtherType::IPV4 {
            return Err(Malformed::Protocol);
        }
        if protocol_len != 4 {
            return Err(Malformed::ProtocolLength);
        }
        Ok(Self {
            operation: Operation(u16_at(packet, 6)),
            sender_mac: Mac(bytes_at(packet, 8)),
            sender: bytes_at::<4, _>(packet, 14).into(),
            target_mac: Mac(bytes_at(packet, 18)),
            target: bytes_at::<4, _>(packet, 24).into(),
        })
    }

    /// Encodes the packet.
    pub fn to_bytes(&self) -> [u8; PACKET_LEN] {
        let mut bytes = [0; PACKET_LEN];
        put_at(&mut bytes, 0, HARDWARE_ETHERNET.to_be_bytes());
        put_at(&mut bytes, 2, EtherType::IPV4.0.to_be_bytes());
        put_at(&mut bytes, 4, [6, 4]);
        put_at(&mut bytes, 6, self.operation.0.to_be_bytes());
        put_at(&mut bytes, 8, self.sender_mac.0);
        put_at(&mut bytes, 14, self.sender.octets());
        put_at(&mut bytes, 18, self.target_mac.0);
        put_at(&mut bytes, 24, self.target.octets());
        bytes
    }
}

/// Hardware type Ethernet (IANA, "ARP Parameters").
const HARDWARE_ETHERNET: u16 = 1;
