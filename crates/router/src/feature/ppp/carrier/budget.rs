//! Limit of the PPP control packets that a link delivers to control.

use machine::Instant;

/// PPP control packets of a session in one second. A session needs two dozen to open.
const CONTROL_PER_SECOND: u16 = 100;

/// Control packets of a session in the current second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    /// Low bits of the second.
    second: u16,
    count: u16,
}

impl Budget {
    /// Counts a PPP packet. Returns false for a control packet that exceeds the rate of a session.
    pub(super) fn admits(&mut self, packet: &[u8], now: Instant) -> bool {
        // Protocols from 8000 on are control protocols (RFC 1661, 2).
        packet.first().is_none_or(|first| *first < 0x80) || self.admits_control(now)
    }

    fn admits_control(&mut self, now: Instant) -> bool {
        let second = (now.as_nanos() / 1_000_000_000) as u16;
        if self.second != second {
            *self = Self { second, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        self.count <= CONTROL_PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_of_control_packets_is_cut_each_second_and_data_is_not() {
        let mut budget = Budget::default();
        for second in [7, 8] {
            let now = Instant::from_secs(second);
            let mut admitted = |packet: &[u8]| {
                let all = (0..10_000).filter(|_| budget.admits(packet, now));
                all.count()
            };
            assert_eq!(admitted(&[0xc0, 0x21, 1, 1, 0, 4]), 100);
            assert_eq!(admitted(&[0x80, 0x21, 1, 1, 0, 4]), 0);
            assert_eq!(
                admitted(&[0x00, 0x3d, 0xc0]),
                10_000,
                "fragments of packets"
            );
        }
    }
}
