//! Reliable, ordered delivery of the messages of one negotiation (OpenVPN `reliable.c`): window, acknowledgements,
//! retransmission with back-off.

use std::collections::{BTreeMap, VecDeque};

use machine::{Duration, Instant};

use crate::packet::{Acks, MAX_ACKS, Message, Opcode};

/// Messages without acknowledgement, at most (OpenVPN: `TLS_RELIABLE_N_SEND_BUFFERS`).
const SEND_WINDOW: usize = 6;
/// Messages ahead of the expected one that are stored (OpenVPN: `TLS_RELIABLE_N_REC_BUFFERS`).
const RECEIVE_WINDOW: u32 = 12;
/// Time before the first retransmission; it doubles with each one.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest time between retransmissions.
const MAX_TIMEOUT: Duration = Duration::from_secs(8);
/// Time after which a message without acknowledgement ends the session (OpenVPN: `hand-window`).
const DEAD_AFTER: Duration = Duration::from_secs(60);
/// Bytes that wait for the window, at most.
const MAX_WAITING_BYTES: usize = 256 * 1024;
/// Acknowledgements in a packet with a message (OpenVPN: `CONTROL_SEND_ACK_MAX`).
const ACKS_WITH_MESSAGE: usize = 4;

/// Relation of a received message to those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The message was stored.
    New,
    /// The message was received before; it is acknowledged again.
    Duplicate,
    /// The message lies beyond the window; it is not acknowledged.
    Ahead,
}

/// A message that waits for acknowledgement.
#[derive(Debug)]
struct Sent {
    id: u32,
    opcode: Opcode,
    payload: Vec<u8>,
    due: Instant,
    timeout: Duration,
    dead: Instant,
}

/// A packet to send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    pub(crate) opcode: Opcode,
    pub(crate) acks: Acks,
    pub(crate) message: Option<Message<'a>>,
}

/// Both directions of the channel.
#[derive(Debug, Default)]
pub(crate) struct Reliable {
    next_id: u32,
    sent: VecDeque<Sent>,
    waiting: VecDeque<(Opcode, Vec<u8>)>,
    waiting_bytes: usize,
    expected: u32,
    received: BTreeMap<u32, Vec<u8>>,
    /// Packet ids to acknowledge.
    acks: VecDeque<u32>,
}

impl Reliable {
    /// Returns the channel of a server behind a stateless reset: the message 0 was sent and acknowledged, and the
    /// client's reset had the id `reset_id`.
    pub(crate) fn after_reset(reset_id: u32) -> Self {
        Self {
            next_id: 1,
            expected: reset_id.wrapping_add(1),
            ..Self::default()
        }
    }

    /// Queues a message. Returns false if too many bytes wait: the peer acknowledges nothing.
    pub(crate) fn push(&mut self, opcode: Opcode, payload: Vec<u8>) -> bool {
        let bytes = self.waiting_bytes + payload.len();
        let has_room = bytes <= MAX_WAITING_BYTES;
        if has_room {
            self.waiting_bytes = bytes;
            self.waiting.push_back((opcode, payload));
        }
        has_room
    }

    /// Returns true if the peer has acknowledged all messages.
    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty()
    }

    /// Sets the id of the first message of the peer. RouterOS: clients may begin with 1.
    pub(crate) fn expect(&mut self, id: u32) {
        self.expected = id;
    }

    /// Handles acknowledgements. Returns false if one of them names a message that was never sent.
    pub(crate) fn acknowledge(&mut self, acks: &Acks) -> bool {
        for id in acks.as_slice() {
            if *id >= self.next_id {
                return false;
            }
            self.sent.retain(|sent| sent.id != *id);
        }
        true
    }

    /// Stores a received message. Its acknowledgement is queued unless it lies beyond the window.
    pub(crate) fn receive(&mut self, message: Message<'_>) -> Order {
        let ahead = message.id.wrapping_sub(self.expected);
        let is_old = message.id < self.expected;
        if !is_old && ahead >= RECEIVE_WINDOW {
            return Order::Ahead;
        }
        if !self.acks.contains(&message.id) && self.acks.len() < 2 * MAX_ACKS {
            self.acks.push_back(message.id);
        }
        if is_old || self.received.contains_key(&message.id) {
            return Order::Duplicate;
        }
        self.received.insert(message.id, message.payload.to_vec());
        Order::New
    }

    /// Returns the payload of the next message in order.
    pub(crate) fn next_received(&mut self) -> Option<Vec<u8>> {
        let payload = self.received.remove(&self.expected)?;
        self.expected = self.expected.wrapping_add(1);
        Some(payload)
    }

    /// Returns the next packet that is due: a message of the window, or acknowledgements alone.
    pub(crate) fn next_packet(&mut self, now: Instant) -> Option<Packet<'_>> {
        self.fill_window(now);
        let Some(at) = self.sent.iter().position(|sent| sent.due <= now) else {
            let acks = self.next_acks(MAX_ACKS)?;
            return Some(Packet {
                opcode: Opcode::Ack,
                acks,
                message: None,
            });
        };
        let acks = self.next_acks(ACKS_WITH_MESSAGE).unwrap_or_default();
        let sent = self.sent.get_mut(at)?;
        sent.due = now + sent.timeout;
        sent.timeout = (sent.timeout * 2).min(MAX_TIMEOUT);
        Some(Packet {
            opcode: sent.opcode,
            acks,
            message: Some(Message {
                id: sent.id,
                payload: &sent.payload,
            }),
        })
    }

    fn fill_window(&mut self, now: Instant) {
        while self.sent.len() < SEND_WINDOW {
            // The receiver stores few messages ahead of a lost one.
            let oldest = self.sent.front().map_or(self.next_id, |sent| sent.id);
            if self.next_id - oldest >= RECEIVE_WINDOW {
                return;
            }
            let Some((opcode, payload)) = self.waiting.pop_front() else {
                return;
            };
            self.waiting_bytes -= payload.len();
            self.sent.push_back(Sent {
                id: self.next_id,
                opcode,
                payload,
                due: now,
                timeout: FIRST_TIMEOUT,
                dead: now + DEAD_AFTER,
            });
            self.next_id += 1;
        }
    }

    fn next_acks(&mut self, count: usize) -> Option<Acks> {
        let mut acks = Acks::default();
        let count = self.acks.len().min(count);
        self.acks.drain(..count).for_each(|id| {
            acks.push(id);
        });
        (count > 0).then_some(acks)
    }

    /// Returns true if a message found no acknowledgement for too long.
    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        self.sent.iter().any(|sent| sent.dead <= now)
    }

    /// Gives up the messages that the peer has not acknowledged.
    pub(crate) fn abandon(&mut self) {
        self.sent.clear();
        self.waiting.clear();
        self.waiting_bytes = 0;
    }

    /// Returns the time of the next retransmission.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.sent.iter().map(|sent| sent.due.min(sent.dead)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: u32) -> Message<'static> {
        Message { id, payload: &[1] }
    }

    #[test]
    fn six_messages_are_under_way_and_acknowledgements_admit_more() {
        let mut channel = Reliable::default();
        (0..9).for_each(|n| assert!(channel.push(Opcode::Control, vec![n])));
        let now = Instant::from_secs(1);
        let burst = |channel: &mut Reliable| {
            let mut ids = Vec::new();
            while let Some(packet) = channel.next_packet(now) {
                ids.push(packet.message.expect("a message").id);
            }
            ids
        };
        assert_eq!(burst(&mut channel), [0, 1, 2, 3, 4, 5]);
        let mut acks = Acks::default();
        acks.push(1);
        acks.push(0);
        assert!(channel.acknowledge(&acks));
        assert_eq!(burst(&mut channel), [6, 7]);
        let mut forged = Acks::default();
        forged.push(8);
        assert!(!channel.acknowledge(&forged));
    }

    #[test]
    fn retransmissions_back_off_and_end_after_a_minute() {
        let mut channel = Reliable::default();
        channel.push(Opcode::Control, vec![1]);
        let start = Instant::from_secs(100);
        let mut now = start;
        let mut times = Vec::new();
        while !channel.is_dead(now) {
            assert!(channel.next_packet(now).is_some());
            times.push((now - start).as_secs());
            now = channel.deadline().expect("a timer runs");
        }
        assert_eq!(times, [0, 1, 3, 7, 15, 23, 31, 39, 47, 55]);
        assert_eq!((now - start).as_secs(), 60);
    }

    #[test]
    fn messages_come_in_order_and_repeated_ones_are_acknowledged_again() {
        let mut channel = Reliable::default();
        let now = Instant::ZERO;
        assert_eq!(channel.receive(message(1)), Order::New);
        assert_eq!(channel.receive(message(12)), Order::Ahead);
        assert!(channel.next_received().is_none());
        assert_eq!(channel.receive(message(0)), Order::New);
        assert_eq!(channel.receive(message(1)), Order::Duplicate);
        let acks = channel.next_packet(now).expect("acknowledgements").acks;
        assert_eq!(acks.as_slice(), [1, 0]);
        assert!(channel.next_received().is_some() && channel.next_received().is_some());
        assert_eq!(channel.receive(message(0)), Order::Duplicate);
        let acks = channel.next_packet(now).expect("acknowledgements").acks;
        assert_eq!(acks.as_slice(), [0]);
        assert!(channel.next_packet(now).is_none());
    }
}
