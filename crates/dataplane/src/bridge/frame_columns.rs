//! Fields of the frames of a chunk that bridge rules match, one array per field, so that the
//! classifier looks up many frames at once. Only fields that a chain matches are parsed.

use frame::{Frame, InterfaceId};

use crate::packet::Fields;
use crate::packet::link::{self, HEADER, Link, ethertype};
use crate::rule::{Class, Ipsec, Marks, NatState, Of, Packets, Parts, State, TOGETHER};

/// Frames that are classified together.
pub(crate) const CHUNK: usize = TOGETHER;

/// The ports of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PortPair {
    /// The ingress port; none for frames from the router.
    pub(crate) ingress: InterfaceId,
    /// The egress port; none before the bridging decision, and for frames to the router.
    pub(crate) egress: InterfaceId,
}

/// Fields of a chunk, one column per field. The values are encoded as [`Of`] defines.
pub(crate) struct FrameColumns {
    len: usize,
    sources: [u128; CHUNK],
    destinations: [u128; CHUNK],
    source_macs: [u128; CHUNK],
    destination_macs: [u128; CHUNK],
    kinds: [u32; CHUNK],
    tags: [u32; CHUNK],
    services: [u32; CHUNK],
    source_ports: [u32; CHUNK],
    tcp_flags: [u32; CHUNK],
    ingress: [u32; CHUNK],
    egress: [u32; CHUNK],
    in_bridge: [u32; CHUNK],
    out_bridge: [u32; CHUNK],
    marks: [u32; CHUNK],
    /// Empty fields, for frames without an IP packet.
    fields: Fields,
}

/// Columns of the IP packet in a frame.
const OF_IP: [Of; 5] = [
    Of::Source,
    Of::Destination,
    Of::Service,
    Of::SourcePort,
    Of::TcpFlags,
];

impl FrameColumns {
    pub(crate) fn new() -> Self {
        let (narrow, wide) = ([0; CHUNK], [0; CHUNK]);
        Self {
            len: 0,
            sources: wide,
            destinations: wide,
            source_macs: wide,
            destination_macs: wide,
            kinds: narrow,
            tags: narrow,
            services: narrow,
            source_ports: narrow,
            tcp_flags: narrow,
            ingress: narrow,
            egress: narrow,
            in_bridge: narrow,
            out_bridge: narrow,
            marks: narrow,
            fields: Fields::default(),
        }
    }

    /// Parses the first [`CHUNK`] frames.
    #[inline]
    pub(crate) fn read(&mut self, parts: Parts, frames: &[Frame]) {
        self.len = frames.len().min(CHUNK);
        let of_ip = parts.has(&OF_IP);
        let of_kind = of_ip | parts.has(&[Of::Kind]);
        for (at, frame) in frames.iter().take(CHUNK).enumerate() {
            let bytes = frame.bytes();
            let kind = self.read_head(at, bytes);
            self.marks[at] = frame.mark;
            if of_kind {
                let packet = bytes.get(HEADER..).unwrap_or_default();
                let has_ip = link::has_ip(kind, packet);
                self.kinds[at] = Of::kind(kind, has_ip);
                if of_ip {
                    self.read_packet(at, has_ip.then_some(packet));
                }
            }
        }
        if parts.has(&[Of::Tag]) {
            for (tag, frame) in self.tags.iter_mut().zip(frames) {
                *tag = Link::of(frame.bytes()).map_or(0, |link| Of::tag(&link));
            }
        }
    }

    /// Parses the MAC addresses of a frame, and returns its EtherType.
    #[inline(always)]
    fn read_head(&mut self, at: usize, bytes: &[u8]) -> u16 {
        let word = |at: usize| {
            let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes))
        };
        let (to, from) = (word(0), word(6));
        self.destination_macs[at] = u128::from(to >> 16) << 64;
        self.source_macs[at] = u128::from(from >> 16) << 64;
        from as u16
    }

    /// Parses the IP packet of a frame, if there is one.
    #[inline(always)]
    fn read_packet(&mut self, at: usize, packet: Option<&[u8]>) {
        let fields = packet.map_or(self.fields, Fields::of);
        (self.sources[at], self.destinations[at]) = packet.map_or((0, 0), addresses);
        self.services[at] = Of::service_shown(&fields);
        self.source_ports[at] = Of::source_port(&fields);
        self.tcp_flags[at] = Of::tcp_flags(&fields);
    }

    /// Sets the ports of the frames. `class` returns the class of a port, and `bridge` is the class
    /// of the bridge.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        ports: &[PortPair],
        bridge: Class,
        class: impl Fn(InterfaceId) -> Class,
    ) {
        // Consecutive frames mostly have the same ports.
        let (mut last, mut classes) = (PortPair::default(), [0; 4]);
        for (at, ports) in ports.iter().take(self.len).enumerate() {
            if *ports != last {
                let through = |port: InterfaceId| match port {
                    InterfaceId::NONE => Class::NONE,
                    _ => bridge,
                };
                last = *ports;
                classes = [
                    class(ports.ingress),
                    class(ports.egress),
                    through(ports.ingress),
                    through(ports.egress),
                ]
                .map(|class| u32::from(class.0));
            }
            [
                self.ingress[at],
                self.egress[at],
                self.in_bridge[at],
                self.out_bridge[at],
            ] = classes;
        }
    }
}

/// Returns source and destination of a packet, as [`crate::packet::Tuple`] encodes them. They are
/// read from the header, because a tuple is stored in pieces and a copy of its addresses waits for
/// the stores.
#[inline(always)]
fn addresses(packet: &[u8]) -> (u128, u128) {
    if let Some(header) = packet.first_chunk::<40>()
        && header[0] >> 4 == 6
    {
        let word = |at: usize| {
            header[at..]
                .first_chunk()
                .map_or(0, |word| u128::from_be_bytes(*word))
        };
        return (word(8), word(24));
    }
    let Some(header) = packet.first_chunk::<20>() else {
        return (0, 0);
    };
    let word = |at: usize| {
        header[at..]
            .first_chunk()
            .map_or(0, |word| u32::from_be_bytes(*word))
    };
    (word(12).into(), word(16).into())
}

impl Packets for FrameColumns {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    /// Every field that a bridge rule matches has a column.
    #[inline(always)]
    fn fields(&self, _at: usize) -> &Fields {
        &self.fields
    }

    #[inline(always)]
    fn classes(&self, at: usize) -> (Class, Class) {
        let class = |column: &[u32; CHUNK]| Class(column[at % CHUNK] as u16);
        (class(&self.ingress), class(&self.egress))
    }

    #[inline(always)]
    fn state(&self, _at: usize) -> (State, NatState) {
        (State::New, NatState::default())
    }

    #[inline(always)]
    fn ipsec(&self, _at: usize) -> Ipsec {
        Ipsec::default()
    }

    #[inline(always)]
    fn marks(&self, at: usize) -> Marks {
        Marks {
            packet: self.marks[at % CHUNK],
            ..Marks::default()
        }
    }

    #[inline(always)]
    fn column(&self, of: Of) -> Option<&[u32; TOGETHER]> {
        match of {
            Of::Kind => Some(&self.kinds),
            Of::Tag => Some(&self.tags),
            Of::Service => Some(&self.services),
            Of::SourcePort => Some(&self.source_ports),
            Of::TcpFlags => Some(&self.tcp_flags),
            Of::Ingress => Some(&self.ingress),
            Of::Egress => Some(&self.egress),
            Of::InBridge => Some(&self.in_bridge),
            Of::OutBridge => Some(&self.out_bridge),
            Of::PacketMark => Some(&self.marks),
            _ => None,
        }
    }

    #[inline(always)]
    fn addresses(&self, of: Of) -> Option<&[u128; TOGETHER]> {
        match of {
            Of::Source => Some(&self.sources),
            Of::Destination => Some(&self.destinations),
            Of::SourceMac => Some(&self.source_macs),
            Of::DestinationMac => Some(&self.destination_macs),
            _ => None,
        }
    }
}

/// Returns the bytes that a rule counts for a frame: those after the link header, without padding.
pub(crate) fn counted(kind: u16, packet: &[u8]) -> u32 {
    let word = |at: usize| {
        let bytes = packet.get(at..at + 2).unwrap_or_default();
        bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte))
    };
    match (kind, link::has_ip(kind, packet)) {
        (ethertype::IPV4, true) => word(2),
        (ethertype::IPV6, true) => word(4) + 40,
        _ => packet.len() as u32,
    }
}
