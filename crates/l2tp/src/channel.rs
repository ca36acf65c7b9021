//! Reliable delivery of control messages (RFC 2661, 5.8): numbers, acknowledgements, window with slow start,
//! retransmission with back-off.

use std::collections::VecDeque;

use machine::{Duration, Instant};

/// Time before the first retransmission; it doubles with each one.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest time between retransmissions.
const MAX_TIMEOUT: Duration = Duration::from_secs(8);
/// Retransmissions of a message before the other end counts as dead.
const MAX_RETRANSMISSIONS: u32 = 5;
/// Messages that wait for acknowledgement, at most.
pub(crate) const MAX_QUEUE: usize = 256;
/// Window of an end that names none (RFC 2661, 4.4.3).
pub(crate) const DEFAULT_WINDOW: u16 = 4;
/// Largest distance of a message in the past (RFC 2661, 5.8).
const PAST: u16 = 32_767;

/// A message without its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Session number of the receiver; version 3 has it in the body.
    pub(crate) session: u32,
    /// AVPs.
    pub(crate) body: Box<[u8]>,
}

/// Order of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The expected message.
    Next,
    /// A message that was received before, or an acknowledgement of it got lost.
    Duplicate,
    /// A message ahead of the expected one. It is dropped, and comes again.
    Ahead,
    /// It acknowledges a message that was never sent.
    Forged,
}

/// Result of [`Channel::expire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// No timer is due.
    Idle,
    /// The oldest message must be sent again.
    Resend,
    /// The other end is dead.
    Dead,
}

/// One end of a channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// Number of the oldest message without acknowledgement: the first of the queue.
    oldest: u16,
    /// Messages without acknowledgement.
    queue: VecDeque<Outgoing>,
    /// Messages of the queue that were sent since the last timeout, and ever.
    sent: u16,
    sent_ever: u16,
    /// Number of the message that is expected next.
    expected: u16,
    /// Window of the other end, and the congestion window with its threshold and fraction.
    window: u16,
    congestion: u16,
    threshold: u16,
    acknowledged: u16,
    /// Time of the next retransmission, and number of retransmissions of the oldest message.
    due: Option<Instant>,
    retransmissions: u32,
}

impl Channel {
    /// Returns a channel that has sent `sent` messages, all acknowledged, and received `received`.
    pub(crate) fn new(sent: u16, received: u16, window: u16) -> Self {
        let window = window.max(1);
        Self {
            oldest: sent,
            queue: VecDeque::new(),
            sent: 0,
            sent_ever: 0,
            expected: received,
            window,
            congestion: 1,
            threshold: window,
            acknowledged: 0,
            due: None,
            retransmissions: 0,
        }
    }

    /// Sets the window of the other end.
    pub(crate) fn set_window(&mut self, window: u16) {
        self.window = window.max(1);
        self.threshold = self.window;
    }

    /// Returns the number of the next message, which an acknowledgement without message has, too.
    pub(crate) const fn ns(&self) -> u16 {
        self.oldest.wrapping_add(self.sent_ever)
    }

    /// Returns the number of the message that is expected next.
    pub(crate) const fn nr(&self) -> u16 {
        self.expected
    }

    /// Returns true if no message waits for acknowledgement.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues a message. Returns false if the queue is full: the other end acknowledges nothing.
    pub(crate) fn push(&mut self, message: Outgoing) -> bool {
        let has_room = self.queue.len() < MAX_QUEUE;
        if has_room {
            self.queue.push_back(message);
        }
        has_room
    }

    /// Returns the next message that the window admits, with its number, and counts it as sent.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(u16, &Outgoing)> {
        if self.sent >= self.window.min(self.congestion) {
            return None;
        }
        let message = self.queue.get(usize::from(self.sent))?;
        let ns = self.oldest.wrapping_add(self.sent);
        self.sent += 1;
        self.sent_ever = self.sent_ever.max(self.sent);
        self.due.get_or_insert(now + FIRST_TIMEOUT);
        Some((ns, message))
    }

    /// Handles the numbers of a received message. `is_message` is false for a mere acknowledgement. A message in order
    /// counts as received.
    pub(crate) fn receive(&mut self, ns: u16, nr: u16, is_message: bool, now: Instant) -> Order {
        let acknowledged = nr.wrapping_sub(self.oldest);
        if acknowledged > self.sent_ever && acknowledged <= PAST {
            return Order::Forged;
        }
        if (1..=self.sent_ever).contains(&acknowledged) {
            self.acknowledge(acknowledged, now);
        }
        let ahead = ns.wrapping_sub(self.expected);
        match ahead {
            // An acknowledgement has the number of the message after it.
            _ if !is_message => Order::Next,
            0 => {
                self.expected = self.expected.wrapping_add(1);
                Order::Next
            }
            _ if ahead > PAST => Order::Duplicate,
            _ => Order::Ahead,
        }
    }

    fn acknowledge(&mut self, count: u16, now: Instant) {
        self.queue.drain(..usize::from(count));
        self.oldest = self.oldest.wrapping_add(count);
        self.sent = self.sent.saturating_sub(count);
        self.sent_ever -= count;
        self.retransmissions = 0;
        self.due = (self.sent_ever > 0).then(|| now + FIRST_TIMEOUT);
        for _ in 0..count {
            // RFC 2661, appendix A: slow start, then one more for each window that is acknowledged.
            self.acknowledged += 1;
            if self.congestion < self.threshold || self.acknowledged >= self.congestion {
                self.congestion = self.congestion.saturating_add(1).min(self.window);
                self.acknowledged = 0;
            }
        }
    }

    /// Returns the time of the next retransmission.
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// Handles the retransmission timer.
    pub(crate) fn expire(&mut self, now: Instant) -> Expiry {
        if self.due.is_none_or(|due| due > now) {
            return Expiry::Idle;
        }
        if self.retransmissions >= MAX_RETRANSMISSIONS {
            self.due = None;
            return Expiry::Dead;
        }
        self.retransmissions += 1;
        let timeout = FIRST_TIMEOUT * (1 << self.retransmissions);
        self.due = Some(now + timeout.min(MAX_TIMEOUT));
        self.threshold = (self.congestion / 2).max(1);
        (self.congestion, self.acknowledged) = (1, 0);
        // Messages behind the oldest count as not sent: they follow as the window opens.
        self.sent = 1;
        Expiry::Resend
    }

    /// Returns the oldest message without acknowledgement.
    pub(crate) fn oldest(&self) -> Option<(u16, &Outgoing)> {
        Some((self.oldest, self.queue.front()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(session: u32) -> Outgoing {
        Outgoing {
            session,
            body: [0; 8].into(),
        }
    }

    #[test]
    fn the_window_opens_with_acknowledgements() {
        let mut channel = Channel::new(0, 0, 4);
        let now = Instant::from_secs(1);
        (0..10).for_each(|session| assert!(channel.push(message(session))));
        let burst = |channel: &mut Channel| {
            let mut count = 0;
            while channel.pop(now).is_some() {
                count += 1;
            }
            count
        };
        assert_eq!(burst(&mut channel), 1);
        assert_eq!(channel.receive(0, 1, false, now), Order::Next);
        assert_eq!(burst(&mut channel), 2);
        assert_eq!(channel.receive(0, 3, false, now), Order::Next);
        assert_eq!(burst(&mut channel), 4);
        assert_eq!(channel.receive(0, 8, false, now), Order::Forged);
        assert_eq!(channel.receive(0, 7, false, now), Order::Next);
        assert_eq!(burst(&mut channel), 3);
        assert_eq!(channel.receive(0, 10, false, now), Order::Next);
        assert!(channel.is_empty() && channel.deadline().is_none());
    }

    #[test]
    fn a_silent_end_is_dead_after_five_retransmissions() {
        let mut channel = Channel::new(0, 0, 4);
        let start = Instant::from_secs(10);
        channel.push(message(0));
        assert!(channel.pop(start).is_some());
        let mut after = Vec::new();
        let end = loop {
            let due = channel.deadline().expect("a timer runs");
            match channel.expire(due) {
                Expiry::Resend => after.push((due - start).as_secs()),
                Expiry::Dead => break (due - start).as_secs(),
                Expiry::Idle => panic!("the timer was due"),
            }
        };
        assert_eq!(after, [1, 3, 7, 15, 23]);
        assert_eq!(end, 31);
    }

    #[test]
    fn numbers_wrap_and_old_ones_are_duplicates() {
        let mut channel = Channel::new(u16::MAX, u16::MAX, 4);
        let now = Instant::ZERO;
        assert_eq!(channel.receive(u16::MAX, u16::MAX, true, now), Order::Next);
        assert_eq!(channel.nr(), 0);
        assert_eq!(
            channel.receive(u16::MAX, u16::MAX, true, now),
            Order::Duplicate
        );
        assert_eq!(channel.receive(1, u16::MAX, true, now), Order::Ahead);
        channel.push(message(0));
        assert_eq!(channel.pop(now).map(|(ns, _)| ns), Some(u16::MAX));
        assert_eq!(channel.ns(), 0);
        assert_eq!(channel.receive(0, 0, true, now), Order::Next);
        assert!(channel.is_empty());
    }
}
