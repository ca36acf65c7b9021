//! Flow steering: chooses the worker of a received frame. Both directions of a flow belong to one worker,
//! which keeps their order.

use wire::EtherType;

use crate::flow;

/// Returns the worker, of `workers`, that owns the flow of a frame; `None` if any worker may process it (ARP
/// and other frames that are not IP).
///
/// VLAN tags and a PPPoE session header in the link header are skipped. On links without Ethernet header the
/// frame begins with the packet.
#[inline]
pub fn home(bytes: &[u8], ethernet: bool, workers: usize) -> Option<u16> {
    hash(bytes, ethernet).map(|hash| place(hash, workers))
}

/// Returns the flow hash by which [`home`] chooses; `None` if the frame is not IP.
#[inline]
pub fn hash(bytes: &[u8], ethernet: bool) -> Option<u32> {
    flow::symmetric(if ethernet { packet(bytes)? } else { bytes })
}

/// Returns the worker, of `workers`, that reassembles the fragments of an IP packet.
#[inline]
pub fn home_of_fragments(packet: &[u8], workers: usize) -> Option<u16> {
    flow::symmetric_of_fragments(packet).map(|hash| place(hash, workers))
}

/// Maps a hash to one of `workers` workers by its high bits, without a division.
#[inline]
pub fn place(hash: u32, workers: usize) -> u16 {
    ((u64::from(hash) * workers as u64) >> 32) as u16
}

/// Returns the IP packet of an Ethernet frame.
fn packet(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    for _ in 0..5 {
        let ethertype = bytes.get(at..at + 2)?;
        match EtherType(u16::from_be_bytes([ethertype[0], ethertype[1]])) {
            tag if tag.is_vlan() => at += 4,
            EtherType::IPV4 | EtherType::IPV6 => return bytes.get(at + 2..),
            EtherType::PPPOE_SESSION => return session_packet(bytes.get(at + 2..)?),
            _ => return None,
        }
    }
    None
}

/// Returns the IP packet after a PPPoE session header (RFC 2516, 4; PPP protocols of IPv4 and IPv6).
fn session_packet(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [0x11, 0, _, _, _, _, 0x00, 0x21 | 0x57, packet @ ..] => Some(packet),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Udp4, arp};

    #[test]
    fn both_directions_of_a_flow_have_one_home_and_flows_spread() {
        let mut homes = [0; 4];
        for port in 1..=400u16 {
            let there = Udp4 {
                source: 0x0a00_0001,
                destination: 0x0b00_0001 + u32::from(port % 7),
                source_port: port,
                destination_port: 53,
                ..Udp4::default()
            };
            let back = Udp4 {
                source: there.destination,
                destination: there.source,
                source_port: 53,
                destination_port: port,
                ..Udp4::default()
            };

            let home_there = home(&there.frame(), true, 4).expect("an IP packet");
            let home_back = home(&back.frame(), true, 4).expect("an IP packet");

            assert_eq!(home_there, home_back);
            homes[usize::from(home_there)] += 1;
        }
        assert!(homes.iter().all(|count| *count > 50), "{homes:?}");
    }

    #[test]
    fn a_packet_in_a_session_has_the_home_of_its_flow() {
        let udp = Udp4::default();
        let mut frame = udp.frame();
        let header = [0x88, 0x64, 0x11, 0, 0, 7, 0, 0, 0x00, 0x21];
        frame.splice(12..14, header);
        assert_eq!(hash(&frame, true), hash(&udp.frame(), true));
        frame[18..20].copy_from_slice(&[0xc0, 0x21]);
        assert_eq!(
            hash(&frame, true),
            hash(&udp.frame(), true),
            "the length says nothing"
        );
        frame[20] = 0xc0;
        assert_eq!(hash(&frame, true), None, "the link's own protocols stay");
    }

    #[test]
    fn fragments_follow_their_addresses_and_arp_stays() {
        let first = Udp4 {
            fragment: 0x2000,
            ..Udp4::default()
        };
        let second = Udp4 {
            fragment: 0x00b9,
            source_port: 9,
            ..Udp4::default()
        };

        assert_eq!(
            home(&first.frame(), true, 64),
            home(&second.frame(), true, 64)
        );
        let whole = Udp4::default();
        assert_eq!(
            home_of_fragments(&whole.packet(), 64),
            home(&first.frame(), true, 64)
        );
        assert_eq!(home(&arp(), true, 64), None);
    }
}
