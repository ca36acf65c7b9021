//! A simple host: one link, one address per family, a default gateway.
//!
//! It resolves and answers ARP and neighbour discovery, answers echo requests, discovers path MTUs, follows
//! redirects, reassembles fragments, and records what it received. It is naive on purpose: it shares only the
//! packet formats with the router.

mod packet;
mod stream;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use machine::{Duration, Instant};
use wire::arp::{Operation, Repr as Arp};
use wire::{EtherType, Mac, ipv6};

pub use stream::Stream;

use packet::Outgoing;

/// Interval and maximum number of neighbour solicitations.
const SOLICITATION_INTERVAL: Duration = Duration::from_millis(500);
const MAX_SOLICITATIONS: u32 = 8;

/// Configuration of a host.
#[derive(Clone, Debug)]
pub struct HostConfig {
    addresses: Vec<(IpAddr, u8)>,
    gateways: Vec<IpAddr>,
    mtu: usize,
}

impl HostConfig {
    /// Creates a configuration with address (`10.0.0.2/24`), default gateway, and an MTU of 1500.
    pub fn new(address: &str, gateway: &str) -> Self {
        Self {
            addresses: Vec::new(),
            gateways: Vec::new(),
            mtu: 1500,
        }
        .and(address, gateway)
    }

    /// Adds an address of the other family.
    pub fn and(mut self, address: &str, gateway: &str) -> Self {
        let (addr, len) = address.split_once('/').expect("an address and its length");
        let addr = addr.parse().expect("an address");
        self.addresses.push((addr, len.parse().expect("a length")));
        self.gateways.push(gateway.parse().expect("a gateway"));
        self
    }

    /// Sets the MTU in bytes.
    pub fn mtu(mut self, mtu: usize) -> Self {
        self.mtu = mtu;
        self
    }
}

/// Recorded message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Reply to an echo request.
    EchoReply {
        /// Sender.
        from: IpAddr,
        /// Sequence number.
        seq: u16,
        /// Bytes of data.
        len: usize,
        /// Remaining TTL.
        ttl: u8,
    },
    /// UDP datagram.
    Udp {
        /// Sender.
        from: IpAddr,
        /// Source port.
        port: u16,
        /// Bytes of data.
        len: usize,
    },
    /// ICMP error.
    Error {
        /// Sender.
        from: IpAddr,
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
        /// MTU in the message, if any.
        mtu: u32,
        /// Destination of the packet in error.
        about: IpAddr,
    },
    /// ICMP redirect.
    Redirect {
        /// Destination.
        destination: IpAddr,
        /// Better next hop.
        gateway: IpAddr,
    },
    /// TCP reset.
    Reset {
        /// Sender.
        from: IpAddr,
        /// Acknowledgement number.
        ack: u32,
    },
    /// Router advertisement.
    Router {
        /// Link-local address of the router.
        from: Ipv6Addr,
        /// Advertised prefixes.
        prefixes: Vec<(Ipv6Addr, u8)>,
    },
}

/// A resolved or pending neighbour.
#[derive(Debug, Default)]
struct Neighbour {
    mac: Option<Mac>,
    waiting: Vec<(EtherType, Vec<u8>)>,
    asked: u32,
    ask_at: Option<Instant>,
}

/// A simulated host.
#[derive(Debug)]
pub struct Host {
    mac: Mac,
    config: HostConfig,
    neighbours: BTreeMap<IpAddr, Neighbour>,
    better: BTreeMap<IpAddr, IpAddr>,
    path_mtu: BTreeMap<IpAddr, usize>,
    pieces: BTreeMap<(IpAddr, u16), packet::Pieces>,
    streams: Vec<Stream>,
    leaving: Vec<Vec<u8>>,
    wanted: Vec<Outgoing>,
    next_id: u16,
    /// Recorded messages, in order.
    pub heard: Vec<Received>,
    /// Bytes received by streams, per sender.
    pub streamed: BTreeMap<IpAddr, usize>,
    /// Number of reassembled packets.
    pub reassembled: usize,
}

impl Host {
    pub(crate) fn new(mac: Mac, config: HostConfig) -> Self {
        Self {
            mac,
            config,
            neighbours: BTreeMap::new(),
            better: BTreeMap::new(),
            path_mtu: BTreeMap::new(),
            pieces: BTreeMap::new(),
            streams: Vec::new(),
            leaving: Vec::new(),
            wanted: Vec::new(),
            next_id: 0,
            heard: Vec::new(),
            streamed: BTreeMap::new(),
            reassembled: 0,
        }
    }

    /// Returns the MAC address.
    pub fn mac(&self) -> Mac {
        self.mac
    }

    /// Returns the address of the family of `to`.
    fn address(&self, to: IpAddr) -> Option<IpAddr> {
        let same = |own: &IpAddr| own.is_ipv4() == to.is_ipv4();
        let own = self.config.addresses.iter().map(|(addr, _)| *addr);
        match to {
            IpAddr::V6(to) if to.is_unicast_link_local() => Some(self.mac.link_local().into()),
            _ => own.into_iter().find(same),
        }
    }

    fn is_own(&self, addr: IpAddr) -> bool {
        self.config.addresses.iter().any(|(own, _)| *own == addr)
            || addr == IpAddr::V6(self.mac.link_local())
    }

    /// Returns the known path MTU to a destination in bytes.
    pub fn path_mtu(&self, to: &str) -> usize {
        let to: IpAddr = to.parse().expect("an address");
        self.path_mtu.get(&to).copied().unwrap_or(self.config.mtu)
    }

    /// Counts the echo replies from this address.
    pub fn replies(&self, from: &str) -> usize {
        let from: IpAddr = from.parse().expect("an address");
        let is_reply = |heard: &&Received| matches!(heard, Received::EchoReply { from: by, .. } if *by == from);
        self.heard.iter().filter(is_reply).count()
    }

    /// Returns the next hop of a destination.
    fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        if let Some(better) = self.better.get(&to) {
            return Some(*better);
        }
        let near = |(own, len): &(IpAddr, u8)| shares(*own, to, *len);
        let link_local = matches!(to, IpAddr::V6(to) if to.is_unicast_link_local());
        if link_local || self.config.addresses.iter().any(near) {
            return Some(to);
        }
        let gateways = self.config.gateways.iter();
        gateways.copied().find(|by| by.is_ipv4() == to.is_ipv4())
    }

    fn send_ip(&mut self, to: IpAddr, packet: Vec<u8>, now: Instant) {
        let ether_type = match to {
            IpAddr::V4(_) => EtherType::IPV4,
            IpAddr::V6(_) => EtherType::IPV6,
        };
        let Some(hop) = self.next_hop(to) else {
            return;
        };
        let neighbour = self.neighbours.entry(hop).or_default();
        if let Some(mac) = neighbour.mac {
            return self.send_frame(mac, ether_type, &packet);
        }
        neighbour.waiting.push((ether_type, packet));
        if neighbour.ask_at.is_none() {
            neighbour.asked = 0;
            self.ask(hop, now);
        }
    }

    fn send_frame(&mut self, to: Mac, ether_type: EtherType, packet: &[u8]) {
        let mut frame = Vec::with_capacity(packet.len() + 14);
        frame.extend_from_slice(&to.0);
        frame.extend_from_slice(&self.mac.0);
        frame.extend_from_slice(&ether_type.0.to_be_bytes());
        frame.extend_from_slice(packet);
        // Short frames are padded on the wire.
        frame.resize(frame.len().max(60), 0);
        self.leaving.push(frame);
    }

    fn ask(&mut self, hop: IpAddr, now: Instant) {
        let neighbour = self.neighbours.entry(hop).or_default();
        if neighbour.asked == MAX_SOLICITATIONS {
            *neighbour = Neighbour::default();
            return;
        }
        neighbour.asked += 1;
        neighbour.ask_at = Some(now + SOLICITATION_INTERVAL);
        match (hop, self.address(hop)) {
            (IpAddr::V4(target), Some(IpAddr::V4(sender))) => {
                let question = Arp {
                    operation: Operation::REQUEST,
                    sender_mac: self.mac,
                    sender,
                    target_mac: Mac::ZERO,
                    target,
                };
                self.send_frame(Mac::BROADCAST, EtherType::ARP, &question.to_bytes());
            }
            (IpAddr::V6(target), Some(IpAddr::V6(source))) => {
                let group = ipv6::solicited_node(target);
                let packet = packet::solicitation(self.mac, source, target);
                self.send_frame(Mac::of_ipv6_group(group), EtherType::IPV6, &packet);
            }
            _ => {}
        }
    }

    fn learn(&mut self, addr: IpAddr, mac: Mac) {
        let neighbour = self.neighbours.entry(addr).or_default();
        neighbour.mac = Some(mac);
        neighbour.ask_at = None;
        for (ether_type, packet) in core::mem::take(&mut neighbour.waiting) {
            self.send_frame(mac, ether_type, &packet);
        }
    }

    /// Forgets all neighbours.
    pub fn forget_neighbours(&mut self) {
        self.neighbours.clear();
    }

    fn hear_arp(&mut self, bytes: &[u8]) {
        let Ok(arp) = Arp::parse(bytes) else {
            return;
        };
        let sender = IpAddr::V4(arp.sender);
        if arp.operation == Operation::REPLY || self.neighbours.contains_key(&sender) {
            self.learn(sender, arp.sender_mac);
        }
        if arp.operation == Operation::REQUEST && self.is_own(arp.target.into()) {
            let answer = Arp {
                operation: Operation::REPLY,
                sender_mac: self.mac,
                sender: arp.target,
                target_mac: arp.sender_mac,
                target: arp.sender,
            };
            self.send_frame(arp.sender_mac, EtherType::ARP, &answer.to_bytes());
        }
    }

    pub(crate) fn receive(&mut self, frame: &[u8], now: Instant) {
        let (Some(to), Some(ether_type)) = (frame.first_chunk::<6>(), frame.get(12..14)) else {
            return;
        };
        let mac = Mac(*to);
        let packet = &frame[14..];
        if mac != self.mac && !mac.is_multicast() {
            return;
        }
        match EtherType(u16::from_be_bytes([ether_type[0], ether_type[1]])) {
            EtherType::ARP => self.hear_arp(packet),
            EtherType::IPV4 => self.hear4(packet, now),
            EtherType::IPV6 => self.hear6(packet, now),
            _ => {}
        }
    }

    pub(crate) fn tick(&mut self, now: Instant) {
        for wanted in core::mem::take(&mut self.wanted) {
            self.send(wanted, now);
        }
        let due: Vec<_> = self
            .neighbours
            .iter()
            .filter(|(_, n)| n.ask_at.is_some_and(|at| at <= now))
            .map(|(hop, _)| *hop)
            .collect();
        for hop in due {
            self.ask(hop, now);
        }
        self.tick_streams(now);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let asks = self.neighbours.values().filter_map(|n| n.ask_at);
        let streams = self.streams.iter().filter_map(Stream::deadline);
        asks.chain(streams).min()
    }

    pub(crate) fn leave(&mut self) -> Vec<Vec<u8>> {
        core::mem::take(&mut self.leaving)
    }
}

/// Returns true if two addresses share their first `len` bits.
fn shares(a: IpAddr, b: IpAddr, len: u8) -> bool {
    let bits = |addr: IpAddr| match addr {
        IpAddr::V4(addr) => u128::from(u32::from(addr)) << 96,
        IpAddr::V6(addr) => u128::from(addr),
    };
    let differ = bits(a) ^ bits(b);
    a.is_ipv4() == b.is_ipv4() && differ.leading_zeros() >= u32::from(len)
}

/// Returns the unspecified address of a family, in place of an unreadable one.
fn unspecified(ipv4: bool) -> IpAddr {
    match ipv4 {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    }
}
