//! UDP ports of peers behind NAT in transport mode (RFC 3948, 5.2).
//!
//! Clients behind one NAT have one public address, and L2TP clients all use UDP port 1701: their decapsulated packets
//! would have equal addresses and ports. Each such client gets another port, which its packets have in this router:
//! connections, tunnels and policies then differ by it, and the policy of the port leads answers to the client's
//! association.

use core::sync::atomic::{AtomicU16, Ordering};

use crate::packet::protocol::UDP;

/// The UDP port of a peer behind NAT. All associations of a policy share it.
#[derive(Debug)]
pub struct PeerPort {
    /// Port in this router.
    shown: u16,
    /// Port that the peer uses; 0 until the first packet arrives.
    actual: AtomicU16,
    /// The policy admits any port: the peer's last packet decides.
    learns: bool,
}

impl PeerPort {
    /// Returns the port `shown` of a peer whose selector has the port `negotiated`; 0 admits any.
    pub const fn new(shown: u16, negotiated: u16) -> Self {
        Self {
            shown,
            actual: AtomicU16::new(negotiated),
            learns: negotiated == 0,
        }
    }

    /// Port that the peer's packets have in this router.
    pub const fn shown(&self) -> u16 {
        self.shown
    }

    /// Writes the shown port into a decapsulated packet of the peer, from its IP header on. A packet with a port that
    /// was not negotiated stays as it is: no policy admits it. The caller renews the checksum.
    #[inline]
    pub(super) fn show(&self, packet: &mut [u8]) {
        let Some([a, b, ..]) = datagram(packet) else {
            return;
        };
        let port = u16::from_be_bytes([*a, *b]);
        let actual = self.actual.load(Ordering::Relaxed);
        if port != actual {
            if !self.learns {
                return;
            }
            self.actual.store(port, Ordering::Relaxed);
        }
        [*a, *b] = self.shown.to_be_bytes();
    }

    /// Writes the peer's port into a packet to the peer, from its IP header on, and updates the checksum (RFC 1624).
    #[inline]
    pub(super) fn restore(&self, packet: &mut [u8]) {
        let Some([_, _, a, b, _, _, c, d]) = datagram(packet) else {
            return;
        };
        let before = u16::from_be_bytes([*a, *b]);
        let after = self.actual.load(Ordering::Relaxed);
        if before != self.shown || after == 0 {
            return;
        }
        [*a, *b] = after.to_be_bytes();
        let checksum = u16::from_be_bytes([*c, *d]);
        if checksum != 0 {
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
            // RFC 768: a computed checksum of zero is sent as all ones.
            let sum = if sum == 0 { 0xffff } else { sum };
            [*c, *d] = sum.to_be_bytes();
        }
    }
}

/// Returns the UDP header of a whole packet without IPv6 extension headers; `None` for other packets.
#[inline]
fn datagram(packet: &mut [u8]) -> Option<&mut [u8; 8]> {
    let first = *packet.first()?;
    let (header, protocol) = match first >> 4 {
        6 => (40, *packet.get(6)?),
        _ => (usize::from(first & 0xf) * 4, *packet.get(9)?),
    };
    let payload = packet.get_mut(header..).filter(|_| protocol == UDP)?;
    payload.first_chunk_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::checksum;

    /// An IPv4 datagram between these ports, with its checksum.
    fn packet(from: u16, to: u16) -> Vec<u8> {
        let mut packet = vec![0; 32];
        (packet[0], packet[9]) = (0x45, UDP);
        packet[12..20].copy_from_slice(&[192, 0, 2, 1, 198, 51, 100, 2]);
        packet[20..22].copy_from_slice(&from.to_be_bytes());
        packet[22..24].copy_from_slice(&to.to_be_bytes());
        packet[25] = 12;
        packet[28..].copy_from_slice(b"data");
        let sum = !sum_of(&packet);
        packet[26..28].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    /// Sum over pseudo-header and datagram.
    fn sum_of(packet: &[u8]) -> u16 {
        let mut covered = packet[12..].to_vec();
        covered.extend([0, UDP, 0, 12]);
        checksum::sum(&covered)
    }

    #[test]
    fn answers_go_to_the_port_that_was_negotiated() {
        let port = PeerPort::new(7, 1701);
        let mut arrived = packet(1701, 1701);
        port.show(&mut arrived);
        assert_eq!(arrived[20..24], [0, 7, 0x06, 0xa5]);
        let mut answer = packet(1701, 7);
        port.restore(&mut answer);
        assert_eq!(answer, packet(1701, 1701));
        assert_eq!(sum_of(&answer), 0xffff);
        let mut other = packet(1702, 1701);
        port.show(&mut other);
        assert_eq!(other, packet(1702, 1701), "no policy admits another port");
    }

    #[test]
    fn an_open_port_is_the_one_of_the_last_packet() {
        let port = PeerPort::new(7, 0);
        let mut early = packet(1701, 7);
        port.restore(&mut early);
        assert_eq!(early, packet(1701, 7));
        for actual in [50_000, 50_001] {
            port.show(&mut packet(actual, 1701));
            let mut answer = packet(1701, 7);
            port.restore(&mut answer);
            assert_eq!(answer, packet(1701, actual));
        }
    }

    #[test]
    fn a_datagram_without_a_checksum_keeps_none() {
        let port = PeerPort::new(7, 1701);
        let mut answer = packet(1701, 7);
        answer[26..28].fill(0);
        port.restore(&mut answer);
        assert_eq!(answer[22..28], [0x06, 0xa5, 0, 12, 0, 0]);
    }
}
