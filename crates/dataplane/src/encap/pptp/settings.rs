//! Settings of PPTP calls, and the numbers that their workers and control share.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

/// A PPTP call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pptp {
    /// Address of this router.
    pub local: Ipv4Addr,
    /// Address of the other end.
    pub remote: Ipv4Addr,
    /// Number of the call at this end, in received packets.
    pub call: u16,
    /// Number of the call at the other end, in sent packets.
    pub remote_call: u16,
    /// Numbers of packets.
    pub numbers: Numbers,
}

/// Numbers of the packets of a call. Workers and control write them.
#[derive(Clone, Debug, Default)]
pub struct Numbers(Arc<SharedNumbers>);

#[derive(Debug, Default)]
struct SharedNumbers {
    /// Number of the next sent packet.
    next: AtomicU32,
    /// The highest received number in the upper half; in the lower half a bit for each of the last 32 numbers, the
    /// lowest bit for the highest number. Zero: nothing was received.
    received: AtomicU64,
    /// One more than the last acknowledged number.
    acknowledged: AtomicU32,
}

impl Numbers {
    /// Returns the number of the next sent packet.
    pub fn next(&self) -> u32 {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes the number of a received packet. Returns false for a packet that was received before, or that comes more
    /// than 31 packets late.
    pub fn admits(&self, number: u32) -> bool {
        let noted =
            { &self.0.received }.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                let (highest, bits) = ((last >> 32) as u32, last as u32);
                let ahead = number.wrapping_sub(highest);
                let behind = highest.wrapping_sub(number);
                let (highest, bits) = match () {
                    () if bits == 0 => (number, 1),
                    () if ahead == 0 => return None,
                    () if ahead < 32 => (number, bits << ahead | 1),
                    () if ahead <= i32::MAX as u32 => (number, 1),
                    () if behind < 32 && bits >> behind & 1 == 0 => (highest, bits | 1 << behind),
                    () => return None,
                };
                Some(u64::from(highest) << 32 | u64::from(bits))
            });
        noted.is_ok()
    }

    /// Returns the number that the next sent packet acknowledges; `None` if there is nothing new.
    pub fn unacknowledged(&self) -> Option<u32> {
        self.overdue(1)
    }

    /// Returns the number to acknowledge if at least `count` packets wait for that.
    pub(super) fn overdue(&self, count: u32) -> Option<u32> {
        let received = self.0.received.load(Ordering::Relaxed);
        if received as u32 == 0 {
            return None;
        }
        let next = ((received >> 32) as u32).wrapping_add(1);
        let waiting = next.wrapping_sub(self.0.acknowledged.load(Ordering::Relaxed));
        if waiting < count {
            return None;
        }
        self.0.acknowledged.store(next, Ordering::Relaxed);
        Some(next.wrapping_sub(1))
    }
}

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Numbers {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_admitted_once_and_within_a_bound_in_any_order() {
        for first in [0, u32::MAX - 20] {
            let numbers = Numbers::default();
            let admits = |offset: u32| numbers.admits(first.wrapping_add(offset));
            let order = [0, 1, 5, 3, 2, 4, 40, 39, 9, 41];
            assert!(order.into_iter().all(admits), "{first}");
            assert!(!order.into_iter().any(admits), "{first}: again");
            assert!(!admits(8), "{first}: too late");
            assert_eq!(numbers.unacknowledged(), Some(first.wrapping_add(41)));
            assert_eq!(numbers.unacknowledged(), None);
        }
    }

    #[test]
    fn many_packets_in_one_direction_are_acknowledged_in_between() {
        let numbers = Numbers::default();
        let due = (0..100).filter(|number| {
            assert!(numbers.admits(*number));
            numbers.overdue(32).is_some()
        });
        assert_eq!(due.collect::<Vec<_>>(), [31, 63, 95]);
    }
}
