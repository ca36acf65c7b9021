//! Packets of a host: sending, and processing of received ones.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use machine::Instant;
use wire::icmpv4::Message as Icmp4;
use wire::icmpv6::{Message as Icmp6, Type};
use wire::ipv4::Fragment;
use wire::ndp::{self, NdpOption, NeighbourFlags, Options};
use wire::{EtherType, Mac, Protocol, icmpv4, icmpv6, ipv4, ipv6, tcp, udp};

use super::{Host, Received, unspecified};

/// A packet to send.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) to: IpAddr,
    pub(super) what: What,
    pub(super) ttl: u8,
    pub(super) dont_fragment: bool,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Echo {
        seq: u16,
        len: usize,
    },
    EchoReply {
        id: u16,
        seq: u16,
        data: Vec<u8>,
    },
    Udp {
        source: u16,
        port: u16,
        data: Vec<u8>,
    },
    /// A raw packet.
    Raw(Vec<u8>),
}

/// Reassembly state: payload so far, and total length once the last fragment has arrived.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    have: Vec<(usize, Vec<u8>)>,
    total: Option<usize>,
}

impl Pieces {
    fn add(&mut self, at: usize, data: &[u8], more: bool) -> Option<Vec<u8>> {
        if !more {
            self.total = Some(at + data.len());
        }
        if !self.have.iter().any(|(other, _)| *other == at) {
            self.have.push((at, data.to_vec()));
        }
        let total = self.total?;
        self.have.sort_unstable();
        let mut whole = Vec::with_capacity(total);
        for (at, data) in &self.have {
            if *at != whole.len() {
                return None;
            }
            whole.extend_from_slice(data);
        }
        (whole.len() == total).then_some(whole)
    }
}

impl Host {
    /// Sends an echo request with `len` bytes of data.
    pub fn ping(&mut self, to: &str, seq: u16, len: usize) {
        self.ping_ttl(to, seq, len, 64);
    }

    /// Sends an echo request with this TTL.
    pub fn ping_ttl(&mut self, to: &str, seq: u16, len: usize, ttl: u8) {
        self.want(to, What::Echo { seq, len }, ttl, false);
    }

    /// Sends an echo request with Don't Fragment.
    pub fn ping_whole(&mut self, to: &str, seq: u16, len: usize) {
        self.want(to, What::Echo { seq, len }, 64, true);
    }

    /// Sends a UDP datagram from port 40000, which may be fragmented.
    pub fn send_udp(&mut self, to: &str, port: u16, len: usize) {
        let data = vec![0x55; len];
        let what = What::Udp {
            source: 40_000,
            port,
            data,
        };
        self.want(to, what, 64, false);
    }

    /// Sends a UDP datagram from this port.
    pub fn send_udp_from(&mut self, source: u16, to: &str, port: u16, len: usize) {
        let data = vec![0x55; len];
        let what = What::Udp { source, port, data };
        self.want(to, what, 64, false);
    }

    /// Sends a raw IP packet, by the next hop of `to`.
    pub fn send_raw(&mut self, to: &str, packet: Vec<u8>) {
        self.want(to, What::Raw(packet), 64, false);
    }

    fn want(&mut self, to: &str, what: What, ttl: u8, dont_fragment: bool) {
        let to = to.parse().expect("an address");
        self.wanted.push(Outgoing {
            to,
            what,
            ttl,
            dont_fragment,
        });
    }

    pub(super) fn send(&mut self, outgoing: Outgoing, now: Instant) {
        let to = outgoing.to;
        let Some(own) = self.address(to) else {
            return;
        };
        if let What::Raw(packet) = outgoing.what {
            return self.send_ip(to, packet, now);
        }
        let (protocol, payload) = payload(&outgoing.what, own, to);
        match (own, to) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                self.next_id = self.next_id.wrapping_add(1);
                let header = ipv4::Repr {
                    id: self.next_id,
                    ttl: outgoing.ttl,
                    ..ipv4::Repr::new(protocol, src, dst)
                };
                let mtu = match outgoing.dont_fragment {
                    true => usize::MAX,
                    false => self.path_mtu.get(&to).copied().unwrap_or(self.config.mtu),
                };
                for packet in pieces4(&header, &payload, mtu, outgoing.dont_fragment) {
                    self.send_ip(to, packet, now);
                }
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let header = ipv6::Repr {
                    hop_limit: outgoing.ttl,
                    ..ipv6::Repr::new(protocol, src, dst)
                };
                let mut packet = header.to_bytes(payload.len()).to_vec();
                packet.extend_from_slice(&payload);
                self.send_ip(to, packet, now);
            }
            _ => {}
        }
    }

    pub(super) fn hear4(&mut self, bytes: &[u8], now: Instant) {
        let Ok(packet) = ipv4::Packet::new_verified(bytes) else {
            return;
        };
        let (src, dst) = (packet.src(), packet.dst());
        if !self.is_own(dst.into()) {
            return;
        }
        let fragment = packet.fragment();
        let payload = if fragment.is_piece() {
            let key = (IpAddr::V4(src), packet.id());
            let at = usize::from(fragment.offset());
            let pieces = self.pieces.entry(key).or_default();
            let Some(whole) = pieces.add(at, packet.payload(), fragment.more()) else {
                return;
            };
            self.pieces.remove(&key);
            self.reassembled += 1;
            whole
        } else {
            packet.payload().to_vec()
        };
        match packet.protocol() {
            Protocol::ICMP => self.hear_icmp4(src, packet.ttl(), &payload, now),
            Protocol::UDP => self.hear_udp(src.into(), &payload, now),
            Protocol::TCP => self.hear_tcp(src.into(), &payload),
            _ => {}
        }
    }

    fn hear_icmp4(&mut self, src: Ipv4Addr, ttl: u8, payload: &[u8], now: Instant) {
        let Ok(icmp) = icmpv4::Packet::new_verified(payload) else {
            return;
        };
        let from = IpAddr::V4(src);
        let about = |quoted: &[u8]| {
            let packet = ipv4::Packet::new_quoted(quoted).ok();
            packet.map_or(unspecified(true), |packet| packet.dst().into())
        };
        match icmp.message() {
            Icmp4::EchoRequest { id, seq, data } => {
                let data = data.to_vec();
                self.reply(from, What::EchoReply { id, seq, data }, now);
            }
            Icmp4::EchoReply { seq, data, .. } => self.heard.push(Received::EchoReply {
                from,
                seq,
                len: data.len(),
                ttl,
            }),
            Icmp4::Unreachable { mtu, quoted, .. } => {
                let about = about(quoted);
                if mtu > 0 {
                    self.shrink(about, mtu.into());
                }
                self.fault(from, &icmp.kind().0, icmp.code(), mtu.into(), about);
            }
            Icmp4::TimeExceeded { quoted, .. } | Icmp4::ParameterProblem { quoted, .. } => {
                let about = about(quoted);
                self.fault(from, &icmp.kind().0, icmp.code(), 0, about);
            }
            Icmp4::Redirect {
                gateway, quoted, ..
            } => self.redirected(about(quoted), gateway.into()),
            Icmp4::Other { .. } => {}
        }
    }

    fn fault(&mut self, from: IpAddr, kind: &u8, code: u8, mtu: u32, about: IpAddr) {
        self.heard.push(Received::Error {
            from,
            kind: *kind,
            code,
            mtu,
            about,
        });
    }

    fn redirected(&mut self, destination: IpAddr, gateway: IpAddr) {
        self.better.insert(destination, gateway);
        self.heard.push(Received::Redirect {
            destination,
            gateway,
        });
    }

    /// Applies the MTU of a "packet too big" message.
    fn shrink(&mut self, to: IpAddr, mtu: u32) {
        let known = self.path_mtu.entry(to).or_insert(self.config.mtu);
        *known = (*known).min(mtu as usize);
    }

    fn reply(&mut self, to: IpAddr, what: What, now: Instant) {
        let outgoing = Outgoing {
            to,
            what,
            ttl: 64,
            dont_fragment: false,
        };
        self.send(outgoing, now);
    }

    pub(super) fn hear6(&mut self, bytes: &[u8], now: Instant) {
        let Ok(packet) = ipv6::Packet::new_checked(bytes) else {
            return;
        };
        let Ok(upper) = packet.upper() else {
            return;
        };
        let (src, dst) = (packet.src(), packet.dst());
        if !dst.is_multicast() && !self.is_own(dst.into()) {
            return;
        }
        match upper.protocol {
            Protocol::ICMPV6 => {
                if let Ok(icmp) = icmpv6::Packet::new_verified(upper.payload, src, dst) {
                    self.hear_icmp6(src, packet.hop_limit(), &icmp, now);
                }
            }
            Protocol::UDP => self.hear_udp(src.into(), upper.payload, now),
            _ => {}
        }
    }

    fn hear_icmp6(&mut self, src: Ipv6Addr, ttl: u8, icmp: &icmpv6::Packet<'_>, now: Instant) {
        if icmp.kind().is_ndp() {
            if let Ok(message) = ndp::Message::parse(icmp) {
                self.hear_ndp(src, &message);
            }
            return;
        }
        let from = IpAddr::V6(src);
        let about = |quoted: &[u8]| {
            let packet = ipv6::Packet::new_quoted(quoted).ok();
            packet.map_or(unspecified(false), |packet| packet.dst().into())
        };
        match icmp.message() {
            Icmp6::EchoRequest { id, seq, data } => {
                let data = data.to_vec();
                self.reply(from, What::EchoReply { id, seq, data }, now);
            }
            Icmp6::EchoReply { seq, data, .. } => self.heard.push(Received::EchoReply {
                from,
                seq,
                len: data.len(),
                ttl,
            }),
            Icmp6::PacketTooBig { mtu, quoted } => {
                let about = about(quoted);
                self.shrink(about, mtu);
                self.fault(from, &Type::PACKET_TOO_BIG.0, 0, mtu, about);
            }
            Icmp6::Unreachable { quoted, .. }
            | Icmp6::TimeExceeded { quoted, .. }
            | Icmp6::ParameterProblem { quoted, .. } => {
                let about = about(quoted);
                self.fault(from, &icmp.kind().0, icmp.code(), 0, about);
            }
            Icmp6::Other { .. } => {}
        }
    }

    fn hear_ndp(&mut self, src: Ipv6Addr, message: &ndp::Message<'_>) {
        match message {
            ndp::Message::NeighbourSolicitation { target, options } => {
                self.hear_solicitation(src, *target, options.source());
            }
            ndp::Message::NeighbourAdvertisement {
                target, options, ..
            } => {
                if let Some(mac) = options.target() {
                    self.learn((*target).into(), mac);
                }
            }
            ndp::Message::Redirect {
                target,
                destination,
                options,
            } => {
                if let Some(mac) = options.target() {
                    self.learn((*target).into(), mac);
                }
                self.redirected((*destination).into(), (*target).into());
            }
            ndp::Message::RouterAdvertisement { options, .. } => {
                let prefixes = options.iter().filter_map(|option| match option {
                    NdpOption::Prefix(prefix) => Some((prefix.prefix, prefix.len)),
                    _ => None,
                });
                let prefixes = prefixes.collect();
                self.heard.push(Received::Router {
                    from: src,
                    prefixes,
                });
            }
            ndp::Message::RouterSolicitation { .. } => {}
        }
    }

    fn hear_solicitation(&mut self, src: Ipv6Addr, target: Ipv6Addr, mac: Option<Mac>) {
        if !self.is_own(target.into()) {
            return;
        }
        let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        let (to, mac) = match mac {
            Some(mac) if !src.is_unspecified() => {
                self.learn(src.into(), mac);
                (src, mac)
            }
            // Another host wants to use the address (duplicate address detection).
            _ => (all_nodes, Mac::of_ipv6_group(all_nodes)),
        };
        let answer = advertisement(self.mac, target, to);
        self.send_frame(mac, EtherType::IPV6, &answer);
    }

    fn hear_tcp(&mut self, from: IpAddr, payload: &[u8]) {
        if let Ok(segment) = tcp::Segment::new_checked(payload)
            && segment.flags().contains(tcp::Flags::RST)
        {
            let ack = segment.ack();
            self.heard.push(Received::Reset { from, ack });
        }
    }

    fn hear_udp(&mut self, from: IpAddr, payload: &[u8], now: Instant) {
        let Ok(datagram) = udp::Datagram::new_checked(payload) else {
            return;
        };
        if self.hear_stream(from, &datagram, now) {
            return;
        }
        self.heard.push(Received::Udp {
            from,
            port: datagram.src_port(),
            len: datagram.payload().len(),
        });
    }
}

fn payload(what: &What, own: IpAddr, to: IpAddr) -> (Protocol, Vec<u8>) {
    let mut bytes = Vec::new();
    let (id, seq, data, is_reply) = match what {
        What::Echo { seq, len } => (1, *seq, vec![0xaa; *len], false),
        What::EchoReply { id, seq, data } => (*id, *seq, data.clone(), true),
        What::Udp { source, port, data } => {
            return (Protocol::UDP, datagram(*source, *port, data, own, to));
        }
        What::Raw(packet) => return (Protocol::NO_NEXT, packet.clone()),
    };
    let data = &data[..];
    match (own, to) {
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            match is_reply {
                true => Icmp6::EchoReply { id, seq, data },
                false => Icmp6::EchoRequest { id, seq, data },
            }
            .emit(src, dst, &mut bytes);
            (Protocol::ICMPV6, bytes)
        }
        _ => {
            match is_reply {
                true => Icmp4::EchoReply { id, seq, data },
                false => Icmp4::EchoRequest { id, seq, data },
            }
            .emit(&mut bytes);
            (Protocol::ICMP, bytes)
        }
    }
}

fn datagram(source: u16, port: u16, data: &[u8], own: IpAddr, to: IpAddr) -> Vec<u8> {
    let repr = udp::Repr {
        src_port: source,
        dst_port: port,
    };
    let header = match (own, to) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => repr.to_bytes_v4(data, src, dst),
        (IpAddr::V6(src), IpAddr::V6(dst)) => repr.to_bytes_v6(data, src, dst),
        _ => [0; 8],
    };
    [&header[..], data].concat()
}

/// Builds the packets of a payload, fragmented if necessary.
fn pieces4(header: &ipv4::Repr, payload: &[u8], mtu: usize, whole: bool) -> Vec<Vec<u8>> {
    let room = mtu.saturating_sub(20) / 8 * 8;
    if whole || payload.len() + 20 <= mtu {
        let fragment = if whole {
            Fragment::DONT
        } else {
            Fragment::WHOLE
        };
        let header = ipv4::Repr {
            fragment,
            ..*header
        };
        return vec![[&header.to_bytes(payload.len())[..], payload].concat()];
    }
    let count = payload.len().div_ceil(room);
    payload
        .chunks(room)
        .enumerate()
        .map(|(at, piece)| {
            let header = ipv4::Repr {
                fragment: Fragment::piece((at * room) as u16, at + 1 < count),
                ..*header
            };
            [&header.to_bytes(piece.len())[..], piece].concat()
        })
        .collect()
}

pub(super) fn solicitation(mac: Mac, source: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
    let mut options = Vec::new();
    NdpOption::Source(mac).emit(&mut options);
    let message = ndp::Message::NeighbourSolicitation {
        target,
        options: Options::new_checked(&options).unwrap_or_default(),
    };
    discovery(&message, source, ipv6::solicited_node(target))
}

fn advertisement(mac: Mac, target: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    let mut options = Vec::new();
    NdpOption::Target(mac).emit(&mut options);
    let message = ndp::Message::NeighbourAdvertisement {
        flags: NeighbourFlags {
            router: false,
            // A solicitation without source address is answered to all nodes (RFC 4861, 7.2.4).
            solicited: !to.is_multicast(),
            overrides: true,
        },
        target,
        options: Options::new_checked(&options).unwrap_or_default(),
    };
    discovery(&message, target, to)
}

fn discovery(message: &ndp::Message<'_>, src: Ipv6Addr, dst: Ipv6Addr) -> Vec<u8> {
    let mut upper = Vec::new();
    message.emit(src, dst, &mut upper);
    let header = ipv6::Repr {
        hop_limit: ndp::HOP_LIMIT,
        ..ipv6::Repr::new(Protocol::ICMPV6, src, dst)
    };
    [&header.to_bytes(upper.len())[..], &upper].concat()
}
