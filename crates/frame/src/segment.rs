//! Segments a merged frame into packets: TCP segments (TSO) or UDP datagrams (USO; Linux: `UDP_L4`), as a
//! device with that offload does.
//!
//! ```text
//! | link, tags | IP | TCP or UDP | payload of up to 64 KB …                |
//!       every piece: the same headers, adjusted, and `segment_bytes` of it |
//! ```
//!
//! The packets are finished: lengths, IPv4 identification, sequence numbers, flags and checksums.

use core::net::{Ipv4Addr, Ipv6Addr};

use wire::tcp::Flags;
use wire::{Protocol, checksum, ipv4, ipv6, tcp, udp};

use crate::{Frame, Offload, Pool, Segmentation};

/// Maximum number of segments per frame: 64 KB in the smallest segments that Linux sends (48 bytes).
pub const SEGMENTS_MAX: usize = 1400;

/// Reason why a frame cannot be finished. Nothing was created, and the frame is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinishable {
    /// The checksum field lies outside of the frame.
    ChecksumOutside,
    /// The frame is not merged, or the segments would be empty.
    NotMerged,
    /// More than [`SEGMENTS_MAX`] segments.
    TooManySegments,
    /// The IPv4 header is malformed.
    Ipv4(ipv4::Malformed),
    /// The IPv6 header or an extension header is malformed.
    Ipv6(ipv6::Malformed),
    /// The TCP header is malformed.
    Tcp(tcp::Malformed),
    /// The UDP header is truncated.
    Udp(udp::Malformed),
    /// The packet's protocol differs from its segmentation.
    Protocol,
    /// The packet is a fragment, which a merged packet cannot be.
    Fragment,
    /// An IPv6 routing header hides the address that the checksum covers.
    RoutingHeader,
    /// The pool has no free slot.
    NoBuffer,
}

/// Appends the packets of a merged frame to `out` in order; returns their number.
///
/// The network header is at `frame.l3`. The caller keeps the frame. Creates all packets or
/// none.
///
/// # Errors
/// The reason; all but `NoBuffer` are caused by the sender.
pub fn segment(
    pool: &mut Pool,
    frame: &Frame,
    out: &mut Vec<Frame>,
) -> Result<usize, Unfinishable> {
    let merged = Merged::parse(frame)?;
    let size = usize::from(frame.offload.segment_bytes);
    let count = merged.payload.len().div_ceil(size.max(1)).max(1);
    if count > SEGMENTS_MAX {
        return Err(Unfinishable::TooManySegments);
    }
    all_or_none(pool, out, |pool, out| {
        for index in 0..count {
            let start = index * size;
            let end = (start + size).min(merged.payload.len());
            let data = merged.payload.get(start..end).unwrap_or_default();
            let place = SegmentPosition {
                index,
                start,
                last: index + 1 == count,
            };
            let len = merged.headers.len() + data.len();
            let mut piece = pool.alloc(len).ok_or(Unfinishable::NoBuffer)?;
            piece.copy_meta(frame);
            piece.offload = Offload::FINISHED;
            merged.write(piece.bytes_mut(), data, place);
            out.push(piece);
        }
        Ok(())
    })
}

/// Runs `make`; after a failure, frees the frames appended to `out`.
pub(crate) fn all_or_none<E>(
    pool: &mut Pool,
    out: &mut Vec<Frame>,
    make: impl FnOnce(&mut Pool, &mut Vec<Frame>) -> Result<(), E>,
) -> Result<usize, E> {
    let before = out.len();
    match make(pool, out) {
        Ok(()) => Ok(out.len() - before),
        Err(error) => {
            for frame in out.drain(before..) {
                pool.free(frame);
            }
            Err(error)
        }
    }
}

/// Position of a segment in the merged frame.
#[derive(Clone, Copy)]
struct SegmentPosition {
    index: usize,
    /// Bytes of payload before the segment.
    start: usize,
    last: bool,
}

/// The addresses, for the pseudo header.
#[derive(Clone, Copy)]
enum Addresses {
    V4(Ipv4Addr, Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

/// The upper-layer header fields that change between segments.
#[derive(Clone, Copy)]
enum Upper {
    Tcp { seq: u32, flags: Flags },
    Udp { with_checksum: bool },
}

/// A parsed merged frame.
struct Merged<'a> {
    /// All headers before the payload.
    headers: &'a [u8],
    payload: &'a [u8],
    /// Offset of the network header in `headers`.
    l3: usize,
    /// Offset of the upper-layer header in `headers`.
    l4: usize,
    addresses: Addresses,
    upper: Upper,
}

impl<'a> Merged<'a> {
    fn parse(frame: &'a Frame) -> Result<Self, Unfinishable> {
        let offload = &frame.offload;
        if offload.segment_bytes == 0 {
            return Err(Unfinishable::NotMerged);
        }
        let protocol = match offload.segmentation {
            Segmentation::None | Segmentation::Fragments => return Err(Unfinishable::NotMerged),
            Segmentation::Tcp4 | Segmentation::Tcp6 => Protocol::TCP,
            Segmentation::Udp => Protocol::UDP,
        };
        let l3 = usize::from(frame.l3);
        let packet = frame.bytes().get(l3..).unwrap_or_default();
        let is_v6 = match offload.segmentation {
            Segmentation::Tcp6 => true,
            Segmentation::Udp => packet.first().is_some_and(|first| first >> 4 == 6),
            Segmentation::None | Segmentation::Fragments | Segmentation::Tcp4 => false,
        };
        let (addresses, carried, upper_at, rest) = if is_v6 {
            network_v6(packet)?
        } else {
            network_v4(packet)?
        };
        if carried != protocol {
            return Err(Unfinishable::Protocol);
        }
        let (upper, upper_len) = upper(protocol, rest, offload)?;
        let l4 = l3 + upper_at;
        let headers = frame.bytes().get(..l4 + upper_len).unwrap_or_default();
        let payload = rest.get(upper_len..).unwrap_or_default();
        Ok(Self {
            headers,
            payload,
            l3,
            l4,
            addresses,
            upper,
        })
    }

    /// Writes headers and `data` to `bytes`, whose length is that of both.
    fn write(&self, bytes: &mut [u8], data: &[u8], place: SegmentPosition) {
        let (headers, tail) = bytes.split_at_mut(self.headers.len());
        headers.copy_from_slice(self.headers);
        tail.copy_from_slice(data);
        let (before, upper) = headers.split_at_mut(self.l4);
        let network = before.get_mut(self.l3..).unwrap_or_default();
        let upper_len = upper.len() + data.len();
        self.write_network(network, upper_len, place.index);
        match self.upper {
            Upper::Tcp { seq, flags } => self.write_tcp(upper, data, seq, flags, place),
            Upper::Udp { with_checksum } => self.write_udp(upper, data, with_checksum),
        }
    }

    fn write_network(&self, network: &mut [u8], upper_len: usize, index: usize) {
        let len = network.len() + upper_len;
        match self.addresses {
            Addresses::V4(..) => {
                let (header, options) = network.split_at_mut(ipv4::HEADER_LEN);
                let Ok(mut header) = ipv4::HeaderMut::new_checked(header) else {
                    return;
                };
                header.set_total_len(len as u16);
                // Each segment is a packet with an identification of its own (RFC 6864, 4).
                header.set_id(header.view().id().wrapping_add(index as u16));
                header.fill_checksum(options);
            }
            Addresses::V6(..) => {
                let Ok(mut header) = ipv6::HeaderMut::new_checked(network) else {
                    return;
                };
                header.set_payload_len((len - ipv6::HEADER_LEN) as u16);
            }
        }
    }

    fn write_tcp(
        &self,
        upper: &mut [u8],
        data: &[u8],
        seq: u32,
        flags: Flags,
        place: SegmentPosition,
    ) {
        let Ok(mut header) = tcp::HeaderMut::new_checked(upper) else {
            return;
        };
        header.set_seq(seq.wrapping_add(place.start as u32));
        let mut flags = flags;
        if place.index > 0 {
            // CWR is sent once (RFC 3168, 6.1.2).
            flags = flags.without(Flags::CWR);
        }
        if !place.last {
            flags = flags.without(Flags::FIN | Flags::PSH);
        }
        header.set_flags(flags);
        header.set_checksum(0);
        let sum = self.sum(Protocol::TCP, upper, data);
        if let Ok(mut header) = tcp::HeaderMut::new_checked(upper) {
            header.set_checksum(!sum);
        }
    }

    fn write_udp(&self, upper: &mut [u8], data: &[u8], with_checksum: bool) {
        let len = ((upper.len() + data.len()) as u16).to_be_bytes();
        if let Some(rest) = upper.get_mut(4..8) {
            rest.copy_from_slice(&[len[0], len[1], 0, 0]);
        }
        if with_checksum {
            let sum = checksum::udp(!self.sum(Protocol::UDP, upper, data)).to_be_bytes();
            if let Some(field) = upper.get_mut(6..8) {
                field.copy_from_slice(&sum);
            }
        }
    }

    /// Returns the sum over pseudo header, upper-layer header (of even length) and data.
    fn sum(&self, protocol: Protocol, upper: &[u8], data: &[u8]) -> u16 {
        let len = upper.len() + data.len();
        let pseudo = match self.addresses {
            Addresses::V4(src, dst) => checksum::pseudo_v4(src, dst, protocol, len as u16),
            Addresses::V6(src, dst) => checksum::pseudo_v6(src, dst, protocol, len as u32),
        };
        let bytes = checksum::combine(checksum::sum(upper), checksum::sum(data));
        checksum::combine(pseudo, bytes)
    }
}

/// Addresses, upper-layer protocol, its offset in the packet, and its bytes.
type Network<'a> = (Addresses, Protocol, usize, &'a [u8]);

fn network_v4(packet: &[u8]) -> Result<Network<'_>, Unfinishable> {
    let ip = ipv4::Packet::new_checked(packet).map_err(Unfinishable::Ipv4)?;
    if ip.fragment().is_piece() {
        return Err(Unfinishable::Fragment);
    }
    let addresses = Addresses::V4(ip.src(), ip.dst());
    Ok((addresses, ip.protocol(), ip.header_len(), ip.payload()))
}

fn network_v6(packet: &[u8]) -> Result<Network<'_>, Unfinishable> {
    let ip = ipv6::Packet::new_checked(packet).map_err(Unfinishable::Ipv6)?;
    let upper = ip.upper().map_err(Unfinishable::Ipv6)?;
    if upper.fragment.is_some() {
        return Err(Unfinishable::Fragment);
    }
    if upper.routing.is_some() {
        return Err(Unfinishable::RoutingHeader);
    }
    let at = ipv6::HEADER_LEN + upper.at;
    Ok((
        Addresses::V6(ip.src(), ip.dst()),
        upper.protocol,
        at,
        upper.payload,
    ))
}

/// Returns the upper-layer header and its length in bytes.
fn upper(
    protocol: Protocol,
    bytes: &[u8],
    offload: &Offload,
) -> Result<(Upper, usize), Unfinishable> {
    if protocol == Protocol::TCP {
        let segment = tcp::Segment::new_checked(bytes).map_err(Unfinishable::Tcp)?;
        let upper = Upper::Tcp {
            seq: segment.seq(),
            flags: segment.flags(),
        };
        return Ok((upper, segment.header_len()));
    }
    // The length field of a merged run is ignored: each segment gets its own.
    let header: &[u8; udp::HEADER_LEN] = bytes
        .first_chunk()
        .ok_or(Unfinishable::Udp(udp::Malformed::Truncated))?;
    let with_checksum = offload.needs_checksum || header[6..8] != [0, 0];
    Ok((Upper::Udp { with_checksum }, udp::HEADER_LEN))
}

#[cfg(test)]
mod tests;
