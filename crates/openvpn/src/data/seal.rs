//! Encryption of data packets.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use esp::mac::Mac;
use machine::Rng;
use smallvec::SmallVec;
use zeroize::Zeroizing;

use super::key::{AeadPacket, Cbc, CbcText, Key, encrypt_cbc, seal_aead};
use super::{BLOCK_BYTES, Fault, Head, ID_BYTES, TAG_BYTES, TOGETHER, digests};
use crate::event::DataKeys;
use crate::push::Framing;
use crate::suite::Bits;

/// Packet ids above are not used: a key must be renewed before.
const MAX_ID: u64 = u32::MAX as u64;
/// Packet id from which on a key is to be renewed.
const RENEW_FROM: u64 = 0xff00_0000;

/// Room that a packet needs around its payload, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Before the payload.
    pub front: usize,
    /// Behind the payload.
    pub back: usize,
}

/// A key for encryption. Threads may share it.
pub struct Sending {
    head: Head,
    key: Key,
    mac: Mac,
    mac_len: usize,
    framing: Framing,
    /// Secret of initialization vectors.
    vectors: Option<Cbc>,
    /// Number of packet ids used.
    used: AtomicU64,
    bytes: AtomicU64,
}

impl core::fmt::Debug for Sending {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Sending({:?})", self.head)
    }
}

impl Sending {
    /// Expands the key of this end. `None` if a library refuses it.
    pub fn new(keys: &DataKeys, rng: &mut Rng) -> Option<Self> {
        let (suite, own) = (keys.suite, &keys.keys.send);
        let key = Key::new(suite.cipher, own)?;
        let mac_len = match suite.cipher.is_aead() {
            true => 0,
            false => suite.digest.key_len(),
        };
        let vectors = match key {
            Key::Cbc(_) => {
                let mut secret = Zeroizing::new([0; 16]);
                rng.fill(&mut *secret);
                Some(Cbc::new(Bits::B128, &*secret)?)
            }
            _ => None,
        };
        Some(Self {
            head: Head {
                key_id: keys.key_id,
                peer_id: keys.peer_id,
            },
            key,
            mac: Mac::new(suite.digest, own.hmac.get(..mac_len)?),
            mac_len,
            framing: keys.framing,
            vectors,
            used: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })
    }

    /// Returns the head of packets.
    pub const fn head(&self) -> Head {
        self.head
    }

    /// Bytes of all payloads.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Returns true if the key is to be renewed: it has few packet ids left.
    pub fn is_exhausted(&self) -> bool {
        self.used.load(Relaxed) >= RENEW_FROM
    }

    /// Counts packet ids as used.
    #[cfg(test)]
    pub(super) fn skip_to(&self, used: u64) {
        self.used.store(used, Relaxed);
    }

    /// Returns the room around a payload.
    #[inline]
    pub fn layout(&self, payload: &[u8]) -> Layout {
        let (before, behind) = framing_room(self.framing, payload);
        let clear = self.clear_len();
        match self.key {
            Key::Cbc(_) => {
                let text = ID_BYTES + before + payload.len() + behind;
                Layout {
                    front: clear + ID_BYTES + before,
                    back: behind + BLOCK_BYTES - text % BLOCK_BYTES,
                }
            }
            Key::None => Layout {
                front: clear + ID_BYTES + before,
                back: behind,
            },
            Key::Aead(_) => Layout {
                front: clear + before,
                back: behind,
            },
        }
    }

    /// Length of all that comes before the ciphertext, in bytes.
    const fn clear_len(&self) -> usize {
        let head = self.head.len();
        match self.key {
            Key::Aead(_) => head + ID_BYTES + TAG_BYTES,
            Key::Cbc(_) => head + self.mac_len + BLOCK_BYTES,
            Key::None => head + self.mac_len,
        }
    }

    /// Returns the next packet id; `None` once all are used.
    #[inline]
    fn next_id(&self) -> Option<u32> {
        let id = self.used.fetch_add(1, Relaxed) + 1;
        if id > MAX_ID {
            self.used.store(MAX_ID, Relaxed);
            return None;
        }
        Some(id as u32)
    }
}

/// Returns the bytes that framing puts before and behind a payload.
fn framing_room(framing: Framing, payload: &[u8]) -> (usize, usize) {
    match framing {
        Framing::None => (0, 0),
        Framing::Stub => (1, 0),
        Framing::StubSwap => (0, 1),
        Framing::StubV2 if payload.first() == Some(&STUB_V2) => (2, 0),
        Framing::StubV2 => (0, 0),
    }
}

/// First byte of packets that are not compressed (OpenVPN `comp.h`).
pub(super) const STUB: u8 = 0xfa;
/// First byte of packets whose first payload byte moved to the end of the packet.
pub(super) const STUB_SWAP: u8 = 0xfb;
/// First byte of packets with a header of version 2.
pub(super) const STUB_V2: u8 = 0x50;

/// A packet to encrypt in place.
pub struct Outgoing<'a> {
    session: &'a Sending,
    bytes: &'a mut [u8],
    layout: Layout,
    /// Result of [`seal_all`].
    pub result: Result<(), Fault>,
}

impl<'a> Outgoing<'a> {
    /// Returns a packet with this layout. `bytes` is the whole packet, with its payload between front and back.
    pub const fn new(session: &'a Sending, layout: Layout, bytes: &'a mut [u8]) -> Self {
        Self {
            session,
            bytes,
            layout,
            result: Err(Fault::Malformed),
        }
    }

    /// Writes head and packet id, the header of framing, and the padding.
    fn prepare(&mut self) -> Result<u32, Fault> {
        let Layout { front, back } = self.layout;
        let session = self.session;
        let payload = self.bytes.len().checked_sub(front + back);
        let payload = payload.ok_or(Fault::Malformed)?;
        let room = self.bytes.get(front..front + payload).unwrap_or_default();
        if session.layout(room) != self.layout {
            return Err(Fault::Malformed);
        }
        let id = session.next_id().ok_or(Fault::Exhausted)?;
        let head = session.head;
        self.bytes[..head.len()].copy_from_slice(&head.bytes()[..head.len()]);
        let id_at = match session.key {
            Key::Aead(_) => head.len(),
            _ => session.clear_len(),
        };
        self.bytes[id_at..id_at + ID_BYTES].copy_from_slice(&id.to_be_bytes());
        let framing = framing_room(
            session.framing,
            self.bytes.get(front..front + payload).unwrap_or_default(),
        );
        match (session.framing, framing) {
            (Framing::Stub, _) => self.bytes[front - 1] = STUB,
            (Framing::StubSwap, _) => {
                self.bytes[front + payload] = self.bytes[front];
                self.bytes[front] = STUB_SWAP;
            }
            (Framing::StubV2, (2, _)) => {
                self.bytes[front - 2..front].copy_from_slice(&[STUB_V2, 0])
            }
            _ => {}
        }
        if let Key::Cbc(_) = session.key {
            let (_, behind) = framing_room(session.framing, &[]);
            let padding = back - behind;
            let end = self.bytes.len();
            self.bytes[end - padding..].fill(padding as u8);
        }
        session.bytes.fetch_add(payload as u64, Relaxed);
        Ok(id)
    }
}

/// Encrypts packets of any sessions in place.
pub fn seal_all(packets: &mut [Outgoing<'_>]) {
    for group in packets.chunks_mut(TOGETHER) {
        let mut ids = [0; TOGETHER];
        for (packet, id) in group.iter_mut().zip(&mut ids) {
            packet.result = packet.prepare().map(|next| *id = next);
        }
        seal_aead_group(group, &ids);
        seal_cbc_group(group, &ids);
        authenticate(group);
    }
}

/// Encrypts the packets of AEAD ciphers.
fn seal_aead_group(group: &mut [Outgoing<'_>], ids: &[u32; TOGETHER]) {
    let mut sealing = SmallVec::<[AeadPacket<'_>; TOGETHER]>::new();
    let whole = group.iter_mut().zip(ids);
    sealing.extend(whole.filter_map(|(packet, id)| {
        let Key::Aead(aead) = &packet.session.key else {
            return None;
        };
        packet.result.ok()?;
        let head = packet.session.head;
        Some(AeadPacket {
            aead,
            head,
            number: *id,
            sealed: packet.bytes.get_mut(head.len() + ID_BYTES..)?,
            is_forged: false,
        })
    }));
    seal_aead(&mut sealing);
}

/// Encrypts the packets of CBC ciphers.
fn seal_cbc_group(group: &mut [Outgoing<'_>], ids: &[u32; TOGETHER]) {
    let mut vectors = [[0; BLOCK_BYTES]; TOGETHER];
    let mut making = SmallVec::<[CbcText<'_>; TOGETHER]>::new();
    for ((packet, id), vector) in group.iter().zip(ids).zip(&mut vectors) {
        vector[..ID_BYTES].copy_from_slice(&id.to_be_bytes());
        if let (Some(cbc), Ok(())) = (&packet.session.vectors, packet.result) {
            making.push(CbcText {
                cbc,
                vector: [0; BLOCK_BYTES],
                text: vector,
            });
        }
    }
    if making.is_empty() {
        return;
    }
    encrypt_cbc(&mut making);
    drop(making);
    let mut texts = SmallVec::<[CbcText<'_>; TOGETHER]>::new();
    for (packet, vector) in group.iter_mut().zip(vectors) {
        let session = packet.session;
        let (Key::Cbc(cbc), Ok(())) = (&session.key, packet.result) else {
            continue;
        };
        let start = session.clear_len();
        let (clear, text) = packet.bytes.split_at_mut(start.min(packet.bytes.len()));
        if let Some(place) = clear.last_chunk_mut() {
            *place = vector;
        }
        texts.push(CbcText { cbc, vector, text });
    }
    encrypt_cbc(&mut texts);
}

/// Writes the HMACs of packets without an AEAD cipher.
fn authenticate(group: &mut [Outgoing<'_>]) {
    let is_alike = |one: &Outgoing<'_>, other: &Outgoing<'_>| {
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
            let start = packet.session.head.len() + packet.session.mac_len;
            (&packet.session.mac, packet.bytes.get(start..))
        }));
        for (packet, digest) in alike.iter_mut().zip(digests) {
            let start = packet.session.head.len();
            let len = packet.session.mac_len;
            if let Some(place) = packet.bytes.get_mut(start..start + len) {
                place.copy_from_slice(&digest[..len]);
            }
        }
    }
}
