//! VXLAN header, for Ethernet frames in UDP (RFC 7348, 5).
//!
//! ```text
//! flags (8): I is 0x08 | reserved (24) | network (24) | reserved (8)
//! ```
//! Reserved bits are sent as zeros and ignored on receipt.

/// Length of the header.
pub const HEADER_LEN: usize = 8;
/// Port assigned by IANA. RouterOS and Linux use 8472 by default.
pub const PORT: u16 = 4789;
/// Highest VXLAN network identifier.
pub const VNI_MAX: u32 = 0xff_ffff;

/// Flag: the network identifier is valid.
const I: u8 = 0x08;

/// Network identifier of a header; `None` if the header is truncated or lacks the I flag.
#[inline(always)]
pub fn vni(header: &[u8]) -> Option<u32> {
    let [flags, _, _, _, a, b, c, _] = *header.first_chunk::<HEADER_LEN>()?;
    (flags & I != 0).then_some(u32::from_be_bytes([0, a, b, c]))
}

/// Encodes the header for a network identifier, whose low 24 bits count.
#[inline]
pub const fn to_bytes(vni: u32) -> [u8; HEADER_LEN] {
    let [_, a, b, c] = vni.to_be_bytes();
    [I, 0, 0, 0, a, b, c, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vxlan_headers_round_trip_and_reserved_bits_are_ignored() {
        for network in [0, 1, 5001, VNI_MAX] {
            let mut header = to_bytes(network);
            assert_eq!(vni(&header), Some(network));
            header[0] |= 0xf7;
            header[1..4].fill(0xff);
            header[7] = 0xff;
            assert_eq!(vni(&header), Some(network));
            header[0] &= !I;
            assert_eq!(vni(&header), None, "no network is said");
            assert_eq!(vni(&to_bytes(network)[..7]), None);
        }
        assert_eq!(to_bytes(0x0012_3456), [8, 0, 0, 0, 0x12, 0x34, 0x56, 0]);
    }
}
