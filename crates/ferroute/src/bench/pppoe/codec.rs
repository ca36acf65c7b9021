//! Encoding of the subscribers' frames.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::pppoe::{self, Packet};
use wire::{EtherType, Mac, Protocol, checksum};

const ETHERNET: usize = 14;
/// Bytes of a PPPoE header.
const HEADER: usize = pppoe::HEADER;
/// PPP protocol numbers of IPv4 and IPv6 (RFC 1332, RFC 5072).
const IPV4: [u8; 2] = [0x00, 0x21];
const IPV6: [u8; 2] = [0x00, 0x57];
/// ICMP types: echo request and reply, of IPv4 and IPv6.
const ECHO4: [u8; 2] = [8, 0];
const ECHO6: [u8; 2] = [128, 129];
/// Bytes of an echo request behind the IP header.
const ECHO: usize = 16;
/// Bytes of a UDP header, and of a packet of the load behind the IP header.
const UDP: usize = 8;
const LOAD: usize = UDP + 64;
/// UDP port of the load (RFC 863).
const DISCARD: [u8; 2] = [0, 9];
/// First two bytes of the subscribers' link addresses.
const PREFIX: [u8; 2] = [0x02, 0x70];

/// Returns the link address of the subscriber with this number.
pub(super) const fn mac(number: u32) -> Mac {
    let [a, b, c, d] = number.to_be_bytes();
    Mac([PREFIX[0], PREFIX[1], a, b, c, d])
}

/// Returns the number of the subscriber to which a frame is addressed.
pub(super) fn addressee(bytes: &[u8]) -> Option<usize> {
    let number = bytes.strip_prefix(&PREFIX)?.first_chunk()?;
    usize::try_from(u32::from_be_bytes(*number)).ok()
}

/// Content of a received frame.
pub(super) enum Payload<'a> {
    /// Discovery, with its sender.
    Discovery(Mac, Packet<'a>),
    /// Session number, and a PPP packet from its protocol field on.
    Session(u16, &'a [u8]),
    /// Answer to a ping.
    Ping,
    /// Packet of the load.
    Data,
}

/// Reads a received frame.
pub(super) fn read(bytes: &[u8]) -> Option<Payload<'_>> {
    let (header, payload) = bytes.split_first_chunk::<ETHERNET>()?;
    let from = Mac(*header.get(6..)?.first_chunk()?);
    let packet = Packet::new_checked(payload).ok()?;
    match EtherType(u16::from_be_bytes([header[12], header[13]])) {
        EtherType::PPPOE_DISCOVERY => Some(Payload::Discovery(from, packet)),
        EtherType::PPPOE_SESSION if is_reply(packet.payload) => Some(Payload::Ping),
        EtherType::PPPOE_SESSION if is_data(packet.payload) => Some(Payload::Data),
        EtherType::PPPOE_SESSION => Some(Payload::Session(packet.session, packet.payload)),
        _ => None,
    }
}

/// Whether a PPP packet is an echo reply of IPv4 or IPv6.
fn is_reply(packet: &[u8]) -> bool {
    let field = |at: usize| packet.get(at + 2).copied();
    match packet.first_chunk() {
        Some(&IPV4) => field(9) == Some(Protocol::ICMP.0) && field(20) == Some(ECHO4[1]),
        Some(&IPV6) => field(6) == Some(Protocol::ICMPV6.0) && field(40) == Some(ECHO6[1]),
        _ => false,
    }
}

/// Whether a PPP packet belongs to the load phase.
fn is_data(packet: &[u8]) -> bool {
    packet.starts_with(&IPV4)
        && packet.get(11) == Some(&Protocol::UDP.0)
        && packet.get(24..26) == Some(&DISCARD)
}

/// Returns the bytes of a discovery frame.
pub(super) fn ethernet(source: Mac, frame: &service::Frame) -> Vec<u8> {
    let mut bytes = begin(source, frame.dst, frame.ether_type);
    bytes.extend_from_slice(&frame.payload);
    bytes
}

/// Returns the frame of a PPP packet.
pub(super) fn session(source: Mac, peer: Mac, number: u16, packet: &[u8]) -> Vec<u8> {
    let mut bytes = begin(source, peer, EtherType::PPPOE_SESSION);
    let header: [u8; HEADER] = Packet::header(pppoe::code::SESSION, number, packet.len() as u16);
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(packet);
    bytes
}

fn begin(source: Mac, destination: Mac, kind: EtherType) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(&destination.0);
    bytes.extend_from_slice(&source.0);
    bytes.extend_from_slice(&kind.0.to_be_bytes());
    bytes
}

/// Returns an ICMP echo request from the first to the second address, behind the PPP protocol field.
pub(super) fn echo4(from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    packet4(from, to, Protocol::ICMP, &echo(ECHO4[0], 0))
}

/// Returns a UDP packet of the load, without checksum, behind the PPP protocol field.
pub(super) fn data4(from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut data = [0; LOAD];
    data[..2].copy_from_slice(&DISCARD);
    data[2..4].copy_from_slice(&DISCARD);
    data[4..6].copy_from_slice(&(LOAD as u16).to_be_bytes());
    packet4(from, to, Protocol::UDP, &data)
}

/// Returns an IPv4 packet behind the PPP protocol field.
fn packet4(from: Ipv4Addr, to: Ipv4Addr, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let mut packet = IPV4.to_vec();
    let total = (20 + payload.len()) as u16;
    let mut header = [0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol.0, 0, 0];
    header[2..4].copy_from_slice(&total.to_be_bytes());
    packet.extend_from_slice(&header);
    packet.extend_from_slice(&from.octets());
    packet.extend_from_slice(&to.octets());
    let sum = checksum::checksum(&packet[2..]);
    packet[12..14].copy_from_slice(&sum.to_be_bytes());
    packet.extend_from_slice(payload);
    packet
}

/// Returns an ICMPv6 echo request from the first to the second address, behind the PPP protocol field.
pub(super) fn echo6(from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    let mut packet = IPV6.to_vec();
    packet.extend_from_slice(&[0x60, 0, 0, 0, 0, ECHO as u8, Protocol::ICMPV6.0, 64]);
    packet.extend_from_slice(&from.octets());
    packet.extend_from_slice(&to.octets());
    let pseudo = checksum::pseudo_v6(from, to, Protocol::ICMPV6, ECHO as u32);
    packet.extend_from_slice(&echo(ECHO6[0], pseudo));
    packet
}

/// Returns the link-local address with this interface identifier (RFC 5072, 5).
pub(super) fn link_local(identifier: [u8; 8]) -> Ipv6Addr {
    let mut address = [0; 16];
    address[..2].copy_from_slice(&[0xfe, 0x80]);
    address[8..].copy_from_slice(&identifier);
    address.into()
}

/// Returns an echo request whose checksum covers `pseudo`.
fn echo(kind: u8, pseudo: u16) -> [u8; ECHO] {
    let mut echo = [0; ECHO];
    echo[0] = kind;
    let sum = !checksum::combine(pseudo, checksum::sum(&echo));
    echo[2..4].copy_from_slice(&sum.to_be_bytes());
    echo
}
