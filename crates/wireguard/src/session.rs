//! Data messages of a session: seals and opens packets in place (white paper, 5.4.6).
//!
//! ```text
//!  4 · 0 0 0 │ receiver 4 │ counter 8 │ packet, padded with zeros │ tag 16
//!  └─────────── front ────────────────┘
//! ```
//!
//! Threads may share both directions: each counter is assigned once, and accepted once.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use esp::Window;

/// Length of the header before a packet.
pub const FRONT: usize = 16;
/// Length of the authentication tag after the padded packet.
pub const TAG: usize = 16;
/// Message type of data in the first byte; three zero bytes follow.
pub const DATA: u8 = 4;
/// Packets are padded to a multiple of this length in bytes.
const PADDING_BYTES: usize = 16;
/// Size of the replay window.
const WINDOW_BITS: u32 = 2048;
/// First counter that is not assigned, so that none repeats (white paper, 6.1).
const COUNTER_LIMIT: u64 = u64::MAX - (1 << 13);

/// Reason for a failure to seal or open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Too short, or of another type.
    Malformed,
    /// The counter was received before, or lies before the window.
    Replayed,
    /// The tag is wrong.
    Integrity,
    /// All counters are used up.
    Exhausted,
}

/// Returns the padded length of a packet.
pub const fn padded(len: usize) -> usize {
    len.next_multiple_of(PADDING_BYTES)
}

fn key(bytes: &[u8; 32]) -> Option<LessSafeKey> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, bytes).ok()?;
    Some(LessSafeKey::new(key))
}

fn nonce(counter: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}

/// Outbound direction of a session.
pub struct Sending {
    /// `None` if the library cannot allocate the key.
    key: Option<LessSafeKey>,
    receiver: u32,
    next: AtomicU64,
}

impl core::fmt::Debug for Sending {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Sending to {:#010x}", self.receiver)
    }
}

impl Sending {
    /// Creates the direction to the remote index `receiver`.
    pub fn new(receiver: u32, bytes: &[u8; 32]) -> Self {
        Self {
            key: key(bytes),
            receiver,
            next: AtomicU64::new(0),
        }
    }

    /// Returns the number of sealed messages.
    pub fn count(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Seals a message in place: [`FRONT`] bytes of room, the padded packet, [`TAG`] bytes of room.
    ///
    /// # Errors
    /// All counters are used up, or the room is missing.
    pub fn seal(&self, bytes: &mut [u8]) -> Result<(), Fault> {
        let key = self.key.as_ref().ok_or(Fault::Exhausted)?;
        let (front, rest) = bytes.split_at_mut_checked(FRONT).ok_or(Fault::Malformed)?;
        let (text, tag) = { rest.len().checked_sub(TAG) }
            .and_then(|at| rest.split_at_mut_checked(at))
            .ok_or(Fault::Malformed)?;
        let counter = self.next.fetch_add(1, Relaxed);
        if counter >= COUNTER_LIMIT {
            self.next.store(COUNTER_LIMIT, Relaxed);
            return Err(Fault::Exhausted);
        }
        front[..4].copy_from_slice(&[DATA, 0, 0, 0]);
        front[4..8].copy_from_slice(&self.receiver.to_le_bytes());
        front[8..].copy_from_slice(&counter.to_le_bytes());
        let sealed = key.seal_in_place_separate_tag(nonce(counter), Aad::empty(), text);
        tag.copy_from_slice(sealed.map_err(|_| Fault::Malformed)?.as_ref());
        Ok(())
    }
}

/// Inbound direction of a session.
pub struct Receiving {
    key: Option<LessSafeKey>,
    window: Window,
    count: AtomicU64,
}

impl core::fmt::Debug for Receiving {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Receiving, {} messages", self.count())
    }
}

impl Receiving {
    /// Creates the direction with an empty replay window.
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self {
            key: key(bytes),
            window: Window::new(WINDOW_BITS),
            count: AtomicU64::new(0),
        }
    }

    /// Creates the direction without a replay window, for measurements that open a message repeatedly.
    #[doc(hidden)]
    pub fn without_window(bytes: &[u8; 32]) -> Self {
        Self {
            window: Window::new(0),
            ..Self::new(bytes)
        }
    }

    /// Returns the number of opened messages.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Opens a message in place. Returns the range of the padded packet.
    ///
    /// # Errors
    /// The message is malformed, replayed, or not authentic. Its bytes are unspecified then.
    pub fn open(&self, bytes: &mut [u8]) -> Result<Range<usize>, Fault> {
        let key = self.key.as_ref().ok_or(Fault::Integrity)?;
        let (front, rest) = bytes.split_at_mut_checked(FRONT).ok_or(Fault::Malformed)?;
        let Some((&[DATA, 0, 0, 0, _, _, _, _], counter)) = front.split_first_chunk() else {
            return Err(Fault::Malformed);
        };
        let counter = counter.first_chunk().copied();
        let counter = u64::from_le_bytes(counter.unwrap_or_default());
        // The window starts at 1.
        let number = counter.checked_add(1).filter(|_| counter < COUNTER_LIMIT);
        let number = number.ok_or(Fault::Replayed)?;
        if !self.window.may_be_new(number) {
            return Err(Fault::Replayed);
        }
        let opened = key.open_in_place(nonce(counter), Aad::empty(), rest);
        let len = opened.map_err(|_| Fault::Integrity)?.len();
        let mut fault = Ok(());
        self.window.take(
            &mut [number],
            |number| Some(*number),
            |_| fault = Err(Fault::Replayed),
        );
        fault?;
        self.count.fetch_add(1, Relaxed);
        Ok(FRONT..FRONT + len)
    }
}

/// Returns the receiver index of a data message; `None` for other messages.
#[inline]
pub fn receiver(message: &[u8]) -> Option<u32> {
    match *message.first_chunk::<8>()? {
        [DATA, 0, 0, 0, a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Sending, Receiving) {
        (Sending::new(7, &[1; 32]), Receiving::new(&[1; 32]))
    }

    fn sealed(sending: &Sending, packet: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; FRONT];
        bytes.extend(packet);
        bytes.resize(FRONT + padded(packet.len()) + TAG, 0);
        sending.seal(&mut bytes).expect("room and counters");
        bytes
    }

    #[test]
    fn a_packet_round_trips_once() {
        let (sending, receiving) = pair();
        for len in [0, 1, 15, 16, 17, 1420] {
            let packet: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let message = sealed(&sending, &packet);
            assert_eq!(receiver(&message), Some(7));
            let mut bytes = message.clone();
            let at = receiving.open(&mut bytes).expect("a right tag");
            assert_eq!(bytes[at.clone()][..len], packet);
            assert_eq!(at.len(), padded(len));
            assert_eq!(receiving.open(&mut message.clone()), Err(Fault::Replayed));
        }
        assert_eq!((sending.count(), receiving.count()), (6, 6));
    }

    #[test]
    fn messages_may_be_reordered_within_the_window() {
        let (sending, receiving) = pair();
        let mut all: Vec<_> = (0..3000).map(|_| sealed(&sending, b"")).collect();
        all.reverse();
        let opened: Vec<bool> = { all.iter_mut() }
            .map(|message| receiving.open(message).is_ok())
            .collect();
        assert!(opened[..2048].iter().all(|ok| *ok));
        assert!(opened[2048..].iter().all(|ok| !ok));
    }

    #[test]
    fn altered_and_truncated_messages_are_refused_without_side_effects() {
        let (sending, receiving) = pair();
        let message = sealed(&sending, b"a packet");
        for len in 0..message.len() {
            assert!(receiving.open(&mut message[..len].to_vec()).is_err());
        }
        for at in (0..message.len()).filter(|at| !(4..8).contains(at)) {
            let mut altered = message.clone();
            altered[at] ^= 1;
            assert!(receiving.open(&mut altered).is_err(), "{at}");
        }
        let mut message = message;
        assert!(receiving.open(&mut message).is_ok());
    }

    #[test]
    fn the_last_counters_are_not_used() {
        let (mut sending, receiving) = pair();
        *sending.next.get_mut() = COUNTER_LIMIT - 1;
        let mut last = sealed(&sending, b"");
        assert!(receiving.open(&mut last).is_ok());
        let mut bytes = [0; FRONT + TAG];
        assert_eq!(sending.seal(&mut bytes), Err(Fault::Exhausted));
        assert_eq!(sending.seal(&mut bytes), Err(Fault::Exhausted));
        assert_eq!(sending.count(), COUNTER_LIMIT);
    }
}
