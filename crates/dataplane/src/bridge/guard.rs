//! Guards of a bridge: drop messages of DHCP servers, DHCPv6 servers and routers from untrusted
//! ports (`dhcp-snooping`, `dhcpv6-snooping`, `ra-guard`; RFC 7610, RFC 6105). Client requests
//! leave by trusted ports only, and may get the relay agent information of their port (RFC 3046).

use std::sync::Arc;

use frame::Frame;
use wire::{Protocol, checksum, dhcp, ipv4, udp};

use super::link;
use crate::drop::DropReason;
use crate::flow::{Upper, is_first_fragment6, upper4, upper6};

/// The guards that are enabled on a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// `dhcp-snooping`.
    pub dhcp: bool,
    /// `dhcpv6-snooping`.
    pub dhcp6: bool,
    /// `ra-guard`.
    pub advertisements: bool,
}

impl Guards {
    /// Returns true if no guard is enabled.
    pub const fn are_off(self) -> bool {
        !(self.dhcp || self.dhcp6 || self.advertisements)
    }
}

/// The trust settings of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// `trusted`: DHCP servers are permitted behind the port.
    pub dhcp: bool,
    /// `trusted-dhcpv6`: DHCPv6 servers are permitted behind the port.
    pub dhcp6: bool,
    /// `trusted-ra`: routers are permitted behind the port.
    pub advertisements: bool,
    /// The complete relay agent information option for requests of clients behind the port.
    pub agent: Option<Arc<[u8]>>,
}

/// The trust settings of the router above the bridge.
pub(super) static TRUSTED: Trust = Trust {
    dhcp: true,
    dhcp6: true,
    advertisements: true,
    agent: None,
};

/// The message type of a packet, as far as guards distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any other packet.
    Other,
    /// A message of a DHCP client.
    Client,
    /// A message of a DHCP server.
    Server,
    /// A message of a DHCPv6 client or relay.
    Client6,
    /// A message of a DHCPv6 server.
    Server6,
    /// A router advertisement.
    Advertisement,
    /// Unclear: the message type is not in the first fragment, or the extension headers are
    /// malformed (RFC 7113, 3).
    Hidden6,
}

/// Classifies a packet, from its network header on, by its EtherType.
pub(super) fn kind(ethertype: u16, packet: &[u8]) -> Kind {
    match ethertype {
        0x0800 => kind4(packet),
        0x86dd => kind6(packet),
        _ => Kind::Other,
    }
}

fn kind4(packet: &[u8]) -> Kind {
    let Some(Upper {
        protocol, offset, ..
    }) = upper4(packet)
    else {
        return Kind::Other;
    };
    // Later fragments are harmless without the first.
    let is_first = packet[6] & 0x1f == 0 && packet[7] == 0;
    if protocol != Protocol::UDP.0 || !is_first {
        return Kind::Other;
    }
    let upper = packet.get(offset..).unwrap_or_default();
    let [from_high, from_low, to_high, to_low, _, _, _, _, op, ..] = *upper else {
        return Kind::Other;
    };
    let from = u16::from_be_bytes([from_high, from_low]);
    let to = u16::from_be_bytes([to_high, to_low]);
    match (from, to, op) {
        (dhcp::SERVER_PORT, dhcp::CLIENT_PORT, _) | (_, dhcp::SERVER_PORT, 2) => Kind::Server,
        (_, dhcp::CLIENT_PORT, 2) => Kind::Server,
        (_, dhcp::SERVER_PORT, _) => Kind::Client,
        _ => Kind::Other,
    }
}

fn kind6(packet: &[u8]) -> Kind {
    const ADVERTISEMENT: u8 = 134;
    /// Advertise, reply, reconfigure, relay-reply (RFC 8415, 7.3).
    const OF_SERVERS: [u8; 4] = [2, 7, 10, 13];
    let Some(upper) = upper6(packet) else {
        return Kind::Hidden6;
    };
    if upper.fragment && !is_first_fragment6(packet) {
        return Kind::Other;
    }
    let bytes = packet.get(upper.offset..).unwrap_or_default();
    match (Protocol(upper.protocol), bytes) {
        (Protocol::ICMPV6, [ADVERTISEMENT, ..]) => Kind::Advertisement,
        (Protocol::UDP, [_, _, high, low, _, _, _, _, message, ..]) => {
            let to = u16::from_be_bytes([*high, *low]);
            match (to, OF_SERVERS.contains(message)) {
                (546 | 547, true) => Kind::Server6,
                (547, false) => Kind::Client6,
                _ => Kind::Other,
            }
        }
        (Protocol::ICMPV6, []) => Kind::Hidden6,
        (Protocol::UDP, short) if short.len() < 9 && upper.fragment => Kind::Hidden6,
        _ => Kind::Other,
    }
}

/// Checks whether a packet of this kind is admitted at a port.
///
/// # Errors
/// The reason to drop it.
pub(super) fn admit(guards: Guards, trust: &Trust, kind: Kind) -> Result<(), DropReason> {
    match kind {
        Kind::Server if guards.dhcp && !trust.dhcp => Err(DropReason::BridgeDhcpServer),
        Kind::Server6 if guards.dhcp6 && !trust.dhcp6 => Err(DropReason::BridgeDhcpServer),
        Kind::Advertisement | Kind::Hidden6 if guards.advertisements && !trust.advertisements => {
            Err(DropReason::BridgeAdvertisement)
        }
        _ => Ok(()),
    }
}

/// Returns true if a packet of this kind may leave by a port: client requests go to trusted ports
/// only.
pub(super) const fn leaves(guards: Guards, trust: &Trust, kind: Kind) -> bool {
    match kind {
        Kind::Client => !guards.dhcp || trust.dhcp,
        Kind::Client6 => !guards.dhcp6 || trust.dhcp6,
        _ => true,
    }
}

/// Guards a received frame: checks its message type, and edits the relay agent information.
///
/// # Errors
/// The reason to drop it.
pub(super) fn run(guards: Guards, trust: &Trust, frame: &mut Frame) -> Result<(), DropReason> {
    let (l3, kind) = kind_of(frame.bytes());
    admit(guards, trust, kind)?;
    match guards.dhcp {
        true => edit(frame, l3, trust, kind),
        false => Ok(()),
    }
}

/// Checks a received frame without editing it.
///
/// # Errors
/// The reason to drop it.
pub(super) fn check(guards: Guards, trust: &Trust, bytes: &[u8]) -> Result<(), DropReason> {
    match guards.are_off() {
        true => Ok(()),
        false => admit(guards, trust, kind_of(bytes).1),
    }
}

/// Returns the offset of a frame's packet, and its message type.
pub(super) fn kind_of(bytes: &[u8]) -> (usize, Kind) {
    let (l3, ethertype) = link::packet_of(bytes);
    (l3, kind(ethertype, bytes.get(l3..).unwrap_or_default()))
}

/// Inserts the port's relay agent information into a client's request, and removes it from a
/// server's answer. The packet begins at `l3`. A request with such an option from an untrusted
/// port, without a relay's address, is dropped (RFC 3046, 2.1).
///
/// # Errors
/// The reason to drop it.
pub(super) fn edit(
    frame: &mut Frame,
    l3: usize,
    trust: &Trust,
    kind: Kind,
) -> Result<(), DropReason> {
    let Some(offsets) = DhcpOffsets::of(frame.bytes(), l3) else {
        return Ok(());
    };
    let option = trust.agent.as_deref();
    match (kind, &offsets.agent, option) {
        (Kind::Client, Some(_), _) if !trust.dhcp && offsets.has_no_relay => {
            return Err(DropReason::BridgeDhcpOption);
        }
        (Kind::Client, None, Some(option)) if !trust.dhcp => {
            finish_checksum(frame);
            insert(frame, l3, &offsets, option);
        }
        (Kind::Server, Some(agent), _) if offsets.has_no_relay => {
            finish_checksum(frame);
            let message = frame.bytes_mut().get_mut(offsets.message..);
            dhcp::blank(message.unwrap_or_default(), agent.clone());
            write_checksums(frame.bytes_mut(), l3, &offsets);
        }
        _ => {}
    }
    Ok(())
}

/// The offsets of a DHCP message in its frame.
struct DhcpOffsets {
    udp: usize,
    message: usize,
    /// Length of the message in bytes.
    len: usize,
    end: usize,
    agent: Option<core::ops::Range<usize>>,
    has_no_relay: bool,
}

impl DhcpOffsets {
    /// Parses a frame; `None` if it holds no whole DHCP message.
    fn of(bytes: &[u8], l3: usize) -> Option<Self> {
        let packet = ipv4::Packet::new_checked(bytes.get(l3..)?).ok()?;
        if packet.fragment().is_piece() {
            return None;
        }
        let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
        let read = dhcp::Message::new_checked(datagram.payload()).ok()?;
        let udp = l3 + usize::from(bytes.get(l3)? & 0xf) * 4;
        Some(Self {
            udp,
            message: udp + udp::HEADER_LEN,
            len: datagram.payload().len(),
            end: read.end(),
            agent: read.agent(),
            has_no_relay: read.giaddr().is_unspecified(),
        })
    }
}

/// Completes an offloaded checksum, because the bytes that it covers are about to change.
fn finish_checksum(frame: &mut Frame) {
    let offload = frame.offload;
    if frame::finish_checksum(frame.bytes_mut(), &offload).is_ok() {
        frame.offload.needs_checksum = false;
    }
}

/// Inserts the option. A request that would become too long is forwarded without it (RFC 3046,
/// 2.1).
fn insert(frame: &mut Frame, l3: usize, offsets: &DhcpOffsets, option: &[u8]) {
    /// The largest packet that every link carries, in bytes.
    const MTU: usize = 1500;
    let before = frame.len();
    let most = offsets.message + offsets.len.max(offsets.end + option.len() + 1);
    if most - l3 > MTU || !frame.set_len(most) {
        return;
    }
    let message = frame.bytes_mut().get_mut(offsets.message..);
    let message = message.unwrap_or_default();
    let Some(len) = dhcp::insert(message, offsets.end, offsets.len, option) else {
        let _ = frame.set_len(before);
        return;
    };
    let (total, datagram) = (offsets.message + len - l3, len + udp::HEADER_LEN);
    let bytes = frame.bytes_mut();
    let lengths = [(l3 + 2, total), (offsets.udp + 4, datagram)];
    for (at, value) in lengths {
        if let Some(field) = bytes.get_mut(at..at + 2) {
            field.copy_from_slice(&(value as u16).to_be_bytes());
        }
    }
    write_checksums(bytes, l3, offsets);
}

/// Writes the IPv4 and UDP checksums of a datagram with correct lengths. A datagram without a UDP
/// checksum keeps none.
fn write_checksums(bytes: &mut [u8], l3: usize, offsets: &DhcpOffsets) {
    let Some((header, rest)) = bytes.get_mut(l3..).and_then(|packet| {
        let header = offsets.udp - l3;
        packet.split_at_mut_checked(header)
    }) else {
        return;
    };
    if header.len() < ipv4::HEADER_LEN || rest.len() < udp::HEADER_LEN {
        return;
    }
    header[10..12].fill(0);
    let sum = checksum::checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    let len = u16::from_be_bytes([rest[4], rest[5]]);
    let Some(datagram) = rest.get_mut(..usize::from(len)) else {
        return;
    };
    if datagram[6..8] == [0, 0] {
        return;
    }
    datagram[6..8].fill(0);
    let address = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]].into();
    let pseudo = checksum::pseudo_v4(address(12), address(16), Protocol::UDP, len);
    let sum = checksum::combine(pseudo, checksum::sum(datagram));
    datagram[6..8].copy_from_slice(&checksum::udp(!sum).to_be_bytes());
}

#[cfg(test)]
mod tests;
