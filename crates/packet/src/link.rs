//! What the link layer of a frame says: addresses, type, VLAN tag and what is in the frame. ARP, IEEE 802.2 and
//! messages of the spanning tree are read when somebody asks for them.
//!
//! ```text
//! destination 6 | source 6 | kind 2 (EtherType, or a length below 0x600) | [TCI 2 | kind 2] | …
//! ```

use wire::Mac;
use wire::vlan::Tci;

/// Bytes up to what a frame carries.
pub const HEADER: usize = 14;
/// EtherTypes (IEEE 802 numbers; RFC 9542, appendix B).
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// RARP.
    pub const RARP: u16 = 0x8035;
    /// A tag of IEEE 802.1Q.
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// Discovery of PPPoE.
    pub const PPPOE_DISCOVERY: u16 = 0x8863;
    /// A session of PPPoE.
    pub const PPPOE: u16 = 0x8864;
    /// A service tag of IEEE 802.1ad.
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// Below this it is the length of a frame of IEEE 802.3.
    pub const FIRST: u16 = 0x600;
}

use ethertype::{ARP, FIRST, IPV4, IPV6, RARP, SERVICE_VLAN, VLAN};

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Whom it is for.
    pub destination: Mac,
    /// Who sent it.
    pub source: Mac,
    /// What stands behind the addresses.
    pub kind: u16,
    /// What a tag says that stands there.
    pub tag: Option<Tag>,
    /// It carries a packet of IP whose header is there, right behind `kind`.
    pub has_ip: bool,
}

/// A tag of IEEE 802.1Q or 802.1ad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Priority and VLAN.
    pub tci: Tci,
    /// What stands behind the tag.
    pub kind: u16,
}

impl Link {
    /// Reads a frame. None where it is shorter than a link header.
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

/// Whether a frame of this kind carries an IP header whose fields can be read.
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

/// What ARP or RARP says (RFC 826; RFC 903). Addresses only where they are those of Ethernet and of IPv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arp {
    /// Hardware: 1 is Ethernet.
    pub hardware: u16,
    /// Protocol, as an EtherType.
    pub protocol: u16,
    /// What it says: 1 asks, 2 answers.
    pub opcode: u16,
    /// The sender's hardware address.
    pub sender_mac: Option<Mac>,
    /// The sender's address.
    pub sender: Option<u32>,
    /// The target's hardware address.
    pub target_mac: Option<Mac>,
    /// The target's address.
    pub target: Option<u32>,
}

impl Arp {
    /// Reads a frame; none where it is no ARP, or cut short.
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

    /// Whether nobody asked: it says of an address what it is itself.
    pub fn is_gratuitous(&self) -> Option<bool> {
        Some(self.sender? == self.target?)
    }
}

/// The header of IEEE 802.2 (LLC), with what SNAP says behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Llc {
    /// For which service access point.
    pub destination: u8,
    /// From which.
    pub source: u8,
    /// The type behind SNAP, where both points are that of SNAP (0xaa).
    pub snap: Option<u16>,
}

impl Llc {
    /// The service access point of SNAP.
    pub const SNAP: u8 = 0xaa;

    /// Reads a frame; none where it is none of IEEE 802.3, or cut short.
    pub fn of(link: &Link, frame: &[u8]) -> Option<Self> {
        let body = frame.get(HEADER..).filter(|_| link.kind < FIRST)?;
        let [destination, source, control] = *body.first_chunk()?;
        // Unnumbered frames have one byte of control, the others two.
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

/// A message of the spanning tree (IEEE 802.1D, 9.3), as it stands in the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bpdu {
    /// Its type: 0 configuration, 2 that of rapid spanning tree, 0x80 topology change.
    pub kind: u8,
    /// What it says; none of a topology change.
    pub says: Option<Says>,
}

/// What a configuration message says. Times are in 256ths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Says {
    /// Bit 0: topology change, bit 7: its acknowledgement.
    pub flags: u8,
    /// The root's priority.
    pub root_priority: u16,
    /// The root's address.
    pub root: Mac,
    /// The cost of the way there.
    pub root_cost: u32,
    /// The sender's priority.
    pub sender_priority: u16,
    /// The sender's address.
    pub sender: Mac,
    /// The sender's port.
    pub port: u16,
    /// Age of the message, longest age, time between messages, and how long a port listens.
    pub times: [u16; 4],
}

impl Bpdu {
    /// To whom bridges send them.
    const GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0]);

    /// Reads a frame; none where it is none of the spanning tree.
    pub fn of(link: &Link, frame: &[u8]) -> Option<Self> {
        let body = frame.get(HEADER..).filter(|_| link.kind < FIRST)?;
        let head = body.first_chunk::<7>()?;
        let is_bpdu = link.destination == Self::GROUP && head[..5] == [0x42, 0x42, 3, 0, 0];
        is_bpdu.then(|| Self {
            kind: head[6],
            says: matches!(head[6], 0 | 2)
                .then(|| Says::of(&body[7..]))
                .flatten(),
        })
    }
}

impl Says {
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

    /// A frame of this kind from 02:…:01 to 02:…:02.
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
    fn a_tag_and_what_is_behind_it_are_read() {
        let tagged = read(&frame(VLAN, &[0xa0, 0x0a, 0x08, 0x06]));
        let plain = read(&frame(ARP, &[0; 28]));

        let tag = tagged.tag.expect("a tag");
        assert_eq!((tag.tci.pcp(), tag.tci.vid(), tag.kind), (5, 10, ARP));
        assert_eq!((plain.source.0[5], plain.destination.0[5]), (1, 2));
        assert_eq!((plain.kind, plain.tag, plain.has_ip), (ARP, None, false));
        assert_eq!(read(&frame(VLAN, &[0])).tag, None);
    }

    #[test]
    fn only_a_header_that_is_there_is_one_of_ip() {
        let mut header = vec![0x45; 20];
        assert!(read(&frame(IPV4, &header)).has_ip);
        assert!(!read(&frame(IPV6, &header)).has_ip && !read(&frame(IPV4, &header[..19])).has_ip);
        // Options that are not there.
        header[0] = 0x46;
        assert!(!read(&frame(IPV4, &header)).has_ip);
        assert!(read(&frame(IPV6, &[0x60; 40])).has_ip);
    }

    #[test]
    fn arp_says_who_asks_for_whom() {
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
    fn snap_has_a_type_of_its_own() {
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
    fn a_message_of_the_spanning_tree_says_who_is_root() {
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
