//! IPv6 extension headers (RFC 8200, 4; AH: RFC 4302) and their options.

use super::{EXTENSIONS_MAX, FRAGMENT_HEADER_LEN, Malformed};
use crate::{Protocol, put_at, u16_at, u32_at};

/// A fragment header as a value (RFC 8200, 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Next header of the unfragmented packet at this position.
    pub next_header: Protocol,
    /// Fragment offset in bytes; a multiple of 8.
    pub offset: u16,
    /// More fragments follow.
    pub more: bool,
    /// Identification, shared by the fragments of a packet.
    pub id: u32,
}

impl Fragment {
    /// Parses a fragment header; reserved bits are ignored.
    pub fn parse(bytes: &[u8; FRAGMENT_HEADER_LEN]) -> Self {
        let word = u16_at(bytes, 2);
        Self {
            next_header: Protocol(bytes[0]),
            offset: word & 0xfff8,
            more: word & 1 != 0,
            id: u32_at(bytes, 4),
        }
    }

    /// Encodes the header.
    pub fn to_bytes(&self) -> [u8; FRAGMENT_HEADER_LEN] {
        let mut bytes = [0; FRAGMENT_HEADER_LEN];
        put_at(&mut bytes, 0, [self.next_header.0]);
        put_at(
            &mut bytes,
            2,
            (self.offset & 0xfff8 | u16::from(self.more)).to_be_bytes(),
        );
        put_at(&mut bytes, 4, self.id.to_be_bytes());
        bytes
    }

    /// True for an atomic fragment, which is the whole packet (RFC 6946).
    pub const fn is_atomic(&self) -> bool {
        self.offset == 0 && !self.more
    }
}

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Protocol number of the header.
    pub kind: Protocol,
    /// Offset from the end of the fixed header.
    pub at: usize,
    /// The whole header, including the next header field.
    pub bytes: &'a [u8],
}

impl Extension<'_> {
    /// The fragment header, if it is one.
    pub fn fragment(&self) -> Option<Fragment> {
        match self.kind {
            Protocol::FRAGMENT => self.bytes.first_chunk().map(Fragment::parse),
            _ => None,
        }
    }

    /// Routing type and segments left, if it is a routing header (RFC 8200, 4.4).
    pub fn routing(&self) -> Option<(u8, u8)> {
        match (self.kind, self.bytes) {
            (Protocol::ROUTING, &[_, _, kind, left, ..]) => Some((kind, left)),
            _ => None,
        }
    }

    /// Options, if it is a hop-by-hop or destination options header.
    pub fn options(&self) -> Options<'_> {
        let bytes = match self.kind {
            Protocol::HOP_BY_HOP | Protocol::DESTINATION => self.bytes,
            _ => &[],
        };
        Options {
            bytes,
            at: 2,
            padding: 0,
        }
    }
}

/// Iterator over the extension headers of a packet. Ends before the payload, and after the fragment header of a later
/// fragment, because the bytes after it are no header.
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    next: Protocol,
    bytes: &'a [u8],
    at: usize,
    count: usize,
}

impl<'a> Extensions<'a> {
    /// Iterates over `bytes`, the payload of a packet whose fixed header has next header `next`.
    pub const fn new(next: Protocol, bytes: &'a [u8]) -> Self {
        Self {
            next,
            bytes,
            at: 0,
            count: 0,
        }
    }

    /// Protocol, offset and bytes of the part after the headers iterated so far.
    pub fn rest(&self) -> (Protocol, usize, &'a [u8]) {
        (
            self.next,
            self.at,
            self.bytes.get(self.at..).unwrap_or_default(),
        )
    }

    fn step(&mut self) -> Result<Extension<'a>, Malformed> {
        let (kind, at) = (self.next, self.at);
        if kind == Protocol::HOP_BY_HOP && at > 0 {
            return Err(Malformed::HopByHopNotFirst);
        }
        if self.count == EXTENSIONS_MAX {
            return Err(Malformed::TooManyExtensions);
        }
        let rest = self.bytes.get(at..).unwrap_or_default();
        let &[next, len, ..] = rest else {
            return Err(Malformed::ExtensionTruncated);
        };
        let len = match kind {
            Protocol::FRAGMENT => FRAGMENT_HEADER_LEN,
            // AH counts in four-byte words minus two (RFC 4302, 2.2).
            Protocol::AH => (usize::from(len) + 2) * 4,
            _ => (usize::from(len) + 1) * 8,
        };
        let bytes = rest.get(..len).ok_or(Malformed::ExtensionTruncated)?;
        self.next = Protocol(next);
        self.at += len;
        self.count += 1;
        Ok(Extension { kind, at, bytes })
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Result<Extension<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        // `count` beyond the maximum marks the end.
        if self.count > EXTENSIONS_MAX || !self.next.is_ipv6_extension() {
            return None;
        }
        let step = self.step();
        let later_piece = |extension: &Extension<'_>| {
            extension
                .fragment()
                .is_some_and(|fragment| fragment.offset > 0)
        };
        if step.as_ref().map_or(true, later_piece) {
            self.count = EXTENSIONS_MAX + 1;
        }
        Some(step)
    }
}

/// Action for an unknown option (RFC 8200, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Skip the option.
    Skip,
    /// Drop the packet.
    Drop,
    /// Drop the packet and send a parameter problem.
    Problem,
    /// Drop the packet and send a parameter problem unless the destination is multicast.
    ProblemIfUnicast,
}

/// An option of a hop-by-hop or destination options header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpOption<'a> {
    /// Type.
    pub kind: u8,
    /// Offset in the extension header in bytes.
    pub at: usize,
    /// Data.
    pub data: &'a [u8],
}

impl IpOption<'_> {
    /// Router alert (RFC 2711).
    pub const ROUTER_ALERT: u8 = 5;
    /// Jumbo payload (RFC 2675).
    pub const JUMBO: u8 = 0xc2;

    /// Action for receivers that do not know the option.
    pub const fn unknown(&self) -> Unknown {
        match self.kind >> 6 {
            0 => Unknown::Skip,
            1 => Unknown::Drop,
            2 => Unknown::Problem,
            _ => Unknown::ProblemIfUnicast,
        }
    }

    const fn is_padding(&self) -> bool {
        matches!(self.kind, PAD1 | PADN)
    }

    const fn len(&self) -> usize {
        match self.kind {
            PAD1 => 1,
            _ => 2 + self.data.len(),
        }
    }
}

/// The option at this offset exceeds its header, or is excessive padding: more than 7 bytes before the next option,
/// or non-zero bytes (RFC 4942, 2.1.9.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedOption(pub usize);

/// Iterator over the options of an extension header; skips padding.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number of padding bytes since the last option.
    padding: usize,
}

impl<'a> Options<'a> {
    /// Option or padding at the current position; `None` if malformed.
    fn here(&self) -> Option<IpOption<'a>> {
        let at = self.at;
        let (&kind, tail) = self.bytes.get(at..)?.split_first()?;
        let data = match (kind, tail) {
            (PAD1, _) => &[],
            (_, [len, tail @ ..]) => tail.get(..usize::from(*len))?,
            _ => return None,
        };
        let option = IpOption { kind, at, data };
        let needless =
            self.padding + option.len() > PADDING_MAX || data.iter().any(|&byte| byte != 0);
        (!(option.is_padding() && needless)).then_some(option)
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<IpOption<'a>, MalformedOption>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.bytes.len() {
            let Some(option) = self.here() else {
                let at = core::mem::replace(&mut self.at, self.bytes.len());
                return Some(Err(MalformedOption(at)));
            };
            self.at += option.len();
            if !option.is_padding() {
                self.padding = 0;
                return Some(Ok(option));
            }
            self.padding += option.len();
        }
        None
    }
}

/// Padding option of one byte.
const PAD1: u8 = 0;
/// Padding option with a length.
const PADN: u8 = 1;
/// Maximum padding needed to align to eight bytes (RFC 8200, 4.2).
const PADDING_MAX: usize = 7;
