//! Finds the path through the device: the MAC address of the next hop, and whether frames arrive. Answers the device's
//! questions for the address of either end (ARP, RFC 826; neighbour discovery, RFC 4861).

use core::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use wire::ndp::{Message, NdpOption, NeighbourFlags, Options};
use wire::{Mac, arp, icmpv6, ipv6};

use super::link::{Ends, Path};
use super::trial::Ports;
use crate::cli::Through;

/// Interval of ARP requests and neighbour solicitations.
const ASK_INTERVAL: Duration = Duration::from_millis(200);
/// Timeout of the resolution and of the first probe frame.
const TIMEOUT: Duration = Duration::from_secs(5);
const BROADCAST: Mac = Mac([0xff; 6]);

/// Finds the path. With a gateway, frames carry the MAC address of the gateway; otherwise that of the second port.
pub(super) fn find(ports: &mut Ports, ends: &Ends, through: &Through) -> Result<Path, String> {
    let macs = ports.macs();
    let path = match ends.gateway {
        None => Path::straight(ends, macs),
        Some(gateway) => Path::routed(ends, macs[0], ask(ports, ends, gateway)?),
    };
    // A bridge learns where the second port is.
    let announcement = question(macs[1], ends.destination, ends.destination);
    ports.send(1, &announcement);
    let begin = Instant::now();
    while !ports.probe(&path)? {
        if begin.elapsed() > TIMEOUT {
            return Err(format!(
                "no frame from {} arrives at {}{}",
                through.from,
                through.to,
                match ends.gateway {
                    Some(gateway) =>
                        format!(" by {gateway}: has it a route to {}?", ends.destination),
                    None => String::from("; a router needs --gateway"),
                }
            ));
        }
    }
    Ok(path)
}

/// Asks for the MAC address of the gateway.
fn ask(ports: &mut Ports, ends: &Ends, gateway: IpAddr) -> Result<Mac, String> {
    let begin = Instant::now();
    let request = question(ports.macs()[0], ends.source, gateway);
    while begin.elapsed() < TIMEOUT {
        ports.send(0, &request);
        let asked = Instant::now();
        while asked.elapsed() < ASK_INTERVAL {
            let mut found = None;
            ports.receive_others(ends, &mut |frame| {
                found = found.or(answer_of(frame, gateway))
            });
            if let Some(mac) = found {
                return Ok(mac);
            }
        }
    }
    Err(format!("{gateway} does not answer at the first port"))
}

/// Frame that asks for the MAC address of `target`; an announcement if both addresses are equal.
fn question(from: Mac, source: IpAddr, target: IpAddr) -> Vec<u8> {
    match (source, target) {
        (IpAddr::V4(sender), IpAddr::V4(target)) => {
            let request = arp::Repr {
                operation: arp::Operation::REQUEST,
                sender_mac: from,
                sender,
                target_mac: Mac([0; 6]),
                target,
            };
            frame(BROADCAST, from, 0x0806, &request.to_bytes())
        }
        (IpAddr::V6(source), IpAddr::V6(target)) => {
            let group = solicited(target);
            let mut options = Vec::new();
            NdpOption::Source(from).emit(&mut options);
            match Options::new_checked(&options) {
                Ok(options) => {
                    let message = Message::NeighbourSolicitation { target, options };
                    discovery(Mac::of_ipv6_group(group), from, source, group, &message)
                }
                Err(_) => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// MAC address of `target` if the frame is its answer.
fn answer_of(frame: &[u8], target: IpAddr) -> Option<Mac> {
    let payload = frame.get(14..)?;
    match (frame.get(12..14)?, target) {
        ([0x08, 0x06], IpAddr::V4(target)) => {
            let reply = arp::Repr::parse(payload).ok()?;
            let is_answer = reply.operation == arp::Operation::REPLY && reply.sender == target;
            is_answer.then_some(reply.sender_mac)
        }
        ([0x86, 0xdd], IpAddr::V6(target)) => {
            let packet = ipv6::Packet::new_checked(payload).ok()?;
            match message(&packet)? {
                Message::NeighbourAdvertisement {
                    target: own,
                    options,
                    ..
                } if own == target => options.target(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Builds the reply to an ARP request or neighbour solicitation for `own`; `None` for other frames.
pub(super) fn reply(frame_bytes: &[u8], own: IpAddr, mac: Mac) -> Option<Vec<u8>> {
    let payload = frame_bytes.get(14..)?;
    match (frame_bytes.get(12..14)?, own) {
        ([0x08, 0x06], IpAddr::V4(own)) => {
            let request = arp::Repr::parse(payload).ok()?;
            let asks = request.operation == arp::Operation::REQUEST && request.target == own;
            asks.then(|| {
                let reply = arp::Repr {
                    operation: arp::Operation::REPLY,
                    sender_mac: mac,
                    sender: own,
                    target_mac: request.sender_mac,
                    target: request.sender,
                };
                frame(request.sender_mac, mac, 0x0806, &reply.to_bytes())
            })
        }
        ([0x86, 0xdd], IpAddr::V6(own)) => {
            let packet = ipv6::Packet::new_checked(payload).ok()?;
            let Message::NeighbourSolicitation { target, options } = message(&packet)? else {
                return None;
            };
            let to = options.source().filter(|_| target == own)?;
            let mut options = Vec::new();
            NdpOption::Target(mac).emit(&mut options);
            let options = Options::new_checked(&options).ok()?;
            let flags = NeighbourFlags {
                router: false,
                solicited: true,
                overrides: true,
            };
            let message = Message::NeighbourAdvertisement {
                flags,
                target,
                options,
            };
            Some(discovery(to, mac, own, packet.src(), &message))
        }
        _ => None,
    }
}

/// Neighbour discovery message of a packet; `None` for all others.
fn message<'p>(packet: &ipv6::Packet<'p>) -> Option<Message<'p>> {
    let icmp = icmpv6::Packet::new_verified(packet.payload(), packet.src(), packet.dst());
    Message::parse(&icmp.ok()?).ok()
}

fn discovery(
    to: Mac,
    from: Mac,
    source: Ipv6Addr,
    destination: Ipv6Addr,
    message: &Message<'_>,
) -> Vec<u8> {
    let mut body = Vec::new();
    message.emit(source, destination, &mut body);
    // Version 6, next header ICMPv6, hop limit 255 (RFC 4861, 4.3).
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend_from_slice(&(body.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[58, 255]);
    packet.extend_from_slice(&source.octets());
    packet.extend_from_slice(&destination.octets());
    packet.extend_from_slice(&body);
    frame(to, from, 0x86dd, &packet)
}

/// Solicited-node multicast address (RFC 4291, 2.7.1).
fn solicited(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    let low = u16::from_be_bytes([b, c]);
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), low)
}

fn frame(to: Mac, from: Mac, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = [to.0, from.0].concat();
    bytes.extend_from_slice(&ethertype.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().max(generator::MIN_FRAME_BYTES), 0);
    bytes
}
