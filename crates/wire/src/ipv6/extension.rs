//! The extension headers of IPv6 (RFC 8200, 4; AH: RFC 4302) and their options.

use super::{EXTENSIONS_MAX, FRAGMENT_HEADER_LEN, Malformed};
use crate::{Protocol, put_at, u16_at, u32_at};

/// A fragment header as a value (RFC 8200, 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// What the whole packet has at this place.
    pub next_header: Protocol,
    /// Where this piece belongs, in bytes; a multiple of 8.
    pub offset: u16,
    /// Whether more pieces follow.
    pub more: bool,
    /// What tells pieces of one packet from those of others.
    pub id: u32,
}

impl Fragment {
    /// Reads a fragment header; reserved bits are ignored.
    pub fn parse(bytes: &[u8; FRAGMENT_HEADER_LEN]) -> Self {
        let word = u16_at(bytes, 2);
        Self {
            next_header: Protocol(bytes[0]),
            offset: word & 0xfff8,
            more: word & 1 != 0,
            id: u32_at(bytes, 4),
        }
    }

    /// The header's bytes.
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

    /// Whether the fragment is the whole packet (RFC 6946).
    pub const fn is_atomic(&self) -> bool {
        self.offset == 0 && !self.more
    }
}

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Which one.
    pub kind: Protocol,
    /// Bytes from the end of the fixed header to it.
    pub at: usize,
    /// The whole header, next header field included.
    pub bytes: &'a [u8],
}

impl Extension<'_> {
    /// The fragment header that this is.
    pub fn fragment(&self) -> Option<Fragment> {
        match self.kind {
            Protocol::FRAGMENT => self.bytes.first_chunk().map(Fragment::parse),
            _ => None,
        }
    }

    /// Routing type and segments left of the routing header that this is (RFC 8200, 4.4).
    pub fn routing(&self) -> Option<(u8, u8)> {
        match (self.kind, self.bytes) {
            (Protocol::ROUTING, &[_, _, kind, left, ..]) => Some((kind, left)),
            _ => None,
        }
    }

    /// The options of the hop-by-hop or destination options header that this is.
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

/// The extension headers of a packet in order; ends before what is carried, and behind the fragment
/// header of a later piece, because what follows that is no header.
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    next: Protocol,
    bytes: &'a [u8],
    at: usize,
    count: usize,
}

impl<'a> Extensions<'a> {
    /// Walks `bytes`, the payload of a packet whose fixed header announces `next`.
    pub const fn new(next: Protocol, bytes: &'a [u8]) -> Self {
        Self {
            next,
            bytes,
            at: 0,
            count: 0,
        }
    }

    /// What is behind the headers walked so far: what it is, where it begins, and its bytes.
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
            // AH counts in words of four bytes and leaves out two of them (RFC 4302, 2.2).
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

/// What a receiver that does not know an option does (RFC 8200, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Skips it.
    Skip,
    /// Drops the packet.
    Drop,
    /// Drops the packet and sends a parameter problem.
    Problem,
    /// The same, unless the packet was for a group.
    ProblemIfUnicast,
}

/// An option of a hop-by-hop or destination options header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpOption<'a> {
    /// The type.
    pub kind: u8,
    /// Where it begins in the extension header, in bytes.
    pub at: usize,
    /// Its data.
    pub data: &'a [u8],
}

impl IpOption<'_> {
    /// Router alert (RFC 2711).
    pub const ROUTER_ALERT: u8 = 5;
    /// Jumbo payload (RFC 2675).
    pub const JUMBO: u8 = 0xc2;

    /// What the sender wants who does not know the option to do.
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

/// What begins this many bytes into its header leads out of it, or is padding that nobody needs: more than
/// 7 bytes before the next option, or bytes that are not 0 (RFC 4942, 2.1.9.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedOption(pub usize);

/// The options of an extension header, padding skipped.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes of padding since the last option.
    padding: usize,
}

impl<'a> Options<'a> {
    /// The option or padding at this place; none where that is malformed.
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

/// One byte of padding.
const PAD1: u8 = 0;
/// Padding with a length.
const PADN: u8 = 1;
/// What the next multiple of eight is away at most, which is what padding is for (RFC 8200, 4.2).
const PADDING_MAX: usize = 7;
