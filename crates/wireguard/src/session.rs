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
use kernels::{ChaChaKey, ChaChaMessage, chacha_open, chacha_seal};
use smallvec::SmallVec;

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

/// Messages that are encrypted together.
const TOGETHER: usize = 8;
/// Number of messages from which the kernel for several messages is faster than the library.
const FEW: usize = 4;

/// A key of ChaCha20-Poly1305.
struct Key {
    /// For few messages; `None` if the library cannot allocate it.
    library: Option<LessSafeKey>,
    /// For several messages; `None` if the processor lacks the instructions.
    kernel: Option<ChaChaKey>,
}

impl Key {
    fn new(bytes: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes).ok();
        Self {
            library: key.map(LessSafeKey::new),
            kernel: ChaChaKey::new(bytes),
        }
    }
}

/// Returns the nonce of a counter (white paper, 5.4.6).
fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}

/// Outbound direction of a session.
pub struct Sending {
    key: Key,
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
            key: Key::new(bytes),
            receiver,
            next: AtomicU64::new(0),
        }
    }

    /// Returns the number of sealed messages.
    pub fn count(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Seals one message, as [`seal_all`] does.
    ///
    /// # Errors
    /// All counters are used up, or the room is missing.
    pub fn seal(&self, bytes: &mut [u8]) -> Result<(), Fault> {
        let mut message = [Outgoing::new(self, bytes)];
        seal_all(&mut message);
        let [message] = message;
        message.result
    }

    /// Writes the header of a message with the next counter. Returns the nonce, and the places of text and tag.
    fn begin<'a>(&self, bytes: &'a mut [u8]) -> Result<Begun<'a>, Fault> {
        let (front, rest) = bytes.split_at_mut_checked(FRONT).ok_or(Fault::Malformed)?;
        let (text, tag) = rest.split_last_chunk_mut().ok_or(Fault::Malformed)?;
        let counter = self.next.fetch_add(1, Relaxed);
        if counter >= COUNTER_LIMIT {
            self.next.store(COUNTER_LIMIT, Relaxed);
            return Err(Fault::Exhausted);
        }
        front[..4].copy_from_slice(&[DATA, 0, 0, 0]);
        front[4..8].copy_from_slice(&self.receiver.to_le_bytes());
        front[8..].copy_from_slice(&counter.to_le_bytes());
        Ok(Begun { counter, text, tag })
    }
}

/// A message whose header is complete or checked.
struct Begun<'a> {
    counter: u64,
    text: &'a mut [u8],
    tag: &'a mut [u8; TAG],
}

/// A message to seal in place: [`FRONT`] bytes of room, the padded packet, [`TAG`] bytes of room.
pub struct Outgoing<'a> {
    session: &'a Sending,
    bytes: &'a mut [u8],
    /// The result of [`seal_all`].
    pub result: Result<(), Fault>,
}

impl<'a> Outgoing<'a> {
    /// Returns a message of a session.
    pub const fn new(session: &'a Sending, bytes: &'a mut [u8]) -> Self {
        Self {
            session,
            bytes,
            result: Ok(()),
        }
    }
}

/// Seals messages in place, with counters in this order. A message fails with `Exhausted` if all counters are used up,
/// and with `Malformed` if room is missing.
pub fn seal_all(messages: &mut [Outgoing<'_>]) {
    for group in messages.chunks_mut(TOGETHER) {
        match group.len() < FEW || group.iter().any(|one| one.session.key.kernel.is_none()) {
            true => group.iter_mut().for_each(seal_one),
            false => seal_together(group),
        }
    }
}

/// Seals a message by the library.
fn seal_one(message: &mut Outgoing<'_>) {
    message.result = seal_by_library(message.session, message.bytes);
}

fn seal_by_library(session: &Sending, bytes: &mut [u8]) -> Result<(), Fault> {
    let key = session.key.library.as_ref().ok_or(Fault::Exhausted)?;
    let Begun { counter, text, tag } = session.begin(bytes)?;
    let nonce = Nonce::assume_unique_for_key(nonce(counter));
    let sealed = key.seal_in_place_separate_tag(nonce, Aad::empty(), text);
    tag.copy_from_slice(sealed.map_err(|_| Fault::Malformed)?.as_ref());
    Ok(())
}

/// Seals at most [`TOGETHER`] messages by the kernel.
fn seal_together(group: &mut [Outgoing<'_>]) {
    let mut texts = SmallVec::<[ChaChaMessage<'_>; TOGETHER]>::new();
    let mut tags = SmallVec::<[&mut [u8; TAG]; TOGETHER]>::new();
    for message in group {
        match (
            message.session.begin(message.bytes),
            &message.session.key.kernel,
        ) {
            (Ok(begun), Some(key)) => {
                texts.push(ChaChaMessage::new(
                    key,
                    nonce(begun.counter),
                    &[],
                    begun.text,
                ));
                tags.push(begun.tag);
            }
            (Ok(_), None) => message.result = Err(Fault::Exhausted),
            (Err(fault), _) => message.result = Err(fault),
        }
    }
    chacha_seal(&mut texts);
    for (text, tag) in texts.iter().zip(tags) {
        *tag = text.tag;
    }
}

/// Inbound direction of a session.
pub struct Receiving {
    key: Key,
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
            key: Key::new(bytes),
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

    /// Opens one message, as [`open_all`] does. Returns the range of the padded packet.
    ///
    /// # Errors
    /// The message is malformed, replayed, or not authentic. Its bytes are unspecified then.
    pub fn open(&self, bytes: &mut [u8]) -> Result<Range<usize>, Fault> {
        let mut message = [Incoming::new(self, bytes)];
        open_all(&mut message);
        let [message] = message;
        message.result
    }

    /// Checks the header of a message. Returns the counter, and the places of text and tag.
    fn begin<'a>(&self, bytes: &'a mut [u8]) -> Result<Begun<'a>, Fault> {
        let (front, rest) = bytes.split_at_mut_checked(FRONT).ok_or(Fault::Malformed)?;
        let Some((&[DATA, 0, 0, 0, _, _, _, _], counter)) = front.split_first_chunk() else {
            return Err(Fault::Malformed);
        };
        let counter = counter.first_chunk().copied();
        let counter = u64::from_le_bytes(counter.unwrap_or_default());
        let number = number_of(counter).ok_or(Fault::Replayed)?;
        if !self.window.may_be_new(number) {
            return Err(Fault::Replayed);
        }
        let (text, tag) = rest.split_last_chunk_mut().ok_or(Fault::Integrity)?;
        Ok(Begun { counter, text, tag })
    }

    /// Accepts the counter of an authentic message whose text has `len` bytes. Returns the range of the padded packet.
    fn accept(&self, counter: u64, len: usize) -> Result<Range<usize>, Fault> {
        let number = number_of(counter).ok_or(Fault::Replayed)?;
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

/// Returns the number of a counter in the replay window, which starts at 1; `None` for counters above the limit.
fn number_of(counter: u64) -> Option<u64> {
    counter.checked_add(1).filter(|_| counter < COUNTER_LIMIT)
}

/// A message to open in place.
pub struct Incoming<'a> {
    session: &'a Receiving,
    bytes: &'a mut [u8],
    /// The result of [`open_all`]: the range of the padded packet.
    pub result: Result<Range<usize>, Fault>,
}

impl<'a> Incoming<'a> {
    /// Returns a message of a session.
    pub const fn new(session: &'a Receiving, bytes: &'a mut [u8]) -> Self {
        Self {
            session,
            bytes,
            result: Err(Fault::Malformed),
        }
    }
}

/// Opens messages in place. A message fails if it is malformed, replayed or not authentic; its bytes are unspecified
/// then.
pub fn open_all(messages: &mut [Incoming<'_>]) {
    for group in messages.chunks_mut(TOGETHER) {
        match group.len() < FEW || group.iter().any(|one| one.session.key.kernel.is_none()) {
            true => group.iter_mut().for_each(open_one),
            false => open_together(group),
        }
    }
}

/// Opens a message by the library.
fn open_one(message: &mut Incoming<'_>) {
    message.result = open_by_library(message.session, message.bytes);
}

fn open_by_library(session: &Receiving, bytes: &mut [u8]) -> Result<Range<usize>, Fault> {
    let key = session.key.library.as_ref().ok_or(Fault::Integrity)?;
    let begun = session.begin(bytes)?;
    let (counter, len) = (begun.counter, begun.text.len());
    let sealed = bytes.get_mut(FRONT..).unwrap_or_default();
    let nonce = Nonce::assume_unique_for_key(nonce(counter));
    { key.open_in_place(nonce, Aad::empty(), sealed) }.map_err(|_| Fault::Integrity)?;
    session.accept(counter, len)
}

/// Opens at most [`TOGETHER`] messages by the kernel.
fn open_together(group: &mut [Incoming<'_>]) {
    let mut texts = SmallVec::<[ChaChaMessage<'_>; TOGETHER]>::new();
    let mut rest = SmallVec::<[Opening<'_>; TOGETHER]>::new();
    for message in group {
        match (
            message.session.begin(message.bytes),
            &message.session.key.kernel,
        ) {
            (Ok(begun), Some(key)) => {
                texts.push(ChaChaMessage::new(
                    key,
                    nonce(begun.counter),
                    &[],
                    begun.text,
                ));
                rest.push(Opening {
                    session: message.session,
                    counter: begun.counter,
                    tag: *begun.tag,
                    result: &mut message.result,
                });
            }
            (Ok(_), None) => message.result = Err(Fault::Integrity),
            (Err(fault), _) => message.result = Err(fault),
        }
    }
    chacha_open(&mut texts);
    for (text, opening) in texts.iter().zip(rest) {
        let differs = u128::from_le_bytes(text.tag) ^ u128::from_le_bytes(opening.tag);
        *opening.result = match differs {
            0 => opening.session.accept(opening.counter, text.text.len()),
            _ => Err(Fault::Integrity),
        };
    }
}

/// A message whose text the kernel decrypts.
struct Opening<'a> {
    session: &'a Receiving,
    counter: u64,
    /// The received tag.
    tag: [u8; TAG],
    result: &'a mut Result<Range<usize>, Fault>,
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

    #[test]
    fn messages_together_are_opened_alone_and_the_reverse() {
        for count in [1, 3, 4, 8, 9, 30] {
            let (sending, receiving) = pair();
            let packet = |at: usize| vec![at as u8; padded(at * 57)];
            let room = |at| [vec![0; FRONT], packet(at), vec![0; TAG]].concat();
            let mut together: Vec<_> = (0..count).map(room).collect();
            let mut outgoing: Vec<_> = { together.iter_mut() }
                .map(|bytes| Outgoing::new(&sending, bytes))
                .collect();
            seal_all(&mut outgoing);
            assert!(outgoing.iter().all(|message| message.result == Ok(())));
            for (at, message) in together.iter_mut().enumerate() {
                let range = receiving.open(message).expect("an authentic message");
                assert_eq!(message[range], packet(at));
            }
            let mut alone: Vec<_> = (0..count).map(|at| sealed(&sending, &packet(at))).collect();
            // An altered and a repeated message among the others.
            let altered = alone.len() / 2;
            alone[altered][FRONT] ^= 1;
            alone.push(alone[0].clone());
            let mut incoming: Vec<_> = { alone.iter_mut() }
                .map(|bytes| Incoming::new(&receiving, bytes))
                .collect();
            open_all(&mut incoming);
            let results: Vec<_> = incoming
                .iter()
                .map(|message| message.result.clone())
                .collect();
            for (at, result) in results.iter().enumerate() {
                let expected = match at {
                    _ if at == altered => Err(Fault::Integrity),
                    _ if at == count && altered == 0 => Err(Fault::Integrity),
                    _ if at == count => Err(Fault::Replayed),
                    _ => Ok(FRONT..FRONT + packet(at).len()),
                };
                assert_eq!(*result, expected, "{at} of {count}");
            }
        }
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
