//! Internet checksum (RFC 1071) and its incremental update (RFC 1624).
//!
//! A *sum* is the ones'-complement sum of 16-bit words in network order; the sums of parts are [`combine`]d. A
//! *checksum*, the value in a header, is the complement of a sum. A packet is intact if the sum over all of it,
//! checksum included, is `0xffff`.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::Protocol;

/// Sum of an intact packet, including its checksum.
pub const INTACT: u16 = 0xffff;

/// Ones'-complement sum of `bytes`; an odd last byte is padded with zero.
///
/// The words are summed in memory order, eight bytes at a time with end-around carry, and the result is byte-swapped
/// once (RFC 1071, 2 (B) and (C)). Four independent sums run in parallel.
#[inline]
pub fn sum(bytes: &[u8]) -> u16 {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut lanes = [0; 4];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = add(*lane, u64::from_ne_bytes(*word));
        }
    }
    let [a, b, c, d] = lanes;
    let mut total = add(add(a, b), add(c, d));
    let (words, mut tail) = rest.as_chunks::<8>();
    for word in words {
        total = add(total, u64::from_ne_bytes(*word));
    }
    if let Some((word, rest)) = tail.split_first_chunk() {
        total = add(total, u64::from(u32::from_ne_bytes(*word)));
        tail = rest;
    }
    if let Some((word, rest)) = tail.split_first_chunk() {
        total = add(total, u64::from(u16::from_ne_bytes(*word)));
        tail = rest;
    }
    if let Some(&last) = tail.first() {
        total = add(total, u64::from(u16::from_ne_bytes([last, 0])));
    }
    u16::from_be(fold(total))
}

/// Adds with end-around carry. After a carry the sum is below 2^64 - 1, so adding the carry cannot overflow.
#[inline(always)]
const fn add(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + carry as u64
}

/// Checksum of `bytes`: the complement of their sum.
#[inline]
pub fn checksum(bytes: &[u8]) -> u16 {
    !sum(bytes)
}

/// Sum of an IPv4 header without options, the most common case, without a loop.
#[inline]
pub fn sum_20(header: &[u8; 20]) -> u16 {
    let word = |at: usize| u64::from(u32::from_ne_bytes(crate::bytes_at(header, at)));
    u16::from_be(fold(word(0) + word(4) + word(8) + word(12) + word(16)))
}

/// Sum of two parts; the first has an even length.
#[inline]
pub const fn combine(a: u16, b: u16) -> u16 {
    let sum = a as u32 + b as u32;
    (sum as u16).wrapping_add((sum >> 16) as u16)
}

/// Sum of two parts; the first has an odd length, so the bytes of the second are swapped within their words (RFC
/// 1071, 2, "byte order independence").
#[inline]
pub const fn combine_odd(a: u16, b: u16) -> u16 {
    combine(a, b.swap_bytes())
}

/// Sum of the pseudo header in IPv4 (RFC 9293, 3.1; RFC 768).
///
/// `len` is the length of the upper-layer header and its payload, in bytes.
#[inline]
pub fn pseudo_v4(src: Ipv4Addr, dst: Ipv4Addr, protocol: Protocol, len: u16) -> u16 {
    let (src, dst) = (src.to_bits(), dst.to_bits());
    fold(u64::from(src) + u64::from(dst) + u64::from(protocol.0) + u64::from(len))
}

/// Sum of the pseudo header in IPv6 (RFC 8200, 8.1).
///
/// `dst` is the final destination if there is a routing header.
#[inline]
pub fn pseudo_v6(src: Ipv6Addr, dst: Ipv6Addr, protocol: Protocol, len: u32) -> u16 {
    let words = |address: Ipv6Addr| {
        let bits = address.to_bits();
        let low = |bits: u128| bits & 0xffff_ffff;
        (low(bits) + low(bits >> 32) + low(bits >> 64) + low(bits >> 96)) as u64
    };
    fold(words(src) + words(dst) + u64::from(protocol.0) + u64::from(len))
}

/// Updates a checksum after a covered 16-bit field changed from `old` to `new` (RFC 1624, 3, eqn 3).
#[inline]
pub const fn update_u16(checksum: u16, old: u16, new: u16) -> u16 {
    !combine(combine(!checksum, !old), new)
}

/// Updates a checksum after a 32-bit field at an even offset changed (RFC 1624, 3, eqn 3).
#[inline]
pub const fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    let sum = (!checksum) as u64 + (!old) as u64 + new as u64;
    !fold(sum)
}

/// Updates a checksum after a field changed whose sum was `old` and is `new`: an IPv6 address, or all fields that
/// address translation changes at once.
#[inline]
pub const fn update_sum(checksum: u16, old: u16, new: u16) -> u16 {
    update_u16(checksum, old, new)
}

/// Updates the IPv4 header checksum after the TTL, the high byte of its word, was decremented (RFC 1624, 4).
#[inline]
pub const fn decrement_ttl(checksum: u16) -> u16 {
    // !(!c + !(w) + (w - 0x100)) with !w + w = 0xffff = 0: only the difference remains.
    !combine(!checksum, !0x0100)
}

/// Converts a computed checksum for a UDP header, where zero means "none" (RFC 768).
#[inline]
pub const fn udp(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// Folds a sum to 16 bits; works in either byte order.
#[inline]
const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071, section 4.1, word by word.
    fn plain(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// Zero and all ones are the same number in ones' complement.
    fn same(a: u16, b: u16) -> bool {
        a == b || (a == 0 && b == 0xffff) || (a == 0xffff && b == 0)
    }

    #[test]
    fn the_checksum_example_of_rfc_1071_gives_ddf2() {
        assert_eq!(
            sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            0xddf2
        );
    }

    #[test]
    fn a_whole_segment_of_ones_does_not_overflow() {
        let bytes = [0xff; 65_535];

        assert_eq!(sum(&bytes), plain(&bytes));
    }

    #[test]
    fn the_ttl_update_equals_a_fresh_checksum_for_every_header_word() {
        for ttl in 1..=255u8 {
            for protocol in [0, 1, 6, 17, 255] {
                for id in (0..=u16::MAX).step_by(257) {
                    let words = |ttl: u8| {
                        let [a, b] = id.to_be_bytes();
                        [
                            0x45, 0, 0, 84, a, b, 0, 0, ttl, protocol, 10, 0, 0, 1, 10, 0, 0, 2,
                        ]
                    };
                    let before = checksum(&words(ttl));

                    let after = decrement_ttl(before);

                    assert_eq!(after, checksum(&words(ttl - 1)), "ttl {ttl} id {id}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_fast_checksum_equals_the_plain_one(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(sum(&bytes), plain(&bytes));
        }

        #[test]
        fn the_header_checksum_equals_the_plain_one(header in any::<[u8; 20]>()) {
            prop_assert_eq!(sum_20(&header), plain(&header));
        }

        #[test]
        fn partial_checksums_combine(bytes in proptest::collection::vec(any::<u8>(), 1..300), cut in any::<u16>()) {
            let (a, b) = bytes.split_at(usize::from(cut) % bytes.len());

            let joined = if a.len() % 2 == 0 {
                combine(sum(a), sum(b))
            } else {
                combine_odd(sum(a), sum(b))
            };

            prop_assert_eq!(joined, plain(&bytes));
        }

        #[test]
        fn an_update_equals_a_fresh_checksum(
            mut bytes in proptest::collection::vec(any::<u8>(), 4..64),
            at in any::<u8>(),
            new in any::<[u8; 4]>(),
        ) {
            let at = usize::from(at) % (bytes.len() - 3) / 2 * 2;
            let before = checksum(&bytes);
            let old: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
            bytes[at..at + 4].copy_from_slice(&new);

            let by_32 = update_u32(before, u32::from_be_bytes(old), u32::from_be_bytes(new));
            let by_16 = update_u16(
                update_u16(before, u16::from_be_bytes([old[0], old[1]]), u16::from_be_bytes([new[0], new[1]])),
                u16::from_be_bytes([old[2], old[3]]),
                u16::from_be_bytes([new[2], new[3]]),
            );

            prop_assert!(same(by_32, checksum(&bytes)));
            prop_assert!(same(by_16, checksum(&bytes)));
        }
    }
}
