//! Prerouting: header checks, invalid addresses and the reverse path check of received packets.

use frame::InterfaceId;
use kernels::Lanes;
use wire::checksum;

use super::headers::{Column, Headers, Headers4, Headers6, column};
use super::ingress::Arrived;
use super::input::Ingress;
use super::options6::{self, HOP_BY_HOP};
use super::{Context, Exit, input, options, routing};
use crate::drop::DropReason;
use crate::interface::{Details, OwnAddresses};
use crate::punt::PuntReason;

pub(super) const LOOPBACK6: u128 = 1;

/// Decides about an IPv4 packet, in the order of RFC 1812, 5.2.2. Returns the unicast destination
/// to route.
///
/// # Errors
/// The packet's exit: malformed, not allowed, or multicast.
#[inline(always)]
pub(crate) fn ipv4<const FAST: bool>(
    cx: &Context<'_>,
    arrived: &Arrived,
    packet: &[u8],
) -> Result<u32, Exit> {
    let interface = arrived.interface;
    if !interface.ipv4 {
        return Err(Exit::Drop(DropReason::InterfaceDown));
    }
    // "(1) The packet length reported by the Link Layer must be large enough to hold the minimum
    // length legal IP datagram (20 bytes)."
    let Some(header) = packet.first_chunk::<20>() else {
        return Err(Exit::Drop(DropReason::Ipv4Length));
    };
    // "(2) The IP checksum must be correct." This line covers headers without options; longer
    // headers are checked later, after the two length fields.
    let words = HeaderWords::of(header);
    let HeaderWords {
        first,
        second,
        last,
    } = words;
    if first >> 56 == 0x45 {
        if !words.is_intact() {
            return Err(Exit::Drop(DropReason::Ipv4Checksum));
        }
        // "(5) The IP total length field must be large enough to hold the IP datagram header, whose
        // length is specified in the IP header length field." Also checks that the frame holds the
        // whole packet.
        let total = usize::from((first >> 32) as u16);
        if (total < 20) | (total > packet.len()) {
            return Err(Exit::Drop(DropReason::Ipv4Length));
        }
    } else {
        odd_header4(packet)?;
    }
    let (source, destination) = (second as u32, last);
    if !(is_plain4(source) & is_plain4(destination)) | arrived.group {
        odd_addresses4(cx, arrived.id, packet, source, destination)?;
    }
    if cx.interfaces.own().has_ipv4(source) {
        return Err(Exit::Drop(DropReason::Ipv4OwnSource));
    }
    if !FAST
        && cx.snapshot.ipv4.checks_way_back()
        && !routing::way_back4(cx, arrived, packet, source)
    {
        return Err(Exit::Drop(DropReason::ReversePath));
    }
    Ok(destination)
}

/// Checks packets with 20-byte headers together: 0 for each packet that surely enters. [`ipv4`]
/// decides about the others.
#[inline(always)]
pub(super) fn doubts4<L: Lanes>(lanes: L, own: &OwnAddresses, headers: &Headers4) -> Column {
    let (sums, totals, rest) = (headers.sums(), headers.totals(), headers.rest());
    let (sources, destinations) = (headers.sources(), headers.destinations());
    let maybe_own = own.may_have_ipv4(lanes, &sources);
    column(|at| {
        let cut = (totals[at] < 20) | (totals[at] > rest[at]);
        let odd = !(is_plain4(sources[at]) & is_plain4(destinations[at]));
        (sums[at] ^ 0xffff) | maybe_own[at] | u32::from(cut | odd)
    })
}

/// An IPv4 header of 20 bytes as words in host order, so that its bytes are loaded once.
#[derive(Clone, Copy)]
struct HeaderWords {
    /// Version to fragment offset.
    first: u64,
    /// TTL to source.
    second: u64,
    /// Destination.
    last: u32,
}

impl HeaderWords {
    #[inline(always)]
    fn of(header: &[u8; 20]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = *header;
        Self {
            first: u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            second: u64::from_be_bytes([i, j, k, l, m, n, o, p]),
            last: u32::from_be_bytes([q, r, s, t]),
        }
    }

    /// Returns true if the checksum of the header is right: `checksum::sum_20` in words of 64 bits,
    /// folded by halves until the sum must be all ones (RFC 1071, 2).
    #[inline(always)]
    fn is_intact(self) -> bool {
        let (sum, carry) = self.first.overflowing_add(self.second);
        let last = u64::from(self.last) + u64::from(carry);
        let (sum, carry) = sum.overflowing_add(last);
        // Adding this carry cannot overflow again.
        let sum = sum + u64::from(carry);
        // Adds both halves with their carry into the upper half; then the same for 16-bit halves.
        let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
        sum.wrapping_add(sum.rotate_left(16)) >> 16 == 0xffff
    }
}

/// Checks a header of another version or length than 4 and 20: the usual checks, then its options.
#[cold]
#[inline(never)]
fn odd_header4(packet: &[u8]) -> Result<(), Exit> {
    let header_len = usize::from(packet[0] & 0xf) * 4;
    // (2) again; a header length that exceeds the packet is reported by (4).
    let header = packet.get(..header_len);
    if let Some(header) = header.filter(|header| header.len() >= 20)
        && checksum::sum(header) != checksum::INTACT
    {
        return Err(Exit::Drop(DropReason::Ipv4Checksum));
    }
    // "(3) The IP version number must be 4."
    if packet[0] >> 4 != 4 {
        return Err(Exit::Drop(DropReason::Ipv4Version));
    }
    // "(4) The IP header length field must be large enough to hold the minimum length legal IP
    // datagram (20 bytes = 5 words)."
    let Some(header) = header.filter(|header| header.len() >= 20) else {
        return Err(Exit::Drop(DropReason::Ipv4Length));
    };
    // (5), as above.
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    if total < header_len || total > packet.len() {
        return Err(Exit::Drop(DropReason::Ipv4Length));
    }
    options::enter(header)
}

/// Returns true if an address can be a source and a forwarded destination: neither this network
/// (0/8), nor loopback (127/8), nor multicast, class E or broadcast (224/3).
#[inline(always)]
fn is_plain4(address: u32) -> bool {
    let first = address >> 24;
    (first.wrapping_sub(1) < 223) & (first != 127)
}

/// Checks invalid addresses, multicast, and packets in link-layer multicast frames (RFC 1812, 5.3.7
/// and 5.3.4).
#[cold]
#[inline(never)]
fn odd_addresses4(
    cx: &Context<'_>,
    ingress: InterfaceId,
    packet: &[u8],
    source: u32,
    destination: u32,
) -> Result<(), Exit> {
    const BROADCAST: u32 = u32::MAX;
    let Some(interface) = cx.interfaces.get(ingress) else {
        return Err(Exit::Drop(DropReason::InterfaceDown));
    };
    let ingress = Ingress {
        id: ingress,
        interface: &interface,
    };
    // A host without an address broadcasts (RFC 2131, 4.1).
    let nobody_yet = source == 0 && destination == BROADCAST;
    if !is_plain4(source) && !nobody_yet {
        return Err(Exit::Drop(DropReason::Ipv4MartianSource));
    }
    if cx.interfaces.own().has_ipv4(source) {
        return Err(Exit::Drop(DropReason::Ipv4OwnSource));
    }
    if destination == BROADCAST {
        return Err(input::group(cx, ingress, packet));
    }
    if destination >> 28 == 0xe {
        return Err(input::multicast4(cx, ingress, packet, destination));
    }
    if !is_plain4(destination) {
        return Err(Exit::Drop(DropReason::Ipv4MartianDestination));
    }
    // A directed broadcast on its own link arrives as a link-layer broadcast; any other unicast
    // packet in such a frame is a sender's error (RFC 1812, 5.3.4).
    match routing::is_broadcast4(cx, ingress.id, destination) {
        true => Err(input::group(cx, ingress, packet)),
        false => Err(Exit::Drop(DropReason::LinkBroadcast)),
    }
}

/// Decides about an IPv6 packet (RFC 8200, 3; RFC 4291, 2.5). Returns the unicast destination to
/// route.
///
/// # Errors
/// The packet's exit: malformed, not allowed, or multicast.
#[inline(always)]
pub(crate) fn ipv6<const FAST: bool>(
    cx: &Context<'_>,
    arrived: &Arrived,
    packet: &[u8],
) -> Result<u128, Exit> {
    let interface = arrived.interface;
    if !interface.ipv6 {
        return Err(Exit::Drop(DropReason::InterfaceDown));
    }
    let Some(header) = packet.first_chunk::<40>() else {
        return Err(Exit::Drop(DropReason::Ipv6Length));
    };
    if header[0] >> 4 != 6 {
        return Err(Exit::Drop(DropReason::Ipv6Version));
    }
    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    if payload + 40 > packet.len() {
        return Err(Exit::Drop(DropReason::Ipv6Length));
    }
    let source = address(header, 8);
    let destination = address(header, 24);
    let plain = is_plain6(source) & is_plain6(destination) & (header[6] != HOP_BY_HOP);
    if !plain | arrived.group {
        odd_addresses6(cx, arrived.id, arrived.group, packet, source, destination)?;
    }
    if cx.interfaces.own().has_ipv6(source) {
        return Err(Exit::Drop(DropReason::Ipv6OwnSource));
    }
    if !FAST
        && cx.snapshot.ipv6.checks_way_back()
        && !routing::way_back6(cx, arrived, packet, source)
    {
        return Err(Exit::Drop(DropReason::ReversePath));
    }
    Ok(destination)
}

/// Checks packets together: 0 for each packet that surely enters. [`ipv6`] decides about the
/// others.
#[inline(always)]
pub(super) fn doubts6<L: Lanes>(lanes: L, own: &OwnAddresses, headers: &Headers6) -> Column {
    let (totals, rest) = (headers.totals(), headers.rest());
    let (source, destination) = (headers.source_words(), headers.destination_words());
    let maybe_own = own.may_have_ipv6(lanes, &source);
    let protocols = headers.protocols();
    // The condition of [`is_plain6`], on the first two words of an address.
    let is_plain = |first: u32, second: u32| {
        (first | second != 0) & (first >> 24 != 0xff) & (first >> 22 != 0x3fa)
    };
    column(|at| {
        let plain = is_plain(source[0][at], source[1][at])
            & is_plain(destination[0][at], destination[1][at])
            & (protocols[at] != u32::from(HOP_BY_HOP));
        maybe_own[at] | u32::from(!plain | (totals[at] > rest[at]))
    })
}

#[inline(always)]
pub(super) fn address(header: &[u8; 40], at: usize) -> u128 {
    match header[at..].first_chunk::<16>() {
        Some(bytes) => u128::from_be_bytes(*bytes),
        None => 0,
    }
}

/// Returns true if an address can be a source and a forwarded destination: neither multicast, nor
/// link-local, nor in the /64 of the unspecified and the loopback address.
#[inline(always)]
fn is_plain6(address: u128) -> bool {
    let high = (address >> 64) as u64;
    (high != 0) & (high >> 56 != 0xff) & (high >> 54 != 0x3fa)
}

pub(super) fn is_link_local6(address: u128) -> bool {
    address >> 118 == 0x3fa
}

/// Checks invalid, link-local and multicast addresses, and the hop-by-hop options.
#[cold]
#[inline(never)]
fn odd_addresses6(
    cx: &Context<'_>,
    ingress: InterfaceId,
    link_group: bool,
    packet: &[u8],
    source: u128,
    destination: u128,
) -> Result<(), Exit> {
    let Some(interface) = cx.interfaces.get(ingress) else {
        return Err(Exit::Drop(DropReason::InterfaceDown));
    };
    let ingress = Ingress {
        id: ingress,
        interface: &interface,
    };
    let is_group = destination >> 120 == 0xff;
    // A host without an address sends to multicast groups from the unspecified source (RFC 4862,
    // 5.4.2).
    if source >> 120 == 0xff || source == LOOPBACK6 || (source == 0 && !is_group) {
        return Err(Exit::Drop(DropReason::Ipv6MartianSource));
    }
    if destination == 0 || destination == LOOPBACK6 {
        return Err(Exit::Drop(DropReason::Ipv6MartianDestination));
    }
    if cx.interfaces.own().has_ipv6(source) {
        return Err(Exit::Drop(DropReason::Ipv6OwnSource));
    }
    if link_group && !is_group {
        return Err(Exit::Drop(DropReason::LinkBroadcast));
    }
    if packet.get(6) == Some(&HOP_BY_HOP) {
        options6::enter(packet, is_group)?;
    }
    if is_group {
        return Err(input::multicast6(cx, ingress, packet, destination));
    }
    // Packets to link-local addresses are delivered by the ingress interface, not by routes: such
    // addresses are unique on their link only, and those of other links are not local here (RFC
    // 4007, 6).
    if is_link_local6(destination) {
        let has = |details: &Details| details.has_ipv6(destination);
        return Err(match cx.interfaces.details(ingress.id, has) {
            Some(true) => input::unicast(cx, ingress, packet),
            _ => Exit::Drop(DropReason::Ipv6BeyondScope),
        });
    }
    // A packet from a link-local source may be for this router; any other would leave the link, and
    // its sender gets an ICMP error (RFC 4291, 2.5.6; RFC 4443, 3.1).
    if is_link_local6(source) && !routing::is_local6(cx, destination) {
        return Err(Exit::Punt(PuntReason::BeyondScope));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use machine::Rng;

    use super::*;

    #[test]
    fn a_header_is_intact_when_its_plain_sum_is_all_ones() {
        let mut rng = Rng::seeded(3);
        for round in 0..200_000 {
            let mut header = [0; 20];
            rng.fill(&mut header);
            if round % 4 == 0 {
                // Bytes with many ones cause many carries.
                header.iter_mut().for_each(|byte| *byte |= 0xfe);
            }
            if round % 2 == 0 {
                header[10..12].fill(0);
                let sum = !checksum::sum(&header);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
            }

            let intact = checksum::sum(&header) == checksum::INTACT;

            assert_eq!(HeaderWords::of(&header).is_intact(), intact, "{header:x?}");
            assert!(round % 2 != 0 || intact);
        }
        assert!(!HeaderWords::of(&[0; 20]).is_intact());
    }
}
