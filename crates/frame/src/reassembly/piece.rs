//! Parses fragments of both families.

use core::net::{Ipv4Addr, Ipv6Addr};

use wire::{Protocol, ipv4, ipv6};

use crate::InterfaceId;

/// Identifies the packet of a fragment (RFC 791, 3.2; RFC 8200, 4.5: not the next header, which counts in the
/// first fragment only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    V4 {
        src: Ipv4Addr,
        dst: Ipv4Addr,
        protocol: u8,
        id: u16,
    },
    V6 {
        /// The ingress interface for link-local and multicast addresses, which are valid on one link only.
        link: InterfaceId,
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

/// A parsed fragment; offsets count from its network header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) key: Key,
    /// Offset of the data in the fragmented part, in bytes.
    pub(super) offset: u16,
    /// True if more fragments follow.
    pub(super) more: bool,
    /// The ECN field of the header.
    pub(super) ecn: u8,
    /// True if the fragment has DF.
    pub(super) dont: bool,
    /// Length of all headers before the data.
    pub(super) head_len: usize,
    pub(super) data_len: usize,
    /// How the headers become those of the whole packet.
    pub(super) join: Join,
}

/// How the headers of a first fragment become those of the whole packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Join {
    /// IPv4: changes fragment word and length.
    V4,
    /// IPv6: removes the fragment header and writes its next header value at `announced_at`.
    V6 {
        announced_at: usize,
        next_header: Protocol,
    },
}

/// A fragment, or a packet that is complete.
#[derive(Clone, Copy, Debug)]
pub(super) enum Read {
    Piece(Piece),
    /// Not a fragment.
    Whole,
    /// A whole packet with a fragment header (RFC 6946) at the end of its headers.
    Atomic {
        head_len: usize,
        join: Join,
    },
}

/// Reason why a packet is no valid fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPiece {
    Malformed,
    /// The sender must get a parameter problem for this byte.
    Problem {
        pointer: u32,
    },
}

/// Parses a packet from its IP header on; `ingress` is its interface.
pub(super) fn read(packet: &[u8], ingress: InterfaceId) -> Result<Read, NoPiece> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => read_v4(packet),
        Some(6) => read_v6(packet, ingress),
        _ => Err(NoPiece::Malformed),
    }
}

fn read_v4(packet: &[u8]) -> Result<Read, NoPiece> {
    let ip = ipv4::Packet::new_checked(packet).map_err(|_| NoPiece::Malformed)?;
    let fragment = ip.fragment();
    if !fragment.is_piece() {
        return Ok(Read::Whole);
    }
    let (head_len, data_len) = (ip.header_len(), ip.payload().len());
    let whole = head_len + usize::from(fragment.offset()) + data_len;
    // Only the last fragment may have a length that is no multiple of 8 (RFC 791, 3.2).
    let ragged = fragment.more() && !data_len.is_multiple_of(8);
    if data_len == 0 || ragged || whole > usize::from(u16::MAX) {
        return Err(NoPiece::Malformed);
    }
    let key = Key::V4 {
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
        dont: fragment.dont(),
        head_len,
        data_len,
        join: Join::V4,
    }))
}

fn read_v6(packet: &[u8], ingress: InterfaceId) -> Result<Read, NoPiece> {
    let ip = ipv6::Packet::new_checked(packet).map_err(|_| NoPiece::Malformed)?;
    let Some((fragment, at, announced_at)) = fragment_header(&ip)? else {
        return Ok(Read::Whole);
    };
    let head_len = at + ipv6::FRAGMENT_HEADER_LEN;
    let data_len = (ipv6::HEADER_LEN + ip.payload().len()).saturating_sub(head_len);
    let join = Join::V6 {
        announced_at,
        next_header: fragment.next_header,
    };
    if fragment.is_atomic() {
        return Ok(Read::Atomic { head_len, join });
    }
    // RFC 8200, 4.5: the error points to the payload length or to the offset.
    if fragment.more && !data_len.is_multiple_of(8) {
        return Err(NoPiece::Problem { pointer: 4 });
    }
    if usize::from(fragment.offset) + data_len > usize::from(u16::MAX) {
        let pointer = (at + 2) as u32;
        return Err(NoPiece::Problem { pointer });
    }
    // The first fragment must contain all headers, or filters could be evaded (RFC 7112, 5).
    let upper_is_here = ip.upper().is_ok_and(|upper| !upper.payload.is_empty());
    let hidden = fragment.offset == 0 && !upper_is_here;
    if data_len == 0 || hidden {
        return Err(NoPiece::Malformed);
    }
    let (src, dst, id) = (ip.src(), ip.dst(), fragment.id);
    let of_link = |address: &Ipv6Addr| address.is_unicast_link_local() || address.is_multicast();
    let link = match of_link(&src) || of_link(&dst) {
        true => ingress,
        false => InterfaceId::NONE,
    };
    Ok(Read::Piece(Piece {
        key: Key::V6 { link, src, dst, id },
        offset: fragment.offset,
        more: fragment.more,
        ecn: ip.ecn(),
        dont: false,
        head_len,
        data_len,
        join,
    }))
}

/// Returns the fragment header, its offset, and the offset of the field that announces it; both from the IPv6
/// header on.
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
    /// Returns the length of a first fragment's headers without the fragment header.
    pub(super) fn kept(self, head_len: usize) -> usize {
        match self {
            Self::V4 => head_len,
            Self::V6 { .. } => head_len.saturating_sub(ipv6::FRAGMENT_HEADER_LEN),
        }
    }

    /// Converts the headers of a first fragment to those of the whole packet, with the ECN field `ecn` if
    /// given; `None` if the packet is too long.
    pub(super) fn finish(
        self,
        head: &mut [u8],
        data_len: usize,
        ecn: Option<u8>,
        dont: bool,
    ) -> Option<()> {
        match self {
            Self::V4 => finish_v4(head, data_len, ecn, dont),
            Self::V6 {
                announced_at,
                next_header,
            } => {
                *head.get_mut(announced_at)? = next_header.0;
                let extensions = head.len().checked_sub(ipv6::HEADER_LEN)?;
                let len = u16::try_from(extensions + data_len).ok()?;
                let mut header = ipv6::HeaderMut::new_checked(head).ok()?;
                header.set_payload_len(len);
                if let Some(ecn) = ecn {
                    let class = header.view().traffic_class() & !3 | ecn;
                    header.set_traffic_class(class);
                }
                Some(())
            }
        }
    }
}

fn finish_v4(head: &mut [u8], data_len: usize, ecn: Option<u8>, dont: bool) -> Option<()> {
    let len = u16::try_from(head.len() + data_len).ok()?;
    let mut options = [0; ipv4::OPTIONS_LEN_MAX];
    let given = head.get(ipv4::HEADER_LEN..)?;
    let options = options.get_mut(..given.len())?;
    options.copy_from_slice(given);
    let mut header = ipv4::HeaderMut::new_checked(head).ok()?;
    header.set_total_len(len);
    header.set_fragment(match dont {
        true => ipv4::Fragment::DONT,
        false => ipv4::Fragment::WHOLE,
    });
    if let Some(ecn) = ecn {
        let tos = header.view().tos() & !3 | ecn;
        header.set_tos(tos);
    }
    header.fill_checksum(options);
    Some(())
}

/// Offset of the next header field in an IPv6 header.
const NEXT_HEADER_AT: usize = 6;
