//! Reads fragments of either family.

use core::net::{Ipv4Addr, Ipv6Addr};

use wire::{Protocol, ipv4, ipv6};

/// What tells the pieces of one packet from those of others (RFC 791, 3.2; RFC 8200, 4.5: not the
/// next header, which only the first piece's counts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    V4 {
        zone: u32,
        src: Ipv4Addr,
        dst: Ipv4Addr,
        protocol: u8,
        id: u16,
    },
    V6 {
        zone: u32,
        src: Ipv6Addr,
        dst: Ipv6Addr,
        id: u32,
    },
}

impl Key {
    pub(super) fn is_v6(&self) -> bool {
        matches!(self, Self::V6 { .. })
    }
}

/// A piece of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) key: Key,
    /// Where the data belongs in the fragmented part, in bytes.
    pub(super) offset: u16,
    /// Whether more follows.
    pub(super) more: bool,
    /// The ECN bits of its header.
    pub(super) ecn: u8,
    /// Everything in front of the data, as it arrived.
    pub(super) head: &'a [u8],
    /// What to do with `head` to make it the whole packet's.
    pub(super) join: Join,
    pub(super) data: &'a [u8],
}

/// How the header of a first piece becomes that of the whole packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Join {
    /// IPv4: the fragment word and the length change.
    V4,
    /// IPv6: the fragment header goes, and what it announced is announced at `announced_at`.
    V6 {
        announced_at: usize,
        next_header: Protocol,
    },
}

/// A fragment, or a packet that is whole though it came here.
#[derive(Debug)]
pub(super) enum Read<'a> {
    Piece(Piece<'a>),
    /// An atomic fragment without its fragment header (RFC 6946, 4), or no fragment at all.
    Whole(Vec<u8>),
}

/// Why a packet is no piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPiece {
    Malformed,
    /// The sender is told which byte is in error.
    Problem {
        pointer: u32,
    },
}

/// Reads a packet from its IP header on.
pub(super) fn read(packet: &[u8], zone: u32) -> Result<Read<'_>, NoPiece> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => read_v4(packet, zone),
        Some(6) => read_v6(packet, zone),
        _ => Err(NoPiece::Malformed),
    }
}

fn read_v4(packet: &[u8], zone: u32) -> Result<Read<'_>, NoPiece> {
    let ip = ipv4::Packet::new_checked(packet).map_err(|_| NoPiece::Malformed)?;
    let fragment = ip.fragment();
    let (head, data) = split(packet, ip.header_len(), ip.payload().len())?;
    if !fragment.is_piece() {
        return Ok(Read::Whole([head, data].concat()));
    }
    let end = usize::from(fragment.offset()) + data.len();
    let whole = ip.header_len() + end;
    // Only the last piece may have any length (RFC 791, 3.2).
    let ragged = fragment.more() && data.len() % 8 != 0;
    if data.is_empty() || ragged || whole > usize::from(u16::MAX) {
        return Err(NoPiece::Malformed);
    }
    let key = Key::V4 {
        zone,
        src: ip.src(),
        dst: ip.dst(),
        protocol: ip.protocol().0,
        id: ip.id(),
    };
    Ok(Read::Piece(Piece {
        key,
        offset: fragment.offset(),
        more: fragment.more(),
        ecn: ip.ecn(),
        head,
        join: Join::V4,
        data,
    }))
}

fn read_v6(packet: &[u8], zone: u32) -> Result<Read<'_>, NoPiece> {
    let ip = ipv6::Packet::new_checked(packet).map_err(|_| NoPiece::Malformed)?;
    let Some((fragment, at, announced_at)) = fragment_header(&ip)? else {
        let (head, data) = split(packet, ipv6::HEADER_LEN, ip.payload().len())?;
        return Ok(Read::Whole([head, data].concat()));
    };
    let head_len = at + ipv6::FRAGMENT_HEADER_LEN;
    let data_len = (ipv6::HEADER_LEN + ip.payload().len()).saturating_sub(head_len);
    let (head, data) = split(packet, head_len, data_len)?;
    let join = Join::V6 {
        announced_at,
        next_header: fragment.next_header,
    };
    if fragment.is_atomic() {
        return join
            .header(head, data.len(), None)
            .map(|head| Read::Whole([&head, data].concat()))
            .ok_or(NoPiece::Malformed);
    }
    // RFC 8200, 4.5: the error points at the payload length, or at the offset.
    if fragment.more && data.len() % 8 != 0 {
        return Err(NoPiece::Problem { pointer: 4 });
    }
    if usize::from(fragment.offset) + data.len() > usize::from(u16::MAX) {
        let pointer = (at + 2) as u32;
        return Err(NoPiece::Problem { pointer });
    }
    // The first piece holds all headers, or filters could be fooled (RFC 7112, 5).
    let upper_is_here = ip.upper().is_ok_and(|upper| !upper.payload.is_empty());
    let hidden = fragment.offset == 0 && !upper_is_here;
    if data.is_empty() || hidden {
        return Err(NoPiece::Malformed);
    }
    let (src, dst, id) = (ip.src(), ip.dst(), fragment.id);
    Ok(Read::Piece(Piece {
        key: Key::V6 { zone, src, dst, id },
        offset: fragment.offset,
        more: fragment.more,
        ecn: ip.ecn(),
        head,
        join,
        data,
    }))
}

/// The fragment header, where it begins, and where the header before it announces it; both from the
/// IPv6 header on.
fn fragment_header(
    ip: &ipv6::Packet<'_>,
) -> Result<Option<(ipv6::Fragment, usize, usize)>, NoPiece> {
    let mut announced_at = NEXT_HEADER_AT;
    for extension in ip.extensions() {
        let extension = extension.map_err(|_| NoPiece::Malformed)?;
        let at = ipv6::HEADER_LEN + extension.at;
        if let Some(fragment) = extension.fragment() {
            return Ok(Some((fragment, at, announced_at)));
        }
        announced_at = at;
    }
    Ok(None)
}

impl Join {
    /// The whole packet's header, for `data_len` bytes behind it, with these ECN bits if they change;
    /// `None` if the packet would be too long.
    pub(super) fn header(self, head: &[u8], data_len: usize, ecn: Option<u8>) -> Option<Vec<u8>> {
        match self {
            Self::V4 => header_v4(head, data_len, ecn),
            Self::V6 {
                announced_at,
                next_header,
            } => {
                let kept = head.len().checked_sub(ipv6::FRAGMENT_HEADER_LEN)?;
                let mut bytes = head.get(..kept)?.to_vec();
                *bytes.get_mut(announced_at)? = next_header.0;
                let len = u16::try_from(kept - ipv6::HEADER_LEN + data_len).ok()?;
                let mut header = ipv6::HeaderMut::new_checked(&mut bytes).ok()?;
                header.set_payload_len(len);
                if let Some(ecn) = ecn {
                    let class = header.view().traffic_class() & !3 | ecn;
                    header.set_traffic_class(class);
                }
                Some(bytes)
            }
        }
    }
}

fn header_v4(head: &[u8], data_len: usize, ecn: Option<u8>) -> Option<Vec<u8>> {
    let len = u16::try_from(head.len() + data_len).ok()?;
    let mut bytes = head.to_vec();
    let mut header = ipv4::HeaderMut::new_checked(&mut bytes).ok()?;
    header.set_total_len(len);
    header.set_fragment(ipv4::Fragment::WHOLE);
    if let Some(ecn) = ecn {
        let tos = header.view().tos() & !3 | ecn;
        header.set_tos(tos);
    }
    header.fill_checksum(head.get(ipv4::HEADER_LEN..)?);
    Some(bytes)
}

fn split(packet: &[u8], head_len: usize, data_len: usize) -> Result<(&[u8], &[u8]), NoPiece> {
    let head = packet.get(..head_len);
    let data = packet.get(head_len..head_len + data_len);
    head.zip(data).ok_or(NoPiece::Malformed)
}

/// Where the next header field is in an IPv6 header.
const NEXT_HEADER_AT: usize = 6;
