//! The segment size of TCP connections, lowered to what fits a tunnel (RouterOS: `clamp-tcp-mss`).

use wire::{Protocol, checksum};

use crate::flow::{upper4, upper6};

const SYN: u8 = 0x02;
/// The TCP option for the maximum segment size (RFC 9293, 3.2).
const MAXIMUM: u8 = 2;
const HEADER: usize = 20;

/// Lowers the maximum segment size that a TCP SYN announces to what fits this layer-3 MTU in bytes.
/// `packet` begins at the network header.
#[inline]
pub(super) fn clamp(packet: &mut [u8], mtu: u32) {
    let ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let upper = if ipv6 { upper6(packet) } else { upper4(packet) };
    let Some(upper) = upper.filter(|upper| upper.protocol == Protocol::TCP.0 && !upper.fragment)
    else {
        return;
    };
    let most = mtu.saturating_sub((upper.offset + HEADER) as u32);
    let Some(segment) = packet.get_mut(upper.offset..) else {
        return;
    };
    if segment.get(13).is_some_and(|flags| flags & SYN != 0) {
        lower(segment, most.min(u16::MAX.into()) as u16);
    }
}

/// Lowers the option of a segment to `most` bytes, and updates the checksum (RFC 1624).
#[cold]
fn lower(segment: &mut [u8], most: u16) {
    let Some(at) = option(segment) else { return };
    let Some(place) = segment.get_mut(at..at + 2) else {
        return;
    };
    let said = u16::from_be_bytes([place[0], place[1]]);
    if said <= most {
        return;
    }
    place.copy_from_slice(&most.to_be_bytes());
    // A word at an odd offset enters the sum with its bytes swapped.
    let [before, after] = match at % 2 {
        0 => [said, most],
        _ => [said.swap_bytes(), most.swap_bytes()],
    };
    if let Some(field) = segment.get_mut(16..18) {
        let sum = u16::from_be_bytes([field[0], field[1]]);
        let sum = checksum::update_u16(sum, before, after);
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// Returns the offset of the option's value in a segment.
fn option(segment: &[u8]) -> Option<usize> {
    let end = usize::from(segment.get(12)? >> 4) * 4;
    let mut at = HEADER;
    while at + 1 < end {
        match (*segment.get(at)?, *segment.get(at + 1)?) {
            (0, _) => return None,
            (1, _) => at += 1,
            (MAXIMUM, 4) if at + 4 <= end => return Some(at + 2),
            (_, len) if len >= 2 => at += usize::from(len),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a SYN over IPv4 with options and a correct checksum.
    fn syn(options: &[u8]) -> Vec<u8> {
        let mut packet = vec![
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        let words = 5 + options.len() / 4;
        packet.extend([
            4,
            0,
            0,
            80,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            0,
            (words as u8) << 4,
            SYN,
            1,
            0,
            0,
            0,
            0,
            0,
        ]);
        packet.extend(options);
        let sum = !sum_of(&packet);
        packet[36..38].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    fn sum_of(packet: &[u8]) -> u16 {
        let len = (packet.len() - 20) as u16;
        let pseudo = checksum::combine(checksum::sum(&packet[12..20]), 6);
        checksum::combine(checksum::combine(pseudo, len), checksum::sum(&packet[20..]))
    }

    #[test]
    fn a_larger_segment_is_lowered_wherever_the_option_stands() {
        for options in [
            vec![2, 4, 0x05, 0xb4],
            vec![1, 2, 4, 0x05, 0xb4, 1, 1, 1],
            vec![4, 2, 1, 1, 2, 4, 0x05, 0xb4],
        ] {
            let mut packet = syn(&options);
            clamp(&mut packet, 1400);
            let at = option(&packet[20..]).expect("there is one") + 20;
            assert_eq!(packet[at..at + 2], 1360u16.to_be_bytes());
            assert_eq!(sum_of(&packet), 0xffff, "{options:?}");
        }
    }

    #[test]
    fn what_is_small_malformed_or_no_syn_stays() {
        let mut none = syn(&[2, 4, 0x05, 0xb4]);
        none[33] = 0x10;
        for packet in [
            syn(&[2, 4, 0x02, 0x00]),
            syn(&[2, 3, 0x05, 0xb4]),
            syn(&[9, 0, 2, 4]),
            syn(&[0, 0, 2, 4]),
            syn(&[2, 4, 0x05, 0xb4])[..30].to_vec(),
            none,
        ] {
            let mut same = packet.clone();
            clamp(&mut same, 1400);
            assert_eq!(same, packet);
        }
    }
}
