//! Header stacks (`packet-template`): header bytes and fields from the values of properties.
//!
//! [`FIELDS`] has one line for each property: header, position, and value without the property. A property with
//! several values or a range changes from frame to frame.

use core::fmt;

use crate::field::{Field, Values};
use crate::template::Layout;

/// Header of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Destination and source MAC address, EtherType.
    Mac,
    /// VLAN tag: priority, identifier, EtherType (802.1Q, 9.6, behind the TPID).
    Vlan,
    /// IPv4 without options.
    Ip,
    /// IPv6 without extension headers.
    Ipv6,
    /// UDP.
    Udp,
    /// TCP without options.
    Tcp,
    /// Bytes of `raw-header`.
    Raw,
}

/// A property of a packet template and its position in a header.
#[derive(Clone, Copy, Debug)]
pub struct FieldSpec {
    /// Name of the property.
    pub name: &'static str,
    /// Header.
    pub layer: Layer,
    offset: usize,
    width: usize,
    shift: u32,
    bits: u32,
    default: u128,
}

/// Stack and values of a packet template.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// Headers, outermost first.
    pub layers: Vec<Layer>,
    /// Inclusive ranges of values by property; a property without ranges has its default.
    pub values: Vec<(&'static str, Vec<(u128, u128)>)>,
    /// Bytes of the raw header.
    pub raw: Vec<u8>,
}

/// Reason why a stack is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackError {
    /// A property belongs to a header that the stack lacks.
    NoHeader(&'static str),
    /// The stack begins with something else than a MAC or raw header.
    NoMac,
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader(name) => write!(f, "{name}: header-stack lacks its header"),
            Self::NoMac => write!(f, "header-stack must begin with mac or raw"),
        }
    }
}

impl Layer {
    /// Reads the word of `header-stack`.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "mac" => Self::Mac,
            "vlan" => Self::Vlan,
            "ip" => Self::Ip,
            "ipv6" => Self::Ipv6,
            "udp" => Self::Udp,
            "tcp" => Self::Tcp,
            "raw" => Self::Raw,
            _ => return None,
        })
    }

    fn bytes(self, raw: usize) -> usize {
        match self {
            Self::Mac => 14,
            Self::Vlan => 4,
            Self::Ip | Self::Tcp => 20,
            Self::Ipv6 => 40,
            Self::Udp => 8,
            Self::Raw => raw,
        }
    }

    /// EtherType of the header behind a MAC header or VLAN tag.
    fn ethertype(self) -> u128 {
        match self {
            Self::Vlan => 0x8100,
            Self::Ipv6 => 0x86dd,
            Self::Ip | Self::Mac | Self::Udp | Self::Tcp | Self::Raw => 0x0800,
        }
    }

    /// IP protocol of the header behind an IP header.
    fn protocol(self) -> u128 {
        match self {
            Self::Ip => 4,
            Self::Ipv6 => 41,
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Mac | Self::Vlan | Self::Raw => 253,
        }
    }
}

/// Line of a field that fills its word.
const fn word(
    name: &'static str,
    layer: Layer,
    offset: usize,
    width: usize,
    default: u128,
) -> FieldSpec {
    FieldSpec {
        name,
        layer,
        offset,
        width,
        shift: 0,
        bits: 8 * width as u32,
        default,
    }
}

/// Line of a field of some bits in a word.
const fn bits(word: FieldSpec, shift: u32, bits: u32) -> FieldSpec {
    FieldSpec {
        shift,
        bits,
        ..word
    }
}

/// 198.18.0.1 and 198.18.0.2 (RFC 2544, C.2.2).
const V4: [u128; 2] = [0xc612_0001, 0xc612_0002];
/// 2001:2::1 and 2001:2::2 (RFC 5180, 8).
const V6: [u128; 2] = [(0x2001_0002 << 96) + 1, (0x2001_0002 << 96) + 2];

/// All properties with a position in a header.
pub const FIELDS: &[FieldSpec] = &[
    word("mac-dst", Layer::Mac, 0, 6, 0),
    word("mac-src", Layer::Mac, 6, 6, 0),
    word("mac-protocol", Layer::Mac, 12, 2, 0),
    bits(word("vlan-priority", Layer::Vlan, 0, 2, 0), 13, 3),
    bits(word("vlan-id", Layer::Vlan, 0, 2, 1), 0, 12),
    word("vlan-protocol", Layer::Vlan, 2, 2, 0),
    bits(word("ip-dscp", Layer::Ip, 1, 1, 0), 2, 6),
    word("ip-id", Layer::Ip, 4, 2, 0),
    word("ip-frag-off", Layer::Ip, 6, 2, 0),
    word("ip-ttl", Layer::Ip, 8, 1, 64),
    word("ip-protocol", Layer::Ip, 9, 1, 0),
    word("ip-src", Layer::Ip, 12, 4, V4[0]),
    word("ip-dst", Layer::Ip, 16, 4, V4[1]),
    bits(word("ipv6-traffic-class", Layer::Ipv6, 0, 2, 0), 4, 8),
    bits(word("ipv6-flow-label", Layer::Ipv6, 0, 4, 0), 0, 20),
    word("ipv6-next-header", Layer::Ipv6, 6, 1, 0),
    word("ipv6-hop-limit", Layer::Ipv6, 7, 1, 64),
    word("ipv6-src", Layer::Ipv6, 8, 16, V6[0]),
    word("ipv6-dst", Layer::Ipv6, 24, 16, V6[1]),
    word("udp-src-port", Layer::Udp, 0, 2, 100),
    word("udp-dst-port", Layer::Udp, 2, 2, 200),
    word("udp-checksum", Layer::Udp, 6, 2, 0),
    word("tcp-src-port", Layer::Tcp, 0, 2, 100),
    word("tcp-dst-port", Layer::Tcp, 2, 2, 200),
    word("tcp-syn", Layer::Tcp, 4, 4, 0),
    word("tcp-ack", Layer::Tcp, 8, 4, 0),
    bits(word("tcp-data-offset", Layer::Tcp, 12, 1, 5), 4, 4),
    bits(word("tcp-flags", Layer::Tcp, 12, 2, 0), 0, 12),
    word("tcp-window-size", Layer::Tcp, 14, 2, 0),
    word("tcp-urgent-pointer", Layer::Tcp, 18, 2, 0),
];

impl Stack {
    /// Ranges of a property.
    fn ranges(&self, name: &str) -> Option<&[(u128, u128)]> {
        let mut values = self.values.iter();
        let (_, ranges) = values.find(|(own, _)| *own == name)?;
        Some(ranges)
    }

    /// Builds header bytes, layout and changing fields. A property applies to each header of its kind.
    ///
    /// # Errors
    /// Returns which property does not fit the stack.
    pub fn build(&self) -> Result<(Vec<u8>, Layout, Vec<Field>), StackError> {
        if !matches!(self.layers.first(), Some(Layer::Mac | Layer::Raw)) {
            return Err(StackError::NoMac);
        }
        let unused = |spec: &&FieldSpec| {
            self.ranges(spec.name).is_some() && !self.layers.contains(&spec.layer)
        };
        if let Some(spec) = FIELDS.iter().find(unused) {
            return Err(StackError::NoHeader(spec.name));
        }
        let (mut header, mut layout, mut fields) = (Vec::new(), Layout::default(), Vec::new());
        for (at, layer) in self.layers.iter().enumerate() {
            let start = header.len();
            header.resize(start + layer.bytes(self.raw.len()), 0);
            match layer {
                Layer::Ip => {
                    header[start] = 0x45;
                    layout.ipv4.push(start);
                }
                Layer::Ipv6 => {
                    header[start] = 0x60;
                    layout.ipv6.push(start);
                }
                Layer::Udp => {
                    let computes = self.ranges("udp-checksum").is_none();
                    layout.udp.push((start, computes));
                }
                Layer::Tcp => layout.tcp.push(start),
                Layer::Raw => header[start..].copy_from_slice(&self.raw),
                Layer::Mac | Layer::Vlan => {}
            }
            let inner = self.layers.get(at + 1).copied();
            self.fill(*layer, inner, start, &mut header, &mut fields);
        }
        Ok((header, layout, fields))
    }

    /// Writes the fields of one header, and collects those that change.
    fn fill(
        &self,
        layer: Layer,
        inner: Option<Layer>,
        start: usize,
        header: &mut [u8],
        fields: &mut Vec<Field>,
    ) {
        for spec in FIELDS.iter().filter(|spec| spec.layer == layer) {
            let ranges = self.ranges(spec.name).unwrap_or_default();
            let field = Field {
                offset: start + spec.offset,
                width: spec.width,
                shift: spec.shift,
                bits: spec.bits,
                values: Values::Cycle(ranges.to_vec()),
            };
            let default = match (spec.name, inner) {
                ("mac-protocol" | "vlan-protocol", Some(inner)) => inner.ethertype(),
                ("mac-protocol" | "vlan-protocol", None) => 0x88b5,
                ("ip-protocol" | "ipv6-next-header", Some(inner)) => inner.protocol(),
                ("ip-protocol" | "ipv6-next-header", None) => 253,
                _ => spec.default,
            };
            field.write(header, ranges.first().map_or(default, |(first, _)| *first));
            if ranges.len() > 1 || ranges.first().is_some_and(|(first, last)| first != last) {
                fields.push(field);
            }
        }
    }
}
