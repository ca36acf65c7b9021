//! A frame that was seen, and what its headers say.

use core::net::IpAddr;

use frame::InterfaceId;
use machine::Instant;
use wire::ipv4::Fragment;
use wire::tcp::{Flags, Segment};
use wire::vlan::Tagged;
use wire::{EtherType, Mac, Protocol, ethernet, ipv4, ipv6};

/// IANA, Assigned Internet Protocol Numbers.
const DCCP: Protocol = Protocol(33);

/// A frame that was seen at an interface: all but its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// Where.
    pub interface: InterfaceId,
    /// Whether it is transmitted there rather than received.
    pub sent: bool,
    /// Which way it went through the router.
    pub path: Path,
    /// The worker that had it.
    pub cpu: u16,
    /// The length of the whole frame in bytes, without FCS.
    pub len: usize,
    /// What its headers say.
    pub head: Head,
}

impl Seen {
    /// The same as if it went the other way: source and destination change places.
    pub fn turned(&self) -> Self {
        let mut turned = *self;
        let head = &mut turned.head;
        core::mem::swap(&mut head.src_mac, &mut head.dst_mac);
        if let Some(ip) = &mut head.ip {
            core::mem::swap(&mut ip.src, &mut ip.dst);
            ip.ports = ip.ports.map(|(src, dst)| (dst, src));
        }
        turned
    }
}

/// The way of a frame through the router, as far as it is known where the frame is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// It has just come; its way is not decided.
    Ingress,
    /// It leaves, and went by FastTrack.
    FastTrack,
    /// It leaves, and came in by another interface.
    Forward,
    /// It leaves, and is the router's own.
    Output,
}

impl Path {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::FastTrack => "fasttrack",
            Self::Forward => "forward",
            Self::Output => "output",
        }
    }
}

/// What the headers of a frame say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Who sent it on the link; zero where it has no Ethernet header.
    pub src_mac: Mac,
    /// Whom it is for on the link.
    pub dst_mac: Mac,
    /// The types of its tags and of what is behind them, outer ones first; 0 is none.
    pub kinds: [u16; 3],
    /// The id of its outermost tag.
    pub vlan: Option<u16>,
    /// The packet of IP in it.
    pub ip: Option<Ip>,
    /// Bytes up to the end of the headers that are known here.
    pub headers: usize,
}

/// What the headers of an IP packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// The sender.
    pub src: IpAddr,
    /// The receiver.
    pub dst: IpAddr,
    /// What is carried.
    pub protocol: u8,
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// The ECN bits, 0 to 3.
    pub ecn: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The identification of IPv4; 0 of IPv6.
    pub id: u16,
    /// Where a fragment begins in its packet, in bytes.
    pub offset: usize,
    /// The packet's length as it says, in bytes.
    pub size: usize,
    /// The length of the network header in bytes, with options or extensions.
    pub header: usize,
    /// The ports of TCP, UDP, UDP-Lite, SCTP and DCCP: source, destination.
    pub ports: Option<(u16, u16)>,
    /// What a segment of TCP says besides.
    pub tcp: Option<Tcp>,
}

/// What the header of a TCP segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// The control bits.
    pub flags: Flags,
    /// The number of its first byte.
    pub seq: u32,
    /// Bytes of data.
    pub data: usize,
    /// The longest segment that the sender takes, where it says so.
    pub mss: Option<u16>,
}

impl Head {
    /// Reads the headers at the beginning of a frame. What is cut off or malformed is left out.
    pub fn of(bytes: &[u8]) -> Self {
        let Ok(frame) = ethernet::Frame::new_checked(bytes) else {
            return Self::default();
        };
        let mut head = Self {
            src_mac: frame.src(),
            dst_mac: frame.dst(),
            headers: ethernet::HEADER_LEN,
            ..Self::default()
        };
        let (mut kind, mut rest) = (frame.ethertype(), frame.payload());
        head.kinds[0] = kind.0;
        for place in 1..head.kinds.len() {
            let Some(tag) = kind.is_vlan().then(|| Tagged::new_checked(rest).ok()) else {
                break;
            };
            let Some(tag) = tag else { break };
            head.vlan = head.vlan.or(Some(tag.tci().vid()));
            (kind, rest) = (tag.ethertype(), tag.payload());
            head.kinds[place] = kind.0;
            head.headers += wire::vlan::TAG_LEN;
        }
        head.ip = match kind {
            EtherType::IPV4 => Ip::v4(rest),
            EtherType::IPV6 => Ip::v6(rest),
            _ => None,
        };
        if let Some(ip) = &head.ip {
            head.headers += ip.header + ip.upper_header();
        }
        head.headers = head.headers.min(bytes.len());
        head
    }

    /// The type of what its tags are before.
    pub fn kind(&self) -> u16 {
        let mut kinds = self.kinds.iter().rev();
        kinds.find(|kind| **kind != 0).copied().unwrap_or(0)
    }
}

impl Ip {
    fn v4(bytes: &[u8]) -> Option<Self> {
        let packet = ipv4::Packet::new_quoted(bytes).ok()?;
        let offset = usize::from(packet.fragment().0 & 0x1fff) * 8;
        let mut ip = Self {
            src: packet.src().into(),
            dst: packet.dst().into(),
            protocol: packet.protocol().0,
            dscp: packet.dscp(),
            ecn: packet.ecn(),
            ttl: packet.ttl(),
            id: packet.id(),
            offset,
            size: usize::from(packet.total_len()),
            header: packet.header_len(),
            ports: None,
            tcp: None,
        };
        if offset == 0 {
            let whole = packet.fragment() == Fragment::WHOLE || packet.fragment() == Fragment::DONT;
            ip.upper(packet.payload(), whole);
        }
        Some(ip)
    }

    fn v6(bytes: &[u8]) -> Option<Self> {
        let packet = ipv6::Packet::new_quoted(bytes).ok()?;
        let upper = packet.upper().ok();
        let mut ip = Self {
            src: packet.src().into(),
            dst: packet.dst().into(),
            protocol: upper.map_or(packet.next_header(), |upper| upper.protocol).0,
            dscp: packet.dscp(),
            ecn: packet.ecn(),
            ttl: packet.hop_limit(),
            id: 0,
            offset: 0,
            size: ipv6::HEADER_LEN + usize::from(packet.payload_len()),
            header: ipv6::HEADER_LEN + upper.map_or(0, |upper| upper.at),
            ports: None,
            tcp: None,
        };
        let Some(upper) = upper else { return Some(ip) };
        match upper.fragment {
            Some(fragment) => ip.offset = usize::from(fragment.offset),
            None => ip.upper(upper.payload, true),
        }
        if upper.fragment.is_some() && ip.offset == 0 {
            ip.upper(upper.payload, false);
        }
        Some(ip)
    }

    /// Reads what is above IP: all of a datagram or segment, or its beginning.
    fn upper(&mut self, bytes: &[u8], whole: bool) {
        match Protocol(self.protocol) {
            Protocol::TCP => {
                let Ok(segment) = Segment::new_checked(bytes) else {
                    return self.ports = ports(bytes);
                };
                self.ports = Some((segment.src_port(), segment.dst_port()));
                let headers = self.header + segment.header_len();
                self.tcp = Some(Tcp {
                    flags: segment.flags(),
                    seq: segment.seq(),
                    data: if whole {
                        self.size.saturating_sub(headers)
                    } else {
                        0
                    },
                    mss: segment.mss().map(|(mss, _)| mss),
                });
            }
            Protocol::UDP | Protocol::SCTP | Protocol::UDP_LITE | DCCP => {
                self.ports = ports(bytes);
            }
            _ => {}
        }
    }

    /// Bytes of the header above IP that are worth keeping.
    fn upper_header(&self) -> usize {
        match (Protocol(self.protocol), self.ports) {
            (Protocol::TCP, Some(_)) => {
                let data = self.tcp.map_or(0, |tcp| tcp.data);
                self.size.saturating_sub(self.header + data).min(60)
            }
            (_, Some(_)) | (Protocol::ICMP | Protocol::ICMPV6, _) => 8,
            _ => 0,
        }
    }
}

/// The ports that stand first in what is above IP.
fn ports(bytes: &[u8]) -> Option<(u16, u16)> {
    let [a, b, c, d, ..] = *bytes else {
        return None;
    };
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}
