//! Observed frames and their headers.

use core::net::IpAddr;

use frame::InterfaceId;
use machine::Instant;
use wire::ipv4::Fragment;
use wire::tcp::{Flags, Segment};
use wire::vlan::Tagged;
use wire::{EtherType, Mac, Protocol, ethernet, ipv4, ipv6};

/// IANA, Assigned Internet Protocol Numbers.
const DCCP: Protocol = Protocol(33);

/// An observed frame at an interface, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedFrame {
    /// Time of the observation.
    pub at: Instant,
    /// The interface.
    pub interface: InterfaceId,
    /// True if the interface transmits the frame, false on receipt.
    pub sent: bool,
    /// Path of the frame through the router.
    pub path: Path,
    /// The worker that processed the frame.
    pub cpu: u16,
    /// Length of the whole frame in bytes, without FCS.
    pub len: usize,
    /// Parsed headers.
    pub head: Head,
}

impl ObservedFrame {
    /// Returns a copy with source and destination exchanged.
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

/// Path of a frame through the router, as far as known at the point of observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The frame has just arrived; its path is undecided.
    Ingress,
    /// The frame leaves after FastTrack.
    FastTrack,
    /// The frame leaves and came from another interface.
    Forward,
    /// The frame leaves and was created by the router.
    Output,
}

impl Path {
    /// Returns the name of the path.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::FastTrack => "fasttrack",
            Self::Forward => "forward",
            Self::Output => "output",
        }
    }
}

/// Parsed headers of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Source MAC address; zero without an Ethernet header.
    pub src_mac: Mac,
    /// Destination MAC address.
    pub dst_mac: Mac,
    /// EtherTypes of the tags and of the payload, outermost first; 0 means none.
    pub kinds: [u16; 3],
    /// VLAN ID of the outermost tag.
    pub vlan: Option<u16>,
    /// The IP packet in the frame.
    pub ip: Option<Ip>,
    /// Number of bytes up to the end of the known headers.
    pub headers: usize,
}

/// Parsed headers of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Protocol of the payload.
    pub protocol: u8,
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// The ECN bits, 0 to 3.
    pub ecn: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Identification of IPv4; 0 for IPv6.
    pub id: u16,
    /// Offset of a fragment in bytes.
    pub offset: usize,
    /// Packet length according to the header, in bytes.
    pub size: usize,
    /// Length of the IP header in bytes, including options and extension headers.
    pub header: usize,
    /// Source and destination port of TCP, UDP, UDP-Lite, SCTP and DCCP.
    pub ports: Option<(u16, u16)>,
    /// Further fields of a TCP segment.
    pub tcp: Option<Tcp>,
}

/// Parsed header of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Control bits.
    pub flags: Flags,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Number of payload bytes.
    pub data: usize,
    /// Maximum segment size announced by the sender, if any.
    pub mss: Option<u16>,
}

impl Head {
    /// Parses the headers at the start of a frame. Truncated and malformed headers are left out.
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

    /// Returns the EtherType of the payload after the tags.
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

    /// Parses the header above IP: of a whole datagram or segment, or of its first part.
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

    /// Returns the number of bytes to capture of the header above IP.
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

/// Returns the ports at the start of a header above IP.
fn ports(bytes: &[u8]) -> Option<(u16, u16)> {
    let [a, b, c, d, ..] = *bytes else {
        return None;
    };
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}
