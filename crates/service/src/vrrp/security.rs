//! Authentication header of VRRP version 2: HMAC-MD5-96 (RFC 2403) over the whole packet (RFC 2402, RFC 2338,
//! 5.3.6.3).
//!
//! ```text
//! next header | length | 0 (2 bytes) | index (4) | sequence (4) | value (12)
//! ```
//!
//! The TTL is mutable (RFC 2402, 3.3.3.1.1) and would be excluded from the value, but is always 255 here. keepalived
//! includes it, and expects the sender's address as index and sequence numbers that increase across masters. Sent
//! packets follow keepalived; received packets are accepted in both forms.

use wire::{Protocol, ipv4};

/// Length of a key: the password, padded with zeros.
pub(super) const KEY_BYTES: usize = 16;
const HEADER_BYTES: usize = 24;
const VALUE: core::ops::Range<usize> = 12..24;
/// Length field: 32-bit words less two.
const LENGTH: u8 = (HEADER_BYTES / 4 - 2) as u8;
const BLOCK_BYTES: usize = 64;

/// Wraps an advertisement in an authentication header; returns the IPv4 packet.
pub(super) fn wrap(
    header: &ipv4::Repr,
    advertisement: &[u8],
    key: &[u8; KEY_BYTES],
    sequence: u32,
) -> Vec<u8> {
    let header = ipv4::Repr {
        protocol: Protocol::AH,
        ..*header
    };
    let mut security = [0; HEADER_BYTES];
    security[0] = Protocol::VRRP.0;
    security[1] = LENGTH;
    security[4..8].copy_from_slice(&header.src.octets());
    security[8..12].copy_from_slice(&sequence.to_be_bytes());
    let len = HEADER_BYTES + advertisement.len();
    let mut packet = [&header.to_bytes(len)[..], &security, advertisement].concat();
    let value = value(&packet, ipv4::HEADER_LEN, key, true);
    let place = packet
        .get_mut(ipv4::HEADER_LEN..)
        .and_then(|rest| rest.get_mut(VALUE));
    if let Some(place) = place {
        place.copy_from_slice(&value);
    }
    packet
}

/// Payload of the authentication header, not verified.
pub(super) fn behind(payload: &[u8]) -> Option<&[u8]> {
    let (security, advertisement) = payload.split_at_checked(HEADER_BYTES)?;
    let is_of_vrrp =
        security.first() == Some(&Protocol::VRRP.0) && security.get(1) == Some(&LENGTH);
    is_of_vrrp.then_some(advertisement)
}

/// Verifies the authentication header; returns its sequence number. The number itself is not checked, because several
/// senders count independently (RFC 2402, 2.5: no replay protection for groups).
pub(super) fn prove(packet: &[u8], header_len: usize, key: &[u8; KEY_BYTES]) -> Option<u32> {
    let payload = packet.get(header_len..)?;
    let given = payload.get(VALUE)?;
    let is_right = |counts_ttl| {
        let right = value(packet, header_len, key, counts_ttl);
        let differs = given.iter().zip(&right);
        differs.fold(0, |all, (a, b)| all | (a ^ b)) == 0
    };
    let sequence = u32::from_be_bytes(*payload.get(8..)?.first_chunk()?);
    (is_right(true) || is_right(false)).then_some(sequence)
}

/// Authentication value of a packet; mutable fields count as zero (RFC 2402, 3.3.3.1.1).
fn value(packet: &[u8], header_len: usize, key: &[u8; KEY_BYTES], counts_ttl: bool) -> [u8; 12] {
    let mut packet = packet.to_vec();
    let ttl = if counts_ttl { 8..8 } else { 8..9 };
    let varying = [1..2, 6..8, ttl, 10..12];
    let value = header_len + VALUE.start..header_len + VALUE.end;
    for range in varying.into_iter().chain([value]) {
        if let Some(bytes) = packet.get_mut(range) {
            bytes.fill(0);
        }
    }
    let mut short = [0; 12];
    short.copy_from_slice(&hmac_md5(key, &packet)[..12]);
    short
}

/// HMAC-MD5 (RFC 2104) with a key shorter than a block.
fn hmac_md5(key: &[u8; KEY_BYTES], message: &[u8]) -> [u8; 16] {
    let pad = |byte: u8| {
        let mut block = [byte; BLOCK_BYTES];
        for (block, key) in block.iter_mut().zip(key) {
            *block ^= key;
        }
        block
    };
    let inner = md5::compute([&pad(0x36)[..], message].concat());
    let outer = md5::compute([&pad(0x5c)[..], &inner.0].concat());
    outer.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_rfc_2202() {
        // Test case 2 of RFC 2202, 2; its key of four bytes is padded with zeros, as HMAC requires.
        let digest = hmac_md5(
            b"Jefe\0\0\0\0\0\0\0\0\0\0\0\0",
            b"what do ya want for nothing?",
        );
        let expected = 0x750c_783e_6ab0_b503_eaa8_6e31_0a5d_b738_u128;
        assert_eq!(digest, expected.to_be_bytes());
    }

    #[test]
    fn the_digest_ignores_mutable_fields_and_covers_all_others() {
        let (from, to) = ([10, 0, 0, 1].into(), [224, 0, 0, 18].into());
        let header = ipv4::Repr::new(Protocol::VRRP, from, to);
        let key = b"secret\0\0\0\0\0\0\0\0\0\0";
        let packet = wrap(&header, &[0x21, 1, 100, 0], key, 9);
        assert_eq!(prove(&packet, 20, key), Some(9));
        assert_eq!(prove(&packet, 20, &[0; KEY_BYTES]), None);
        assert_eq!(behind(&packet[20..]), Some(&[0x21, 1, 100, 0][..]));
        for at in 0..packet.len() {
            let mut other = packet.clone();
            other[at] ^= 1;
            let varies = matches!(at, 1 | 6 | 7 | 10 | 11);
            assert_eq!(prove(&other, 20, key).is_some(), varies, "byte {at}");
        }
    }
}
