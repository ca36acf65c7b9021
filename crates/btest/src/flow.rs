//! Flow control of a test's sender.
//!
//! Data never pass through the state machine. A driver asks for its allowance, sends that much from
//! its own buffers ([`buffer`]), and reports what it sent:
//!
//! ```text
//! allowance ─▶ units of equal size, now ─▶ write ─▶ sent_bytes or sent_datagrams
//!           └▶ none: ask again at this time
//! ```
//!
//! Several TCP connections share one flow: a rate limit applies to the whole test.

use machine::{Duration, Instant, Rng};

use crate::wire::{self, Fill, Protocol};

/// Maximum of an allowance in bytes.
const MAX_ALLOWANCE_BYTES: usize = 1 << 20;
/// Backlog that a late sender may catch up on.
const MAX_BACKLOG: Duration = Duration::from_millis(20);
/// Minimum rate of an adaptive sender in bit/s.
const MIN_RATE_BPS: u64 = 1_000_000;
/// Minimum number of chunks per second of a rate-limited TCP sender, for an even rate.
const CHUNKS_PER_SECOND: u64 = 20;

/// Amount that may be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Number of datagrams or TCP chunks, of [`Flow::unit`] bytes each.
    pub units: usize,
    /// Time of the next request, at the latest when `units` are sent. Not later than `now` without a rate
    /// limit.
    pub again: Instant,
}

/// Sending side of a test.
#[derive(Clone, Debug)]
pub struct Flow {
    protocol: Protocol,
    fill: Fill,
    /// Payload bytes per unit.
    unit: usize,
    /// Header bytes that count with a unit.
    overhead: usize,
    /// Configured rate limit; 0 means none.
    limit_bps: u64,
    /// Interval between units; zero means none.
    interval: Duration,
    /// Time of the next unit.
    next: Instant,
    number: u32,
    sent: u64,
}

impl Flow {
    /// Creates a flow of units of `size` bytes, `overhead` of them IP and UDP headers, at `limit_bps` bit/s; 0
    /// means no limit.
    pub(crate) fn new(
        protocol: Protocol,
        fill: Fill,
        size: u16,
        overhead: u16,
        limit_bps: u64,
        now: Instant,
    ) -> Self {
        let unit = match protocol {
            Protocol::Udp => size.saturating_sub(overhead),
            Protocol::Tcp => even_chunk(size, limit_bps),
        };
        let mut flow = Self {
            protocol,
            fill,
            unit: usize::from(unit),
            overhead: usize::from(overhead),
            limit_bps,
            interval: Duration::ZERO,
            next: now,
            // RouterOS's first number is unknown. Receivers look at gaps only.
            number: 1,
            sent: 0,
        };
        flow.interval = flow.interval_at(limit_bps);
        flow
    }

    /// Returns the transport of the data.
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the contents of the data.
    pub const fn fill(&self) -> Fill {
        self.fill
    }

    /// Returns the payload bytes of a datagram or TCP chunk. A chunk may be sent in parts.
    pub const fn unit(&self) -> usize {
        self.unit
    }

    /// Returns the bytes sent, including counted headers.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the amount that may be sent now.
    pub fn allowance(&self, now: Instant) -> Allowance {
        let most = (MAX_ALLOWANCE_BYTES / self.counted().max(1)).max(1);
        if self.interval.is_zero() {
            return Allowance {
                units: most,
                again: now,
            };
        }
        if self.next > now {
            return Allowance {
                units: 0,
                again: self.next,
            };
        }
        let late = (now - self.next).min(self.latest());
        let due = late.as_nanos() / self.interval.as_nanos() + 1;
        let units = usize::try_from(due).map_or(most, |due| due.min(most));
        Allowance {
            units,
            again: now + self.interval,
        }
    }

    /// Writes the sequence number of the datagram `ahead` positions from the next.
    pub fn number(&self, ahead: usize, datagram: &mut [u8]) {
        wire::set_datagram_number(datagram, self.number.wrapping_add(ahead as u32));
    }

    /// Reports `count` sent datagrams.
    pub fn sent_datagrams(&mut self, count: usize, now: Instant) {
        self.number = self.number.wrapping_add(count as u32);
        self.spend(count.saturating_mul(self.counted()), now);
    }

    /// Reports `count` sent bytes of TCP.
    pub fn sent_bytes(&mut self, count: usize, now: Instant) {
        self.spend(count, now);
    }

    /// Adapts the rate to the bytes that the other end received in a second.
    ///
    /// RouterOS: a UDP sender without a limit sends more than arrives, to probe the capacity of the link;
    /// captures show half as much again.
    pub(crate) fn adapt(&mut self, received: u64) {
        if self.protocol == Protocol::Udp && self.limit_bps == 0 && received > 0 {
            let bps = received.saturating_mul(12).max(MIN_RATE_BPS);
            self.interval = self.interval_at(bps);
        }
    }

    fn spend(&mut self, bytes: usize, now: Instant) {
        self.sent = self.sent.saturating_add(bytes as u64);
        let from = self.next.max(earlier(now, self.latest()));
        let nanos = self.interval.as_nanos() * bytes as u128 / self.counted().max(1) as u128;
        self.next = from + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    }

    const fn counted(&self) -> usize {
        self.unit + self.overhead
    }

    /// Returns the maximum backlog.
    fn latest(&self) -> Duration {
        MAX_BACKLOG.max(self.interval)
    }

    fn interval_at(&self, bps: u64) -> Duration {
        if bps == 0 {
            return Duration::ZERO;
        }
        let nanos = self.counted() as u128 * 8_000_000_000 / u128::from(bps);
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX).max(1);
        // RouterOS: rates below two datagrams per second become one.
        match self.protocol {
            Protocol::Udp if nanos > 500_000_000 => Duration::from_secs(1),
            _ => Duration::from_nanos(nanos),
        }
    }
}

/// Returns send data that a driver may repeat. Equal seeds give equal bytes.
pub fn buffer(fill: Fill, len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    if fill == Fill::Random {
        Rng::seeded(seed).fill(&mut bytes);
    }
    bytes
}

/// Returns the chunk size; smaller if one chunk would take a large part of a second.
fn even_chunk(size: u16, limit_bps: u64) -> u16 {
    let size = if size == 0 { wire::TCP_SIZE } else { size };
    let even = limit_bps / 8 / CHUNKS_PER_SECOND;
    match u16::try_from(even) {
        Ok(even) if limit_bps != 0 => even.clamp(1, size),
        _ => size,
    }
}

fn earlier(instant: Instant, span: Duration) -> Instant {
    let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Instant::from_nanos(instant.as_nanos().saturating_sub(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_secs(100);

    fn flow(protocol: Protocol, size: u16, limit_bps: u64) -> Flow {
        let overhead = match protocol {
            Protocol::Udp => 28,
            Protocol::Tcp => 0,
        };
        Flow::new(protocol, Fill::Zeros, size, overhead, limit_bps, START)
    }

    /// Returns the bytes that a driver sends in a time span if it uses its whole allowance.
    fn sent_within(flow: &mut Flow, span: Duration) -> u64 {
        let before = flow.sent();
        let mut now = START;
        while now < START + span {
            let Allowance { units, again } = flow.allowance(now);
            match flow.protocol() {
                Protocol::Udp => flow.sent_datagrams(units, now),
                Protocol::Tcp => flow.sent_bytes(units * flow.unit(), now),
            }
            assert!(again > now, "it has a limit");
            now = again;
        }
        flow.sent() - before
    }

    #[test]
    fn a_limit_is_kept() {
        for (protocol, size) in [(Protocol::Udp, 1500), (Protocol::Tcp, 32_768)] {
            for bps in [100_000, 10_000_000, 1_000_000_000] {
                let mut flow = flow(protocol, size, bps);
                let sent = sent_within(&mut flow, Duration::from_secs(2)) * 8 / 2;
                assert!(sent.abs_diff(bps) <= bps / 10, "{protocol:?} {bps}: {sent}");
            }
        }
    }

    #[test]
    fn fewer_than_two_datagrams_in_a_second_are_one() {
        let mut flow = flow(Protocol::Udp, 1500, 1);
        assert_eq!(sent_within(&mut flow, Duration::from_secs(5)), 5 * 1500);
    }

    #[test]
    fn without_a_limit_there_is_always_something_to_send() {
        let mut flow = flow(Protocol::Tcp, 32_768, 0);
        for _ in 0..3 {
            let allowance = flow.allowance(START);
            assert_eq!((allowance.units, allowance.again), (32, START));
            flow.sent_bytes(allowance.units * flow.unit(), START);
        }
        assert_eq!(flow.sent(), 3 << 20);
    }

    #[test]
    fn a_sender_that_was_away_does_not_catch_up_on_all_of_it() {
        let mut flow = flow(Protocol::Udp, 1500, 12_000_000);
        flow.sent_datagrams(1, START);
        let later = START + Duration::from_secs(60);
        assert_eq!(
            flow.allowance(later).units,
            21,
            "20 ms, and the one that is due"
        );
        flow.sent_datagrams(21, later);
        assert_eq!(flow.allowance(later).units, 0);
    }

    #[test]
    fn a_sender_without_a_limit_follows_what_arrives() {
        let mut flow = flow(Protocol::Udp, 1500, 0);
        flow.adapt(1_000_000);
        let sent = sent_within(&mut flow, Duration::from_secs(1));
        assert!(sent.abs_diff(1_500_000) < 50_000, "{sent}");
        flow.adapt(1);
        assert_eq!(flow.interval, Duration::from_millis(12), "1 Mbit/s");
    }

    #[test]
    fn datagrams_count_up_with_what_was_sent() {
        let mut flow = flow(Protocol::Udp, 1500, 0);
        let mut datagram = buffer(Fill::Zeros, flow.unit(), 0);
        assert_eq!(datagram.len(), 1472);
        flow.number(2, &mut datagram);
        assert_eq!(datagram[..4], [0, 0, 0, 3]);
        flow.sent_datagrams(2, START);
        flow.number(0, &mut datagram);
        assert_eq!(datagram[..4], [0, 0, 0, 3]);
    }

    #[test]
    fn no_size_and_no_speed_is_trouble() {
        for protocol in [Protocol::Udp, Protocol::Tcp] {
            for size in [0, 1, 27, 28, 29, u16::MAX] {
                for bps in [0, 1, 7, u64::from(u32::MAX), u64::MAX] {
                    let mut flow = flow(protocol, size, bps);
                    assert!(flow.allowance(START).units >= 1);
                    flow.sent_datagrams(1, START);
                    flow.sent_bytes(usize::MAX / 2, START);
                    let _ = flow.allowance(Instant::FAR_FUTURE);
                    flow.adapt(u64::MAX);
                    let _ = flow.allowance(Instant::ZERO);
                }
            }
        }
    }

    #[test]
    fn random_bytes_do_not_repeat_zeros() {
        assert_eq!(buffer(Fill::Zeros, 3, 1), [0; 3]);
        let random = buffer(Fill::Random, 4096, 1);
        assert!(random.iter().filter(|&&byte| byte == 0).count() < 64);
    }
}
