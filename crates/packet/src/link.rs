//! Parses the link layer of a frame: MAC addresses, EtherType, VLAN tag. ARP, IEEE 802.2 and spanning tree
//! messages are parsed on demand.
//!
//! ```text
//! destination 6 | source 6 | kind 2 (EtherType, or a length below 0x600) | [TCI 2 | kind 2] | …
//! ```

use wire::Mac;
use wire::vlan::Tci;

/// Length of an Ethernet header.
pub const HEADER: usize = 14;
/// EtherTypes (IEEE 802 numbers; RFC 9542, appendix B).
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// RARP.
    pub const RARP: u16 = 0x8035;
    /// IEEE 802.1Q VLAN tag.
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// PPPoE discovery.
    pub const PPPOE_DISCOVERY: u16 = 0x8863;
    /// PPPoE session.
    pub const PPPOE: u16 = 0x8864;
    /// IEEE 802.1ad service tag.
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// Smallest EtherType; lower values are the length of an IEEE 802.3 frame.
    pub const FIRST: u16 = 0x600;
}

use ethertype::{ARP, FIRST, IPV4, IPV6, RARP, SERVICE_VLAN, VLAN};

/// Parsed link header of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Destination MAC address.
    pub destination: Mac,
    /// Source MAC address.
    pub source: Mac,
    /// The EtherType or length after the addresses.
    pub kind: u16,
    /// The VLAN tag after the addresses.
    pub tag: Option<Tag>,
    /// True if a readable IP header follows directly after `kind`.
    pub has_ip: bool,
}

/// An IEEE 802.1Q or 802.1ad tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Priority and VLAN id.
    pub tci: Tci,
    /// The EtherType or length after the tag.
    pub kind: u16,
}

impl Link {
    /// Parses a frame; `None` if it is shorter than a link header.
    #[inline]
    pub fn of(frame: &[u8]) -> Option<Self> {
        let header = frame.first_chunk::<HEADER>()?;
        let kind = u16::from_be_bytes([header[12], header[13]]);
        let [destination, source] = [0, 6].map(|at| mac_at(header, at).unwrap_or_default());
        let tag = matches!(kind, VLAN | SERVICE_VLAN);
        Some(Self {
            destination,
            source,
            kind,
            tag: tag.then(|| Tag::of(frame)).flatten(),
            has_ip: has_ip(kind, &frame[HEADER..]),
        })
    }
}

impl Tag {
    fn of(frame: &[u8]) -> Option<Self> {
        let [a, b, c, d] = *frame.get(HEADER..)?.first_chunk()?;
        Some(Self {
            tci: Tci(u16::from_be_bytes([a, b])),
            kind: u16::from_be_bytes([c, d]),
        })
    }
}

/// Returns true if a frame of this EtherType has a readable IP header.
#[inline(always)]
pub fn has_ip(kind: u16, packet: &[u8]) -> bool {
    match kind {
        IPV4 => {
            packet.len() >= 20 && packet[0] >> 4 == 4 && {
                let len = usize::from(packet[0] & 0xf) * 4;
                (20..=packet.len()).contains(&len)
            }
        }
        IPV6 => packet.len() >= 40 && packet[0] >> 4 == 6,
        _ => false,
    }
}

/// An ARP or RARP message (RFC 826; RFC 903). Addresses are present only if they are Ethernet and IPv4
/// addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arp {
    /// Hardware type: 1 is Ethernet.
    pub hardware: u16,
    /// Protocol type, an EtherType.
    pub protocol: u16,
    /// Operation: 1 is a request, 2 a reply.
    pub opcode: u16,
    /// Sender's MAC address.
    pub sender_mac: Option<Mac>,
    /// Sender's IPv4 address.
    pub sender: Option<u32>,
    /// Target's MAC address.
    pub target_mac: Option<Mac>,
    /// Target's IPv4 address.
    pub target: Option<u32>,
}

impl Arp {
    /// Parses a frame; `None` if it is not ARP, or truncated.
    pub fn of(link: &Link, frame: &[u8]) -> Option<Self> {
        let body = frame.get(HEADER..)?;
        let header = body.first_chunk::<8>()?;
        if !matches!(link.kind, ARP | RARP) {
            return None;
        }
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let (macs, addresses) = (usize::from(header[4]), usize::from(header[5]));
        let mac = |at: usize| (macs == 6).then(|| mac_at(body, at)).flatten();
        let address = |at: usize| {
            let bytes = body.get(at..)?.first_chunk()?;
            (addresses == 4).then(|| u32::from_be_bytes(*bytes))
        };
        let target = 8 + macs + addresses;
        Some(Self {
            hardware: word(0),
            protocol: word(2),
            opcode: word(6),
            sender_mac: mac(8),
            sender: address(8 + macs),
            target_mac: mac(target),
            target: address(target + macs),
        })
    }

    /// Returns true for a gratuitous ARP message: sender and target address are equal.
    pub fn is_gratuitous(&self) -> Option<bool> {
        Some(self.sender? == self.target?)
    }
}

/// An IEEE 802.2 (LLC) header, with the SNAP type if present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Llc {
    /// Destination service access point.
    pub destination: u8,
    /// Source service access point.
    pub source: u8,
    /// The SNAP type, if both access points are SNAP (0xaa).
    pub snap: Option<u16>,
}

impl Llc {
    /// The service access point of SNAP.
    pub const SNAP: u8 = 0xaa;

    /// Parses a frame; `None` if it is not an IEEE 802.3 frame, or truncated.
    pub fn of(link: &Link, frame: &[u8]) -> Option<Self> {
        let body = frame.get(HEADER..).filter(|_| link.kind < FIRST)?;
        let [destination, source, control] = *body.first_chunk()?;
        // Unnumbered frames have one control byte, others two.
        let control = if control & 3 == 3 { 1 } else { 2 };
        let kind = body.get(2 + control + 3..).and_then(<[u8]>::first_chunk);
        let snap = (destination, source) == (Self::SNAP, Self::SNAP);
        Some(Self {
            destination,
            source,
            snap: kind.filter(|_| snap).map(|kind| u16::from_be_bytes(*kind)),
        })
    }
}

/// A spanning tree message (IEEE 802.1D, 9.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bpdu {
    /// Type: 0 configuration, 2 rapid spanning tree, 0x80 topology change.
    pub kind: u8,
    /// The contents of a configuration message; `None` for a topology change.
    pub says: Option<BpduConfig>,
}

/// Contents of a configuration message. Times are in units of 1/256 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BpduConfig {
    /// Bit 0: topology change, bit 7: topology change acknowledgement.
    pub flags: u8,
    /// Priority of the root bridge.
    pub root_priority: u16,
    /// MAC address of the root bridge.
    pub root: Mac,
    /// Path cost to the root bridge.
    pub root_cost: u32,
    /// Priority of the sender.
    pub sender_priority: u16,
    /// MAC address of the sender.
    pub sender: Mac,
    /// Port of the sender.
    pub port: u16,
    /// Message age, maximum age, hello time, forward delay.
    pub times: [u16; 4],
}

impl Bpdu {
    /// Destination address of spanning tree messages.
    const GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0]);

    /// Parses a frame; `None` if it is not a spanning tree message.
    pub fn of(link: &Link, frame: &[u8]) -> Option<Self> {
        let body = frame.get(HEADER..).filter(|_| link.kind < FIRST)?;
        let head = body.first_chunk::<7>()?;
        let is_bpdu = link.destination == Self::GROUP && head[..5] == [0x42, 0x42, 3, 0, 0];
        is_bpdu.then(|| Self {
            kind: head[6],
            says: matches!(head[6], 0 | 2)
                .then(|| BpduConfig::of(&body[7..]))
                .flatten(),
        })
    }
}

impl BpduConfig {
    fn of(body: &[u8]) -> Option<Self> {
        let body = body.first_chunk::<31>()?;
        let word = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
        Some(Self {
            flags: body[0],
            root_priority: word(1),
            root: mac_at(body, 3)?,
            root_cost: u32::from(word(9)) << 16 | u32::from(word(11)),
            sender_priority: word(13),
            sender: mac_at(body, 15)?,
            port: word(21),
            times: [word(23), word(25), word(27), word(29)],
        })
    }
}

fn mac_at(bytes: &[u8], at: usize) -> Option<Mac> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(Mac(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a frame of this EtherType from 02:…:01 to 02:…:02.
    fn frame(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        frame.extend(kind.to_be_bytes());
        frame.extend(body);
        frame
    }

    fn read(frame: &[u8]) -> Link {
        Link::of(frame).expect("a whole header")
    }

    #[test]
    fn a_vlan_tag_and_the_inner_frame_are_parsed() {
        let tagged = read(&frame(VLAN, &[0xa0, 0x0a, 0x08, 0x06]));
        let plain = read(&frame(ARP, &[0; 28]));

        let tag = tagged.tag.expect("a tag");
        assert_eq!((tag.tci.pcp(), tag.tci.vid(), tag.kind), (5, 10, ARP));
        assert_eq!((plain.source.0[5], plain.destination.0[5]), (1, 2));
        assert_eq!((plain.kind, plain.tag, plain.has_ip), (ARP, None, false));
        assert_eq!(read(&frame(VLAN, &[0])).tag, None);
    }

    #[test]
    fn ip_headers_must_be_complete() {
        let mut header = vec![0x45; 20];
        assert!(read(&frame(IPV4, &header)).has_ip);
        assert!(!read(&frame(IPV6, &header)).has_ip && !read(&frame(IPV4, &header[..19])).has_ip);
        // The header announces options that are missing.
        header[0] = 0x46;
        assert!(!read(&frame(IPV4, &header)).has_ip);
        assert!(read(&frame(IPV6, &[0x60; 40])).has_ip);
    }

    #[test]
    fn arp_packets_give_sender_and_target() {
        let mut body = vec![0, 1, 8, 0, 6, 4, 0, 1];
        body.extend([2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
        let frame = frame(ARP, &body);

        let arp = Arp::of(&read(&frame), &frame).expect("ARP");

        assert_eq!((arp.hardware, arp.protocol, arp.opcode), (1, IPV4, 1));
        assert_eq!(arp.sender_mac, Some(read(&frame).source));
        assert_eq!(
            (arp.sender, arp.target),
            (Some(0x0a00_0001), Some(0x0a00_0002))
        );
        assert_eq!(arp.is_gratuitous(), Some(false));
        for len in 0..frame.len() {
            let cut = &frame[..len];
            let arp = Link::of(cut).and_then(|link| Arp::of(&link, cut));
            assert!(arp.is_none_or(|arp| arp.target.is_none()), "{len}");
        }
    }

    #[test]
    fn snap_frames_give_their_own_type() {
        let snap = frame(8, &[0xaa, 0xaa, 3, 0, 0, 0, 0x80, 0x9b]);
        let netbios = frame(3, &[0xf0, 0xf0, 3]);

        let of = |frame: &[u8]| Llc::of(&read(frame), frame);

        let read = of(&snap).expect("LLC");
        assert_eq!((read.destination, read.snap), (0xaa, Some(0x809b)));
        assert_eq!(
            of(&netbios).map(|llc| (llc.source, llc.snap)),
            Some((0xf0, None))
        );
        assert_eq!(of(&frame(IPV4, &[0xaa, 0xaa, 3])), None);
    }

    #[test]
    fn bpdus_give_the_root_bridge() {
        let mut body = vec![0x42, 0x42, 3, 0, 0, 0, 0, 0x81, 0x80, 0, 2, 0, 0, 0, 0, 9];
        body.extend([0, 0, 0x4e, 0x20, 0x90, 0, 2, 0, 0, 0, 0, 7, 0x80, 1]);
        body.extend([1, 0, 20, 0, 2, 0, 15, 0]);
        let mut frame = frame(38, &body);
        frame[..6].copy_from_slice(&Bpdu::GROUP.0);

        let bpdu = Bpdu::of(&read(&frame), &frame).expect("a BPDU");

        let says = bpdu.says.expect("a configuration message");
        assert_eq!(
            (bpdu.kind, says.flags, says.root_priority),
            (0, 0x81, 0x8000)
        );
        assert_eq!((says.root.0[5], says.sender.0[5]), (9, 7));
        assert_eq!((says.root_cost, says.port), (20_000, 0x8001));
        assert_eq!(says.times, [0x100, 0x1400, 0x200, 0xf00]);
        for len in 0..frame.len() {
            let cut = &frame[..len];
            let bpdu = Link::of(cut).and_then(|link| Bpdu::of(&link, cut));
            assert!(bpdu.is_none_or(|bpdu| bpdu.says.is_none()), "{len}");
        }
    }
}
