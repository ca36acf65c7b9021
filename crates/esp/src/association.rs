//! One direction of a security association: keys, sequence numbers, counters.

use core::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aes::Aes128;
use cipher::{Array, BlockCipherEncrypt, KeyInit};

use crate::cipher::Cipher;
use crate::mac::Mac;
use crate::window::Window;
use crate::{Fault, Keys, Numbering, Refused, Suite};

/// Fields of both directions.
pub(crate) struct Shared {
    pub(crate) spi: u32,
    pub(crate) suite: Suite,
    pub(crate) numbering: Numbering,
    /// Length of the headers before the payload, in bytes.
    front: u8,
    /// Length of the ICV in bytes.
    icv: u8,
    /// Alignment of payload, padding and trailer together, in bytes, less 1. The alignment is a power of two.
    align_mask: u8,
    pub(crate) cipher: Cipher,
    pub(crate) mac: Mac,
}

impl Shared {
    fn new(spi: u32, suite: Suite, keys: &Keys, numbering: Numbering) -> Result<Self, Refused> {
        if spi <= LAST_RESERVED_SPI {
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
            front: (HEADER_BYTES + suite.encryption.iv_len()) as u8,
            icv: suite.icv_len() as u8,
            align_mask: (suite.encryption.block_len() - 1) as u8,
            cipher: Cipher::new(suite.encryption, &keys.encryption),
            mac: Mac::new(suite.authentication, &keys.authentication),
        })
    }

    /// Length of the headers before the payload, in bytes.
    #[inline(always)]
    pub(crate) fn front(&self) -> usize {
        self.front.into()
    }

    /// Length of the ICV in bytes.
    #[inline(always)]
    pub(crate) fn icv(&self) -> usize {
        self.icv.into()
    }

    /// Length of padding and trailer after a payload, in bytes, without the ICV.
    #[inline(always)]
    pub(crate) fn trailer(&self, payload: usize) -> usize {
        let mask = usize::from(self.align_mask);
        ((payload + TRAILER_BYTES + mask) & !mask) - payload
    }

    /// Returns true if a text of this length in bytes is aligned.
    #[inline(always)]
    pub(crate) fn is_aligned(&self, text: usize) -> bool {
        text & usize::from(self.align_mask) == 0
    }

    /// Returns the implied authenticated data: upper half of an extended sequence number (RFC 4303, 2.2.1).
    pub(crate) fn implied(&self, number: u64) -> Option<[u8; 4]> {
        let high = ((number >> 32) as u32).to_be_bytes();
        (self.numbering == Numbering::Extended).then_some(high)
    }
}

/// An outbound association. Threads may share it: each sequence number is assigned once.
pub struct Outbound {
    pub(crate) shared: Shared,
    /// Last assigned sequence number.
    number: AtomicU64,
    /// Encrypts sequence numbers into unpredictable initialization vectors.
    iv: Aes128,
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl AsRef<Shared> for Outbound {
    fn as_ref(&self) -> &Shared {
        &self.shared
    }
}

/// Counters of an outbound association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of sealed packets.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
}

impl Outbound {
    /// Creates an association; the first sequence number is 1. `secret` is random and unique to the
    /// association: CBC initialization vectors are derived from it.
    ///
    /// # Errors
    ///
    /// A reserved SPI, an invalid combination of algorithms, wrong key lengths, extended sequence numbers
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

    /// Returns the SPI.
    #[inline]
    pub fn spi(&self) -> u32 {
        self.shared.spi
    }

    /// Returns the algorithms.
    pub fn suite(&self) -> Suite {
        self.shared.suite
    }

    /// Returns the bytes needed before and after a payload.
    #[inline]
    pub fn room(&self, payload: usize) -> (usize, usize) {
        let back = self.shared.trailer(payload) + self.shared.icv();
        (self.shared.front(), back)
    }

    /// Returns the longest payload whose packet, from SPI to ICV, has at most `len` bytes; `None` if even an
    /// empty payload does not fit.
    pub fn payload_max(&self, len: usize) -> Option<usize> {
        let fixed = self.shared.front() + self.shared.icv();
        let blocks = len.checked_sub(fixed)? / self.shared.suite.encryption.block_len();
        (blocks * self.shared.suite.encryption.block_len()).checked_sub(TRAILER_BYTES)
    }

    /// Returns the last assigned sequence number; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// Continues after this sequence number: for restored state, and for tests.
    pub fn set_number(&mut self, last: u64) {
        *self.number.get_mut() = last;
    }

    /// Returns the counters.
    pub fn counters(&self) -> Sent {
        Sent {
            packets: self.packets.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
        }
    }

    /// Reserves `count` sequence numbers, or fewer at the end of the number space: the counter stops and never
    /// wraps.
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

    /// Counts sealed packets.
    pub(crate) fn count(&self, packets: u64, bytes: u64) {
        self.packets.fetch_add(packets, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Encrypts sequence numbers into initialization vectors, in place.
    pub(crate) fn unpredictable(&self, vectors: &mut [Array<u8, cipher::consts::U16>]) {
        self.iv.encrypt_blocks(vectors);
    }
}

/// An inbound association. Threads may share it: each sequence number is accepted once.
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

/// Counters of an inbound association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Number of opened packets.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Packets rejected as [`Fault::Malformed`].
    pub malformed: u64,
    /// Packets rejected as [`Fault::Replayed`].
    pub replayed: u64,
    /// Packets rejected as [`Fault::Integrity`].
    pub integrity: u64,
    /// Packets rejected as [`Fault::Padding`].
    pub padding: u64,
    /// Packets rejected as [`Fault::Unhandled`].
    pub unhandled: u64,
}

impl Inbound {
    /// Creates an association. `window` is the size of the replay window: a multiple of 32, at most 1024; 0
    /// disables replay protection.
    ///
    /// # Errors
    ///
    /// A reserved SPI, an invalid combination of algorithms, wrong key lengths, an invalid window, a window or
    /// extended sequence numbers without integrity, extended sequence numbers without a window.
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
        if !window.is_multiple_of(32) || window > MAX_WINDOW {
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

    /// Returns the SPI.
    #[inline]
    pub fn spi(&self) -> u32 {
        self.shared.spi
    }

    /// Returns the algorithms.
    pub fn suite(&self) -> Suite {
        self.shared.suite
    }

    /// Returns the size of the replay window.
    pub fn window(&self) -> u32 {
        self.window.size()
    }

    /// Returns the highest verified sequence number.
    pub fn number(&self) -> u64 {
        self.window.top()
    }

    /// Marks all sequence numbers up to this one as seen: for restored state, and for tests.
    pub fn set_number(&mut self, last: u64) {
        self.window.begin(last);
    }

    /// Returns the counters.
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

    /// Counts opened packets.
    pub(crate) fn count(&self, packets: u64, bytes: u64) {
        self.packets.fetch_add(packets, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts a rejected packet.
    pub(crate) fn count_fault(&self, fault: Fault) {
        let counter = match fault {
            Fault::Malformed | Fault::Room => &self.malformed,
            Fault::Replayed => &self.replayed,
            Fault::Integrity => &self.integrity,
            Fault::Padding => &self.padding,
            Fault::Unhandled => &self.unhandled,
            // Inbound packets never have these faults.
            Fault::Pending | Fault::Exhausted => return,
        };
        counter.fetch_add(1, Relaxed);
    }
}

/// Length of SPI and sequence number.
pub(crate) const HEADER_BYTES: usize = 8;
/// Length of pad length and next header.
pub(crate) const TRAILER_BYTES: usize = 2;
/// Largest replay window.
const MAX_WINDOW: u32 = 1024;
/// Highest reserved SPI (RFC 4303, 2.1).
const LAST_RESERVED_SPI: u32 = 255;
