//! The data of a session: packets are sealed and opened in place (white paper, 5.4.6).
//!
//! ```text
//!  4 · 0 0 0 │ receiver 4 │ counter 8 │ packet, padded with zeros │ tag 16
//!  └─────────── front ────────────────┘
//! ```
//!
//! Both directions may be shared by threads: a counter is given once, and taken once.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use esp::Window;

/// Bytes before a packet.
pub const FRONT: usize = 16;
/// Bytes behind a packet and its padding.
pub const TAG: usize = 16;
/// The type of a message with data, in its first byte; three bytes of zero follow.
pub const DATA: u8 = 4;
/// Packets are padded to a multiple of so many bytes.
const BLOCK: usize = 16;
/// Counters that are told apart behind the highest one.
const WINDOW: u32 = 2048;
/// Counters from here on are not given, so that none comes twice (white paper, 6.1).
const LIMIT: u64 = u64::MAX - (1 << 13);

/// Why a message was not sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is too short, or of another type.
    Malformed,
    /// Its counter was seen, or lies before the window.
    Replayed,
    /// Its tag is wrong.
    Integrity,
    /// All counters have been given.
    Exhausted,
}

/// Bytes of a packet of this length when it is padded.
pub const fn padded(len: usize) -> usize {
    len.next_multiple_of(BLOCK)
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

/// The direction in which packets leave.
pub struct Sending {
    /// None where the library has no memory for one.
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
    /// Packets go to the session that the other end calls `receiver`.
    pub fn new(receiver: u32, bytes: &[u8; 32]) -> Self {
        Self {
            key: key(bytes),
            receiver,
            next: AtomicU64::new(0),
        }
    }

    /// Messages sealed.
    pub fn count(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Seals a message in place: [`FRONT`] bytes of room, the padded packet, [`TAG`] bytes of room.
    ///
    /// # Errors
    /// All counters have been given, or there is no room.
    pub fn seal(&self, bytes: &mut [u8]) -> Result<(), Fault> {
        let key = self.key.as_ref().ok_or(Fault::Exhausted)?;
        let (front, rest) = bytes.split_at_mut_checked(FRONT).ok_or(Fault::Malformed)?;
        let (text, tag) = { rest.len().checked_sub(TAG) }
            .and_then(|at| rest.split_at_mut_checked(at))
            .ok_or(Fault::Malformed)?;
        let counter = self.next.fetch_add(1, Relaxed);
        if counter >= LIMIT {
            self.next.store(LIMIT, Relaxed);
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

/// The direction in which packets arrive.
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
    /// Nothing has arrived yet.
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self {
            key: key(bytes),
            window: Window::new(WINDOW),
            count: AtomicU64::new(0),
        }
    }

    /// The same, but a message is opened any number of times: for measurements.
    #[doc(hidden)]
    pub fn without_window(bytes: &[u8; 32]) -> Self {
        Self {
            window: Window::new(0),
            ..Self::new(bytes)
        }
    }

    /// Messages opened.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Opens a message in place. Returns where the padded packet lies in it.
    ///
    /// # Errors
    /// It is malformed, was seen before, or is not the other end's. Its bytes are not specified then.
    pub fn open(&self, bytes: &mut [u8]) -> Result<Range<usize>, Fault> {
        let key = self.key.as_ref().ok_or(Fault::Integrity)?;
        let (front, rest) = bytes.split_at_mut_checked(FRONT).ok_or(Fault::Malformed)?;
        let Some((&[DATA, 0, 0, 0, _, _, _, _], counter)) = front.split_first_chunk() else {
            return Err(Fault::Malformed);
        };
        let counter = counter.first_chunk().copied();
        let counter = u64::from_le_bytes(counter.unwrap_or_default());
        // The window's first number is 1.
        let number = counter.checked_add(1).filter(|_| counter < LIMIT);
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

/// The number of the session that a message with data is for; none of any other message.
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
    fn a_packet_comes_out_as_it_went_in_and_once() {
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
    fn messages_may_overtake_each_other_within_the_window() {
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
    fn altered_and_cut_messages_are_refused_and_spoil_nothing() {
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
    fn the_last_counters_are_not_given() {
        let (mut sending, receiving) = pair();
        *sending.next.get_mut() = LIMIT - 1;
        let mut last = sealed(&sending, b"");
        assert!(receiving.open(&mut last).is_ok());
        let mut bytes = [0; FRONT + TAG];
        assert_eq!(sending.seal(&mut bytes), Err(Fault::Exhausted));
        assert_eq!(sending.seal(&mut bytes), Err(Fault::Exhausted));
        assert_eq!(sending.count(), LIMIT);
    }
}
