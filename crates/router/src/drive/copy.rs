//! Copies of packets that rules send to a collector (`sniff-tzsp`, `sniff-pc`).

use core::net::{IpAddr, SocketAddr};

use dataplane::rule::Sniff;
use dataplane::tap::TapOrigin;
use frame::{Frame, InterfaceId};

use super::Control;
use super::punt::packet_of;
use crate::feature::hear::Datagram;

/// Copies that one call takes from each worker.
const PER_POLL: usize = 256;

impl Control {
    /// Handles the frame copies of a worker's taps: sends copies of rules to their collector, and shows copies of
    /// tapped interfaces to instruments. Returns whether more copies may wait.
    pub(super) fn take_copies(&mut self, worker: u16) -> bool {
        for _ in 0..PER_POLL {
            let Some(tapped) = self.workers.tapped(worker) else {
                return false;
            };
            match tapped.by {
                TapOrigin::Rule(how) => self.send_copy(&tapped.frame, how),
                TapOrigin::Interface { .. } => self.see_copy(&tapped, worker),
            }
            self.workers.free(tapped.frame);
        }
        true
    }

    /// Sends a packet copy to the collector of the rule, behind the header of the action's protocol.
    pub(super) fn send_copy(&mut self, frame: &Frame, how: Sniff) {
        let payload = match how.id {
            Some(case) => self.case_copy(frame, case),
            None => tzsp_copy(frame.bytes()),
        };
        let to = match how.ipv6 {
            true => IpAddr::from(how.target.to_be_bytes()),
            false => IpAddr::from((how.target as u32).to_be_bytes()),
        };
        self.send_payload(payload, SocketAddr::new(to, how.port));
    }

    /// Sends the bytes of a frame to a collector of TZSP.
    pub(super) fn send_tzsp(&mut self, bytes: &[u8], to: SocketAddr) {
        self.send_payload(tzsp_copy(bytes), to);
    }

    fn send_payload(&mut self, data: Vec<u8>, to: SocketAddr) {
        // Drops a copy that does not fit a datagram.
        if data.len() > 65_507 {
            return;
        }
        let copy = Datagram {
            source: None,
            from: to.port(),
            to,
            interface: InterfaceId::NONE,
            data,
        };
        self.send_datagram(&copy, 0);
    }

    /// Call content of PacketCable (ANSI/SCTE 24-13 2006, 5, which RouterOS names for `sniff-pc`): the
    /// case in four bytes, the time as NTP has it, and the packet from its IP header on.
    fn case_copy(&self, frame: &Frame, case: u32) -> Vec<u8> {
        let time = ntp(self.time_of(self.now));
        [
            &case.to_be_bytes()[..],
            &time.to_be_bytes(),
            packet_of(frame),
        ]
        .concat()
    }
}

/// TaZmen Sniffer Protocol: version 1, a received packet, of Ethernet, and no more tags.
fn tzsp_copy(frame: &[u8]) -> Vec<u8> {
    const HEADER: [u8; 5] = [1, 0, 0, 1, 1];
    [&HEADER[..], frame].concat()
}

/// A time in nanoseconds since 1970 as seconds since 1900 and their 2^32nd parts (RFC 5905, 6).
fn ntp(unix_nanos: i64) -> u64 {
    const FROM_1900_TO_1970: i64 = 2_208_988_800;
    let seconds = unix_nanos.div_euclid(1_000_000_000) + FROM_1900_TO_1970;
    let nanos = unix_nanos.rem_euclid(1_000_000_000) as u64;
    // The 32-bit count of seconds wraps in 2036.
    (u64::from(seconds as u32) << 32) | ((nanos << 32) / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_copies_are_those_of_ntp() {
        // 1970, and the last half second before the count of seconds wraps.
        assert_eq!(ntp(0), 2_208_988_800 << 32);
        assert_eq!(
            ntp(2_085_978_495_500_000_000),
            (u64::from(u32::MAX) << 32) | (1 << 31)
        );
        assert_eq!(ntp(2_085_978_496_000_000_000), 0);
    }
}
