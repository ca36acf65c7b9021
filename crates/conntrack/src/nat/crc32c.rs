//! Updates the SCTP checksum (RFC 9260, appendix A) after a change of ports.
//!
//! A CRC is linear: the effect of a change of the first four bytes depends only on the number of bytes that
//! follow. So the packet is not read, and a wrong checksum stays wrong. The highest power of a polynomial is
//! bit 0, as on the wire.

/// The Castagnoli polynomial, without its highest power.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Ports, verification tag, checksum (RFC 9260, 3.1).
pub(super) const HEADER: usize = 12;

/// Replaces the ports of a packet that begins with its SCTP header and has at least [`HEADER`] bytes, and
/// updates the checksum. `packet` must not include link padding.
pub(super) fn replace_ports(packet: &mut [u8], new: [u8; 4]) {
    let bits = 8 * packet.len() as u64;
    let Some((ports, rest)) = packet.split_first_chunk_mut::<4>() else {
        return;
    };
    let Some(checksum) = rest.get_mut(4..).and_then(|rest| rest.first_chunk_mut()) else {
        return;
    };
    let change = u32::from_le_bytes(*ports) ^ u32::from_le_bytes(new);
    let moved = multiply(change, power(bits));
    *checksum = (u32::from_le_bytes(*checksum) ^ moved).to_le_bytes();
    *ports = new;
}

/// Returns x to the given power modulo the polynomial, by squaring.
fn power(mut exponent: u64) -> u32 {
    let mut result = 1 << 31;
    let mut square = 1 << 30;
    while exponent != 0 {
        if exponent & 1 != 0 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        exponent >>= 1;
    }
    result
}

/// Returns the product of two polynomials modulo the polynomial.
fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for bit in (0..32).rev() {
        if a >> bit & 1 != 0 {
            product ^= b;
        }
        b = (b >> 1) ^ (POLYNOMIAL * (b & 1));
    }
    product
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bitwise CRC32c (RFC 9260, appendix A).
    pub(in crate::nat) fn crc32c(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (POLYNOMIAL * (crc & 1));
            }
        }
        !crc
    }

    /// Writes the checksum of a packet.
    fn finish(packet: &mut [u8]) {
        packet[8..12].fill(0);
        let crc = crc32c(packet);
        packet[8..12].copy_from_slice(&crc.to_le_bytes());
    }

    #[test]
    fn crc32c_gives_the_catalogue_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    proptest! {
        #[test]
        fn new_ports_have_the_checksum_of_a_fresh_packet(
            mut packet in proptest::collection::vec(any::<u8>(), 12..300),
            new in any::<[u8; 4]>(),
        ) {
            finish(&mut packet);
            let mut fresh = packet.clone();
            fresh[..4].copy_from_slice(&new);
            finish(&mut fresh);

            replace_ports(&mut packet, new);

            prop_assert_eq!(packet, fresh);
        }
    }
}
