//! Explicit congestion notification (RFC 3168) and the DSCP beside it (RFC 2474).

use crate::checksum;

/// ECN bits of the TOS.
const BITS: u8 = 3;

/// Sets "congestion experienced" in a packet, from its network header on, if it is ECN-capable (RFC 3168, 5).
/// Otherwise returns false and leaves the packet unchanged.
pub fn mark(packet: &mut [u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) => mark4(packet),
        Some(6) => mark6(packet),
        _ => None,
    }
    .unwrap_or(false)
}

/// Clears the DSCP of a packet, from its network header on (RFC 2474, 3). ECN bits stay.
pub fn clear_class(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) => {
            if let Some(header) = packet.first_chunk_mut::<20>() {
                set_tos(header, header[1] & BITS);
            }
        }
        Some(6) => {
            if let [first, second, ..] = packet {
                *first &= 0xf0;
                *second &= BITS << 4 | 0x0f;
            }
        }
        _ => {}
    }
}

/// Sets the TOS and updates the checksum (RFC 1624).
fn set_tos(header: &mut [u8; 20], tos: u8) {
    let old = u16::from_be_bytes([header[0], header[1]]);
    header[1] = tos;
    let new = u16::from_be_bytes([header[0], header[1]]);
    let sum = u16::from_be_bytes([header[10], header[11]]);
    let sum = checksum::update_u16(sum, old, new).to_be_bytes();
    (header[10], header[11]) = (sum[0], sum[1]);
}

fn mark4(packet: &mut [u8]) -> Option<bool> {
    let header = packet.first_chunk_mut::<20>()?;
    if header[1] & BITS == 0 {
        return Some(false);
    }
    set_tos(header, header[1] | BITS);
    Some(true)
}

fn mark6(packet: &mut [u8]) -> Option<bool> {
    // The traffic class spans the first two bytes.
    let class = packet.get_mut(1)?;
    let marks = *class >> 4 & BITS != 0;
    if marks {
        *class |= BITS << 4;
    }
    Some(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_marks_are_set_on_ecn_capable_packets_only() {
        let mut packet = [0; 20];
        packet[0] = 0x45;
        packet[1] = 0xb8;
        let sum = checksum::checksum(&packet).to_be_bytes();
        packet[10..12].copy_from_slice(&sum);
        let plain = packet;
        assert!(!mark(&mut packet));
        assert_eq!(packet, plain);
        packet[1] |= 2;
        packet[10..12].fill(0);
        let sum = checksum::checksum(&packet).to_be_bytes();
        packet[10..12].copy_from_slice(&sum);
        assert!(mark(&mut packet));
        assert_eq!((packet[1], checksum::checksum(&packet)), (0xbb, 0));

        let mut packet = [0x6f, 0xd0, 0, 0];
        assert!(mark(&mut packet));
        assert_eq!(packet, [0x6f, 0xf0, 0, 0]);
        let mut packet = [0x6f, 0xc0, 0, 0];
        assert!(!mark(&mut packet));
        assert_eq!(packet, [0x6f, 0xc0, 0, 0]);
        assert!(!mark(&mut []));
        let mut packet = [0x6f, 0xf7, 0, 0];
        clear_class(&mut packet);
        assert_eq!(packet, [0x60, 0x37, 0, 0]);
        let mut packet = [0; 20];
        (packet[0], packet[1]) = (0x45, 0xbb);
        let sum = checksum::checksum(&packet).to_be_bytes();
        packet[10..12].copy_from_slice(&sum);
        clear_class(&mut packet);
        assert_eq!((packet[1], checksum::checksum(&packet)), (3, 0));
    }
}
