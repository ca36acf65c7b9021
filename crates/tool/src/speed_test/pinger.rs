//! Echo requests at a fixed interval, and the statistics of their round-trip times.

use std::net::IpAddr;
use std::time::Duration;

use menu::Reason;

use crate::ping::{Sums, send, take};
use crate::{Ping, Pong, Turn};

/// Time after which a request without a reply is lost.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Sends echo requests.
pub(super) struct Pinger {
    ping: Ping,
    interval: Duration,
    /// Number of requests; `None` for no limit.
    most: Option<u32>,
    sent: u32,
    /// Time of the next request; `None` before the first.
    next: Option<Duration>,
    /// Tickets of requests without a reply, with their times.
    waiting: Vec<(u64, Duration)>,
    /// Round-trip times, and the differences of successive ones.
    pub(super) times: Sums,
    pub(super) jitter: Sums,
    last: Option<Duration>,
}

impl Pinger {
    /// Creates a pinger that has sent nothing.
    pub(super) fn new(to: IpAddr, interval: Duration, most: Option<u32>) -> Self {
        Self {
            ping: Ping {
                to,
                source: None,
                interface: None,
                bytes: 56,
                ttl: if to.is_ipv4() { 255 } else { 64 },
                dscp: 0,
                whole: false,
                arp: false,
            },
            interval,
            most,
            sent: 0,
            next: None,
            waiting: Vec::new(),
            times: Sums::default(),
            jitter: Sums::default(),
            last: None,
        }
    }

    /// Sends a due request and collects replies.
    pub(super) fn step(&mut self, turn: &mut Turn<'_>) -> Result<(), Reason> {
        let now = turn.now;
        let waiting = std::mem::take(&mut self.waiting);
        for (ticket, since) in waiting {
            match take(turn, ticket) {
                Some(pong) => self.collect(&pong),
                None if now >= since.saturating_add(TIMEOUT) => self.times.take(None),
                None => self.waiting.push((ticket, since)),
            }
        }
        let is_due = self.next.is_none_or(|next| now >= next);
        if is_due && self.most.is_none_or(|most| self.sent < most) {
            self.waiting.push((send(turn, &self.ping)?, now));
            self.sent += 1;
            self.next = Some(
                self.next
                    .unwrap_or(now)
                    .saturating_add(self.interval)
                    .max(now),
            );
        }
        Ok(())
    }

    /// Returns the time of the next step.
    pub(super) fn due(&self, now: Duration) -> Duration {
        let reply = now.saturating_add(self.interval);
        self.next.unwrap_or(now).clamp(now, reply)
    }

    /// Returns true once all requests are answered or lost.
    pub(super) fn is_done(&self) -> bool {
        self.most.is_some_and(|most| self.sent >= most) && self.waiting.is_empty()
    }

    fn collect(&mut self, pong: &Pong) {
        self.times.take(Some(pong));
        if !pong.answered {
            return;
        }
        if let Some(last) = self.last.replace(pong.took) {
            let took = pong.took.abs_diff(last);
            self.jitter.take(Some(&Pong {
                took,
                ..pong.clone()
            }));
        }
    }
}
