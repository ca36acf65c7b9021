//! Rate limit of handshakes: unlimited below [`COOKIE_THRESHOLD`]; under load only senders with a valid cookie, each at
//! its own rate.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use machine::{Duration, Instant};

/// Handshakes per second above which cookies are demanded; this rate costs a few per cent of a core.
const COOKIE_THRESHOLD: u32 = 200;
const SECOND: Duration = Duration::from_secs(1);
/// Interval and burst per sender (as in Linux).
const SENDER_INTERVAL: Duration = Duration::from_millis(50);
const SENDER_BURST: u32 = 5;
/// Maximum number of remembered senders.
const MAX_SENDERS: usize = 4096;

/// Counts handshakes per second and per sender.
#[derive(Debug, Default)]
pub(crate) struct Limit {
    /// Start of the current second, and handshakes in it.
    second: (Instant, u32),
    /// Per sender: time at which its burst is fully available again.
    senders: BTreeMap<u64, Instant>,
}

impl Limit {
    /// Counts a handshake; returns true if the rate exceeds [`COOKIE_THRESHOLD`].
    pub(crate) fn is_flood(&mut self, now: Instant) -> bool {
        if now.saturating_since(self.second.0) >= SECOND {
            self.second = (now, 0);
        }
        self.second.1 = self.second.1.saturating_add(1);
        self.second.1 > COOKIE_THRESHOLD
    }

    /// Returns true if the sender is within its rate.
    pub(crate) fn may(&mut self, from: SocketAddr, now: Instant) -> bool {
        let sender = match from.ip() {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            // A host usually controls a /64.
            IpAddr::V6(address) => (address.to_bits() >> 64) as u64 | 1 << 63,
        };
        if self.senders.len() >= MAX_SENDERS {
            self.senders.retain(|_, quiet| *quiet > now);
        }
        let is_full = self.senders.len() >= MAX_SENDERS;
        let quiet = self.senders.get(&sender).copied().unwrap_or(now).max(now);
        if quiet.saturating_since(now) >= SENDER_INTERVAL * SENDER_BURST
            || is_full && !self.senders.contains_key(&sender)
        {
            return false;
        }
        self.senders.insert(sender, quiet + SENDER_INTERVAL);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_may_send_a_burst_and_twenty_handshakes_per_second() {
        let (mut limit, from) = (Limit::default(), SocketAddr::from(([192, 0, 2, 1], 7)));
        let may = |limit: &mut Limit, now| (0..100).filter(|_| limit.may(from, now)).count();
        assert_eq!(may(&mut limit, Instant::from_secs(1)), 5);
        assert_eq!(may(&mut limit, Instant::from_millis(1100)), 2);
        assert_eq!(may(&mut limit, Instant::from_secs(9)), 5);
        // Another port is the same sender, another address is not.
        let port = SocketAddr::from(([192, 0, 2, 1], 8));
        assert!(!limit.may(port, Instant::from_secs(9)));
        assert!(limit.may(SocketAddr::from(([192, 0, 2, 2], 7)), Instant::from_secs(9)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut limit = Limit::default();
        let now = Instant::from_secs(1);
        let taken = (0..2 * MAX_SENDERS as u32)
            .filter(|number| limit.may((number.to_be_bytes(), 1).into(), now))
            .count();
        assert_eq!(taken, MAX_SENDERS);
        assert!(limit.may(([255, 0, 0, 1], 1).into(), Instant::from_secs(2)));
    }

    #[test]
    fn the_cookie_threshold_is_a_rate_per_second() {
        let mut limit = Limit::default();
        let floods = (0..300).filter(|_| limit.is_flood(Instant::from_secs(3)));
        assert_eq!(floods.count(), 100);
        assert!(!limit.is_flood(Instant::from_secs(4)));
    }
}
