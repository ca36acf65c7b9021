//! Virtio-net header that describes unfinished checksums and merged segments (OASIS virtio 1.2, 5.1.6; `struct
//! virtio_net_hdr`, 10 bytes, native byte order), as TAP and AF_PACKET use it.

use frame::{Offload, Segmentation};

/// Length of the header in bytes.
pub(crate) const VNET_BYTES: usize = 10;

const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// Header of a finished frame.
pub(crate) const FINISHED: [u8; VNET_BYTES] = [0; VNET_BYTES];

/// Decodes the header of a frame of `len` bytes.
///
/// Returns `None` if the header requests something that a frame cannot carry (UDP fragmentation) or points outside
/// the frame.
pub(crate) fn decode(header: &[u8; VNET_BYTES], len: usize) -> Option<Offload> {
    if header[0] & NEEDS_CSUM == 0 && header[1] == GSO_NONE {
        return Some(Offload::FINISHED);
    }
    let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
    let segmentation = match header[1] & !GSO_ECN {
        GSO_NONE => Segmentation::None,
        GSO_TCPV4 => Segmentation::Tcp4,
        GSO_TCPV6 => Segmentation::Tcp6,
        GSO_UDP_L4 => Segmentation::Udp,
        _ => return None,
    };
    let offload = Offload {
        needs_checksum: header[0] & NEEDS_CSUM != 0,
        segmentation,
        segment_bytes: if segmentation == Segmentation::None {
            0
        } else {
            word(4)
        },
        checksum_start: word(6),
        checksum_offset: word(8),
        ecn: header[1] & GSO_ECN != 0
            && matches!(segmentation, Segmentation::Tcp4 | Segmentation::Tcp6),
    };
    is_sound(&offload, len).then_some(offload)
}

/// True if the checksum field lies in the frame and a merged frame can be split.
fn is_sound(offload: &Offload, len: usize) -> bool {
    let field = usize::from(offload.checksum_start) + usize::from(offload.checksum_offset);
    let split = offload.segmentation != Segmentation::None;
    // A merged frame always needs its checksum, because each segment gets its own (virtio 1.2, 5.1.6.2).
    offload.needs_checksum && field + 2 <= len && (!split || offload.segment_bytes > 0)
}

/// Encodes the header of a frame.
///
/// `linear` is the number of leading bytes that the kernel should copy into one piece if the frame is not merged; 0
/// leaves the choice to the kernel.
#[inline]
pub(crate) fn encode(offload: &Offload, bytes: &[u8], linear: usize) -> [u8; VNET_BYTES] {
    let mut header = FINISHED;
    if offload.is_finished() {
        header[2..4].copy_from_slice(&(linear as u16).to_ne_bytes());
        return header;
    }
    header[0] = if offload.needs_checksum {
        NEEDS_CSUM
    } else {
        0
    };
    let ecn = if offload.ecn { GSO_ECN } else { 0 };
    let (kind, in_front) = match offload.segmentation {
        Segmentation::None | Segmentation::Fragments => (GSO_NONE, linear),
        Segmentation::Tcp4 => (GSO_TCPV4 | ecn, headers_bytes(offload, bytes)),
        Segmentation::Tcp6 => (GSO_TCPV6 | ecn, headers_bytes(offload, bytes)),
        Segmentation::Udp => (GSO_UDP_L4, headers_bytes(offload, bytes)),
    };
    header[1] = kind;
    header[2..4].copy_from_slice(&(in_front as u16).to_ne_bytes());
    header[4..6].copy_from_slice(&offload.segment_bytes.to_ne_bytes());
    header[6..8].copy_from_slice(&offload.checksum_start.to_ne_bytes());
    header[8..10].copy_from_slice(&offload.checksum_offset.to_ne_bytes());
    header
}

/// Length of the headers that precede each segment's payload.
fn headers_bytes(offload: &Offload, bytes: &[u8]) -> usize {
    let l4 = usize::from(offload.checksum_start);
    let l4_bytes = match offload.segmentation {
        Segmentation::Udp => 8,
        // Data offset, in 32-bit words (RFC 9293, 3.1).
        _ => bytes.get(l4 + 12).map_or(20, |b| usize::from(b >> 4) * 4),
    };
    (l4 + l4_bytes).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_merged_tcp_frame_keeps_its_state_through_the_header() {
        let offload = Offload {
            needs_checksum: true,
            segmentation: Segmentation::Tcp6,
            segment_bytes: 1440,
            checksum_start: 54,
            checksum_offset: 16,
            ecn: true,
        };
        let mut bytes = [0_u8; 4000];
        bytes[54 + 12] = 8 << 4; // with 12 bytes of options

        let header = encode(&offload, &bytes, 0);

        assert_eq!(decode(&header, bytes.len()), Some(offload));
        assert_eq!(u16::from_ne_bytes([header[2], header[3]]), 54 + 32);
    }

    #[test]
    fn a_checksum_outside_the_frame_is_refused() {
        let mut header = FINISHED;
        header[0] = NEEDS_CSUM;
        header[6..8].copy_from_slice(&34_u16.to_ne_bytes());
        header[8..10].copy_from_slice(&16_u16.to_ne_bytes());

        assert!(decode(&header, 52).is_some());
        assert!(decode(&header, 51).is_none());
    }

    #[test]
    fn the_ecn_segmentation_flag_is_ignored_on_single_frames() {
        let header = [NEEDS_CSUM, GSO_ECN, 0, 0, 0, 0, 0, 0, 0, 0];

        assert_eq!(decode(&header, 60).map(|offload| offload.ecn), Some(false));
    }

    #[test]
    fn fragmenting_udp_is_refused() {
        let mut header = FINISHED;
        header[0] = NEEDS_CSUM;
        header[1] = 3;

        assert!(decode(&header, 1500).is_none());
    }

    proptest! {
        #[test]
        fn offload_headers_round_trip(header: [u8; VNET_BYTES], len in 0_usize..70_000) {
            if let Some(offload) = decode(&header, len) {
                let again = encode(&offload, &vec![0; len], 0);
                prop_assert_eq!(decode(&again, len), Some(offload));
            }
        }
    }
}
