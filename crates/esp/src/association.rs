//! One direction of an association: keys, numbers, counters.

use core::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aes::Aes128;
use cipher::{Array, BlockCipherEncrypt, KeyInit};

use crate::cipher::Cipher;
use crate::mac::Mac;
use crate::window::Window;
use crate::{Fault, Keys, Numbering, Refused, Suite};

/// What both directions have.
pub(crate) struct Shared {
    pub(crate) spi: u32,
    pub(crate) suite: Suite,
    pub(crate) numbering: Numbering,
    pub(crate) cipher: Cipher,
    pub(crate) mac: Mac,
}

impl Shared {
    fn new(spi: u32, suite: Suite, keys: &Keys, numbering: Numbering) -> Result<Self, Refused> {
        if spi <= RESERVED {
            return Err(Refused::Spi(spi));
        }
        keys.check(suite)?;
        if numbering == Numbering::Extended && !suite.has_integrity() {
            return Err(Refused::NumbersWithoutIntegrity);
        }
        Ok(Self {
            spi,
            suite,
            numbering,
            cipher: Cipher::new(suite.encryption, &keys.encryption),
            mac: Mac::new(suite.authentication, &keys.authentication),
        })
    }

    /// Bytes before the payload.
    pub(crate) fn front(&self) -> usize {
        HEADER + self.suite.encryption.iv_len()
    }

    /// Bytes behind a payload of this length, without the ICV.
    pub(crate) fn trailer(&self, payload: usize) -> usize {
        let block = self.suite.encryption.block_len();
        (payload + TRAILER).next_multiple_of(block) - payload
    }

    /// What authenticates this number and is not sent: its upper half (RFC 4303, 2.2.1).
    pub(crate) fn implied(&self, number: u64) -> Option<[u8; 4]> {
        let high = ((number >> 32) as u32).to_be_bytes();
        (self.numbering == Numbering::Extended).then_some(high)
    }
}

/// An association by which packets leave. Threads may share it: a number is given once.
pub struct Outbound {
    pub(crate) shared: Shared,
    /// The last number given.
    number: AtomicU64,
    /// Makes vectors of numbers, where they must be unpredictable.
    iv: Aes128,
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl AsRef<Shared> for Outbound {
    fn as_ref(&self) -> &Shared {
        &self.shared
    }
}

/// Counters of an association by which packets leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets sealed.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
}

impl Outbound {
    /// An association whose first number is 1. `secret` is random and of this association alone:
    /// vectors of CBC are made of it.
    ///
    /// # Errors
    ///
    /// A reserved SPI, algorithms that do not go together, keys of other lengths, extended numbers
    /// without integrity.
    pub fn new(
        spi: u32,
        suite: Suite,
        keys: &Keys,
        numbering: Numbering,
        secret: &[u8; 16],
    ) -> Result<Self, Refused> {
        Ok(Self {
            shared: Shared::new(spi, suite, keys, numbering)?,
            number: AtomicU64::new(0),
            iv: Aes128::new(&Array(*secret)),
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })
    }

    /// Its number in packets.
    pub fn spi(&self) -> u32 {
        self.shared.spi
    }

    /// Its algorithms.
    pub fn suite(&self) -> Suite {
        self.shared.suite
    }

    /// Bytes that a packet has before and behind a payload of this length.
    pub fn room(&self, payload: usize) -> (usize, usize) {
        let back = self.shared.trailer(payload) + self.shared.suite.icv_len();
        (self.shared.front(), back)
    }

    /// The longest payload whose packet, from SPI to ICV, has at most `len` bytes; none where not
    /// even an empty one has.
    pub fn payload_max(&self, len: usize) -> Option<usize> {
        let fixed = self.shared.front() + self.shared.suite.icv_len();
        let blocks = len.checked_sub(fixed)? / self.shared.suite.encryption.block_len();
        (blocks * self.shared.suite.encryption.block_len()).checked_sub(TRAILER)
    }

    /// The last number given; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// Goes on behind this number: for a state that was stored, and for tests.
    pub fn set_number(&mut self, last: u64) {
        *self.number.get_mut() = last;
    }

    /// What has been sent.
    pub fn counters(&self) -> Sent {
        Sent {
            packets: self.packets.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
        }
    }

    /// Numbers for this many packets, which are nobody else's: fewer when they run out. None comes
    /// twice, as the counter stops instead of beginning again.
    pub(crate) fn reserve(&self, count: usize) -> Range<u64> {
        let limit = match self.shared.numbering {
            Numbering::Short => u64::from(u32::MAX),
            Numbering::Extended => u64::MAX - 1,
        };
        let next = |last: u64| Some(last.saturating_add(count as u64).min(limit));
        let before = self.number.fetch_update(Relaxed, Relaxed, next);
        let before = before.unwrap_or(limit).min(limit);
        before + 1..before.saturating_add(count as u64).min(limit) + 1
    }

    /// Counts what was sealed.
    pub(crate) fn count(&self, packets: u64, bytes: u64) {
        self.packets.fetch_add(packets, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Vectors for these numbers, into as many places.
    pub(crate) fn unpredictable(&self, vectors: &mut [Array<u8, cipher::consts::U16>]) {
        self.iv.encrypt_blocks(vectors);
    }
}

/// An association by which packets arrive. Threads may share it: a number is taken once.
pub struct Inbound {
    pub(crate) shared: Shared,
    pub(crate) window: Window,
    packets: AtomicU64,
    bytes: AtomicU64,
    malformed: AtomicU64,
    replayed: AtomicU64,
    integrity: AtomicU64,
    padding: AtomicU64,
    unhandled: AtomicU64,
}

impl AsRef<Shared> for Inbound {
    fn as_ref(&self) -> &Shared {
        &self.shared
    }
}

/// Counters of an association by which packets arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Packets opened.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Refused as [`Fault::Malformed`].
    pub malformed: u64,
    /// Refused as [`Fault::Replayed`].
    pub replayed: u64,
    /// Refused as [`Fault::Integrity`].
    pub integrity: u64,
    /// Refused as [`Fault::Padding`].
    pub padding: u64,
    /// Refused as [`Fault::Unhandled`].
    pub unhandled: u64,
}

impl Inbound {
    /// An association whose window has this many numbers: a multiple of 32, at most 1024; 0 takes
    /// numbers any number of times.
    ///
    /// # Errors
    ///
    /// A reserved SPI, algorithms that do not go together, keys of other lengths, another window,
    /// a window or extended numbers without integrity, extended numbers without a window.
    pub fn new(
        spi: u32,
        suite: Suite,
        keys: &Keys,
        numbering: Numbering,
        window: u32,
    ) -> Result<Self, Refused> {
        let shared = Shared::new(spi, suite, keys, numbering)?;
        if window != 0 && !suite.has_integrity() {
            return Err(Refused::NumbersWithoutIntegrity);
        }
        if window == 0 && numbering == Numbering::Extended {
            return Err(Refused::ExtendedWithoutWindow);
        }
        if !window.is_multiple_of(32) || window > WIDEST {
            return Err(Refused::Window(window));
        }
        Ok(Self {
            shared,
            window: Window::new(window),
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            replayed: AtomicU64::new(0),
            integrity: AtomicU64::new(0),
            padding: AtomicU64::new(0),
            unhandled: AtomicU64::new(0),
        })
    }

    /// Its number in packets.
    pub fn spi(&self) -> u32 {
        self.shared.spi
    }

    /// Its algorithms.
    pub fn suite(&self) -> Suite {
        self.shared.suite
    }

    /// Numbers that its window has.
    pub fn window(&self) -> u32 {
        self.window.size()
    }

    /// The highest number that arrived and was proved.
    pub fn number(&self) -> u64 {
        self.window.top()
    }

    /// Goes on behind this number, all up to it seen: for a state that was stored, and for tests.
    pub fn set_number(&mut self, last: u64) {
        self.window.begin(last);
    }

    /// What has arrived.
    pub fn counters(&self) -> Received {
        Received {
            packets: self.packets.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            malformed: self.malformed.load(Relaxed),
            replayed: self.replayed.load(Relaxed),
            integrity: self.integrity.load(Relaxed),
            padding: self.padding.load(Relaxed),
            unhandled: self.unhandled.load(Relaxed),
        }
    }

    /// Counts what was opened.
    pub(crate) fn count(&self, packets: u64, bytes: u64) {
        self.packets.fetch_add(packets, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts what was refused.
    pub(crate) fn count_fault(&self, fault: Fault) {
        let counter = match fault {
            Fault::Malformed | Fault::Room => &self.malformed,
            Fault::Replayed => &self.replayed,
            Fault::Integrity => &self.integrity,
            Fault::Padding => &self.padding,
            Fault::Unhandled => &self.unhandled,
            // Never of what arrives.
            Fault::Pending | Fault::Exhausted => return,
        };
        counter.fetch_add(1, Relaxed);
    }
}

/// SPI and sequence number.
pub(crate) const HEADER: usize = 8;
/// Pad length and next header.
pub(crate) const TRAILER: usize = 2;
/// Widest window of an association, in numbers.
const WIDEST: u32 = 1024;
/// Numbers of associations begin above (RFC 4303, 2.1).
const RESERVED: u32 = 255;
