//! VLAN tags that the kernel stripped from a frame (IEEE 802.1Q, 9.3), and their reinsertion.

use frame::Frame;

/// A tag as in the frame: TPID and TCI in network byte order.
pub(crate) type Tag = [u8; 4];

/// Length of the MAC addresses in front of a tag.
const ADDRESSES: usize = 12;

/// Tag in the metadata of an AF_PACKET slot or message; `None` without a tag.
#[inline]
pub(crate) fn tag(status: u32, tpid: u16, tci: u16) -> Option<Tag> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    // Kernels before 3.14 strip 802.1Q tags only and do not report the TPID.
    let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 {
        libc::ETH_P_8021Q as u16
    } else {
        tpid
    };
    let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
    Some([a, b, c, d])
}

/// Copies `bytes` with the tag inserted. `into` is 4 bytes longer.
///
/// Returns false, with `into` undefined, if `bytes` is too short for a tag.
#[inline]
pub(crate) fn copy_tagged(bytes: &[u8], tag: Tag, into: &mut [u8]) -> bool {
    if bytes.len() < ADDRESSES || into.len() != bytes.len() + tag.len() {
        return false;
    }
    let (addresses, rest) = bytes.split_at(ADDRESSES);
    into[..ADDRESSES].copy_from_slice(addresses);
    into[ADDRESSES..ADDRESSES + 4].copy_from_slice(&tag);
    into[ADDRESSES + 4..].copy_from_slice(rest);
    true
}

/// Inserts the tag into a frame, using 4 bytes of its headroom.
///
/// Returns false, with the frame unchanged, if the frame is too short for a tag.
pub(crate) fn insert(frame: &mut Frame, tag: Tag) -> bool {
    if frame.len() < ADDRESSES || !frame.push_front(tag.len()) {
        return false;
    }
    let bytes = frame.bytes_mut();
    bytes.copy_within(4..4 + ADDRESSES, 0);
    bytes[ADDRESSES..ADDRESSES + 4].copy_from_slice(&tag);
    true
}

#[cfg(test)]
mod tests {
    use frame::{Pool, Sizes};

    use super::*;

    #[test]
    fn both_methods_of_inserting_a_vlan_tag_agree() {
        let untagged: Vec<u8> = (0..60).collect();
        let tag = tag(libc::TP_STATUS_VLAN_VALID, 0, 0x6007).expect("a valid tag");
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let mut frame = pool.alloc_from(&untagged).expect("a slot");
        let mut copy = [0; 64];

        assert!(copy_tagged(&untagged, tag, &mut copy));
        assert!(insert(&mut frame, tag));

        assert_eq!(frame.bytes(), copy);
        assert_eq!(copy[12..16], [0x81, 0x00, 0x60, 0x07]);
        assert_eq!(
            (&copy[..12], &copy[16..]),
            (&untagged[..12], &untagged[12..])
        );
        pool.free(frame);
    }

    #[test]
    fn a_frame_without_mac_addresses_gets_no_tag() {
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let mut frame = pool.alloc_from(&[0; 11]).expect("a slot");

        assert!(!insert(&mut frame, [0x81, 0, 0, 1]));
        assert_eq!(frame.len(), 11);
        assert!(!copy_tagged(&[0; 11], [0x81, 0, 0, 1], &mut [0; 15]));
        pool.free(frame);
    }
}
