//! Decryption of data packets.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use esp::Window;
use esp::mac::Mac;
use smallvec::SmallVec;
use subtle::ConstantTimeEq as _;

use super::key::{AeadPacket, CbcText, Key, decrypt_cbc, open_aead};
use super::seal::{STUB, STUB_SWAP, STUB_V2};
use super::{BLOCK_BYTES, EXIT, Fault, Head, ID_BYTES, PING, TAG_BYTES, TOGETHER, digests};
use crate::event::DataKeys;
use crate::push::Framing;

/// Packet ids of the replay window: a batch may be reordered.
const WINDOW: u32 = 1024;
/// First bytes of headers of compressed packets: LZO and LZ4.
const COMPRESSED: [u8; 2] = [0x66, 0x69];

/// A key for decryption. Threads may share it.
pub struct Receiving {
    key: Key,
    mac: Mac,
    mac_len: usize,
    framing: Framing,
    window: Window,
    bytes: AtomicU64,
}

impl core::fmt::Debug for Receiving {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Receiving")
    }
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// An IP packet or an Ethernet frame, at this range of the packet's bytes.
    Payload(Range<usize>),
    /// A ping.
    Ping,
    /// The peer ends the session.
    Exit,
    /// Another message about options, which is ignored.
    Options,
}

impl Receiving {
    /// Expands the key of the other end. `None` if a library refuses it.
    pub fn new(keys: &DataKeys) -> Option<Self> {
        Self::with_window(keys, WINDOW)
    }

    /// Expands a key that accepts repeated packets, for measurements.
    pub fn without_window(keys: &DataKeys) -> Option<Self> {
        Self::with_window(keys, 0)
    }

    fn with_window(keys: &DataKeys, window: u32) -> Option<Self> {
        let (suite, own) = (keys.suite, &keys.keys.receive);
        let mac_len = match suite.cipher.is_aead() {
            true => 0,
            false => suite.digest.key_len(),
        };
        Some(Self {
            key: Key::new(suite.cipher, own)?,
            mac: Mac::new(suite.digest, own.hmac.get(..mac_len)?),
            mac_len,
            framing: keys.framing,
            window: Window::new(window),
            bytes: AtomicU64::new(0),
        })
    }

    /// Bytes of all payloads.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Removes the header of framing from a payload.
    fn unframe(&self, bytes: &mut [u8], mut at: Range<usize>) -> Result<Range<usize>, Fault> {
        let payload = bytes.get_mut(at.clone()).ok_or(Fault::Malformed)?;
        match (self.framing, payload) {
            (Framing::None, _) => {}
            (Framing::Stub | Framing::StubSwap, payload) => match payload {
                [STUB, ..] => at.start += 1,
                [first @ STUB_SWAP, .., last] => {
                    *first = *last;
                    at.end -= 1;
                }
                [first, ..] if COMPRESSED.contains(first) => return Err(Fault::Compressed),
                _ => return Err(Fault::Malformed),
            },
            (Framing::StubV2, [STUB_V2, 0, ..]) => at.start += 2,
            (Framing::StubV2, [STUB_V2, ..]) => return Err(Fault::Compressed),
            (Framing::StubV2, _) => {}
        }
        Ok(at)
    }
}

/// A packet to decrypt in place.
pub struct Incoming<'a> {
    session: &'a Receiving,
    bytes: &'a mut [u8],
    head: Head,
    /// Packet id, once it is known.
    id: u32,
    /// Result of [`open_all`].
    pub result: Result<Opened, Fault>,
}

impl<'a> Incoming<'a> {
    /// Returns a packet with this head. `bytes` begins with the head.
    pub const fn new(session: &'a Receiving, head: Head, bytes: &'a mut [u8]) -> Self {
        Self {
            session,
            bytes,
            head,
            id: 0,
            result: Err(Fault::Malformed),
        }
    }

    /// Start of the ciphertext.
    const fn start(&self) -> usize {
        let head = self.head.len();
        match self.session.key {
            Key::Aead(_) => head + ID_BYTES + TAG_BYTES,
            Key::Cbc(_) => head + self.session.mac_len + BLOCK_BYTES,
            Key::None => head + self.session.mac_len,
        }
    }

    /// Checks the length, and the packet id of AEAD ciphers. The result is a range until the payload is known.
    fn prepare(&mut self) -> Result<Opened, Fault> {
        let start = self.start();
        let text = self.bytes.len().checked_sub(start);
        let text = text.ok_or(Fault::Malformed)?;
        match self.session.key {
            Key::Aead(_) => {
                self.id = self.read_id(self.head.len())?;
                if !self.session.window.may_be_new(self.id.into()) {
                    return Err(Fault::Replayed);
                }
            }
            Key::Cbc(_) if text == 0 || text % BLOCK_BYTES != 0 => return Err(Fault::Malformed),
            Key::None if text < ID_BYTES => return Err(Fault::Malformed),
            Key::Cbc(_) | Key::None => {}
        }
        Ok(Opened::Payload(start..self.bytes.len()))
    }

    fn read_id(&self, at: usize) -> Result<u32, Fault> {
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        bytes
            .map(|id| u32::from_be_bytes(*id))
            .ok_or(Fault::Malformed)
    }

    /// Removes padding, packet id and framing from the decrypted text.
    fn settle(&mut self) -> Result<Opened, Fault> {
        let start = self.start();
        let mut at = start..self.bytes.len();
        if let Key::Cbc(_) = self.session.key {
            let padding = usize::from(*self.bytes.last().ok_or(Fault::Malformed)?);
            let end = at.end.checked_sub(padding).filter(|end| *end >= start);
            let end = end.filter(|_| (1..=BLOCK_BYTES).contains(&padding));
            at.end = end.ok_or(Fault::Integrity)?;
            let padded = self.bytes.get(at.end..).unwrap_or_default();
            if padded.iter().any(|byte| usize::from(*byte) != padding) {
                return Err(Fault::Integrity);
            }
        }
        if !matches!(self.session.key, Key::Aead(_)) {
            self.id = self.read_id(start)?;
            at.start += ID_BYTES;
            if at.start > at.end {
                return Err(Fault::Malformed);
            }
        }
        let at = self.session.unframe(self.bytes, at)?;
        let payload = self.bytes.get(at.clone()).unwrap_or_default();
        let magic = payload.first_chunk::<16>();
        Ok(match magic {
            Some(magic) if *magic == PING => Opened::Ping,
            Some(magic) if magic[..] == EXIT[..16] => match payload.get(16) {
                Some(kind) if *kind == EXIT[16] => Opened::Exit,
                _ => Opened::Options,
            },
            _ => Opened::Payload(at),
        })
    }
}

/// Decrypts packets of any sessions in place. The bytes of a packet that fails are unspecified.
pub fn open_all(packets: &mut [Incoming<'_>]) {
    for group in packets.chunks_mut(TOGETHER) {
        for packet in &mut *group {
            packet.result = packet.prepare();
        }
        open_aead_group(group);
        verify(group);
        open_cbc_group(group);
        for packet in &mut *group {
            if packet.result.is_ok() {
                packet.result = packet.settle();
            }
        }
        let same =
            |one: &Incoming<'_>, other: &Incoming<'_>| core::ptr::eq(one.session, other.session);
        for run in group.chunk_by_mut(same) {
            accept(run);
        }
    }
}

/// Decrypts the packets of AEAD ciphers; wrong tags become faults.
fn open_aead_group(group: &mut [Incoming<'_>]) {
    let mut opening = SmallVec::<[AeadPacket<'_>; TOGETHER]>::new();
    let mut results = SmallVec::<[&mut Result<Opened, Fault>; TOGETHER]>::new();
    for packet in group {
        let (Key::Aead(aead), Ok(_)) = (&packet.session.key, &packet.result) else {
            continue;
        };
        let at = packet.head.len() + ID_BYTES;
        let Some(sealed) = packet.bytes.get_mut(at..) else {
            continue;
        };
        opening.push(AeadPacket {
            aead,
            head: packet.head,
            number: packet.id,
            sealed,
            is_forged: false,
        });
        results.push(&mut packet.result);
    }
    open_aead(&mut opening);
    for (packet, result) in opening.iter().zip(results) {
        if packet.is_forged {
            *result = Err(Fault::Integrity);
        }
    }
}

/// Checks the HMACs of packets without an AEAD cipher.
fn verify(group: &mut [Incoming<'_>]) {
    let is_alike = |one: &Incoming<'_>, other: &Incoming<'_>| {
        core::mem::discriminant(&one.session.mac) == core::mem::discriminant(&other.session.mac)
    };
    for alike in group.chunk_by_mut(is_alike) {
        if alike
            .first()
            .is_none_or(|packet| packet.session.mac_len == 0)
        {
            continue;
        }
        let digests = digests(alike.iter().map(|packet| {
            let start = packet.head.len() + packet.session.mac_len;
            (&packet.session.mac, packet.bytes.get(start..))
        }));
        for (packet, digest) in alike.iter_mut().zip(digests) {
            let start = packet.head.len();
            let len = packet.session.mac_len;
            let received = packet.bytes.get(start..start + len).unwrap_or_default();
            if packet.result.is_ok() && !bool::from(digest[..len].ct_eq(received)) {
                packet.result = Err(Fault::Integrity);
            }
        }
    }
}

/// Decrypts the packets of CBC ciphers whose HMAC is right.
fn open_cbc_group(group: &mut [Incoming<'_>]) {
    let mut texts = SmallVec::<[CbcText<'_>; TOGETHER]>::new();
    for packet in group {
        let start = packet.start();
        let (Key::Cbc(cbc), Ok(_)) = (&packet.session.key, &packet.result) else {
            continue;
        };
        let (clear, text) = packet.bytes.split_at_mut(start.min(packet.bytes.len()));
        let vector = clear.last_chunk().copied().unwrap_or_default();
        texts.push(CbcText { cbc, vector, text });
    }
    decrypt_cbc(&mut texts);
}

/// Marks the packet ids of authentic packets of one session as received.
fn accept(run: &mut [Incoming<'_>]) {
    let Some(session) = run.first().map(|packet| packet.session) else {
        return;
    };
    session.window.take(
        run,
        |packet| packet.result.is_ok().then_some(packet.id.into()),
        |packet| packet.result = Err(Fault::Replayed),
    );
    let bytes = run.iter().map(|packet| match &packet.result {
        Ok(Opened::Payload(at)) => at.len() as u64,
        _ => 0,
    });
    session.bytes.fetch_add(bytes.sum(), Relaxed);
}
